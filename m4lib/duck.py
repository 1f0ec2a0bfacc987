"""One way to open DuckDB, so that limits, temp files and errors are the same everywhere."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from m4lib.errors import M4Error

UNITS = {"k": 3, "m": 6, "g": 9, "t": 12}
LEAST_MEMORY, MOST_MEMORY = 1e7, 1e15  # outside of these DuckDB does not even open
MOST_THREADS = 1024  # DuckDB starts every one of them
FULL = ("No space left", "Disk quota", "File too large", "disk is full", "not enough disk space")


def check_limits(threads: int | None = None, memory_limit: str | None = None) -> None:
    """Raises M4Error unless both are None or what `connect` takes: threads from 1, memory as a size such as 4GB."""
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS):
        raise M4Error(f"threads must be a whole number from 1 to {MOST_THREADS}, not {threads!r}; leave it out for all processors.")
    if memory_limit is None:
        return
    size = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT])i?B?\s*", str(memory_limit), re.IGNORECASE)
    if size is None:
        raise M4Error(f"{memory_limit!r} is no memory limit: give a number and its unit, such as 4GB or 512MiB.")
    wanted = float(size[1]) * 10 ** UNITS[size[2].lower()]
    if wanted > MOST_MEMORY:
        raise M4Error(f"The memory limit {memory_limit} is more than any machine has: give it less.")
    if wanted < LEAST_MEMORY:
        raise M4Error(f"The memory limit {memory_limit} is too small for DuckDB to work in: give 1GB or more.")


def connect(
    path: str | os.PathLike[str] | None = None,
    *,
    read_only: bool = False,
    threads: int | None = None,
    memory_limit: str | None = None,
) -> duckdb.DuckDBPyConnection:
    """Open `path` (None: in memory). Time zone is UTC and row order is not kept, which bounds memory.

    threads: from 1 (default: all processors). memory_limit: a size such as 4GB or 512MiB (default: DuckDB's own).
    Raises M4Error when the file is missing (read-only), locked by another process or not a database, or for a limit
    that is none.
    """
    check_limits(threads, memory_limit)
    if path is not None and read_only and not Path(path).is_file():
        raise M4Error(f"There is no database at {path}; build it first with `python -m m4lib build`.")
    config: dict[str, str | bool | int | float | list[str]] = {"preserve_insertion_order": False}
    if threads is not None:
        config["threads"] = threads
    if memory_limit is not None:
        config["memory_limit"] = memory_limit
    try:
        con = duckdb.connect(str(path) if path is not None else ":memory:", read_only=read_only, config=config)
    except duckdb.Error as error:
        raise M4Error(f"Cannot open the database {path}: {str(error).splitlines()[0]}") from error
    con.execute("SET TimeZone='UTC'")
    con.execute("SET enable_progress_bar = false")  # in a notebook it would leave a widget in the output
    return con


def disk_error(message: str, what: str, option: str = "--db") -> M4Error | None:
    """The sentence for a full disk, or None when `message` tells of something else."""
    if any(sign in message for sign in FULL):
        return M4Error(
            f"The disk is full: {what} could not be written. "
            f"Free some space or choose another place with {option}; what was there before is unchanged."
        )
    return None


@contextmanager
def writing(what: str, option: str) -> Iterator[None]:
    """Work that lets DuckDB write `what`: a full disk leaves as one sentence, whatever else DuckDB raises as it is."""
    try:
        yield
    except duckdb.Error as error:
        if full := disk_error(str(error), what, option):
            raise full from error
        raise


def quote(name: str) -> str:
    """A double-quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A single-quoted SQL string."""
    return "'" + text.replace("'", "''") + "'"

"""One way to open DuckDB, so that limits, temp files and errors are the same everywhere."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb

from m4lib.errors import M4Error


def connect(
    path: str | os.PathLike[str] | None = None,
    *,
    read_only: bool = False,
    threads: int | None = None,
    memory_limit: str | None = None,
) -> duckdb.DuckDBPyConnection:
    """Open `path` (None: in memory). Time zone is UTC and row order is not kept, which bounds memory.

    Raises M4Error when the file is missing (read-only), locked by another process or not a database.
    """
    if path is not None and read_only and not Path(path).is_file():
        raise M4Error(f"There is no database at {path}; build it first with `python -m m4lib build`.")
    config: dict[str, str | bool | int | float | list[str]] = {"preserve_insertion_order": False}
    if threads:
        config["threads"] = threads
    if memory_limit:
        config["memory_limit"] = memory_limit
    try:
        con = duckdb.connect(str(path) if path is not None else ":memory:", read_only=read_only, config=config)
    except duckdb.Error as error:
        raise M4Error(f"Cannot open the database {path}: {str(error).splitlines()[0]}") from error
    con.execute("SET TimeZone='UTC'")
    con.execute("SET enable_progress_bar = false")  # in a notebook it would leave a widget in the output
    return con


def quote(name: str) -> str:
    """A double-quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A single-quoted SQL string."""
    return "'" + text.replace("'", "''") + "'"

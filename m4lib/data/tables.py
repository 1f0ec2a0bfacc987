"""One raw file into one typed table, in one pass."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb

from m4lib.data.csv_errors import csv_error
from m4lib.data.schema import NULL_TOKENS, Table
from m4lib.data.stream import BUFFER, PROTOCOL, RawFile, RawFileSystem
from m4lib.duck import disk_error, literal, quote
from m4lib.errors import M4Error


@dataclass(frozen=True)
class TableResult:
    """What the manifest keeps of one ingested file."""

    table: str
    file: str
    bytes: int
    mtime_ns: int
    sha256: str
    rows: int
    columns: dict[str, str]
    filled: list[str]  # optional columns that the file lacks, filled with NULL
    ignored: list[str]  # unknown columns left out on request
    seconds: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def check_header(table: Table, label: str, header: list[str], ignore_extra: bool) -> tuple[list[str], list[str]]:
    """(optional columns that are absent, unknown columns). Raises M4Error where the header does not fit the table."""
    if not header:
        raise M4Error(f"{label} is empty, without even a header: copy or download the file again.")
    known = {column.name: column for column in table.columns}
    missing = [column.name for column in table.columns if not column.optional and column.name not in header]
    extra = [name for name in header if name not in known]
    if len(missing) > len(known) / 2:
        raise M4Error(
            f"{label}, line 1: this is not the header of table {table.name} (expected {table.columns[0].name}, "
            f"{table.columns[1].name if len(known) > 1 else '...'}, ...). Check that the file has its header line and the right name."
        )
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise M4Error(f"{label}, line 1: column {twice[0]} stands there twice. Remove one of them.")
    if missing:
        names = ", ".join(missing)
        raise M4Error(
            f"{label}, line 1: column {names} is missing. "
            f"Use the file of a supported release, or add the column (it may be empty)."
        )
    if extra and not ignore_extra:
        raise M4Error(
            f"{label}, line 1: column {', '.join(extra)} is unknown in table {table.name}. "
            "Remove it from the file, or leave it out of the database with --ignore-extra-columns."
        )
    return [column.name for column in table.columns if column.name not in header], extra


def select_sql(table: Table, header: list[str], path: str, parallel: bool = True) -> str:
    """A SELECT over the file with every column of the table in its own order and type; nothing is sniffed."""
    known = {column.name: column.type for column in table.columns}
    columns = ", ".join(f"{literal(name)}: {literal(known.get(name, 'VARCHAR'))}" for name in header)
    nulls = ", ".join(literal(token) for token in NULL_TOKENS)
    wanted = ", ".join(
        quote(column.name) if column.name in header else f"NULL::{column.type} AS {quote(column.name)}"
        for column in table.columns
    )
    return (
        f"SELECT {wanted} FROM read_csv({literal(path)}, columns = {{{columns}}}, header = true, auto_detect = false, "
        f"delim = ',', quote = '\"', escape = '\"', nullstr = [{nulls}], buffer_size = {BUFFER}, "
        f"parallel = {str(parallel).lower()})"
    )


def ingest_table(
    con: duckdb.DuckDBPyConnection,
    files: RawFileSystem,
    table: Table,
    path: Path,
    label: str,
    *,
    on_bytes: Callable[[int], object] | None = None,
    ignore_extra: bool = False,
) -> TableResult:
    """Replace `table` in the open database by the content of `path`; `files` is registered with `con`.

    The schema must exist. `label` names the file in messages. Raises M4Error for anything wrong with the file and for a full disk.
    """
    start = time.perf_counter()
    stat = path.stat()
    try:
        read = read_file(con, files, table, path, label, on_bytes, ignore_extra)
    except UnsureError:
        # threads that start in the middle of a file can mistake text inside quotes for rows; DuckDB notices, and one
        # thread alone reads such a file right or names the true fault
        read = read_file(con, files, table, path, label, None, ignore_extra, parallel=False)
    return TableResult(
        table=table.full_name,
        file=label,
        bytes=stat.st_size,
        mtime_ns=stat.st_mtime_ns,
        columns={column.name: column.type for column in table.columns},
        seconds=round(time.perf_counter() - start, 3),
        **read,
    )


class UnsureError(Exception):
    """Several threads could not parse a file; that need not be the file's fault."""


def read_file(
    con: duckdb.DuckDBPyConnection,
    files: RawFileSystem,
    table: Table,
    path: Path,
    label: str,
    on_bytes: Callable[[int], object] | None,
    ignore_extra: bool,
    parallel: bool = True,
) -> dict[str, Any]:
    """Create the table from one reading of the file; returns rows, sha256, filled and ignored columns."""
    try:
        raw = RawFile(path, label, on_bytes, count_quotes=not parallel)
    except OSError as error:
        raise M4Error(f"{label} cannot be read: {error.strerror}.") from error
    try:
        header = raw.header()
        filled, ignored = check_header(table, label, header, ignore_extra)
        files.files[table.full_name] = raw
        name = f"{quote(table.schema)}.{quote(table.name)}"
        query = select_sql(table, header, f"{PROTOCOL}://{table.full_name}", parallel)
        done = con.execute(f"CREATE OR REPLACE TABLE {name} AS {query}").fetchone()
        raw.drain()
        if not parallel and raw.quotes % 2:  # one thread alone takes the rest of the file for the field
            raise M4Error(f"{label}: a quoted field does not end. Close the quote, or copy the file again.")
    except duckdb.Error as error:
        if raw.error:
            raise raw.error from error
        if full := disk_error(str(error), "the database"):
            raise full from error
        if parallel and not raw.cancelled:
            raise UnsureError from error
        raise csv_error(label, str(error)) from error
    finally:
        files.files.pop(table.full_name, None)
        raw.close()
    return {"rows": int(done[0]) if done else 0, "sha256": raw.sha256, "filled": filled, "ignored": ignored}

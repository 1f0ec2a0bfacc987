"""Raw folder to database: every table typed, then every derived concept; all of it or nothing.

The work happens in a file beside the target that takes the target's name at the end, so that an error, Ctrl-C or a
full disk leaves the database that was there before.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import duckdb
from tqdm import tqdm

from m4lib.data import manifest as manifests
from m4lib.data import schema
from m4lib.data.csv_errors import short
from m4lib.data.interrupt import closing
from m4lib.data.layout import Layout, find_files
from m4lib.data.schema import Table
from m4lib.data.stream import RawFileSystem
from m4lib.data.tables import ingest_table
from m4lib.duck import check_limits, connect, disk_error, literal, quote
from m4lib.errors import M4Error
from m4lib.files import atomic_path

META = "m4_meta"  # the concept engine reads the file hashes of base tables there


def build(
    source: str,
    raw_dir: str | os.PathLike[str],
    db_path: str | os.PathLike[str],
    *,
    threads: int | None = None,
    memory_limit: str | None = None,
    progress: bool = True,
    concepts: bool = True,
    force: bool = False,
    ignore_extra_columns: bool = False,
) -> dict[str, Any]:
    """Build `db_path` from the raw folder and return its manifest (also written beside it).

    Tables whose file is unchanged since the last build are kept, and so are concepts; `reused` in the result lists
    the kept tables, and with nothing to do the database is not touched at all. `force` builds everything anew.
    threads: from 1 (default: all processors).
    memory_limit: DuckDB's, e.g. "4GB" (default: 6 GB or 60 % of the machine's memory, whichever is less).
    Raises M4Error for anything wrong with the folder, a file or the disk; the old database stays as it was.
    """
    start = time.perf_counter()
    check_limits(threads, memory_limit)
    spec = schema.source(source)
    if not os.fspath(raw_dir):  # Path("") would be the working directory
        raise M4Error("The name of the raw folder is empty: give the folder that holds the files.")
    layout = find_files(spec, Path(raw_dir))
    target = Path(db_path)
    if target.is_dir():
        raise M4Error(f"{target} is a folder: give the name of the database file.")
    if not force:
        refuse_other(target, spec)
    concepts = concepts and spec.name == "mimic-iv"
    old = None if force else manifests.read(target)
    same = manifests.unchanged_tables(old, spec, layout, ignore_extra_columns)
    dropped = set(old["tables"]) - {table.full_name for table in layout.files} if old else set()
    current = len(same) == len(layout.files) and not dropped
    if old and current and (not concepts or concepts_current(old)):
        return {**old, "reused": sorted(old["tables"])}
    if not concepts and not current:
        old, same = None, set()  # derived tables of another state must not stay behind
    records: dict[str, dict[str, Any]] = {table.full_name: old["tables"][table.full_name] for table in same} if old else {}
    remove_leftovers(target)
    try:
        with atomic_path(target) as beside, spill_folder(beside):
            if same:
                shutil.copyfile(target, beside)
            else:
                dropped = set()
                create(beside)
            with closing(connect(beside, threads=threads, memory_limit=memory_limit or default_memory_limit())) as con:
                for name in dropped:
                    con.execute("DROP TABLE IF EXISTS " + ".".join(quote(part) for part in name.split(".")))
                todo = [table for table in layout.files if table not in same]
                records |= ingest_tables(con, layout, todo, progress, ignore_extra_columns)
                record_hashes(con, records)
                built = build_concepts(con, progress) if concepts else None
                con.execute("CHECKPOINT")
            # a log left by another program belongs to the old file and would be replayed into the new one
            Path(f"{target}.wal").unlink(missing_ok=True)
    except duckdb.Error as error:
        raise disk_error(str(error), f"the database {target}") or M4Error(f"{target} could not be built: {short(str(error), 300)}") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise disk_error("No space left", f"the database {target}") or error from error
        raise M4Error(f"{target} could not be written: {error.strerror or error}.") from error
    value = manifests.write(target, spec, layout, records, built, time.perf_counter() - start)
    return {**value, "reused": sorted(table.full_name for table in same)}


def ingest(
    source: str,
    raw_dir: str | os.PathLike[str],
    db_path: str | os.PathLike[str],
    *,
    threads: int | None = None,
    memory_limit: str | None = None,
    progress: bool = True,
    **options: bool,
) -> dict[str, Any]:
    """The base tables alone; see `build`."""
    return build(
        source, raw_dir, db_path, threads=threads, memory_limit=memory_limit, progress=progress, concepts=False, **options
    )


def ingest_tables(
    con: duckdb.DuckDBPyConnection, layout: Layout, tables: list[Table], progress: bool, ignore_extra: bool
) -> dict[str, dict[str, Any]]:
    """Read the files of `tables` into the open database; returns the manifest's records by table.

    A few files at a time, the largest first: one gzip stream keeps hardly more than one processor busy. The work is
    done in threads of its own because a signal would otherwise surface inside a read that DuckDB makes. They take part in
    their queries, so DuckDB counts them as its own; when one has no file left, DuckDB starts a thread in its place.
    """
    files = RawFileSystem()
    con.register_filesystem(files)
    for schema_name in sorted({table.schema for table in tables}):
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {quote(schema_name)}")
    sizes = {table: layout.files[table].stat().st_size for table in tables}
    threads = int(con.execute("SELECT current_setting('threads')").fetchone()[0])  # type: ignore[index]
    workers = min(4, threads, max(1, len(tables)))
    con.execute(f"SET external_threads = {workers}")
    cursors: list[duckdb.DuckDBPyConnection] = []
    with tqdm(total=sum(sizes.values()), desc="ingest", unit="B", unit_scale=True, disable=not progress) as bar:

        def one(table: Table) -> dict[str, Any]:
            path = layout.files[table]
            bar.set_postfix_str(table.full_name, refresh=False)
            cursor = con.cursor()
            cursors.append(cursor)
            with cursor:
                label = str(path.relative_to(layout.root))
                return ingest_table(cursor, files, table, path, label, on_bytes=bar.update, ignore_extra=ignore_extra).to_json()

        pool = ThreadPoolExecutor(workers, thread_name_prefix="ingest")
        try:
            futures = {pool.submit(one, table): table for table in sorted(tables, key=sizes.__getitem__, reverse=True)}
            records = {}
            for future in as_completed(futures):
                records[futures[future].full_name] = future.result()
                if (left := len(tables) - len(records)) < workers:
                    con.execute(f"SET external_threads = {max(1, left)}")
        except BaseException:
            files.cancel()
            for cursor in cursors:
                with suppress(duckdb.Error):
                    cursor.interrupt()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    return {table.full_name: records[table.full_name] for table in tables}


def record_hashes(con: duckdb.DuckDBPyConnection, records: dict[str, dict[str, Any]]) -> None:
    con.execute(f"CREATE SCHEMA IF NOT EXISTS {META}")
    con.execute(f"CREATE OR REPLACE TABLE {META}.ingest (schema_name VARCHAR, table_name VARCHAR, sha256 VARCHAR)")
    rows = [[*name.split("."), record["sha256"]] for name, record in sorted(records.items())]
    con.executemany(f"INSERT INTO {META}.ingest VALUES (?, ?, ?)", rows)


def build_concepts(con: duckdb.DuckDBPyConnection, progress: bool) -> dict[str, Any]:
    from m4lib.concepts import engine

    digest = manifests.concepts_sha256()
    return {"sha256": digest, "tables": [asdict(result) for result in engine.build_concepts(con, progress=progress)]}


def concepts_current(old: dict[str, Any]) -> bool:
    return bool(old["concepts"]) and old["concepts"]["sha256"] == manifests.concepts_sha256()


def create(path: Path) -> None:
    """An empty database in the storage format of DuckDB 1.4, which writes text columns a third faster than the oldest."""
    with duckdb.connect() as con:
        con.execute(f"ATTACH {literal(str(path))} AS fresh (STORAGE_VERSION 'v1.4.0')")


def default_memory_limit() -> str:
    """6 GB, or 60 % of a smaller machine: full MIMIC-IV fits the 8 GB of a laptop, the rest of DuckDB included."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        memory = 8 << 30
    return f"{min(6000, memory * 6 // 10 // 1_000_000)}MB"


def refuse_other(target: Path, spec: schema.Source) -> None:
    """M4Error when `target` is a file of another kind or the database of the other source: hours of work may be in it."""
    try:
        with open(target, "rb") as file:
            head = file.read(12)
    except OSError:
        return  # there is none; whether one can be written is seen later
    if head and head[8:] != b"DUCK":
        raise M4Error(f"{target} exists and is no DuckDB database: give another name, or --force to replace it.")
    other = manifests.source_of(target)
    if other not in (None, spec.name):
        raise M4Error(f"{target} holds {other}, not {spec.name}: give another name, or --force to replace it.")


def remove_leftovers(target: Path, idle: float = 600.0) -> None:
    """Delete what a build that was killed left beside `target`: files that nothing wrote to for `idle` seconds."""
    hidden = re.compile(rf"\.[0-9a-f]{{8}}\.{re.escape(target.name)}(\.wal|\.tmp)?")
    for path in target.parent.glob(f".*.{glob.escape(target.name)}*"):
        if hidden.fullmatch(path.name) and time.time() - path.stat().st_mtime > idle:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


@contextmanager
def spill_folder(database: Path) -> Iterator[None]:
    """DuckDB spills to `<database>.tmp`; whatever happens it does not stay."""
    try:
        yield
    finally:
        shutil.rmtree(f"{database}.tmp", ignore_errors=True)




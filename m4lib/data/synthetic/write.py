"""Runs the generator's SQL and writes its tables as CSV files."""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import duckdb
from tqdm import tqdm

from m4lib.data import schema
from m4lib.data.interrupt import closing
from m4lib.data.schema import Table
from m4lib.duck import literal, quote, writing
from m4lib.errors import M4Error
from m4lib.files import make_folder

VERSION = 1  # raise it when the same seed gives other data
HERE = Path(__file__).parent
# how much surrounds what concepts need; "full": as many admissions and charted rows a stay as the whole release has
DENSITIES = {
    "light": {"wards": 4.4, "other_items": 0, "vitals_an_hour": 1, "other_nursing": 0},
    "full": {"wards": 14.3, "other_items": 50, "vitals_an_hour": 12, "other_nursing": 5},
}
ROOMS = {"mimic-iv": HERE / "mimic", "eicu": HERE / "eicu"}


def synthesize(
    source: str,
    out_dir: str | os.PathLike[str],
    stays: int,
    seed: int = 1,
    *,
    density: str = "light",
    gz: bool = False,
    progress: bool = False,
    memory_limit: str = "4GB",
) -> dict[str, int]:
    """Write a raw folder with `stays` ICU stays and return the rows of each table.

    density: "light", or "full" for as many admissions and charted rows a stay as in MIMIC-IV 3.1 and eICU 2.0.
    The same source, stays, seed, density and VERSION give the same bytes: one thread, and no random state anywhere.
    The folder appears complete or not at all. Raises M4Error for a folder that already holds something or cannot be written.
    """
    spec = schema.source(source)
    if stays < 1 or stays > 400_000:
        raise M4Error("The number of stays must lie between 1 and 400000.")
    if density not in DENSITIES:
        raise M4Error(f"There is no density called {density!r}; there are: {', '.join(DENSITIES)}.")
    out = Path(out_dir)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise M4Error(f"{out} already exists and is not empty: choose another folder or delete it.")
    make_folder(out.parent)
    beside = out.with_name(f".{uuid.uuid4().hex[:8]}.{out.name}")
    rows: dict[str, int] = {}
    try:
        with writing(f"the folder {out}", "--out"), tempfile.TemporaryDirectory(prefix=".m4-", dir=out.parent) as spill:
            with closing(generator(source, stays, seed, density, memory_limit, spill)) as con:
                for table in tqdm(spec.tables, desc=f"synthetic {spec.label}", unit="table", disable=not progress):
                    target = beside / table.folder / file_name(source, table.name, gz)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    rows[table.full_name] = copy_table(con, ROOMS[source], table, target)
        (beside / "README.md").write_text(readme(spec.label, stays, seed, density, rows), encoding="utf-8")
        if out.exists():
            out.rmdir()
        beside.replace(out)
    except OSError as error:  # it names a hidden file that nobody asked for
        raise M4Error(f"{out} could not be written ({error.strerror or error}): choose another place.") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return rows


def generator(source: str, stays: int, seed: int, density: str, memory_limit: str, spill: str) -> duckdb.DuckDBPyConnection:
    """A connection with macros, catalogs and the tables that all events are drawn from."""
    con = duckdb.connect(config={"threads": 1, "memory_limit": memory_limit, "temp_directory": spill})
    con.execute("SET enable_progress_bar = false")
    con.execute((HERE / "macros.sql").read_text().replace("{seed}", str(int(seed))))
    con.execute(f"SET VARIABLE stays = {int(stays)}::BIGINT")
    for name, value in DENSITIES[density].items():
        con.execute(f"SET VARIABLE {name} = {value}")
    for path in sorted((HERE / "catalog").glob("*.csv")):
        con.execute(f"CREATE TABLE {path.stem} AS FROM read_csv({literal(str(path))}, header = true, delim = ',', quote = '\"')")
    for name in ("people.sql", "shared.sql"):
        path = ROOMS[source] / name
        if path.exists():
            con.execute(path.read_text())
    return con


def copy_table(con: duckdb.DuckDBPyConnection, room: Path, table: Table, target: Path) -> int:
    """Write the SELECT in `<room>/<table>.sql` to `target`, in the columns of the release; returns the rows."""
    query = (room / f"{table.name}.sql").read_text()
    columns = ", ".join(quote(column.name) for column in table.columns)
    sql = f"SELECT {columns} FROM ({query})"

    def copy(path: str) -> int:
        done = con.execute(f"COPY ({sql}) TO {literal(path)} (FORMAT csv, HEADER, QUOTE '\"', ESCAPE '\"')").fetchone()
        return int(done[0]) if done else 0

    return compressed(copy, target) if target.suffix == ".gz" else copy(str(target))


def compressed(copy: Callable[[str], int], target: Path) -> int:
    """Let `copy` write into a pipe whose other end is gzipped here: DuckDB's own gzip is several times slower."""
    read_end, write_end = os.pipe()
    failure: list[BaseException] = []

    def pack() -> None:
        with os.fdopen(read_end, "rb") as source:  # closed last: whoever meets the broken pipe finds its cause noted
            try:
                with open(target, "wb") as raw:
                    pump(source, raw)
            except BaseException as error:
                failure.append(error)

    packer = threading.Thread(target=pack, daemon=True)
    packer.start()
    try:
        rows = copy(f"/dev/fd/{write_end}")
    except duckdb.Error as error:
        if failure:  # the packer has closed its end: what stopped it is the cause, not the broken pipe
            raise failure[0] from error
        raise
    finally:
        os.close(write_end)
    # only now: after a failure DuckDB keeps its end of the pipe until the connection is closed
    packer.join()
    if failure:
        raise failure[0]
    return rows


def pump(source: BinaryIO, raw: BinaryIO) -> None:
    # no name and no time in the header: the same rows give the same file
    with gzip.GzipFile(filename="", mode="wb", compresslevel=1, fileobj=raw, mtime=0) as packed:
        while block := source.read(1 << 20):
            packed.write(block)


def file_name(source: str, table: str, gz: bool) -> str:
    from m4lib.data.synthetic.names import EICU_FILES

    name = EICU_FILES.get(table, table) if source == "eicu" else table
    return f"{name}.csv{'.gz' if gz else ''}"


def readme(label: str, stays: int, seed: int, density: str, rows: dict[str, int]) -> str:
    lines = [
        f"# Synthetic data in the layout of {label}",
        "",
        f"Made by m4lib's generator, version {VERSION}, from seed {seed}: {stays} ICU stays, {density} density. No real patients; "
        "not for clinical or statistical conclusions.",
        "",
        "| table | rows |",
        "|---|---:|",
        *(f"| {name} | {count} |" for name, count in rows.items()),
    ]
    return "\n".join(lines) + "\n"

"""One copy of a source database as Parquet files, shared by every task database through hard links.

File and column names are neutral (`3f0c….parquet`, `c3f0c…_0`, `c3f0c…_1`, ...), so that the same bytes serve the native and
the transformed schemas and tell nothing. What a file holds is written in the store's index, which no agent receives.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

import duckdb
from tqdm import tqdm

from m4lib.duck import check_limits, connect, literal, quote, writing
from m4lib.errors import M4Error
from m4lib.files import atomic_path, read_json, sha256_file, sha256_text, write_json
from m4lib.tasks import source

FORMAT = 3
# Dictionaries of many distinct numbers cost time and room: with this limit and level, files of event tables are smaller
# than with DuckDB's defaults and written in three quarters of the processor time.
PARQUET = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, DICTIONARY_SIZE_LIMIT 4096"
INDEX = "index.json"


@dataclass(frozen=True)
class Stored:
    """One relation as a Parquet file. `columns` are the relation's names in file order: column i is `field(i)` there."""

    file: str
    columns: tuple[str, ...]
    types: tuple[str, ...]  # of the relation in the source
    parquet_types: tuple[str, ...]  # as the file gives them back; HUGEINT for one has no Parquet type
    rows: int
    bytes: int
    sha256: str

    def field(self, i: int) -> str:
        """Name of column i in the file. No two files share one, so that several may be read side by side."""
        return f"c{self.file[:8]}_{i}"

    def value(self, column: str) -> str:
        """`column` as an expression over the file, in the relation's type: `c3f0c1a2b_1` or `CAST(c3f0c1a2b_1 AS HUGEINT)`."""
        i = self.columns.index(column)
        return self.field(i) if self.types[i] == self.parquet_types[i] else f"CAST({self.field(i)} AS {self.types[i]})"

    def select(self, names: dict[str, str]) -> str:
        """The select list that gives every column the name which `names` has for it."""
        return ", ".join(f"{self.value(column)} AS {quote(names[column])}" for column in self.columns)


class Limits(TypedDict):
    """Options of `m4lib.duck.connect` for every query that writes or checks a file of the store."""

    threads: int | None
    memory_limit: str | None


class Store:
    """The files of one state of one source database; open it with `open_store`.

    `relations` maps `schema.table` to its file. Further files (merged tables of a transformed schema, say) are added
    once and found again by their key.
    """

    def __init__(self, folder: Path, db: Path, fingerprint: str, index: dict[str, Any], limits: Limits):
        self.folder, self.db, self.fingerprint, self.limits = folder, db, fingerprint, limits
        self.relations: dict[str, Stored] = {name: _stored(value) for name, value in index["relations"].items()}
        self.extra: dict[str, Stored] = {name: _stored(value) for name, value in index["extra"].items()}

    def path(self, stored: Stored) -> Path:
        return self.folder / stored.file

    def scan(self, stored: Stored) -> str:
        """The relation under its own column names, as a sub-select."""
        return f"(SELECT {stored.select({c: c for c in stored.columns})} FROM read_parquet({literal(str(self.path(stored)))}))"

    def add(self, key: str, sql: str, check: Callable[[Stored], None] | None = None) -> Stored:
        """The file that `key` names, written from the query `sql` when it is not there yet.

        `check` sees a new file before it counts; what it raises is passed on, and the file is gone.
        """
        if key not in self.extra:
            with _lock(self.folder.parent, self.fingerprint):
                self.extra = {name: _stored(value) for name, value in read_json(self.folder / INDEX)["extra"].items()}
                if key not in self.extra:
                    con = connect(**self.limits)
                    try:
                        with _spill(con, self.folder.parent):
                            new = _export(con, sql, self.folder, f"{self.fingerprint}\n{key}")
                    finally:
                        con.close()
                    try:
                        if check:
                            check(new)
                    except BaseException:
                        self.path(new).unlink(missing_ok=True)
                        raise
                    self.extra[key] = new
                    self._save()
        return self.extra[key]

    def _save(self) -> None:
        _write_index(self.folder, self.db, self.relations, self.extra)


def open_store(
    db: str | os.PathLike[str], folder: str | os.PathLike[str], *, threads: int | None = None,
    memory_limit: str | None = None, progress: bool = False,
) -> Store:
    """The store of `db` below `folder`, exported first when this state of the database is not there yet.

    Processes may call this at the same time: one exports, the others wait for it. Files of an older state of the same
    database are removed (task databases that link them keep them).
    threads, memory_limit: of the export, as `m4lib.duck.connect` takes them.
    Raises M4Error when the database is missing or holds neither MIMIC-IV nor eICU, or for a limit that is none.
    """
    check_limits(threads, memory_limit)
    path = Path(db).resolve()
    if not path.is_file():
        raise M4Error(f"There is no database at {db}; build it first with `python -m m4lib build`.")
    root = Path(folder).resolve()
    if set("*?") & set(str(root)):
        raise M4Error(f"{root} has * or ? in its path, which DuckDB reads as any file: choose another folder.")
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    mark = source.fingerprint(path)
    place = root / mark
    with _lock(root, mark):
        index = _read_index(place)
        if index is None:
            shutil.rmtree(place, ignore_errors=True)
            with atomic_path(place) as beside:
                _export_all(path, beside, mark, threads, memory_limit, progress)
            index = read_json(place / INDEX)
    for other in root.iterdir():
        if other.is_dir() and other != place and _source_of(other) == str(path):
            shutil.rmtree(other, ignore_errors=True)
            (root / f"{other.name}.lock").unlink(missing_ok=True)
    return Store(place, path, mark, index, {"threads": threads, "memory_limit": memory_limit})


def _export_all(
    db: Path, folder: Path, mark: str, threads: int | None, memory_limit: str | None, progress: bool
) -> None:
    folder.mkdir(mode=0o700)
    con = connect(db, read_only=True, threads=threads, memory_limit=memory_limit)
    try:
        found = source.relations(con)
        if not source.sources(found):
            raise M4Error(f"{db} holds neither MIMIC-IV nor eICU tables; build it with `python -m m4lib build`.")
        done = {}
        with _spill(con, folder.parent):
            bar = tqdm(found, desc="store", unit="table", disable=not progress)
            for name in bar:
                schema, _, table = name.partition(".")
                done[name] = _export(con, f"SELECT * FROM {quote(schema)}.{quote(table)}", folder, f"{mark}\n{name}")
    finally:
        con.close()
    _write_index(folder, db, done, {})


def _export(con: duckdb.DuckDBPyConnection, sql: str, folder: Path, seed: str) -> Stored:
    """Write the rows of `sql` to a Parquet file whose name follows from `seed` alone."""
    described = con.execute(f"DESCRIBE {sql}").fetchall()
    path = folder / f"{sha256_text(seed)[:16]}.parquet"
    new = Stored(
        file=path.name, columns=tuple(row[0].lower() for row in described), types=tuple(row[1] for row in described),
        parquet_types=(), rows=0, bytes=0, sha256="",
    )
    columns = ", ".join(f"{quote(row[0])} AS {new.field(i)}" for i, row in enumerate(described))
    with atomic_path(path) as beside:
        # the order of rows is kept, so that the same source gives the same bytes (with one thread, other row groups)
        con.execute("SET preserve_insertion_order = true")
        with writing(f"the store in {folder.parent}", "--store"):
            con.execute(f"COPY (SELECT {columns} FROM ({sql})) TO {literal(str(beside))} ({PARQUET})")
        os.chmod(beside, 0o644)
    target = literal(str(path))
    count = con.execute(f"SELECT count(*) FROM read_parquet({target})").fetchone() or (0,)
    stored_types = [row[1] for row in con.execute(f"DESCRIBE SELECT * FROM read_parquet({target})").fetchall()]
    return replace(new, parquet_types=tuple(stored_types), rows=count[0], bytes=path.stat().st_size, sha256=sha256_file(path))


def _stored(value: dict[str, Any]) -> Stored:
    lists = ("columns", "types", "parquet_types")
    return Stored(**{**value, **{name: tuple(value[name]) for name in lists}})


def _read_index(folder: Path) -> dict[str, Any] | None:
    """The index of a finished store, or None when there is none, or files are missing or cut short."""
    try:
        index = read_json(folder / INDEX)
        entries = [*index["relations"].values(), *index["extra"].values()]
        whole = all((folder / entry["file"]).stat().st_size == entry["bytes"] for entry in entries)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return index if whole and index.get("format") == FORMAT else None


def _source_of(folder: Path) -> str | None:
    """Of which database the store in `folder` is, whatever its format and however much of it is left."""
    try:
        return str(read_json(folder / INDEX)["source"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write_index(folder: Path, db: Path, relations: dict[str, Stored], extra: dict[str, Stored]) -> None:
    write_json(folder / INDEX, {
        "format": FORMAT,
        "source": str(db),
        "relations": {name: asdict(stored) for name, stored in relations.items()},
        "extra": {name: asdict(stored) for name, stored in extra.items()},
    })


@contextmanager
def _lock(root: Path, mark: str) -> Iterator[None]:
    with open(root / f"{mark}.lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def _spill(con: duckdb.DuckDBPyConnection, folder: Path) -> Iterator[None]:
    """Let the connection spill to a temporary folder beside the store, which may be larger than /tmp."""
    with tempfile.TemporaryDirectory(prefix=".spill-", dir=folder) as spill:
        con.execute(f"SET temp_directory = {literal(spill)}")
        yield

"""The database of one task as its agent sees it: views over shared Parquet files, targets left out.

A task's folder holds `database.duckdb` (a fresh file that never held a name it should not) and hard links to exactly
the Parquet files that its views read. It is what a container mounts read-only.
"""

from __future__ import annotations

import os
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from m4lib.cards import Card
from m4lib.duck import connect, literal, quote
from m4lib.errors import M4Error
from m4lib.files import link_or_copy, read_json, sha256_file, sha256_text, write_json
from m4lib.tasks.schemas.codebook import Codebook
from m4lib.tasks.schemas.layout import layout
from m4lib.tasks.source import SCHEMAS
from m4lib.tasks.store import Store, Stored, open_store

FORMAT = 1
DATABASE = "database.duckdb"
FOLDER_VARIABLE = "data_folder"  # overrides, in one session, the place where the views look for their files
NAMES = ("native", "obfuscated", "restructured")


@dataclass(frozen=True)
class View:
    """One relation of a task database: `schema`.`name` shows `stored` with `names` (stored name -> shown name)."""

    schema: str
    name: str
    stored: Stored
    names: dict[str, str]


@dataclass(frozen=True)
class TaskDB:
    """A finished task database. `files` are all that the agent receives; `size` counts them as if unshared, in bytes.

    `sha256` is over the names and hashes of all files, so it tells exactly what was served.
    """

    path: Path
    files: tuple[Path, ...]
    sha256: str
    size: int

    @property
    def folder(self) -> Path:
        return self.path.parent


def task_folder(out_dir: str | os.PathLike[str], schema: str, task: str) -> Path:
    """`DIR/<task>` for the native schema, `DIR/<schema>/<task>` for the others."""
    return Path(out_dir) / task if schema == "native" else Path(out_dir) / schema / task


def build(
    card: Card,
    schema: str,
    db: str | os.PathLike[str],
    out_dir: str | os.PathLike[str],
    *,
    store: Store | str | os.PathLike[str] | None = None,
    data_prefix: str | None = None,
    codebook: Codebook | None = None,
) -> TaskDB:
    """Make the database of `card` in `schema` and return it; an unchanged one is kept as it is.

    store: an open store, or the folder for it (default `out_dir/.store`), shared by all tasks of the folder.
    data_prefix: where the agent will find the folder, absolute (`/data` in a container); default: where it lies, by way of a
        link below `out_dir/.at` that does not spell the task's name.
    codebook: names of a transformed schema (default: the published ones).
    Raises M4Error for an unknown schema, a transformed eICU task, a relative prefix, or a database of the other source.
    """
    check_schema(card, schema)
    check_prefix(data_prefix)
    if not isinstance(store, Store):
        store = open_store(db, store or Path(out_dir) / ".store")
    if not any(name.partition(".")[0] in SCHEMAS[card.database] for name in store.relations):
        raise M4Error(f"{card.name} needs a {card.database} database, which {db} is not.")
    target = task_folder(out_dir, schema, card.name).resolve()
    views = plan(card, schema, store, codebook)
    alias = Path(out_dir).resolve() / ".at" / sha256_text(f"{schema}/{card.name}")[:12]
    prefix = data_prefix.rstrip("/") if data_prefix else str(alias)
    identity = sha256_text(repr((FORMAT, duckdb.__version__, prefix, [
        (v.schema, v.name, v.stored.file, v.stored.sha256, sorted(v.names.items())) for v in views
    ])))
    kept = _current(target, identity)
    if kept and (data_prefix or alias.exists()):
        return kept
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{uuid.uuid4().hex[:8]}.{target.name}")
    try:
        beside.mkdir()
        for stored in {view.stored.file: view.stored for view in views}.values():
            link_or_copy(store.path(stored), beside / stored.file)
        write_views(beside / DATABASE, views, beside, prefix)
        for path in beside.iterdir():
            os.chmod(path, 0o644)
        os.chmod(beside, 0o755)
        _replace(beside, target)
        if not data_prefix:
            alias.parent.mkdir(exist_ok=True)
            alias.unlink(missing_ok=True)
            alias.symlink_to(os.path.relpath(target, alias.parent), target_is_directory=True)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    hashes = {view.stored.file: view.stored.sha256 for view in views} | {DATABASE: sha256_file(target / DATABASE)}
    record = {"identity": identity, "files": {n: {"sha256": h, "bytes": (target / n).stat().st_size} for n, h in hashes.items()}}
    write_json(_record_path(target), record)
    return _task_db(target, record)


def check_schema(card: Card, schema: str) -> None:
    if schema not in NAMES:
        raise M4Error(f"There is no schema called {schema!r}; there are: {', '.join(NAMES)}.")
    if schema != "native" and card.database != "mimic-iv":
        raise M4Error(f"{card.name} exists in the native schema only: eICU has no {schema} form.")


def check_prefix(data_prefix: str | None) -> None:
    if data_prefix is not None and not data_prefix.startswith("/"):  # views resolve it in the reader's working directory
        raise M4Error(f"The data prefix {data_prefix!r} is not absolute: give the place of the folder from the root, such as /data.")


def allowed(card: Card, names: list[str]) -> list[str]:
    """Which of the relations `names` (`schema.table`) the task's agent may see."""
    drop = {name.lower() for name in card.drop}
    return [
        name for name in names
        if name.partition(".")[0] in SCHEMAS[card.database]
        and name not in drop
        and not (card.drops_all_derived and name.startswith("mimiciv_derived."))
    ]


def plan(card: Card, schema: str, store: Store, codebook: Codebook | None = None) -> list[View]:
    """The views of the task database, alphabetical. Merged tables are put into the store when first needed."""
    names = allowed(card, list(store.relations))
    if schema == "native":
        shown = [(name, store.relations[name], {c: c for c in store.relations[name].columns}) for name in names]
    else:
        shown = layout(schema, names, store, codebook)
    return sorted(
        (View(name.partition(".")[0], name.partition(".")[2], stored, columns) for name, stored, columns in shown),
        key=lambda view: (view.schema, view.name),
    )


def write_views(path: Path, views: list[View], folder: Path, prefix: str) -> None:
    """Write a new DuckDB file of views whose files lie in `folder` now and will lie at `prefix` when they are used."""
    con = connect()
    try:
        # a view is bound once when it is made: the variable points to the files now, the text to their later place
        con.execute(f"SET VARIABLE {FOLDER_VARIABLE} = {literal(str(folder))}")
        con.execute(f"ATTACH {literal(str(path))} AS task (BLOCK_SIZE 16384)")  # 256 kB blocks would be mostly air
        con.execute("BEGIN")
        for schema in sorted({view.schema for view in views}):
            con.execute(f"CREATE SCHEMA task.{quote(schema)}")
        for view in views:
            place = f"COALESCE(getvariable('{FOLDER_VARIABLE}'), {literal(prefix)}) || {literal('/' + view.stored.file)}"
            con.execute(
                f"CREATE VIEW task.{quote(view.schema)}.{quote(view.name)} AS "
                f"SELECT {view.stored.select(view.names)} FROM read_parquet({place})"
            )
        con.execute("COMMIT")
        con.execute("DETACH task")
    finally:
        con.close()
    if Path(f"{path}.wal").exists():
        raise M4Error(f"DuckDB left a log beside {path}; the task database is not complete.")


def open_taskdb(taskdb: TaskDB | str | os.PathLike[str]) -> duckdb.DuckDBPyConnection:
    """Open a task database read-only where it lies, also when it was made for a container."""
    path = taskdb.path if isinstance(taskdb, TaskDB) else Path(taskdb)
    con = connect(path, read_only=True)
    con.execute(f"SET VARIABLE {FOLDER_VARIABLE} = {literal(str(path.resolve().parent))}")
    return con


def _replace(beside: Path, target: Path) -> None:
    """Put the folder `beside` in the place of `target`, which may exist."""
    old = target.with_name(f".{uuid.uuid4().hex[:8]}.{target.name}")
    if target.exists():
        target.rename(old)
    beside.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _record_path(target: Path) -> Path:
    """Beside the folder and not in it: the folder is what the agent gets."""
    return target.with_name(f"{target.name}.json")


def _current(target: Path, identity: str) -> TaskDB | None:
    try:
        record = read_json(_record_path(target))
        files = record["files"]
        same = record["identity"] == identity and {path.name for path in target.iterdir()} == set(files)
        same = same and all((target / name).stat().st_size == entry["bytes"] for name, entry in files.items())
        same = same and sha256_file(target / DATABASE) == files[DATABASE]["sha256"]
    except (OSError, ValueError, KeyError):
        return None
    return _task_db(target, record) if same else None


def _task_db(target: Path, record: dict[str, Any]) -> TaskDB:
    files = record["files"]
    return TaskDB(
        path=target / DATABASE,
        files=tuple(target / name for name in sorted(files)),
        sha256=sha256_text("".join(f"{name} {entry['sha256']}\n" for name, entry in sorted(files.items()))),
        size=sum(entry["bytes"] for entry in files.values()),
    )

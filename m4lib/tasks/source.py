"""The database that references and task databases are made from: its sources, its relations, its fingerprint."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import duckdb

from m4lib.cards import Card
from m4lib.errors import M4Error

# schemas of each source; nothing else of a database file (bookkeeping, say) ever reaches an agent
SCHEMAS = {
    "mimic-iv": ("mimiciv_derived", "mimiciv_hosp", "mimiciv_icu"),
    "eicu": ("eicu_crd",),
}
LABELS = {"mimic-iv": "MIMIC-IV", "eicu": "eICU"}

Columns = list[tuple[str, str]]  # (name, DuckDB type) in table order


def relations(con: duckdb.DuckDBPyConnection) -> dict[str, Columns]:
    """`schema.table` -> columns, for every table and view of a known schema, alphabetical, names in lower case."""
    known = [schema for schemas in SCHEMAS.values() for schema in schemas]
    rows = con.execute(
        "SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() "
        "WHERE database_name = current_database() AND schema_name IN (SELECT unnest(?)) "
        "ORDER BY schema_name, lower(table_name), column_index", [known],
    ).fetchall()
    found: dict[str, Columns] = {}
    for schema, table, column, kind in rows:
        found.setdefault(f"{schema}.{table.lower()}", []).append((column.lower(), kind))
    return found


def sources(names: Iterable[str]) -> list[str]:
    """Which of MIMIC-IV and eICU the relations `names` (`schema.table`) belong to; a base schema decides."""
    schemas = {name.partition(".")[0] for name in names}
    return [source for source, own in SCHEMAS.items() if any(s in schemas for s in own if s != "mimiciv_derived")]


def choose(cards: Mapping[str, Card], task: str, present: list[str], db: str | os.PathLike[str]) -> list[Card]:
    """The cards that `task` names: one, or `all` tasks whose source is in `present`.

    Raises M4Error for a task that is not there or whose source this database does not hold.
    """
    if not present:
        raise M4Error(f"{db} holds neither MIMIC-IV nor eICU tables; build it with `python -m m4lib build`.")
    held = " and ".join(LABELS[source] for source in present)
    if task == "all":
        return [card for card in cards.values() if card.database in present]
    if task not in cards:
        import difflib

        near = difflib.get_close_matches(task, cards, n=3) or list(cards)[:3]
        raise M4Error(f"There is no task called {task!r}; nearest: {', '.join(near)}.")
    if cards[task].database not in present:
        raise M4Error(f"{task} needs {LABELS[cards[task].database]}, but {db} holds {held}.")
    return [cards[task]]


def fingerprint(db: str | os.PathLike[str], *, whole_up_to: int = 1 << 28, samples: int = 256) -> str:
    """32 hex digits that change with the content of the database file.

    Files up to `whole_up_to` bytes are hashed whole. Of a larger one the first and last MiB and `samples` further MiB
    are: every checkpoint rewrites the header, so no change goes unseen, and 40 GB take a second.
    """
    block = 1 << 20
    path = Path(db)
    digest = hashlib.sha256()
    for part in (path, Path(f"{path}.wal")):  # a log holds changes that the file itself does not have yet
        size = part.stat().st_size if part.exists() else 0
        digest.update(str(size).encode() + b"\0")
        if not size:
            continue
        with open(part, "rb") as handle:
            if size <= whole_up_to:
                digest.update(hashlib.file_digest(handle, "sha256").digest())
                continue
            for i in range(samples + 2):
                handle.seek((size - block) * i // (samples + 1))
                digest.update(handle.read(block))
    return digest.hexdigest()[:32]

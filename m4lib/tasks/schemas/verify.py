"""Proof that a transformed schema means the same: references agree, and the merged tables can be taken apart again.

Works on the whole database, not on a task's share of it, so it stays on the host.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from m4lib.cards import Card
from m4lib.duck import connect, quote
from m4lib.tasks import reference
from m4lib.tasks.schemas.codebook import Codebook, codebook
from m4lib.tasks.schemas.layout import MERGED_ORIGINALS, coded_column, layout, merged_into, original_sql
from m4lib.tasks.schemas.rewrite import rewrite
from m4lib.tasks.store import Store
from m4lib.tasks.taskdb import View, write_views


@dataclass(frozen=True)
class Agreement:
    """One reference in one transformed schema against the native rows. `differing` counts rows on one side only."""

    reference_id: str
    schema: str
    rows: int
    differing: int

    @property
    def equal(self) -> bool:
        return self.differing == 0


@contextmanager
def whole_database(schema: str, store: Store, codes: Codebook | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Every relation of the store in the names and the shape of `schema`, in a database that is gone afterwards."""
    names = list(store.relations)
    if schema == "native":
        shown = [(name, store.relations[name], {c: c for c in store.relations[name].columns}) for name in names]
    else:
        shown = layout(schema, names, store, codes)
    views = [View(name.partition(".")[0], name.partition(".")[2], stored, columns) for name, stored, columns in shown]
    with tempfile.TemporaryDirectory(prefix="m4-whole-") as folder:
        path = Path(folder) / "whole.duckdb"
        write_views(path, views, store.folder, str(store.folder))
        con = connect(path, read_only=True)
        try:
            yield con
        finally:
            con.close()


def equivalence(
    cards: Iterable[Card], store: Store, schemas: Iterable[str] = ("obfuscated", "restructured"),
    codes: Codebook | None = None,
) -> list[Agreement]:
    """Run every distinct MIMIC-IV reference natively and rewritten, and compare the rows cell for cell, nulls equal.

    The native rows come from the source database itself, the others from the transformed one.
    """
    codes = codes or codebook()
    unique = {card.reference_id: card for card in cards if card.database == "mimic-iv"}
    native: dict[str, list[tuple]] = {}
    con = connect(store.db, read_only=True)
    try:
        for key, card in unique.items():
            native[key] = reference.reference(card, con).fetchall()
    finally:
        con.close()
    found = []
    for schema in schemas:
        with whole_database(schema, store, codes) as con:
            for key, card in unique.items():
                sql = rewrite(reference.reference_sql(card), schema, codes)
                rows = reference.reference(card, con, sql).fetchall()
                # both sides are sorted by every column
                differing = sum(a != b for a, b in zip(native[key], rows, strict=False)) + abs(len(native[key]) - len(rows))
                found.append(Agreement(key, schema, len(native[key]), differing))
    return found


def rebuild_sql(name: str, store: Store, codes: Codebook) -> str:
    """SELECT on a restructured database that gives the original `name` with its native column names."""
    columns = store.relations[name].columns
    coded = {column: coded_column(column, codes) for column in columns}
    merged = codes.restructured_tables[merged_into(name) or ""]
    taken = original_sql(name, coded, merged, codes.restructured_columns)
    shown = ", ".join(f"{quote(code)} AS {quote(column)}" for column, code in coded.items())
    return f"SELECT {shown} FROM ({taken})"


def lost_rows(store: Store, codes: Codebook | None = None) -> dict[str, int]:
    """For each of the nine originals, how many rows differ after merging and taking apart again (0: lossless).

    The item dictionary is compared without the column that names event tables, which is coded on purpose.
    """
    codes = codes or codebook()
    found = {}
    with whole_database("restructured", store, codes) as con:
        for name in MERGED_ORIGINALS:
            columns = ", ".join(quote(c) for c in store.relations[name].columns if c != "linksto")
            here = f"SELECT {columns} FROM ({rebuild_sql(name, store, codes)})"
            there = f"SELECT {columns} FROM {store.scan(store.relations[name])}"
            # difference of the two multisets of rows, by hash, which is much faster than EXCEPT ALL
            row = con.execute(
                "SELECT COALESCE(SUM(ABS(n)), 0) FROM (SELECT h, SUM(side) AS n FROM ("
                f"SELECT hash(t) AS h, 1 AS side FROM ({here}) AS t UNION ALL SELECT hash(t), -1 FROM ({there}) AS t"
                ") GROUP BY h)"
            ).fetchone()
            found[name] = int(row[0]) if row else -1
    return found


def disk_use(folder: str | os.PathLike[str]) -> int:
    """Bytes of all files below `folder`, each hard-linked file counted once, by blocks on disk."""
    seen: dict[tuple[int, int], int] = {}
    for root, _, files in os.walk(folder):
        for file in files:
            stat = os.lstat(os.path.join(root, file))
            seen[stat.st_dev, stat.st_ino] = stat.st_blocks * 512
    return sum(seen.values())

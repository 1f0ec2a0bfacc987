"""Builds the derived concept tables: each a SELECT in a file, in the order that the files themselves ask for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import duckdb
from tqdm import tqdm

from m4lib.concepts import fingerprint, graph
from m4lib.concepts.graph import DERIVED, Concept
from m4lib.duck import quote
from m4lib.errors import M4Error


@dataclass(frozen=True)
class ConceptResult:
    """One concept after a build; `seconds` is the time of its last real build, also when it was skipped."""

    name: str
    group: str
    rows: int
    seconds: float
    skipped: bool


Progress = Callable[[ConceptResult], None]


def build_concepts(
    con: duckdb.DuckDBPyConnection,
    *,
    only: Iterable[str] | None = None,
    progress: bool | Progress | None = None,
    force: bool = False,
    paths: Iterable[Path] | None = None,
) -> list[ConceptResult]:
    """Create the tables of `mimiciv_derived` in the open database and return one result a concept, in build order.

    only: build these concepts and what they read (default: all).
    progress: True shows a bar, a function is called after every concept.
    force: build again also what is up to date.
    paths: other concept files than those of this package.

    A table is kept when its SQL and everything it reads are unchanged since it was built. Each table appears
    together with its record in one transaction, so an interrupted build leaves whole tables only.
    Raises M4Error for a cycle, an unknown relation, a missing base table or SQL that the data do not fit.
    """
    concepts = graph.load(paths)
    ordered = graph.order(concepts if only is None else graph.closure(concepts, only))
    require_base_tables(con, ordered)
    fingerprint.prepare(con)
    if only is None:
        drop_removed(con, concepts)
    recorded = fingerprint.records(con)
    tables = fingerprint.existing(con)
    prints: dict[str, str] = {}
    results = []
    bar = tqdm(ordered, desc="concepts", unit="table", disable=progress is not True)
    for concept in bar:
        bar.set_postfix_str(concept.name)
        inputs = {f"{DERIVED}.{name}": prints[f"{DERIVED}.{name}"] for name in concept.needs.concepts}
        for schema, name in concept.needs.base:
            key = f"{schema}.{name}"
            if key not in prints:
                prints[key] = fingerprint.base_table(con, schema, name)
            inputs[key] = prints[key]
        mark = prints[f"{DERIVED}.{concept.name}"] = fingerprint.concept(concept, inputs)
        old = recorded.get(concept.name)
        if not force and old and old.fingerprint == mark and (DERIVED, concept.name) in tables and same_rows(con, concept, old):
            result = ConceptResult(concept.name, concept.group, old.rows, old.seconds, skipped=True)
        else:
            result = build_one(con, concept, mark)
        results.append(result)
        if callable(progress):
            progress(result)
    return results


def require_base_tables(con: duckdb.DuckDBPyConnection, concepts: list[Concept]) -> None:
    """Raise M4Error, naming every base table that is missing and a concept that needs it."""
    there = fingerprint.existing(con)
    missing: dict[str, str] = {}
    for concept in concepts:
        for schema, name in sorted(concept.needs.base - there):
            missing.setdefault(f"{schema}.{name}", concept.name)
    if missing:
        named = ", ".join(f"{table} (needed by {concept})" for table, concept in sorted(missing.items()))
        raise M4Error(f"The database lacks {named}; build it from a complete MIMIC-IV folder.")


def same_rows(con: duckdb.DuckDBPyConnection, concept: Concept, old: fingerprint.Record) -> bool:
    """Whether the table still has the recorded number of rows."""
    found = con.execute(f"SELECT count(*) FROM {DERIVED}.{quote(concept.name)}").fetchone()
    return found is not None and found[0] == old.rows


def drop_removed(con: duckdb.DuckDBPyConnection, concepts: dict[str, Concept]) -> None:
    """Drop tables that an earlier build made from a concept file that no longer exists."""
    for name in fingerprint.records(con).keys() - concepts.keys():
        con.execute("BEGIN")
        con.execute(f"DROP TABLE IF EXISTS {DERIVED}.{quote(name)}")
        con.execute(f"DELETE FROM {fingerprint.META}.concepts WHERE name = ?", [name])
        con.execute("COMMIT")


def build_one(con: duckdb.DuckDBPyConnection, concept: Concept, mark: str) -> ConceptResult:
    """Create or replace one table and its record in one transaction."""
    started = time.perf_counter()
    con.execute("BEGIN")
    try:
        con.execute(f"CREATE OR REPLACE TABLE {DERIVED}.{quote(concept.name)} AS\n{concept.sql}")
        counted = con.execute(f"SELECT count(*) FROM {DERIVED}.{quote(concept.name)}").fetchone()
        rows = int(counted[0]) if counted else 0
        seconds = time.perf_counter() - started
        con.execute(
            f"INSERT OR REPLACE INTO {fingerprint.META}.concepts VALUES (?, ?, ?, ?)",
            [concept.name, mark, rows, seconds],
        )
        con.execute("COMMIT")
    except BaseException as error:
        con.execute("ROLLBACK")
        if isinstance(error, duckdb.Error) and not isinstance(error, duckdb.InterruptException):
            reason = str(error).splitlines()[0]
            raise M4Error(f"The concept {concept.group}/{concept.name}.sql could not be built: {reason}") from error
        raise
    return ConceptResult(concept.name, concept.group, rows, seconds, skipped=False)

"""Concept files and what they read: parsed once with sqlglot, ordered by their own dependencies."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from m4lib.errors import M4Error

DERIVED = "mimiciv_derived"
BASE = ("mimiciv_hosp", "mimiciv_icu")
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Dependencies:
    """What one SELECT reads: names in `mimiciv_derived`, and (schema, table) pairs of the base schemas."""

    concepts: frozenset[str]
    base: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Concept:
    """One concept file. `digest` changes with the SQL, not with its comments or layout."""

    name: str
    group: str
    sql: str
    needs: Dependencies
    digest: str


@cache
def dependencies(sql: str, where: str = "The SQL") -> Dependencies:
    """The relations that a single SELECT (optional WITH) reads; names of its own CTEs do not count.

    Raises M4Error when it is not one SELECT, or names a relation outside the base and derived schemas.
    """
    try:
        statements = [s for s in sqlglot.parse(sql, dialect="duckdb") if s is not None]
    except SqlglotError as error:
        raise M4Error(f"{where} is not valid SQL: {str(error).splitlines()[0]}") from error
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise M4Error(f"{where} must be exactly one SELECT (with or without WITH), nothing else.")
    tree = statements[0]
    own = {cte.alias_or_name.lower() for cte in tree.find_all(exp.CTE)}
    concepts, base = set(), set()
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier):
            continue  # a table function such as range(...)
        schema, name = table.db.lower(), table.name.lower()
        if not schema and name in own:
            continue
        if schema == DERIVED:
            concepts.add(name)
        elif schema in BASE:
            base.add((schema, name))
        else:
            raise M4Error(
                f"{where} reads the unknown relation {'.'.join(filter(None, (schema, name)))}; "
                f"relations are written as {', '.join(BASE)} or {DERIVED}, a dot, and the table."
            )
    return Dependencies(frozenset(concepts), frozenset(base))


@cache
def digest(sql: str) -> str:
    """Hex SHA-256 of the SQL's tokens, so that comments and white space do not cause a rebuild."""
    tokens = sqlglot.tokenize(sql, read="duckdb")
    return hashlib.sha256("\n".join(f"{t.token_type} {t.text}" for t in tokens).encode()).hexdigest()


def load(paths: Iterable[Path] | None = None) -> dict[str, Concept]:
    """Read concept files (default: `<group>/<concept>.sql` beside this module); file name = table name, folder = group."""
    found: dict[str, Concept] = {}
    for path in sorted(FOLDER.glob("*/*.sql") if paths is None else paths):
        if path.stem in found:
            raise M4Error(f"The concept {path.stem} exists twice: in {found[path.stem].group} and in {path.parent.name}.")
        sql = path.read_text(encoding="utf-8").strip().rstrip(";")
        where = f"The concept file {path.parent.name}/{path.name}"
        found[path.stem] = Concept(path.stem, path.parent.name, sql, dependencies(sql, where), digest(sql))
    return found


def order(concepts: dict[str, Concept]) -> list[Concept]:
    """Concepts in an order that builds each after what it reads; the same set always gives the same order.

    Raises M4Error on a cycle and on a concept that has no file.
    """
    for concept in concepts.values():
        for name in sorted(concept.needs.concepts - concepts.keys()):
            raise M4Error(f"The concept {concept.name} reads {DERIVED}.{name}, but there is no concept file {name}.sql.")
    sorter = TopologicalSorter({name: sorted(concepts[name].needs.concepts) for name in sorted(concepts)})
    try:
        return [concepts[name] for name in sorter.static_order()]
    except CycleError as error:
        raise M4Error(f"The concepts read each other in a circle: {' -> '.join(reversed(error.args[1]))}.") from error


def closure(concepts: dict[str, Concept], names: Iterable[str]) -> dict[str, Concept]:
    """`names` and everything they read, directly or through others. Raises M4Error for a name without a file."""
    chosen: dict[str, Concept] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in chosen:
            continue
        if name not in concepts:
            raise M4Error(f"There is no concept {name}; the concepts are {', '.join(sorted(concepts)) or 'none'}.")
        chosen[name] = concepts[name]
        waiting += [n for n in concepts[name].needs.concepts if n in concepts]
    return chosen

"""Comparing two tables as bags of rows: everything exactly, numbers with a fraction within a tolerance."""

from __future__ import annotations

import math
from typing import Any

import duckdb


def columns(con: duckdb.DuckDBPyConnection, relation: str) -> list[tuple[str, bool]]:
    """(name, whether it holds fractions) of each column of a table, view or `(SELECT ...)`."""
    described = con.execute(f"SELECT column_name, column_type FROM (DESCRIBE FROM {relation})").fetchall()
    return [(name, kind == "DOUBLE" or kind == "FLOAT" or kind.startswith("DECIMAL")) for name, kind in described]


def differences(con: duckdb.DuckDBPyConnection, expected: str, found: str, tolerance: float = 1e-6) -> list[str]:
    """What distinguishes two relations of one connection, at most a handful of sentences; empty when they are equal."""
    names = [name for name, _ in columns(con, expected)]
    if names != [name for name, _ in columns(con, found)]:
        return [f"columns {[name for name, _ in columns(con, found)]} instead of {names}"]
    fractions = {
        name for relation in (expected, found) for name, fraction in columns(con, relation) if fraction
    }
    exact = [name for name in names if name not in fractions]
    ordered = exact + [name for name in names if name in fractions]
    left, right = (sorted_rows(con, relation, ordered, len(exact)) for relation in (expected, found))
    if len(left) != len(right):
        return [f"{len(right)} rows instead of {len(left)}"]
    wrong = []
    for one, other in zip(left, right, strict=True):
        bad = [name for name, a, b in zip(ordered, one, other, strict=True) if not close(a, b, tolerance)]
        if bad:
            wrong.append(f"{bad}: expected {dict(zip(ordered, one, strict=True))}, found {dict(zip(ordered, other, strict=True))}")
    return wrong[:5]


def sorted_rows(con: duckdb.DuckDBPyConnection, relation: str, names: list[str], exact: int) -> list[tuple[Any, ...]]:
    """All rows, ordered by the exact columns first so that a last digit cannot pair rows wrongly."""
    quoted = [f'"{name}"' for name in names]
    shown = quoted[:exact] + [f"CAST({name} AS DOUBLE) AS {name}" for name in quoted[exact:]]
    keys = quoted[:exact] + [f"ROUND({name}, 4)" for name in quoted[exact:]]
    return con.execute(f"SELECT {', '.join(shown)} FROM {relation} ORDER BY {', '.join(keys)}").fetchall()


def close(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance) or (math.isnan(a) and math.isnan(b))
    return bool(a == b)

"""What a concept table was built from, kept in the database so that only what changed is built again.

Two small tables in the schema `m4_meta`: `concepts` (written here, one row a built table) and `ingest`
(schema_name, table_name, sha256; written by the ingest where it knows the hash of the raw file).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import duckdb

from m4lib.concepts.graph import DERIVED, Concept
from m4lib.duck import quote

META = "m4_meta"
ENGINE = "1"  # raise it when the way of building changes results


@dataclass(frozen=True)
class Record:
    """One built table: the fingerprint of its SQL and inputs, and what building it gave."""

    fingerprint: str
    rows: int
    seconds: float


def existing(con: duckdb.DuckDBPyConnection) -> set[tuple[str, str]]:
    """(schema, table) of every table and view in the current database, in lower case."""
    found = con.execute(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = current_database()"
    ).fetchall()
    return {(str(schema).lower(), str(name).lower()) for schema, name in found}


def prepare(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(f"CREATE SCHEMA IF NOT EXISTS {DERIVED}")
    con.execute(f"CREATE SCHEMA IF NOT EXISTS {META}")
    con.execute(
        f"CREATE TABLE IF NOT EXISTS {META}.concepts "
        '(name VARCHAR PRIMARY KEY, fingerprint VARCHAR, "rows" BIGINT, seconds DOUBLE)'
    )


def records(con: duckdb.DuckDBPyConnection) -> dict[str, Record]:
    """Concept name -> what was recorded when its table was built; empty in a database without concepts."""
    if (META, "concepts") not in existing(con):
        return {}
    rows = con.execute(f'SELECT name, fingerprint, "rows", seconds FROM {META}.concepts').fetchall()
    return {name: Record(fingerprint, count, seconds) for name, fingerprint, count, seconds in rows}


def base_table(con: duckdb.DuckDBPyConnection, schema: str, name: str) -> str:
    """Fingerprint of a base table: columns and types, row count, and the hash of the ingested file.

    Without a recorded file hash the rows themselves are hashed (a sum over row hashes, so order does not matter).
    """
    table = f"{quote(schema)}.{quote(name)}"
    columns = con.execute(f"SELECT column_name, column_type FROM (DESCRIBE {table})").fetchall()
    known = None
    if (META, "ingest") in existing(con):
        known = con.execute(
            f"SELECT sha256 FROM {META}.ingest WHERE schema_name = ? AND table_name = ?", [schema, name]
        ).fetchone()
    if known and known[0]:
        content = con.execute(f"SELECT count(*) FROM {table}").fetchone()
    else:
        content = con.execute(f"SELECT count(*), sum(hash(t)) FROM {table} AS t").fetchone()
    return hashlib.sha256(repr((columns, known, content)).encode()).hexdigest()


def concept(one: Concept, inputs: dict[str, str]) -> str:
    """Fingerprint of a concept from its SQL and the fingerprints of everything it reads (`schema.table` -> hex)."""
    version = str(duckdb.__version__)
    parts = [ENGINE, version, one.digest, *(f"{name} {inputs[name]}" for name in sorted(inputs))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()

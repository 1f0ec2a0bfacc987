"""Reference outputs: the right answer of every task, computed outside any container.

A reference is one SELECT in the family's folder. Standard and raw siblings share it, so it is computed once and the
second file is a hard link to the first.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp
from tqdm import tqdm

from m4lib.cards import Card
from m4lib.duck import check_limits, connect, literal, quote, writing
from m4lib.errors import M4Error
from m4lib.files import atomic_path, link_or_copy, make_folder, read_json, sha256_file, sha256_text, write_json
from m4lib.tasks import source

FORMAT = 1
MANIFEST = "manifest.json"


def reference_sql(card: Card) -> str:
    """The reference query of `card`, without a closing semicolon. Raises M4Error when the file is missing or empty."""
    try:
        text = card.reference_path.read_text(encoding="utf-8").strip().rstrip(";").strip()
    except OSError as error:
        raise M4Error(f"{card.name} has no reference query at {card.reference_path}.") from error
    if not text:
        raise M4Error(f"The reference query {card.reference_path} is empty.")
    return text


def tables_read(sql: str) -> set[str]:
    """`schema.table` of every stored relation that the query reads."""
    tree = sqlglot.parse_one(sql, read="duckdb")
    return {f"{table.db}.{table.name}".lower() for table in tree.find_all(exp.Table) if table.db}


def reference(card: Card, con: duckdb.DuckDBPyConnection, sql: str | None = None) -> duckdb.DuckDBPyRelation:
    """The reference rows of `card` as a lazy relation, sorted by key, then by every other column, nulls last.

    Columns are those of the card's contract, in its order. Sums of integers come as BIGINT; everything else keeps the
    type that the query gives it. `sql` replaces the query of the card (a rewritten one, say).
    Raises M4Error when the database lacks a relation or the query does not fit the contract.
    """
    query = sql or reference_sql(card)
    try:
        described = con.execute(f"DESCRIBE {query}").fetchall()
    except duckdb.CatalogException as error:
        missing = sorted(tables_read(query) - set(source.relations(con)))
        if not missing:
            raise M4Error(f"The reference of {card.name} does not run: {str(error).splitlines()[0]}") from error
        hint = "build the derived concepts with `python -m m4lib build`"
        if not all(name.startswith("mimiciv_derived.") for name in missing):
            hint = "build it from a complete release with `python -m m4lib build`"
        raise M4Error(f"The database lacks {', '.join(missing)}, which {card.name} reads; {hint}.") from error
    except duckdb.Error as error:
        raise M4Error(f"The reference of {card.name} does not fit this database: {str(error).splitlines()[0]}") from error
    types = {str(row[0]): str(row[1]) for row in described}
    required = list(card.evaluation["required_columns"])
    if list(types) != required:
        raise M4Error(
            f"The reference of {card.name} gives the columns {', '.join(types)}; its card asks for {', '.join(required)}."
        )
    columns = ", ".join(
        f"CAST({quote(name)} AS BIGINT) AS {quote(name)}" if types[name] == "HUGEINT" else quote(name) for name in required
    )
    order = ", ".join(f"{quote(name)} NULLS LAST" for name in sort_columns(card))
    # a query is planned when it is used, so the relation stays lazy
    return con.query(f"SELECT {columns} FROM (\n{query}\n) ORDER BY {order}")


def sort_columns(card: Card) -> list[str]:
    """Key columns first, then all remaining ones."""
    return list(dict.fromkeys([*card.evaluation["key_columns"], *card.evaluation["required_columns"]]))


def write_references(
    cards: Iterable[Card],
    db: str | os.PathLike[str],
    out_dir: str | os.PathLike[str],
    *,
    threads: int | None = None,
    memory_limit: str | None = None,
    progress: bool = False,
    force: bool = False,
) -> dict[str, Any]:
    """Write `out_dir/<task>.parquet` for every card and return the folder's manifest (also in `manifest.json`).

    What is up to date (same query, database, DuckDB version and file content) is kept unless `force`. Entries of other
    tasks stay in the manifest, so MIMIC-IV and eICU may share a folder. Each file appears whole or not at all.
    threads, memory_limit: as `m4lib.duck.connect` takes them.
    Raises M4Error as `reference` does, and for a limit that is none or an `out_dir` that is a file.
    """
    check_limits(threads, memory_limit)
    out = make_folder(out_dir)
    print_db = source.fingerprint(db) if Path(db).is_file() else ""
    groups: dict[tuple[str, str], list[Card]] = {}
    for card in cards:
        groups.setdefault((card.database, card.reference_id), []).append(card)
    manifest = read_manifest(out)
    manifest["written"] = []
    con = connect(db, read_only=True, threads=threads, memory_limit=memory_limit)
    with tempfile.TemporaryDirectory(prefix=".spill-", dir=out) as spill:
        try:
            con.execute(f"SET temp_directory = {literal(spill)}")
            con.execute("SET preserve_insertion_order = true")  # a sorted result is written sorted
            bar = tqdm(groups.values(), desc="references", unit="query", disable=not progress)
            for siblings in bar:
                bar.set_postfix_str(siblings[0].reference_id)
                for name, record in write_group(siblings, con, out, print_db, manifest["references"], force).items():
                    manifest["references"][name] = record
                    manifest["written"].append(name)
                write_json(out / MANIFEST, {k: v for k, v in manifest.items() if k != "written"})
        finally:
            con.close()
    return manifest


def write_group(
    siblings: list[Card], con: duckdb.DuckDBPyConnection, out: Path, print_db: str, known: dict[str, Any], force: bool
) -> dict[str, dict[str, Any]]:
    """Compute one reference for tasks that share it; returns the records of the files that were written."""
    sql = reference_sql(siblings[0])
    identity = {
        "reference_id": siblings[0].reference_id,
        "sql_sha256": sha256_text(sql),
        "database_fingerprint": print_db,
        "duckdb": duckdb.__version__,
        "columns": list(siblings[0].evaluation["required_columns"]),
        "sorted_by": sort_columns(siblings[0]),
    }
    current = [] if force else [card for card in siblings if is_current(card, out, identity, known)]
    if len(current) == len(siblings):
        return {}
    written: dict[str, dict[str, Any]] = {}
    if current:
        first, record = current[0], known[current[0].name]
    else:
        first = siblings[0]
        record = written[first.name] = {**identity, **write_one(first, con, out / f"{first.name}.parquet")}
    for card in siblings:
        if card is not first and card not in current:
            with atomic_path(out / f"{card.name}.parquet") as beside:
                link_or_copy(out / f"{first.name}.parquet", beside)
            written[card.name] = dict(record)
    return written


def is_current(card: Card, out: Path, identity: dict[str, Any], known: dict[str, Any]) -> bool:
    record, path = known.get(card.name), out / f"{card.name}.parquet"
    if not record or not path.is_file() or any(record.get(key) != value for key, value in identity.items()):
        return False
    return path.stat().st_size == record["bytes"] and sha256_file(path) == record["sha256"]


def write_one(card: Card, con: duckdb.DuckDBPyConnection, path: Path) -> dict[str, Any]:
    started = time.perf_counter()
    rows = reference(card, con)
    with atomic_path(path) as beside:
        with writing(f"the reference {path}", "--out"):
            con.execute(f"COPY ({rows.sql_query()}) TO {literal(str(beside))} (FORMAT parquet, COMPRESSION zstd)")
        keys = ", ".join(quote(name) for name in card.evaluation["key_columns"])
        counted = con.execute(
            f"SELECT count(*), count(DISTINCT ({keys})) FROM read_parquet({literal(str(beside))})"
        ).fetchone() or (0, 0)
        types = con.execute(f"DESCRIBE SELECT * FROM read_parquet({literal(str(beside))})").fetchall()
    return {
        "rows": counted[0],
        "duplicate_keys": counted[0] - counted[1],  # the evaluator refuses a reference with any
        "types": {name: kind for name, kind, *_ in types},
        "bytes": path.stat().st_size,
        "sha256": sha256_file(path),
        "seconds": round(time.perf_counter() - started, 3),
    }


def read_manifest(out: Path) -> dict[str, Any]:
    try:
        found = read_json(out / MANIFEST)
    except (OSError, ValueError):
        found = {}
    if found.get("format") != FORMAT:
        found = {"format": FORMAT, "references": {}}
    return found

"""`<db>.manifest.json`: what a database was built from, and which of it is still current."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import duckdb

import m4lib
from m4lib.data.layout import Layout
from m4lib.data.schema import Source, Table
from m4lib.files import read_json, sha256_file, sha256_text, write_json

FORMAT = 1


def manifest_path(db_path: Path) -> Path:
    return db_path.with_name(f"{db_path.name}.manifest.json")


def concepts_sha256() -> str:
    """Hash of every file that decides the derived tables: the concepts' SQL and the code that builds them."""
    import m4lib.concepts

    digest = hashlib.sha256()
    root = Path(m4lib.concepts.__file__).parent
    for path in sorted(root.rglob("*")):
        if path.suffix in {".sql", ".py"}:
            digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def stamp(db_path: Path) -> dict[str, int]:
    """Size and time of the database file; another program that wrote to it has changed them."""
    stat = db_path.stat()
    return {"bytes": stat.st_size, "mtime_ns": stat.st_mtime_ns}


def content_sha256(spec: Source, tables: dict[str, dict[str, Any]]) -> str:
    """One hash for the ingested content: same files and same types give the same value on any machine."""
    parts = [spec.spec_sha256, *(f"{name} {record['sha256']}" for name, record in sorted(tables.items()))]
    return sha256_text("\n".join(parts))


def write(
    db_path: Path, spec: Source, layout: Layout, tables: dict[str, dict[str, Any]], concepts: dict[str, Any] | None,
    seconds: float,
) -> dict[str, Any]:
    """Write and return the manifest of a finished database. `concepts`: {"sha256": ..., "tables": [...]}."""
    value = {
        "format": FORMAT,
        "source": spec.name,
        "spec_sha256": spec.spec_sha256,
        "content_sha256": content_sha256(spec, tables),
        "duckdb": duckdb.__version__,
        "m4lib": m4lib.__version__,
        "raw": str(layout.root),
        "database": stamp(db_path),
        "tables": tables,
        "absent_tables": layout.absent,
        "unknown_files": layout.unknown,
        "concepts": concepts,
        "seconds": round(seconds, 3),
    }
    write_json(manifest_path(db_path), value)
    return value


def read(db_path: Path) -> dict[str, Any] | None:
    """The manifest of `db_path`; None when there is none, it is unreadable, or the database changed since."""
    try:
        value = read_json(manifest_path(db_path))
        if value["format"] == FORMAT and value["database"] == stamp(db_path):
            return dict(value)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def source_of(db_path: Path) -> str | None:
    """The source that the manifest beside `db_path` names, be it current or not."""
    try:
        return str(read_json(manifest_path(db_path))["source"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def unchanged_tables(old: dict[str, Any] | None, spec: Source, layout: Layout, ignore_extra: bool) -> set[Table]:
    """Tables whose file is the one that the old database was built from.

    Same size and modification time count as the same file; with another time the hashes are compared.
    """
    if not old or (old["source"], old["spec_sha256"], old["duckdb"]) != (spec.name, spec.spec_sha256, duckdb.__version__):
        return set()
    same = set()
    for table, path in layout.files.items():
        record = old["tables"].get(table.full_name)
        stat = path.stat()
        if not record or (record["file"], record["bytes"]) != (str(path.relative_to(layout.root)), stat.st_size):
            continue
        if record["ignored"] and not ignore_extra:
            continue
        if record["mtime_ns"] == stat.st_mtime_ns or record["sha256"] == sha256_file(path):
            same.add(table)
    return same

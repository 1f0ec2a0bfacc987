"""Tiny raw folders for tests: every table of a release, header and a few made-up rows."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from m4lib.data.schema import source

Rows = Iterable[Mapping[str, object]]


def csv_text(columns: list[str], rows: Rows) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def write_file(path: Path, text: str | bytes) -> Path:
    """Write `text`, gzipped when the name asks for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path


def raw_folder(
    root: Path, name: str = "mimic-iv", rows: Mapping[str, Rows] | None = None, *, gz: bool = False,
    leave_out: Iterable[str] = (), tables: Iterable[str] | None = None,
) -> Path:
    """All tables of release `name` under `root`; `rows` maps a table to dicts of some of its columns."""
    for table in source(name).tables:
        if tables is not None and table.name not in tables:
            continue
        columns = [column.name for column in table.columns if column.name not in leave_out]
        text = csv_text(columns, (rows or {}).get(table.name, ()))
        write_file(root / table.folder / f"{table.name}.csv{'.gz' if gz else ''}", text)
    return root

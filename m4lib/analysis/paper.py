"""What the paper's notebooks call: open the sources, compare with print, save. Paths left out are found in the checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

from m4lib.analysis import check
from m4lib.analysis.render import write_table
from m4lib.analysis.sources import Sources, default_folder, load_sources
from m4lib.analysis.table import Table

PathLike = str | os.PathLike[str]


def open_sources(evidence_dir: PathLike | None = None, index: PathLike | None = None) -> Sources:
    """The published run indexes of `evidence_dir`, or one campaign's own `index` in their place.

    Without either: M4_EVIDENCE, the evidence folder beside the checkout, else the cached download.
    """
    from m4lib.project import find_project

    project = find_project()
    if index is None and evidence_dir is None:
        evidence_dir = default_folder(project.shared, _fetch)
    return load_sources(evidence_dir, index=index, tasks=project.tasks, skills=project.skills)


def _fetch() -> Path:
    """The published indexes, downloaded once, checked and cached by the evidence room."""
    from m4lib.analysis.sources import DATASET
    from m4lib.errors import M4Error

    try:
        from m4lib.evidence.fetch import fetch_indexes
    except ImportError:
        raise M4Error(f"No evidence folder is given and none lies beside the checkout; the run indexes are published in the "
                      f"dataset {DATASET}, folder metadata/run-indexes.") from None
    return Path(fetch_indexes())


def beside_printed(table: Table, sources: Sources, *, rows: int | None = None) -> str:
    """Our value beside each printed one, and the verdict line; a campaign's own index has nothing printed."""
    if sources.own is not None:
        return f"Computed from {sources.own.name}, not from the published index; nothing printed to compare with."
    checked = check.compare(table, sources.expected)
    return check.beside(checked if rows is None else checked.head(rows))


def save(table: Table, sources: Sources, out_dir: PathLike | None) -> str:
    """Write the table into `out_dir`/tables (CSV, Markdown, LaTeX) and the comparison into `out_dir`/check.

    With out_dir None nothing is written. Returns a sentence that names no path, so that outputs compare equal.
    Raises M4Error when `out_dir` is a file or cannot be written into.
    """
    if out_dir is None:
        return "Nothing written: out_dir is not set."
    written = write_table(table, Path(out_dir) / "tables")
    if sources.own is None:
        check.write_check([check.compare(table, sources.expected)], Path(out_dir) / "check" / f"{table.id}.csv")
    return f"Wrote {', '.join(path.name for path in written)}."


def save_frame(frame: pd.DataFrame, name: str, out_dir: PathLike | None) -> str:
    """Write a frame in full precision as `out_dir`/audit/<name>.csv; says what it wrote. M4Error as `save`."""
    from m4lib.files import write_text

    if out_dir is None:
        return "Nothing written: out_dir is not set."
    write_text(Path(out_dir) / "audit" / f"{name}.csv", frame.to_csv(index=False, lineterminator="\n"))
    return f"Wrote {name}.csv."


def text(frame: pd.DataFrame | pd.Series, decimals: int = 3) -> str:
    """A frame as aligned text with fixed decimals, blanks as dashes: the same on every run."""
    from m4lib.analysis.render import aligned
    from m4lib.analysis.table import format_value, is_blank

    frame = frame.to_frame() if isinstance(frame, pd.Series) else frame
    flat = frame.reset_index() if frame.index.name or frame.index.nlevels > 1 else frame

    def cell(value: object) -> str:
        if is_blank(value):
            return "–"
        if isinstance(value, float):
            return str(int(value)) if value.is_integer() and abs(value) >= 1 else format_value(value, str(decimals))
        return str(value)

    strings = pd.DataFrame({str(column): [cell(value) for value in flat[column]] for column in flat.columns}, dtype=object)
    numeric = {str(column) for column in flat.columns if pd.api.types.is_numeric_dtype(flat[column])}
    return aligned(strings, numeric)

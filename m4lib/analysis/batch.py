"""The whole paper in one call: every table and figure, the comparison with print, and a page that shows them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from m4lib.analysis import check
from m4lib.analysis.render import to_csv, to_html, write_table
from m4lib.analysis.sources import Sources
from m4lib.analysis.table import registered
from m4lib.files import make_folder, write_text


@dataclass
class Piece:
    """One table or figure as written: what a page shows of it, its comparison, and what was missing."""

    id: str
    title: str
    html: str
    checked: pd.DataFrame
    verdict: str
    notes: list[str] = field(default_factory=list)
    error: str | None = None


def make_table(id: str, sources: Sources, out_dir: Path) -> Piece:
    table = registered()[id](sources)
    write_table(table, out_dir / "tables")
    checked = check.compare(table, sources.expected) if sources.own is None else pd.DataFrame(columns=check.COLUMNS)
    return Piece(id, table.title, to_html(table), checked, check.verdict(checked), table.notes)


def make_figure(id: str, sources: Sources, out_dir: Path) -> Piece:
    from m4lib.analysis import figures

    checked, notes, data = pd.DataFrame(columns=check.COLUMNS), [], None
    if id == figures.FIGURE_2:
        data = figures.task_delta_data(sources)
        notes = data.notes
        figure = figures.draw_task_deltas(data)
        for folder in ("figures", "tables"):
            write_text(out_dir / folder / f"{id}.csv", to_csv(data))
        if sources.own is None:
            checked = check.compare(data, sources.expected)
    else:
        figure = figures.draw_pipeline()
    figures.save_figure(figure, id, out_dir / "figures")
    title = figures.TITLES[id]
    html = f'<img src="../figures/{id}.png" alt="{title}">'
    return Piece(id, title, html, checked, check.verdict(checked) if data is not None else "A drawing without numbers.",
                 notes)


def _attempt(make: Callable[[str, Sources, Path], Piece], id: str, sources: Sources, out_dir: Path) -> Piece:
    """One piece; an error becomes its text, so that one damaged input does not stop the other tables."""
    try:
        return make(id, sources, out_dir)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return Piece(id, id, "", pd.DataFrame(columns=check.COLUMNS), f"Failed: {text}", error=text)


# what the worker processes inherit by being forked
_shared: tuple[Sources, Path] | None = None


def _work(id: str) -> Piece:
    assert _shared is not None
    return _attempt(make_figure if id.startswith("figure") else make_table, id, *_shared)


def make_paper(
    sources: Sources, out_dir: str | os.PathLike[str], *, workers: int | None = None,
    on_done: Callable[[Piece], None] | None = None,
) -> list[Piece]:
    """Write tables, figures, `paper_check.csv` and `report/index.html` into `out_dir`; returns the pieces in order.

    Raises M4Error, before anything is computed, when `out_dir` is a file or cannot be written into.
    Works on all cores by forked processes; where there are none to fork, one after the other.
    """
    from m4lib.analysis.figures import TITLES
    from m4lib.analysis.report import write_paper_report

    global _shared
    out_dir = make_folder(out_dir)
    tables = list(registered())
    # figures first: they take longest
    order = [*reversed(TITLES), *tables]
    _shared = (sources, out_dir)
    made: dict[str, Piece] = {}
    for piece in _all(order, workers or os.cpu_count() or 1):
        made[piece.id] = piece
        if on_done is not None:
            on_done(piece)
    pieces = [made[id] for id in [*tables, *TITLES]]
    check.write_check([piece.checked for piece in pieces], out_dir / "paper_check.csv")
    write_paper_report(pieces, sources, out_dir)
    return pieces


def _all(order: list[str], workers: int):
    import multiprocessing

    if workers < 2 or "fork" not in multiprocessing.get_all_start_methods():
        yield from map(_work, order)
        return
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        yield from pool.imap_unordered(_work, order)

"""The two figures. matplotlib is imported when a figure is drawn; the data behind figure 2 come as a table.

Colours are from the Okabe-Ito palette, which stays apart for colour-blind readers; every series also has its own marker.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from m4lib.analysis.intervals import trial_interval
from m4lib.analysis.metrics import family_of, task_deltas
from m4lib.analysis.sources import Sources
from m4lib.analysis.table import Table
from m4lib.analysis.tables.effects import ARMS, native_arms
from m4lib.files import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURE_1, FIGURE_2 = "figure01_pipeline", "figure02_task_deltas"
TITLES = {FIGURE_1: "From task card to scored run", FIGURE_2: "Task deltas by agent"}
COLUMN_WIDTH = 3.5  # inches, one column of a two-column journal page
PAGE_WIDTH = 7.2

# series -> (role of its index, colour, marker)
SERIES = {
    "codex primary": ("primary", "#0072B2", "o"),
    "claude replication": ("replication", "#D55E00", "s"),
    "gpt-oss-20b exploratory": ("oss", "#009E73", "^"),
}
LABELS = {"codex primary": "Codex (2 models)", "claude replication": "Claude replication (2 models)",
          "gpt-oss-20b exploratory": "gpt-oss-20b (exploratory)"}
AREAS = (
    ("Renal", ("creatinine-baseline", "kdigo", "urine-output-rate")),
    ("Severity", ("apsiii", "oasis", "sapsii", "sirs", "sofa")),
    ("Infection", ("sepsis3", "suspicion-infection")),
    ("Liver", ("meld",)),
    ("Resp./CV", ("vasopressor-equivalents", "ventilation")),
    ("Neuro", ("gcs",)),
    ("Comorb.", ("charlson",)),
)


def style() -> Any:
    """Matplotlib settings: fonts that print at column width, embedded as text, and files that are equal on every run."""
    return {"font.size": 7, "axes.labelsize": 7, "xtick.labelsize": 6.5, "ytick.labelsize": 6.5, "legend.fontsize": 6.5,
            "font.family": "DejaVu Sans", "pdf.fonttype": 42, "axes.linewidth": 0.6, "xtick.major.width": 0.6,
            "ytick.major.width": 0.6, "svg.hashsalt": "m4bench", "figure.dpi": 110, "savefig.dpi": 300}


def area_of(task: str) -> str:
    return next((area for area, families in AREAS if family_of(task) in families), "Other")


def task_delta_data(sources: Sources) -> Table:
    """Data of figure 2: series, task, delta, bounds of the trial interval, and where a number comes from or why not."""
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    names = [task for task in _all_tasks(sources)]
    shown = {"campaign": ("primary", *SERIES["codex primary"][1:])} if sources.own is not None else SERIES
    for series, (role, _, _) in shown.items():
        if not sources.has(role):
            notes.append(sources.missing(role))
            rows += [{"series": series, "task": task, "source": f"needs {sources.missing(role).split(',')[0]}"}
                     for task in names]
            continue
        for task, bounds in _task_intervals(sources[role]).items():
            rows.append({"series": series, "task": task, "delta": bounds.estimate, "ci_low": bounds.low,
                         "ci_high": bounds.high, "source": "computed from the run index"})
    frame = pd.DataFrame(rows, columns=["series", "task", "delta", "ci_low", "ci_high", "source"])
    return Table(FIGURE_2, TITLES[FIGURE_2], frame, {"delta": "3", "ci_low": "3", "ci_high": "3"}, ("series", "task"),
                 "Bounds: 95 % over trials, Welch's t within each model. They are not printed in the paper.", notes)


def _all_tasks(sources: Sources) -> list[str]:
    if sources.tasks is not None:
        from m4lib.cards import load_cards

        return list(load_cards(sources.tasks))
    return sorted(set().union(*(set(i["task"]) for i in sources.indexes.values() if i is not None)))


def _task_intervals(index: pd.DataFrame) -> dict[str, Any]:
    arms = native_arms(index)
    runs = arms.groupby(["task", "model", "condition"])["reward"].apply(lambda cell: cell.to_numpy(float))
    result = {}
    for task in task_deltas(arms).index:
        cells = runs.loc[task].unstack("condition").dropna()
        result[task] = trial_interval(list(cells[ARMS[1]]), list(cells[ARMS[0]]))
    return result


def draw_task_deltas(data: Table) -> Figure:
    """Figure 2: one row a task, grouped by clinical area, one marker a series, intervals as thin lines."""
    import matplotlib
    from matplotlib.figure import Figure

    frame = data.frame[data.frame["delta"].notna()]
    order = {area: rank for rank, (area, _) in enumerate(AREAS)}
    tasks = sorted(frame["task"].unique(), key=lambda task: (order.get(area_of(task), 99), _label(task)))
    positions: dict[str, float] = {}
    areas: dict[str, list[float]] = {}
    y = 0.0
    for task in tasks:
        if area_of(task) not in areas and areas:
            y += 0.55  # a gap between areas
        areas.setdefault(area_of(task), []).append(y)
        positions[task] = y
        y += 1.0
    present = [series for series in data.frame["series"].unique() if (frame["series"] == series).any()]
    shared = frame.groupby("task")["series"].apply(lambda names: [name for name in present if name in set(names)])
    with matplotlib.rc_context(style()):
        figure = Figure(figsize=(COLUMN_WIDTH, (0.17 if len(present) > 2 else 0.15) * max(y, 6) + 0.85), layout="constrained")
        axes = figure.subplots()
        axes.axvline(0, color="0.35", linewidth=0.7, linestyle=(0, (4, 3)), zorder=1)
        for series in present:
            colour, marker = SERIES[series][1:] if series in SERIES else SERIES["codex primary"][1:]
            part = frame[frame["series"] == series]
            places = np.array([positions[task] + _offset(series, shared[task]) for task in part["task"]])
            axes.hlines(places, part["ci_low"], part["ci_high"], color=colour, linewidth=0.8, alpha=0.55, zorder=2)
            axes.plot(part["delta"], places, marker, color=colour, markersize=3.4, markeredgecolor="white",
                      markeredgewidth=0.4, linestyle="none", label=LABELS.get(series, series), zorder=3)
        axes.set_yticks(list(positions.values()), [_label(task) for task in positions])
        axes.set_ylim(y - 0.3, -0.8)
        reach = float(np.nanmax(np.abs(frame[["delta", "ci_low", "ci_high"]].to_numpy(float)))) if len(frame) else 0.6
        limit = 0.6 if reach <= 0.6 else np.ceil(reach * 10 + 0.2) / 10
        axes.set_xlim(-limit, limit)
        step = 0.2 if limit <= 0.6 else 0.4  # more labels would touch at column width
        axes.set_xticks(np.arange(-np.floor(limit / step + 1e-9), np.floor(limit / step + 1e-9) + 1) * step)
        axes.set_xlabel("Reward, with skill minus no skill")
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", color="0.9", linewidth=0.5)
        axes.set_axisbelow(True)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        for area, heights in areas.items():
            axes.text(1.01, float(np.mean(heights)), area, transform=axes.get_yaxis_transform(), fontsize=6,
                      color="0.35", va="center", ha="left", rotation=0)
            axes.plot([1.0, 1.0], [heights[0] - 0.4, heights[-1] + 0.4], color="0.6", linewidth=0.8, clip_on=False,
                      transform=axes.get_yaxis_transform())
        if not present:
            axes.text(0.5, 0.5, "no task with both conditions", transform=axes.transAxes, ha="center", va="center")
        else:
            figure.legend(loc="outside upper center", ncols=1 if len(present) > 2 else len(present), frameon=False,
                          handletextpad=0.2, columnspacing=1.0, borderpad=0)
    return figure


def _offset(series: str, row: list[str]) -> float:
    """Vertical place of a series in its row, in rows; a series that is alone stands on the line of its label."""
    return (0.28 if len(row) > 2 else 0.2) * (2 * row.index(series) / (len(row) - 1) - 1) if len(row) > 1 else 0.0


def _label(task: str) -> str:
    """Task id without the database prefix where it is MIMIC-IV, which nearly all are."""
    return task.removeprefix("mimic-").replace("eicu-", "eICU ")


def draw_pipeline() -> Figure:
    """Figure 1: the way of one task from its card to the audited score; no data."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch

    blue, orange, green, grey = "#DCEAF5", "#FBE3D2", "#D6EEE6", "#EFEFEF"
    edges = {blue: "#0072B2", orange: "#D55E00", green: "#009E73", grey: "#555555"}
    with matplotlib.rc_context(style()):
        figure = Figure(figsize=(PAGE_WIDTH, 3.0))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, 72)
        axes.set_ylim(0, 30)
        axes.axis("off")

        def box(x: float, y: float, w: float, h: float, title: str, text: str, colour: str) -> None:
            axes.add_patch(FancyBboxPatch((x, y), w, h, boxstyle="round,pad=0,rounding_size=0.7", facecolor=colour,
                                          edgecolor=edges[colour], linewidth=0.9))
            axes.text(x + w / 2, y + h - 1.0, title, ha="center", va="top", fontsize=7.2, fontweight="bold")
            axes.text(x + w / 2, (y + y + h - 2.4) / 2, text, ha="center", va="center", fontsize=6.2, linespacing=1.35)

        def arrow(x0: float, y0: float, x1: float, y1: float, bend: float = 0.0, dashed: bool = False) -> None:
            axes.annotate("", (x1, y1), (x0, y0), arrowprops={
                "arrowstyle": "-|>", "linewidth": 0.9, "color": "0.25", "shrinkA": 0, "shrinkB": 0,
                "linestyle": (0, (3, 2)) if dashed else "-", "connectionstyle": f"arc3,rad={bend}", "mutation_scale": 8})

        box(1, 20.5, 14, 8, "Source databases", "MIMIC-IV (26 tasks)\neICU (2 tasks)\nderived concepts", grey)
        box(1, 10.5, 14, 8, "Task card", "keys, scored columns,\nthresholds, tolerances,\ninstruction", blue)
        box(1, 0.8, 14, 8, "Reference SQL", "public conventions,\nprovenance reviewed;\nnever in the sandbox", grey)
        box(19, 20.5, 15, 8, "Task database", "targets removed;\nnative, obfuscated\nor restructured schema", blue)
        box(19, 10.5, 15, 8, "Condition", "no skill · skill\ndecoy · raw SQL\noperational spec", orange)
        box(37.5, 12.5, 14.5, 13.5, "Sandboxed agent", "one container a run,\nno network but the\nmodel's gateway,\nfilesystem canary,\ntime limit", orange)
        box(57, 20.5, 13.6, 8, "Contamination audit", "trace and egress log,\nlint, isolation flags", green)
        box(57, 10.5, 13.6, 8, "Evaluator", "outside the sandbox:\nkeys, match rates,\nreward, strict checks", green)
        box(37.5, 0.8, 14.5, 8, "Run index", "five trials a cell;\neffects over tasks,\nbootstrap intervals", grey)
        arrow(15, 24.5, 19, 24.5)
        arrow(15, 14.5, 19, 14.5)
        arrow(34, 24.5, 37.5, 22.5)
        arrow(34, 14.5, 37.5, 16.5)
        arrow(52, 22.5, 57, 24.5)
        arrow(52, 16.5, 57, 14.5)
        axes.text(54.5, 19.5, "output.csv,\ntrace", ha="center", va="center", fontsize=5.8, color="0.25")
        # the reference goes straight to the evaluator, below everything the agent can reach
        axes.plot([15, 36.4], [4.8, 4.8], color="0.25", linewidth=0.9, linestyle=(0, (3, 2)))
        axes.plot([36.4, 36.4], [4.8, 10.1], color="0.25", linewidth=0.9, linestyle=(0, (3, 2)))
        axes.plot([36.4, 54.6], [10.1, 10.1], color="0.25", linewidth=0.9, linestyle=(0, (3, 2)))
        axes.plot([54.6, 54.6], [10.1, 12.2], color="0.25", linewidth=0.9, linestyle=(0, (3, 2)))
        arrow(54.6, 12.2, 57, 12.2, dashed=True)
        axes.text(25.7, 5.5, "reference output", ha="center", va="bottom", fontsize=5.8, color="0.25")
        axes.plot([64, 64], [10.5, 4.8], color="0.25", linewidth=0.9)
        arrow(64, 4.8, 52, 4.8)
        axes.text(58.7, 5.4, "result.json", ha="center", va="bottom", fontsize=5.8, color="0.25")
        axes.plot([71.4, 71.4], [24.5, 3.2], color="0.25", linewidth=0.9)
        axes.plot([70.6, 71.4], [24.5, 24.5], color="0.25", linewidth=0.9)
        arrow(71.4, 3.2, 52, 3.2)
        axes.text(62, 2.9, "flags", ha="center", va="top", fontsize=5.8, color="0.25")
    return figure


def save_figure(figure: Figure, id: str, out_dir: str | os.PathLike[str]) -> list[Path]:
    """Write `<id>.pdf` and `<id>.png`, without dates, so that the same data give the same bytes; returns the paths."""
    import matplotlib

    paths = []
    with matplotlib.rc_context(style()):
        for ending, metadata in (("pdf", {"CreationDate": None, "ModDate": None}), ("png", {"Software": None})):
            path = Path(out_dir) / f"{id}.{ending}"
            with atomic_path(path) as beside:
                figure.savefig(beside, format=ending, dpi=300, metadata=metadata)
            paths.append(path)
    return paths


def save(figure: Figure, id: str, out_dir: str | os.PathLike[str] | None, data: Table | None = None,
         sources: Sources | None = None) -> str:
    """Write a figure into `out_dir`/figures, its data as CSV there and among the tables, and their comparison with print."""
    from m4lib.analysis import check
    from m4lib.analysis.render import to_csv
    from m4lib.files import write_text

    if out_dir is None:
        return "Nothing written: out_dir is not set."
    names = [path.name for path in save_figure(figure, id, Path(out_dir) / "figures")]
    if data is not None:
        for folder in ("figures", "tables"):
            write_text(Path(out_dir) / folder / f"{id}.csv", to_csv(data))
        names.append(f"{id}.csv")
        if sources is not None and sources.own is None:
            check.write_check([check.compare(data, sources.expected)], Path(out_dir) / "check" / f"{id}.csv")
    return f"Wrote {', '.join(names)}."


def png(figure: Figure, dpi: int = 150) -> bytes:
    """The figure as PNG bytes, for showing it in a notebook."""
    import io

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi)
    return buffer.getvalue()

"""Tables and drawings of the three schemas for people; names only, no data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from m4lib.tasks.schemas.codebook import Codebook, codebook, mimic_catalogue
from m4lib.tasks.schemas.layout import (
    ENCOUNTER_IDS,
    ENCOUNTERS,
    MERGED_ORIGINALS,
    SHARED_BY_EVENTS,
    STACKS,
    coded_column,
    merged_into,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MERGED_ORDER = ("encounters", "observations", "flows", "item_reference")
COLOURS = {"encounters": "#4c78a8", "observations": "#f58518", "flows": "#54a24b", "item_reference": "#b279a2"}
GREY = "#d9d9d9"


def where_it_went(codes: Codebook | None = None, derived: bool = False) -> pd.DataFrame:
    """One row a table: its name in each schema, and which rows of a merged table are its own.

    Columns native, obfuscated, restructured, rows. derived: the computed tables too.
    """
    codes = codes or codebook()
    rows = []
    for name, code in codes.tables.items():
        if not derived and name.startswith("mimiciv_derived."):
            continue
        merged = merged_into(name)
        place, own = code, "all"
        if merged:
            place, own = codes.restructured_tables[merged], origin(name, codes)
        rows.append({"native": name, "obfuscated": code, "restructured": place, "rows": own})
    return pd.DataFrame(rows).sort_values("native", ignore_index=True)


def origin(name: str, codes: Codebook) -> str:
    """Which rows of its merged table the original `name` has, in words."""
    merged = merged_into(name)
    if merged in STACKS:
        stack = STACKS[merged]
        return f"{codes.restructured_columns[stack.mark]} = {stack.values[stack.tables.index(name)]}"
    if name == ENCOUNTERS[2]:
        return f"{codes.columns['stay_id']} given"
    return "distinct, where given"


def merged_columns(merged: str, codes: Codebook | None = None) -> pd.DataFrame:
    """The columns of a merged table in order: native, code, and which original they come from (`both`, `mark`)."""
    codes = codes or codebook()
    catalogue = mimic_catalogue()
    originals = ENCOUNTERS if merged == "encounters" else STACKS[merged].tables
    owners: dict[str, list[str]] = {}
    for name in originals:
        for column in catalogue[name]:
            owners.setdefault(column, []).append(name.partition(".")[2])
    first = ENCOUNTER_IDS if merged == "encounters" else tuple(c for c, names in owners.items() if len(names) == 2)
    if merged == "observations":
        first = SHARED_BY_EVENTS
    rows = [(column, "both" if len(owners[column]) > 1 else owners[column][0]) for column in first]
    rows += [(column, names[0]) for column, names in owners.items() if column not in first]
    if merged in STACKS:
        rows.append((STACKS[merged].mark, "mark"))
    return pd.DataFrame([
        {"native": column, "code": coded_column(column, codes), "from": owner} for column, owner in rows
    ])


def draw_moves(codes: Codebook | None = None) -> Figure:
    """Base tables in the three schemas from left to right; lines show where a table's rows went."""
    from matplotlib.figure import Figure

    codes = codes or codebook()
    base = sorted(name for name in codes.tables if not name.startswith("mimiciv_derived."))
    order = [name for merged in MERGED_ORDER for name in MERGED_ORIGINALS if merged_into(name) == merged]
    order += [name for name in base if name not in order]
    figure = Figure(figsize=(11, 10.5), layout="constrained")
    axes = figure.subplots()
    axes.set_axis_off()
    height = len(order)
    xs = (0.0, 3.3, 6.2)
    for x, title, text in zip(xs, ("native", "obfuscated", "restructured"), (
        "names as released", "neutral names, same tables", "nine tables merged into four"), strict=True):
        axes.text(x, -1.9, title, fontsize=13, weight="bold", va="center")
        axes.text(x, -1.2, text, fontsize=9.5, va="center", color="#555555")
    for row, name in enumerate(order):
        merged = merged_into(name)
        colour = COLOURS[merged] if merged else GREY
        _box(axes, xs[0], row, 2.7, name.replace("mimiciv_", ""), colour)
        _box(axes, xs[1], row, 1.5, codes.tables[name], colour)
        axes.plot((xs[0] + 2.7, xs[1]), (row, row), color=colour, lw=1.2)
        if not merged:
            axes.plot((xs[1] + 1.5, xs[2]), (row, row), color=colour, lw=1.2)
            _box(axes, xs[2], row, 1.5, codes.tables[name], colour)
    for merged in MERGED_ORDER:
        rows = [order.index(name) for name in order if merged_into(name) == merged]
        middle = sum(rows) / len(rows)
        _box(axes, xs[2], middle, 1.5, codes.restructured_tables[merged], COLOURS[merged], tall=len(rows) - 0.25)
        for row in rows:
            axes.plot((xs[1] + 1.5, xs[2]), (row, middle + (row - middle) * 0.8), color=COLOURS[merged], lw=1.2)
            axes.text(xs[2] + 1.65, row, _short(order[row], codes), fontsize=8.5, va="center", color="#333333")
    axes.set_xlim(-0.1, 11)
    axes.set_ylim(height, -2.5)
    axes.text(xs[0], height - 0.1, f"and {len(codes.tables) - len(base)} computed tables, renamed and otherwise as they are",
              fontsize=9.5, va="top", color="#555555")
    return figure


def draw_merged(codes: Codebook | None = None) -> Figure:
    """The columns of the four merged tables, coloured by the original they come from."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    codes = codes or codebook()
    figure = Figure(figsize=(11.5, 8), layout="constrained")
    for axes, merged in zip(figure.subplots(2, 2).flat, MERGED_ORDER, strict=True):
        axes.set_axis_off()
        table = merged_columns(merged, codes)
        owners = list(dict.fromkeys(table["from"]))
        shades = {"both": "#f0d98c", "mark": "#e45756"} | dict(
            zip([owner for owner in owners if owner not in ("both", "mark")], ("#9ecae1", "#c7e9c0", "#d7c7e6"), strict=False)
        )
        per_row = 3
        for i, row in enumerate(table.itertuples(index=False)):
            text = f"{row[1]}  {row[0]}"
            _box(axes, i % per_row * 2.05, i // per_row, 1.95, text, shades[row[2]], size=min(7, 7 * 27 / len(text)))
        rows = (len(table) - 1) // per_row + 1
        axes.set_xlim(-0.1, per_row * 2.05)
        axes.set_ylim(12, -1)
        axes.set_title(f"{codes.restructured_tables[merged]}: {len(table)} columns", loc="left", fontsize=11, weight="bold")
        named = {"both": "shared" if merged != "encounters" else "identifiers", "mark": "tells rows apart"}
        axes.legend(
            handles=[Patch(facecolor=shades[owner], label=named.get(owner, owner)) for owner in owners],
            loc="upper left", bbox_to_anchor=(0, 1 - (rows + 0.6) / 13), ncols=4, fontsize=8, frameon=False,
        )
    return figure


def _short(name: str, codes: Codebook) -> str:
    return f"{name.partition('.')[2]}: {origin(name, codes)}"


def _box(axes: Axes, x: float, y: float, width: float, text: str, colour: str, tall: float = 0.75, size: float = 9) -> None:
    from matplotlib.patches import FancyBboxPatch

    axes.add_patch(FancyBboxPatch(
        (x, y - tall / 2), width, tall, boxstyle="round,pad=0,rounding_size=0.08", facecolor=colour, edgecolor="white", alpha=0.85,
    ))
    axes.text(x + 0.08, y, text, fontsize=size, va="center", family="monospace")

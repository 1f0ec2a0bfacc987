"""Plots of the audit notebooks: a forest of choices, and grouped bars of counts. Colours as in the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from m4lib.analysis.choices import PUBLISHED
from m4lib.analysis.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
COLOURS = (BLUE, ORANGE, GREEN, PINK)


def forest(rows: pd.DataFrame, label: str = "Delta", value: str = "delta") -> Figure:
    """One row a choice, grouped by headline: point, interval where there is one, published choice filled in blue."""
    import matplotlib
    from matplotlib.figure import Figure

    grouped = "headline" in rows and rows["headline"].nunique() > 1
    labels, heights, y = [], [], 0.0
    for number, (_, row) in enumerate(rows.iterrows()):
        if grouped and number and row["headline"] != rows["headline"].iloc[number - 1]:
            y += 0.6
        heights.append(y)
        labels.append(f"{row['headline']}: {row['choice']}" if grouped and row["choice"] == PUBLISHED else row["choice"])
        y += 1
    with matplotlib.rc_context(style()):
        figure = Figure(figsize=(5.6, 0.21 * y + 0.75), layout="constrained")
        axes = figure.subplots()
        axes.axvline(0, color="0.35", linewidth=0.7, linestyle=(0, (4, 3)))
        for height, (_, row) in zip(heights, rows.iterrows(), strict=True):
            published = row.get("choice") == PUBLISHED
            colour = BLUE if published else ORANGE
            if value == "delta" and "low" in row and not pd.isna(row["low"]):
                axes.hlines(height, row["low"], row["high"], color=colour, linewidth=1.1)
            axes.plot(row[value], height, "o" if published else "D", color=colour, markersize=4)
        axes.set_yticks(heights, labels)
        axes.set_ylim(y - 0.4, -0.8)
        axes.set_xlabel(label)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", color="0.9", linewidth=0.5)
        axes.set_axisbelow(True)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
    return figure


def bars(counts: pd.DataFrame, label: str) -> Figure:
    """Grouped bars: one group a row of `counts` (its index), one bar a column, the value above each bar."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(style()):
        figure = Figure(figsize=(5.6, 2.5), layout="constrained")
        axes = figure.subplots()
        width = 0.8 / len(counts.columns)
        for number, column in enumerate(counts.columns):
            places = np.arange(len(counts)) + (number - (len(counts.columns) - 1) / 2) * width
            drawn = axes.bar(places, counts[column], width * 0.92, color=COLOURS[number % 4], label=column,
                             hatch=("", "//", "..", "xx")[number % 4], edgecolor="white", linewidth=0.4)
            axes.bar_label(drawn, fontsize=6, padding=1, fmt="%g")
        axes.set_xticks(np.arange(len(counts)), [str(name) for name in counts.index])
        axes.set_ylabel(label)
        axes.margins(y=0.12)
        if len(counts.columns) > 1:
            figure.legend(loc="outside upper center", frameon=False, ncols=min(len(counts.columns), 4))
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    return figure


def show(figure: Figure, width: int = 640) -> object:
    """The figure as an image for a notebook."""
    from IPython.display import Image

    from m4lib.analysis.figures import png

    return Image(png(figure, dpi=200), width=width)

"""From run indexes to cell means, task deltas and counts.

A *run index* is a frame with one row a run; the run key is (task, condition, schema, model, trial). A *cell* is the
runs that share everything but the trial. All averages go the same way: runs within a cell, models within a task, tasks.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

RUN_KEY = ["task", "condition", "schema", "model", "trial"]
TOLERANCE = 1e-9  # a delta smaller than this is rounding residue, not an improvement


def family_of(task: str) -> str:
    """Family id of a task: its name without database prefix, window and mode (`mimic-sofa-24h-raw` -> `sofa`)."""
    return re.sub(r"(-(24|48)h)?(-raw)?$", "", re.sub(r"^(mimic|eicu)-", "", task))


def mode_of(task: str) -> str:
    """`raw` if the name says so or the database is eICU (which has no derived tables), else `standard`."""
    return "raw" if task.endswith("-raw") or task.startswith("eicu-") else "standard"


def cell_means(index: pd.DataFrame, value: str = "reward", schema: str = "native") -> pd.DataFrame:
    """Mean of `value` over the trials of each cell; rows (task, model), columns conditions; blanks are left out."""
    part = index[index["schema"] == schema]
    means = part.groupby(["task", "model", "condition"], sort=True)[value].mean()
    return means.unstack("condition")


def condition_means(cells: pd.DataFrame, condition: str) -> pd.Series:
    """Column of `cells`, all missing when the condition was not run."""
    return cells[condition] if condition in cells else pd.Series(np.nan, index=cells.index, dtype=float)


def deltas(
    index: pd.DataFrame, value: str = "reward", *, treated: str = "with-skill", control: str = "no-skill",
    schema: str = "native",
) -> pd.DataFrame:
    """Treated minus control cell mean; rows tasks (alphabetical), columns models; rows without any delta are dropped."""
    cells = cell_means(index, value, schema)
    difference = condition_means(cells, treated) - condition_means(cells, control)
    return difference.unstack("model").dropna(how="all").dropna(how="all", axis="columns").sort_index()


def task_deltas(
    index: pd.DataFrame, value: str = "reward", *, treated: str = "with-skill", control: str = "no-skill",
    schema: str = "native",
) -> pd.Series:
    """Task deltas, models averaged within the task; alphabetical by task."""
    return deltas(index, value, treated=treated, control=control, schema=schema).mean(axis=1)


def task_levels(index: pd.DataFrame, condition: str, value: str = "reward", schema: str = "native") -> pd.Series:
    """Level of one condition for each task: cell means averaged over models; tasks without a value are dropped."""
    return condition_means(cell_means(index, value, schema), condition).groupby(level="task").mean().dropna()


def improved(values: pd.Series | np.ndarray, *, lower_is_better: bool = False) -> int:
    """How many units improved; exact zeros and rounding residue do not count."""
    signed = -np.asarray(values, dtype=float) if lower_is_better else np.asarray(values, dtype=float)
    return int((signed > TOLERANCE).sum())


def strict_passes(index: pd.DataFrame) -> pd.Series:
    """Boolean per run: no failed and no errored check."""
    return (index["failed"] == 0) & (index["errors"] == 0)


def key_scores(index: pd.DataFrame) -> pd.Series:
    """Key F1 of every run, from the recorded column or from precision and counts; 0 without an evaluated output."""
    if "key_f1" in index and index["key_f1"].notna().any():
        return index["key_f1"].astype(float).fillna(0.0)
    needed = {"key_precision", "agent_unique_keys", "extra_keys", "truth_rows"}
    if not needed <= set(index.columns):
        return pd.Series(np.nan, index=index.index)
    precision = index["key_precision"].fillna(0.0)
    found = (index["agent_unique_keys"].fillna(0) - index["extra_keys"].fillna(0)).clip(lower=0)
    recall = found / index["truth_rows"]
    total = precision + recall
    return (2 * precision * recall / total.where(total > 0, 1.0)).where(total > 0, 0.0)

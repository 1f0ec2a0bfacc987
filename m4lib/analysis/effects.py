"""Effects of one condition against another for any run index: a row a model, then the balanced mean over the models.

The same rules as the paper's main table: mean over trials within a cell, over models within a task, over tasks; units
of the interval are tasks.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from m4lib.analysis.intervals import RESAMPLES, SEED_PRIMARY, task_bootstrap
from m4lib.analysis.metrics import TOLERANCE, cell_means, condition_means, strict_passes

MEASURES: tuple[tuple[str, str, bool], ...] = (
    ("Reward", "reward", False),
    ("Key F1", "key_f1", False),
    ("Ordered nMAE", "ordered_value_nmae", True),
)  # label, column, whether lower is better
COLUMNS = ["measure", "scope", "condition", "control_level", "condition_level", "delta", "ci_low", "ci_high", "improved_tasks", "tasks", "runs"]


def effects(
    index: pd.DataFrame, *, control: str = "no-skill", conditions: Sequence[str] | None = None, schema: str = "native",
    measures: Sequence[tuple[str, str, bool]] = MEASURES, seed: int = SEED_PRIMARY, resamples: int = RESAMPLES,
) -> pd.DataFrame:
    """Rows (measure, scope, condition) with levels, mean task delta and its 95 % interval; columns as in `COLUMNS`.

    `index` is one run index (a row a run). A task enters a row when it has both conditions; with fewer than two tasks
    the interval is blank, because one unit says nothing about the spread. An index without the control gives no rows.
    """
    part = index[index["schema"] == schema]
    if control not in set(part["condition"]):
        return pd.DataFrame(columns=COLUMNS)
    wanted = list(conditions) if conditions is not None else sorted(set(part["condition"]) - {control})
    rows = []
    for condition in wanted:
        runs = part[part["condition"].isin([control, condition])]
        models = sorted(runs["model"].unique())
        for label, column, lower in measures:
            if column not in runs or runs[column].notna().sum() == 0:
                continue
            cells = cell_means(runs, column, schema)
            both = pd.DataFrame({"control": condition_means(cells, control), "treated": condition_means(cells, condition)}).dropna()
            scopes = [(model, both[both.index.get_level_values("model") == model]) for model in models]
            if len(models) > 1:
                scopes.append(("task-balanced", both))
            for scope, chosen in scopes:
                if chosen.empty:
                    continue
                tasks = chosen.groupby(level="task").mean().sort_index()
                delta = tasks["treated"] - tasks["control"]
                interval = task_bootstrap(delta, seed, resamples) if len(delta) > 1 else None
                n_runs = len(runs) if scope == "task-balanced" else int((runs["model"] == scope).sum())
                rows.append([
                    label, scope, condition, tasks["control"].mean(), tasks["treated"].mean(), delta.mean(),
                    interval.low if interval else None, interval.high if interval else None,
                    int(((-delta if lower else delta) > TOLERANCE).sum()), len(delta), n_runs,
                ])
    return pd.DataFrame(rows, columns=COLUMNS)


def levels(index: pd.DataFrame) -> pd.DataFrame:
    """Runs, mean reward and strict passes of every (agent, model, condition, schema) of an index."""
    table = index.assign(strict=strict_passes(index)).groupby(["agent", "model", "condition", "schema"], dropna=False)
    return table.agg(runs=("reward", "size"), mean_reward=("reward", "mean"), strict_passes=("strict", "sum")).reset_index()

"""The primary comparison, with-skill against no-skill on the native schema: tables 3 and 16 to 21."""

from __future__ import annotations

import numpy as np
import pandas as pd

from m4lib.analysis.intervals import (
    SEED_FOLLOWUP,
    SEED_PRIMARY,
    family_balanced_bootstrap,
    family_bootstrap,
    task_bootstrap,
)
from m4lib.analysis.metrics import (
    cell_means,
    condition_means,
    deltas,
    family_of,
    improved,
    mode_of,
    task_deltas,
    task_levels,
)
from m4lib.analysis.sources import Sources
from m4lib.analysis.table import NA, table

TASK_BALANCED = "task-balanced"
ARMS = ("no-skill", "with-skill")


def native_arms(index: pd.DataFrame) -> pd.DataFrame:
    """The runs of the skill comparison: native schema, no-skill and with-skill."""
    return index[(index["schema"] == "native") & index["condition"].isin(ARMS)]


def _paper_models(_: Sources) -> list[tuple]:
    return [("Reward", "gpt-5.4-mini"), ("Reward", "gpt-5.5"), ("Reward", TASK_BALANCED),
            ("Key F1", TASK_BALANCED), ("Ordered nMAE", TASK_BALANCED)]


@table("table03_native_skill_effect", "Effect of skills on the native schema", needs=["primary"],
       columns="measure scope no_skill with_skill delta ci_low ci_high improved_tasks tasks", keys="measure scope",
       formats="no_skill:3 with_skill:3 delta:3 ci_low:3 ci_high:3 improved_tasks:int tasks:int", rows=_paper_models,
       caption="Cell means over trials, then models, then tasks; 95 % bootstrap intervals over tasks. Ordered nMAE: "
               "lower is better, tasks with ordered columns only.")
def native_skill_effect(sources: Sources) -> pd.DataFrame:
    index = native_arms(sources["primary"])
    rows = []
    by_model = deltas(index)
    cells = cell_means(index)
    for model in by_model.columns:
        runs = index[index["model"] == model].groupby("condition")["reward"].mean()
        change = by_model[model].dropna()
        rows.append(_effect_row("Reward", model, runs.get("no-skill"), runs.get("with-skill"), change))
    measures = [("Reward", "reward", False), ("Key F1", "key_f1", False), ("Ordered nMAE", "ordered_value_nmae", True)]
    for measure, column, lower in measures:
        if column not in index:
            rows.append({"measure": measure, "scope": TASK_BALANCED})
            continue
        cells = cell_means(index, column)
        change = task_deltas(index, column)
        levels = {arm: _balanced_level(cells, arm, change.index) for arm in ARMS}
        rows.append(_effect_row(measure, TASK_BALANCED, levels["no-skill"], levels["with-skill"], change, lower))
    return pd.DataFrame(rows)


def _balanced_level(cells: pd.DataFrame, condition: str, tasks: pd.Index) -> float:
    """Models averaged within a task, then tasks; over the tasks that have a delta, or all when there is none."""
    levels = condition_means(cells, condition).groupby(level="task").mean()
    return float((levels.reindex(tasks) if len(tasks) else levels).mean())


def _effect_row(measure: str, scope: str, no_skill: float | None, with_skill: float | None, change: pd.Series,
                lower: bool = False) -> dict:
    interval = task_bootstrap(change, SEED_PRIMARY)
    return {"measure": measure, "scope": scope, "no_skill": no_skill, "with_skill": with_skill,
            "delta": interval.estimate, "ci_low": interval.low, "ci_high": interval.high,
            "improved_tasks": improved(change, lower_is_better=lower), "tasks": len(change)}


def _ranked(change: pd.Series, count: int, *, ascending: bool) -> pd.DataFrame:
    # stable on the alphabetical order, so ties keep it
    ordered = change.sort_values(ascending=ascending, kind="stable").head(count)
    return pd.DataFrame({"rank": range(1, len(ordered) + 1), "task": ordered.index, "mean_delta": ordered.to_numpy()})


@table("table16_largest_gains", "Largest task-balanced gains from skills", needs=["primary"],
       columns="rank task mean_delta", keys="rank", formats="rank:int mean_delta:3",
       rows=[(rank,) for rank in range(1, 11)])
def largest_gains(sources: Sources) -> pd.DataFrame:
    return _ranked(task_deltas(native_arms(sources["primary"])), 10, ascending=False)


@table("table17_smallest_deltas", "Smallest task-balanced deltas", needs=["primary"],
       columns="rank task mean_delta", keys="rank", formats="rank:int mean_delta:3",
       rows=[(rank,) for rank in range(1, 9)])
def smallest_deltas(sources: Sources) -> pd.DataFrame:
    return _ranked(task_deltas(native_arms(sources["primary"])), 8, ascending=True)


@table("table18_skill_effect_by_mode", "Skill effect on standard and raw tasks", needs=["primary"],
       columns="scope mode tasks mean_delta positive_tasks positive_of", keys="scope mode",
       formats="tasks:int mean_delta:3 positive_tasks:int positive_of:int",
       rows=[(scope, mode) for scope in ("gpt-5.4-mini", "gpt-5.5", TASK_BALANCED) for mode in ("standard", "raw")])
def skill_effect_by_mode(sources: Sources) -> pd.DataFrame:
    by_model = deltas(native_arms(sources["primary"]))
    scopes = {**{model: by_model[model].dropna() for model in by_model.columns}, TASK_BALANCED: by_model.mean(axis=1)}
    rows = []
    for scope, change in scopes.items():
        modes = change.index.map(mode_of)
        for mode in ("standard", "raw"):
            part = change[modes == mode]
            rows.append({"scope": scope, "mode": mode, "tasks": len(part), "mean_delta": part.mean(),
                         "positive_tasks": improved(part), "positive_of": len(part)})
    return pd.DataFrame(rows)


@table("table19_cluster_sensitivity", "Sensitivity of the primary effect to clustering by family", needs=["primary"],
       columns="analysis units mean_delta ci_low ci_high", keys="analysis",
       formats="mean_delta:3 ci_low:3 ci_high:3",
       rows=[("Task-cluster bootstrap (28 tasks)",), ("Family-cluster bootstrap (15 families)",),
             ("Family-balanced bootstrap (15 families)",)])
def cluster_sensitivity(sources: Sources) -> pd.DataFrame:
    change = task_deltas(native_arms(sources["primary"]))
    tasks, families = f"{len(change)} tasks", f"{len(set(map(family_of, change.index)))} families"
    rows = [
        (f"Task-cluster bootstrap ({tasks})", tasks, task_bootstrap(change, SEED_PRIMARY)),
        (f"Family-cluster bootstrap ({families})", families, family_bootstrap(change, family_of, SEED_FOLLOWUP)),
        (f"Family-balanced bootstrap ({families})", families,
         family_balanced_bootstrap(change, family_of, SEED_FOLLOWUP)),
    ]
    return pd.DataFrame([{"analysis": name, "units": units, "mean_delta": value.estimate, "ci_low": value.low,
                          "ci_high": value.high} for name, units, value in rows])


@table("table20_key_diagnostics", "Key diagnostics and the cells with most extra keys", needs=["primary"],
       columns="row n key_f1 key_precision extra_keys", keys="row",
       formats="n:int key_f1:3 key_precision:3 extra_keys:int", rows=[("no-skill",), ("with-skill",)],
       headings={"row": "Condition or cell", "n": "N"},
       caption="Conditions: means over task-model cells; single cells: N is the number of runs. Errored runs count as "
               "key F1 0, have no key precision, and add no extra keys.")
def key_diagnostics(sources: Sources) -> pd.DataFrame:
    index = native_arms(sources["primary"])
    grouped = index.groupby(["task", "condition", "model"], sort=True)
    cells = pd.DataFrame({"n": grouped.size(), "key_f1": grouped["key_f1"].mean()})
    for column in ("key_precision", "extra_keys"):
        values = grouped[column] if column in index else None
        cells[column] = np.nan if values is None else values.mean() if column == "key_precision" else values.sum()
    rows = []
    for condition in ARMS:
        part = cells[cells.index.get_level_values("condition") == condition]
        rows.append({"row": condition, "n": len(part), "key_f1": part["key_f1"].mean(),
                     "key_precision": part["key_precision"].mean(), "extra_keys": part["extra_keys"].sum(min_count=1)})
    for label, cell in cells.sort_values("extra_keys", ascending=False, kind="stable").head(5).iterrows():
        rows.append({"row": " / ".join(label), **cell})  # type: ignore[arg-type]
    return pd.DataFrame(rows)


@table("table21_secondary_diagnostics", "Secondary measures by task", needs=["primary"],
       columns="task reward_delta key_f1_delta nmae_delta ordered_columns", keys="task",
       formats="reward_delta:3 key_f1_delta:3 nmae_delta:3 ordered_columns:int",
       rows=lambda sources: task_labels(sources),
       caption="With skill minus no skill, models averaged within the task. nMAE is NA without ordered columns.")
def secondary_diagnostics(sources: Sources) -> pd.DataFrame:
    index = native_arms(sources["primary"])
    reward = task_deltas(index)
    frame = pd.DataFrame({"task": reward.index, "reward_delta": reward.to_numpy()})
    frame["key_f1_delta"] = task_deltas(index, "key_f1").reindex(reward.index).to_numpy()
    if "ordered_value_nmae" in index:
        nmae = task_deltas(index, "ordered_value_nmae").reindex(reward.index)
        frame["nmae_delta"] = nmae.astype(object).where(nmae.notna(), NA).to_numpy()
    if "ordered_value_columns" in index:
        columns = index[index["condition"] == "with-skill"].groupby("task")["ordered_value_columns"].max()
        frame["ordered_columns"] = columns.reindex(reward.index).to_numpy()
    return frame


def task_labels(sources: Sources) -> list[tuple]:
    """Names of all tasks, from the cards, for blank tables."""
    if sources.tasks is None:
        return []
    from m4lib.cards import load_cards

    return [(name,) for name in load_cards(sources.tasks)]


def levels_by_task(index: pd.DataFrame, conditions: tuple[str, ...] = ARMS, schema: str = "native") -> pd.DataFrame:
    """Levels of several conditions, rows tasks, models averaged within the task."""
    return pd.DataFrame({condition: task_levels(index, condition, schema=schema) for condition in conditions})

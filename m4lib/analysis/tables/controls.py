"""Controls: operational spec (tables 4 and 25), raw SQL and decoy (table 22), and who is in which subset (table 13)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from m4lib.analysis.intervals import EMPTY, SEED_FOLLOWUP, Interval, task_bootstrap
from m4lib.analysis.metrics import mode_of, task_deltas, task_levels
from m4lib.analysis.sources import Sources
from m4lib.analysis.table import table
from m4lib.analysis.tables.effects import native_arms, task_labels

SENTINEL_ORDER = (
    "mimic-urine-output-rate-raw", "mimic-ventilation", "mimic-creatinine-baseline-raw", "mimic-suspicion-infection",
    "mimic-vasopressor-equivalents-raw", "mimic-oasis-24h", "mimic-sepsis3-raw", "mimic-sofa-24h-raw",
)
SPEC_ROWS = ("Operational spec minus no skill", "Targeted skill minus operational spec")


def sentinel_sort(tasks: pd.Index) -> list[str]:
    """Tasks in the published order of the sentinel set; others after them, alphabetical."""
    return sorted(tasks, key=lambda task: (SENTINEL_ORDER.index(task) if task in SENTINEL_ORDER else 99, task))


def database_name(task: str) -> str:
    return "eICU" if task.startswith("eicu-") else "MIMIC-IV"


def spec_levels(sources: Sources) -> pd.DataFrame:
    """Levels of no-skill, operational-spec and with-skill on the tasks that have a spec; rows in sentinel order."""
    primary = native_arms(sources["primary"])
    spec = task_levels(sources["followup"], "operational-spec")
    frame = pd.DataFrame({
        "no_skill": task_levels(primary, "no-skill"), "operational_spec": spec,
        "targeted_skill": task_levels(primary, "with-skill"),
    })
    frame = frame[frame["operational_spec"].notna()]
    return frame.reindex(sentinel_sort(frame.index))


@table("table04_operational_spec_control", "Operational-spec control", needs=["primary", "followup"],
       columns="comparison tasks no_skill operational_spec targeted_skill delta ci_low ci_high", keys="comparison",
       formats="tasks:int no_skill:3 operational_spec:3 targeted_skill:3 delta:3 ci_low:3 ci_high:3",
       rows=[(row,) for row in SPEC_ROWS],
       caption="The spec states the same definition as the skill, in the prompt and without item ids or code.")
def operational_spec_control(sources: Sources) -> pd.DataFrame:
    levels = spec_levels(sources)
    rows = []
    for name, treated, control in ((SPEC_ROWS[0], "operational_spec", "no_skill"),
                                   (SPEC_ROWS[1], "targeted_skill", "operational_spec")):
        change = (levels[treated] - levels[control]).dropna()
        interval = task_bootstrap(change, SEED_FOLLOWUP) if len(change) else EMPTY
        rows.append({"comparison": name, "tasks": len(change), treated: levels[treated].mean(),
                     control: levels[control].mean(), **_interval(interval)})
    return pd.DataFrame(rows)


def _interval(interval: Interval) -> dict[str, float]:
    return {"delta": interval.estimate, "ci_low": interval.low, "ci_high": interval.high}


@table("table25_operational_spec_by_task", "Operational spec by task", needs=["primary", "followup"],
       columns="task no_skill operational_spec targeted_skill spec_minus_no_skill targeted_minus_spec", keys="task",
       formats="no_skill:3 operational_spec:3 targeted_skill:3 spec_minus_no_skill:3 targeted_minus_spec:3",
       rows=[(task,) for task in SENTINEL_ORDER])
def operational_spec_by_task(sources: Sources) -> pd.DataFrame:
    levels = spec_levels(sources)
    levels["spec_minus_no_skill"] = levels["operational_spec"] - levels["no_skill"]
    levels["targeted_minus_spec"] = levels["targeted_skill"] - levels["operational_spec"]
    return levels.rename_axis("task").reset_index()


CONTROLS = (("Raw reference SQL", "with-skill-rawsql"), ("Decoy skill", "with-skill-decoy"))


def control_cells(index: pd.DataFrame, control: str) -> pd.DataFrame:
    """Cell means of no-skill, with-skill and one control; rows the (task, model) cells in which the control was run."""
    native = index[index["schema"] == "native"]
    means = native.groupby(["task", "model", "condition"])["reward"].mean().unstack("condition")
    means = means.reindex(columns=["no-skill", "with-skill", control])
    return means[means[control].notna()]


@table("table22_matched_controls", "Matched controls: reference SQL and a decoy skill", needs=["primary"],
       columns="control tasks no_skill targeted control_reward control_minus_targeted control_minus_no_skill",
       keys="control",
       formats="tasks:int no_skill:3 targeted:3 control_reward:3 control_minus_targeted:3 control_minus_no_skill:3",
       rows=[(name,) for name, _ in CONTROLS])
def matched_controls(sources: Sources) -> pd.DataFrame:
    rows = []
    for name, condition in CONTROLS:
        cells = control_cells(sources["primary"], condition)
        level = cells.mean()
        rows.append({
            "control": name, "tasks": cells.index.get_level_values("task").nunique() if len(cells) else np.nan,
            "no_skill": level["no-skill"], "targeted": level["with-skill"], "control_reward": level[condition],
            "control_minus_targeted": (cells[condition] - cells["with-skill"]).mean(),
            "control_minus_no_skill": (cells[condition] - cells["no-skill"]).mean(),
        })
    return pd.DataFrame(rows)


@table("table13_control_subset_membership", "Control subsets, tasks by skill effect", needs=["primary"],
       columns="rank task mode database delta decoy_and_raw_sql operational_spec", keys="rank",
       formats="rank:int delta:3", rows=lambda s: [(rank,) for rank, _ in enumerate(task_labels(s), 1)],
       headings={"decoy_and_raw_sql": "Decoy and raw SQL"})
def control_subset_membership(sources: Sources) -> tuple[pd.DataFrame, list[str]]:
    primary, notes = sources["primary"], []
    change = task_deltas(native_arms(primary)).sort_values(ascending=False, kind="stable")
    controlled = set(primary.loc[primary["condition"].isin([name for _, name in CONTROLS]), "task"])
    if sources.has("followup"):
        followup = sources["followup"]
        specified = set(followup.loc[followup["condition"] == "operational-spec", "task"])
    else:
        specified = set()
        notes.append(f"operational_spec is blank: {sources.missing('followup')}")
    return pd.DataFrame({
        "rank": range(1, len(change) + 1), "task": change.index, "mode": [mode_of(task) for task in change.index],
        "database": [database_name(task) for task in change.index], "delta": change.to_numpy(),
        "decoy_and_raw_sql": ["yes" if task in controlled else None for task in change.index],
        "operational_spec": ["yes" if task in specified else None for task in change.index],
    }), notes

"""The other agents: Claude sentinel (26, 27), gpt-oss (28), and the full Claude replication (5, 29, 30, 31)."""

from __future__ import annotations

import pandas as pd

from m4lib.analysis.intervals import SEED_OSS, SEED_PRIMARY, task_bootstrap
from m4lib.analysis.metrics import deltas, improved, strict_passes, task_deltas
from m4lib.analysis.sources import Sources
from m4lib.analysis.table import MODEL_NAMES, NA, table
from m4lib.analysis.tables.effects import ARMS, levels_by_task, native_arms

EFFECT_COLUMNS = "model no_skill with_skill delta ci_low ci_high positive_tasks tasks"
EFFECT_FORMATS = "no_skill:3 with_skill:3 delta:3 ci_low:3 ci_high:3 positive_tasks:int tasks:int"
BALANCED = "Task-balanced mean"
CLAUDE_ROWS: list[tuple] = [("Claude Opus",), ("Claude Sonnet",), (BALANCED,)]
SHORT_LABELS = {
    "mimic-urine-output-rate-raw": "urine-output rate raw", "mimic-ventilation": "ventilation",
    "mimic-creatinine-baseline-raw": "baseline creatinine raw", "mimic-suspicion-infection": "suspected infection",
    "mimic-vasopressor-equivalents-raw": "vasopressor equivalents raw", "mimic-sepsis3-raw": "sepsis-3 raw",
    "mimic-oasis-24h": "oasis-24h", "mimic-sofa-24h-raw": "sofa-24h raw",
}


def effect_rows(index: pd.DataFrame, seed: int, *, model_intervals: bool, balanced_levels: bool) -> list[dict]:
    """One row a model, then the task-balanced row when there is more than one model."""
    arms = native_arms(index)
    by_model = deltas(arms)
    rows = []
    for model in by_model.columns:
        change = by_model[model].dropna()
        means = arms[arms["model"] == model].groupby("condition")["reward"].mean()
        interval = task_bootstrap(change, seed)
        bounds = {"ci_low": interval.low, "ci_high": interval.high} if model_intervals else {}
        rows.append({"model": MODEL_NAMES.get(model, model), "no_skill": means.get("no-skill"),
                     "with_skill": means.get("with-skill"), "delta": change.mean(), **bounds,
                     "positive_tasks": improved(change), "tasks": len(change)})
    if len(by_model.columns) > 1 or balanced_levels:
        change = by_model.mean(axis=1)
        interval = task_bootstrap(change, seed)
        levels = levels_by_task(arms).mean()
        shown = {"no_skill": levels["no-skill"], "with_skill": levels["with-skill"]} if balanced_levels else {}
        rows.append({"model": BALANCED, **shown, "delta": interval.estimate, "ci_low": interval.low,
                     "ci_high": interval.high, "positive_tasks": improved(change), "tasks": len(change)})
    return rows


@table("table26_claude_sentinel_effect", "Historical Claude sentinel, eight tasks", needs=["sentinel"],
       columns=EFFECT_COLUMNS, keys="model", formats=EFFECT_FORMATS, rows=CLAUDE_ROWS)
def claude_sentinel_effect(sources: Sources) -> pd.DataFrame:
    return pd.DataFrame(effect_rows(sources["sentinel"], SEED_PRIMARY, model_intervals=False, balanced_levels=False))


@table("table27_claude_sentinel_task_deltas", "Historical Claude sentinel by task", needs=["sentinel"],
       columns="rank task_label opus_delta sonnet_delta mean_delta", keys="rank",
       formats="rank:int opus_delta:3 sonnet_delta:3 mean_delta:3", rows=[(rank,) for rank in range(1, 9)])
def claude_sentinel_task_deltas(sources: Sources) -> tuple[pd.DataFrame, list[str]]:
    frame, notes = ranked_models(sources["sentinel"])
    frame["task_label"] = [SHORT_LABELS.get(task, task) for task in frame["task"]]
    return frame, notes


def ranked_models(index: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Tasks by mean delta, descending, with the deltas of Opus and Sonnet; other models only enter the mean."""
    by_model = deltas(native_arms(index))
    by_model["mean"] = by_model.mean(axis=1)
    by_model = by_model.sort_values("mean", ascending=False, kind="stable")
    others = [model for model in by_model.columns if model not in ("opus", "sonnet", "mean")]
    blank = pd.Series(float("nan"), index=by_model.index)
    frame = pd.DataFrame({
        "rank": range(1, len(by_model) + 1), "task": by_model.index,
        "opus_delta": by_model.get("opus", blank).to_numpy(), "sonnet_delta": by_model.get("sonnet", blank).to_numpy(),
        "mean_delta": by_model["mean"].to_numpy(),
    })
    return frame, [f"The mean also holds {', '.join(others)}."] if others else []


@table("table28_oss_effect", "Exploratory open-weight model, eight tasks", needs=["oss"],
       columns=EFFECT_COLUMNS, keys="model", formats=EFFECT_FORMATS, rows=[("gpt-oss-20b local",)],
       caption="Runs that never reached the evaluator count as reward 0.")
def oss_effect(sources: Sources) -> pd.DataFrame:
    return pd.DataFrame(effect_rows(sources["oss"], SEED_OSS, model_intervals=True, balanced_levels=False))


@table("table29_claude_replication_effect", "Full Claude replication", needs=["replication"],
       columns=EFFECT_COLUMNS, keys="model", formats=EFFECT_FORMATS, rows=CLAUDE_ROWS)
def claude_replication_effect(sources: Sources) -> pd.DataFrame:
    return pd.DataFrame(effect_rows(sources["replication"], SEED_PRIMARY, model_intervals=True, balanced_levels=True))


def harness_match(index: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """By task: does each model's set of runs have one recorded CLI version (`cli`) and one routing (`routing`)?

    Routing is the record of model-slot overrides, or of Haiku in the usage where only that is known. Columns hold
    None, and a note says so, when the index does not record them. A blank version counts as a version of its own.
    """
    arms = native_arms(index)
    tasks = sorted(arms["task"].unique())
    notes, result = [], pd.DataFrame(index=pd.Index(tasks, name="task"))
    routing = next((column for column in ("overrides_recorded", "haiku_usage") if column in arms), None)
    for name, column in (("cli", "cli_version" if "cli_version" in arms else None), ("routing", routing)):
        if column is None:
            result[name] = None
            wanted = "Claude Code version" if name == "cli" else "model routing"
            notes.append(f"The index records no {wanted}.")
            continue
        values = arms[column].astype("string").fillna("")
        kinds = values.groupby([arms["task"], arms["model"]]).nunique()
        result[name] = (kinds == 1).groupby(level="task").all().reindex(tasks)
    return result, notes


TASK_SETS: list[tuple] = [("All tasks",), ("CLI-version matched",), ("CLI and routing matched",)]


@table("table05_claude_replication_task_sets", "Claude replication by task set", needs=["replication"],
       columns="task_set tasks runs delta ci_low ci_high positive_tasks positive_of strict_pass_no_skill runs_no_skill "
               "strict_pass_with_skill runs_with_skill key_f1_delta",
       keys="task_set", rows=TASK_SETS,
       formats="tasks:int runs:int delta:3 ci_low:3 ci_high:3 positive_tasks:int positive_of:int "
               "strict_pass_no_skill:int runs_no_skill:int strict_pass_with_skill:int runs_with_skill:int key_f1_delta:3",
       caption="Matched: for each model, all no-skill and with-skill runs of the task have one recorded CLI version "
               "(and one routing profile).")
def claude_replication_task_sets(sources: Sources) -> tuple[pd.DataFrame, list[str]]:
    arms = native_arms(sources["replication"])
    match, notes = harness_match(arms)
    cli_known, routing_known = match["cli"].notna().all(), match["routing"].notna().all()
    sets: list[list[str] | None] = [
        list(match.index),
        list(match.index[match["cli"].astype(bool)]) if cli_known else None,
        list(match.index[match["cli"].astype(bool) & match["routing"].astype(bool)])
        if cli_known and routing_known else None,
    ]
    rows = []
    for (label,), tasks in zip(TASK_SETS, sets, strict=True):
        row: dict = {"task_set": label}
        if tasks is not None:
            part = arms[arms["task"].isin(tasks)]
            change = task_deltas(part)
            interval = task_bootstrap(change, SEED_PRIMARY)
            passed = strict_passes(part) if "failed" in part else None
            row |= {"tasks": len(tasks), "runs": len(part), "delta": interval.estimate, "ci_low": interval.low,
                    "ci_high": interval.high, "positive_tasks": improved(change), "positive_of": len(change),
                    "key_f1_delta": task_deltas(part, "key_f1").mean()}
            for arm in ARMS:
                chosen = part["condition"] == arm
                name = arm.replace("-", "_")
                row[f"runs_{name}"] = int(chosen.sum())
                row[f"strict_pass_{name}"] = None if passed is None else int(passed[chosen].sum())
        rows.append(row)
    return pd.DataFrame(rows), notes


@table("table30_claude_replication_harness", "Recorded harness of the Claude replication", needs=["replication"],
       columns="condition runs cli_2_1_119_runs cli_2_1_220_runs overrides_recorded_runs haiku_usage_runs "
               "haiku_turn_runs agent_hours",
       keys="condition", rows=[(arm,) for arm in ARMS],
       formats="runs:int cli_2_1_119_runs:int cli_2_1_220_runs:int overrides_recorded_runs:int haiku_usage_runs:int "
               "haiku_turn_runs:int agent_hours:1")
def claude_replication_harness(sources: Sources) -> tuple[pd.DataFrame, list[str]]:
    arms = native_arms(sources["replication"])
    notes, rows = [], []
    for arm in ARMS:
        part = arms[arms["condition"] == arm]
        row: dict = {"condition": arm, "runs": len(part)}
        if "cli_version" in part:
            # a recorded version may carry the product's name: "2.1.119 (Claude Code)"
            text = part["cli_version"].astype("string").fillna("")
            for version in ("2.1.119", "2.1.220"):
                row[f"cli_{version.replace('.', '_')}_runs"] = int(text.str.startswith(version).sum())
        for column in ("overrides_recorded", "haiku_usage"):
            if column in part:
                row[f"{column}_runs"] = int(part[column].sum())
        if "haiku_turns" in part:
            row["haiku_turn_runs"] = int((part["haiku_turns"].fillna(0) > 0).sum())
        if "elapsed_seconds" in part:
            row["agent_hours"] = part["elapsed_seconds"].sum() / 3600
        rows.append(row)
    for column in ("cli_version", "overrides_recorded", "haiku_usage", "haiku_turns"):
        if column not in arms:
            notes.append(f"The index has no column {column}.")
    return pd.DataFrame(rows, dtype=object), notes


@table("table31_claude_replication_task_deltas_first_six", "Claude replication by task", needs=["replication"],
       columns="rank task opus_delta sonnet_delta mean_delta harness", keys="rank",
       formats="rank:int opus_delta:3 sonnet_delta:3 mean_delta:3", rows=[(rank,) for rank in range(1, 29)],
       caption="Harness: matched, or which record differs between a model's runs of the task.")
def claude_replication_task_deltas(sources: Sources) -> tuple[pd.DataFrame, list[str]]:
    frame, notes = ranked_models(sources["replication"])
    match, match_notes = harness_match(sources["replication"])

    def mark(task: str) -> str:
        cli, routing = match.loc[task, "cli"], match.loc[task, "routing"]
        if cli is None:
            return NA
        return "CLI" if not cli else "routing" if routing is not None and not routing else "matched"

    frame["harness"] = [mark(task) for task in frame["task"]]
    return frame, notes + match_notes

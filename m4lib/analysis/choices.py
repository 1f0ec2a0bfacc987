"""Every headline number under other reasonable choices; one function a question, all from the run indexes.

Each function returns a frame with the columns of `COLUMNS`, the published choice first. `no_skill` and `with_skill` are
the two levels, `delta` their difference over tasks with its task bootstrap, `positive` the improved tasks.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from m4lib.analysis.intervals import SEED_FOLLOWUP, SEED_PRIMARY, task_bootstrap
from m4lib.analysis.metrics import (
    TOLERANCE,
    condition_means,
    family_of,
    improved,
    mode_of,
    strict_passes,
    task_deltas,
)
from m4lib.analysis.sources import PACKAGE_WHERE, SUPERSEDED, Sources
from m4lib.analysis.tables.controls import CONTROLS, spec_levels
from m4lib.analysis.tables.effects import ARMS, native_arms
from m4lib.analysis.tables.transformed import transformed_arms
from m4lib.errors import M4Error

COLUMNS = ["headline", "choice", "no_skill", "with_skill", "delta", "low", "high", "positive", "tasks"]
PUBLISHED = "as published"


def effect(index: pd.DataFrame, headline: str, choice: str, value: str = "reward", *, lower: bool = False) -> dict[str, Any]:
    """The task-balanced comparison of one set of runs, as a row."""
    arms = native_arms(index)
    cells = arms.groupby(["task", "model", "condition"])[value].mean().unstack("condition")
    by_task = pd.DataFrame({arm: condition_means(cells, arm).groupby(level="task").mean() for arm in ARMS})
    change = task_deltas(arms, value)
    return row(headline, choice, by_task.reindex(change.index), change, SEED_PRIMARY, lower)


def row(headline: str, choice: str, levels: pd.DataFrame, change: pd.Series, seed: int, lower: bool = False) -> dict[str, Any]:
    interval = task_bootstrap(change, seed)
    first, second = levels.columns[:2]
    return {"headline": headline, "choice": choice, "no_skill": levels[first].mean(), "with_skill": levels[second].mean(),
            "delta": interval.estimate, "low": interval.low, "high": interval.high,
            "positive": improved(change, lower_is_better=lower), "tasks": int(change.notna().sum())}


def frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS)


# ---- the follow-up (table 23) -----------------------------------------------------------------------------------------


def attempts(sources: Sources) -> pd.DataFrame:
    """All attempts of the follow-up, superseded ones included: run key, reward, returncode, stamp, order (0 = first).

    Without the list of superseded runs only the kept ones; `attempts_note` says so.
    """
    content = sources.json(SUPERSEDED) or {"superseded_runs": []}
    columns = ["task", "condition", "schema", "model", "trial", "reward", "agent_returncode", "stamp", "kept"]
    older = pd.DataFrame([
        {**run["run_key"], "reward": run["reward"], "agent_returncode": run["agent_returncode"],
         "stamp": run["timestamp_key"], "kept": False} for run in content["superseded_runs"]
    ], columns=columns)
    kept = sources["followup"].assign(kept=True).reindex(columns=[*columns, "run_id"])
    kept["stamp"] = kept["run_id"].str.extract(r"(\d{8}_\d{6})$", expand=False)
    every = pd.concat([older, kept[columns]], ignore_index=True) if len(older) else kept[columns].reset_index(drop=True)
    every["kept"] = every["kept"].astype(bool)
    every = every.sort_values(["task", "condition", "schema", "model", "trial", "stamp"], ignore_index=True)
    every["order"] = every.groupby(["task", "condition", "schema", "model", "trial"]).cumcount()
    return every


def attempts_note(sources: Sources) -> str:
    """Empty when superseded runs are known, else where they are to be had."""
    return "" if sources.json(SUPERSEDED) else f"{SUPERSEDED} is not at hand ({PACKAGE_WHERE}); only kept attempts are known."


def probe_average(sources: Sources, schema: str) -> float:
    """No-skill level of a transformed schema: from the probe's runs, else the published average."""
    levels = transformed_arms(sources)[schema]["no-skill"]
    if levels.notna().any():
        return float(levels.mean())
    from m4lib.analysis.check import printed_values

    printed = printed_values("table23_schema_generalization")
    assert printed is not None
    return float(str(printed.set_index("schema").loc[schema, "no_skill"]))


def schema_row(sources: Sources, followup: pd.DataFrame, schema: str, choice: str) -> dict[str, Any]:
    """One transformed schema: levels, delta and its ratio to the native delta. No interval without the probe's runs."""
    skilled = followup[(followup["condition"] == "with-skill") & (followup["schema"] == schema)]
    by_task = skilled.groupby("task")["reward"].mean()
    native = transformed_arms(sources)["native"]
    native_delta = float((native["with-skill"] - native["no-skill"]).mean())
    no_skill, with_skill = probe_average(sources, schema), float(by_task.mean())
    return {"headline": f"table 23, {schema}", "choice": choice, "no_skill": no_skill, "with_skill": with_skill,
            "delta": with_skill - no_skill, "tasks": len(by_task), "ratio": (with_skill - no_skill) / native_delta}


def first_attempts(sources: Sources) -> pd.DataFrame:
    """Kept attempts (the last of each run key) against first attempts and the mean of all attempts."""
    every = attempts(sources)
    if attempts_note(sources):
        return pd.DataFrame([schema_row(sources, every, schema, PUBLISHED) for schema in ("obfuscated", "restructured")],
                            columns=[*COLUMNS, "ratio"])
    key = ["task", "condition", "schema", "model", "trial"]
    sets: dict[str, pd.DataFrame] = {PUBLISHED: every[every["kept"]], "first attempts": every[every["order"] == 0],
            "mean of all attempts": pd.DataFrame(every.groupby(key, as_index=False)["reward"].mean())}
    rows = [schema_row(sources, runs, schema, choice)
            for schema in ("obfuscated", "restructured") for choice, runs in sets.items()]
    return pd.DataFrame(rows, columns=[*COLUMNS, "ratio"])


def container_failures(sources: Sources) -> pd.DataFrame:
    """Runs whose container could not start (return code 125) scored 0 as published, against left out."""
    followup = sources["followup"]
    started = followup[followup["agent_returncode"] != 125]
    rows = [schema_row(sources, runs, schema, choice) for schema in ("obfuscated", "restructured")
            for choice, runs in ((PUBLISHED, followup), ("container failures left out", started))]
    return pd.DataFrame(rows, columns=[*COLUMNS, "ratio"])


# ---- the reward --------------------------------------------------------------------------------------------------------


def match_rates(index: pd.DataFrame) -> list[dict[str, float]]:
    """Per run, the match rate of each scored column; empty when the evaluator did not run."""
    return [dict(value) if isinstance(value, Mapping) else ast.literal_eval(value) if isinstance(value, str) and value else {}
            for value in index["match_rates"]]


def value_column_rewards(index: pd.DataFrame, tasks: Path) -> pd.Series:
    """Reward on the declared value columns alone; 0 for an errored run."""
    from m4lib.cards import load_cards

    columns = {name: list(card.evaluation["value_columns"]) for name, card in load_cards(tasks).items()}
    return pd.Series([
        float(np.mean([rates.get(column, 0.0) for column in columns[task]])) if rates else 0.0
        for task, rates in zip(index["task"], match_rates(index), strict=True)
    ], index=index.index)


def value_columns(sources: Sources) -> pd.DataFrame:
    """The reward over all scored columns, as published, against the declared value columns alone."""
    index = native_arms(sources["primary"])
    assert sources.tasks is not None
    narrow = index.assign(narrow=value_column_rewards(index, sources.tasks))
    return frame([effect(index, "table 3, reward", PUBLISHED),
                  effect(narrow, "table 3, reward", "value columns only", "narrow")])


def errored_runs(sources: Sources) -> pd.DataFrame:
    """Errored runs charged with 0 as published, dropped, or (nMAE) charged with 1."""
    index = native_arms(sources["primary"])
    errored = index["errors"] > 0
    charged = index.assign(charged=index["ordered_value_nmae"].where(~errored, 1.0)) if "ordered_value_nmae" in index else None
    rows = [effect(index, "table 3, reward", PUBLISHED),
            effect(index[~errored], "table 3, reward", "errored runs dropped"),
            effect(index, "table 3, key F1", PUBLISHED, "key_f1"),
            effect(index[~errored], "table 3, key F1", "errored runs dropped", "key_f1")]
    if charged is not None:
        # a task without ordered columns stays without nMAE
        ordered = charged.groupby("task")["ordered_value_nmae"].transform("count") > 0
        rows += [effect(index, "table 3, nMAE", PUBLISHED, "ordered_value_nmae", lower=True),
                 effect(charged[ordered], "table 3, nMAE", "errored runs charged 1", "charged", lower=True)]
    return frame(rows)


def grain_aware_nmae(sources: Sources) -> pd.DataFrame:
    """nMAE on matched keys as published, against missing and extra keys charged with an error of 1 each."""
    index = native_arms(sources["primary"])
    index = index[index["ordered_value_nmae"].notna()]
    found = (index["agent_unique_keys"].fillna(0) - index["extra_keys"].fillna(0)).clip(lower=0)
    union = index["truth_rows"] + index["extra_keys"].fillna(0)
    charged = index.assign(charged=(index["ordered_value_nmae"] * found + (union - found)) / union)
    return frame([effect(index, "table 3, nMAE", PUBLISHED, "ordered_value_nmae", lower=True),
                  effect(charged, "table 3, nMAE", "missing and extra keys charged 1", "charged", lower=True)])


def one_arm_reruns(sources: Sources) -> pd.DataFrame:
    """All tasks, against without the tasks whose with-skill arm alone was rerun, and against those rerun in both arms."""
    index = native_arms(sources["primary"])
    uneven = uneven_tasks(index)
    return frame([
        effect(index, "table 3, reward", PUBLISHED),
        effect(index[~index["task"].isin(uneven)], "table 3, reward", "without tasks rerun in one arm only"),
        effect(index[index["task"].isin(uneven)], "table 3, reward", "those tasks alone"),
    ])


def uneven_tasks(index: pd.DataFrame) -> list[str]:
    """Tasks whose two arms come from different releases."""
    if "_source_priority" not in index:
        return []
    release = native_arms(index).groupby(["task", "condition"])["_source_priority"].max().unstack("condition")
    return sorted(release.index[release[ARMS[0]] != release[ARMS[1]]])


def left_out(sources: Sources) -> pd.DataFrame:
    """Tables 3 and 4 without each family and each task in turn; the extremes of both, and the published value."""
    change = {"table 3, reward": task_deltas(native_arms(sources["primary"]))}
    if sources.has("followup"):
        levels = spec_levels(sources)
        change["table 4, spec minus no skill"] = levels["operational_spec"] - levels["no_skill"]
        change["table 4, skill minus spec"] = levels["targeted_skill"] - levels["operational_spec"]
    rows = []
    for headline, values in change.items():
        seed = SEED_PRIMARY if "table 3" in headline else SEED_FOLLOWUP
        rows.append(_left(headline, PUBLISHED, values, seed))
        for unit, name in (("family", family_of), ("task", str)):
            labels = values.index.map(name)
            each = {label: values[labels != label] for label in sorted(set(labels))}
            means = pd.Series({label: part.mean() for label, part in each.items()})
            for label in (means.idxmin(), means.idxmax()):
                rows.append(_left(headline, f"without {unit} {label}", each[label], seed))
    return frame(rows)


def _left(headline: str, choice: str, values: pd.Series, seed: int) -> dict[str, Any]:
    interval = task_bootstrap(values, seed)
    return {"headline": headline, "choice": choice, "delta": interval.estimate, "low": interval.low, "high": interval.high,
            "positive": improved(values), "tasks": len(values)}


def subset_selection(sources: Sources) -> pd.DataFrame:
    """The primary effect on the tasks that the sentinel and the controls use, against the tasks they leave out."""
    index = native_arms(sources["primary"])
    subsets = {"all tasks": set(index["task"])}
    if sources.has("followup"):
        followup = sources["followup"]
        subsets["sentinel tasks"] = set(followup.loc[followup["condition"] == "operational-spec", "task"])
    controls = sources["primary"]["condition"].isin([name for _, name in CONTROLS])
    subsets["tasks of the decoy and raw-SQL controls"] = set(sources["primary"].loc[controls, "task"])
    rows = []
    for name, tasks in subsets.items():
        rows.append(effect(index[index["task"].isin(tasks)], "table 3, reward", PUBLISHED if name == "all tasks" else name))
        if name != "all tasks":
            rows.append(effect(index[~index["task"].isin(tasks)], "table 3, reward", f"other than the {name}"))
    return frame(rows)


# ---- strict checks -----------------------------------------------------------------------------------------------------


def strict_by_condition(index: pd.DataFrame, tasks: list[str] | None = None) -> pd.DataFrame:
    """Strict passes by condition and mode; mean reward beside them. `tasks` narrows to a subset."""
    part = index[index["schema"] == "native"]
    part = part if tasks is None else part[part["task"].isin(tasks)]
    passed = strict_passes(part)
    grouped = part.assign(passed=passed, mode=part["task"].map(mode_of)).groupby(["condition", "mode"])
    return pd.DataFrame({"runs": grouped.size(), "passes": grouped["passed"].sum(),
                         "mean_reward": grouped["reward"].mean()}).reset_index()


def passes_at(index: pd.DataFrame, tasks: Path, accuracy: float | None = None) -> pd.Series:
    """Would each run pass with this accuracy threshold on every task? None: each task's own threshold.

    Rebuilt from match rates and key recall (the coverage check keeps the task's own threshold; a missing identifier
    column cannot be seen in the index, so a run that failed for that alone counts as passed here).
    """
    from m4lib.cards import load_cards

    contracts = {name: card.evaluation for name, card in load_cards(tasks).items()}
    rates = match_rates(index)
    result = []
    for task, recall, columns in zip(index["task"], index["key_recall"], rates, strict=True):
        contract = contracts[task]
        needed = float(contract["accuracy_threshold"]) if accuracy is None else accuracy
        result.append(bool(columns) and min(columns.values()) >= needed
                      and recall >= float(contract["row_coverage_threshold"]))
    return pd.Series(result, index=index.index)


def thresholds(sources: Sources) -> pd.DataFrame:
    """Strict passes in the skill comparison under each task's own threshold and under common ones, by mode and arm."""
    index = native_arms(sources["primary"])
    assert sources.tasks is not None
    rows = []
    for name, level in (("each task's own", None), ("1.00", 1.0), ("0.99", 0.99), ("0.95", 0.95), ("0.90", 0.9),
                        ("0.85", 0.85)):
        passed = passes_at(index, sources.tasks, level)
        counts = passed.groupby([index["condition"], index["task"].map(mode_of)]).sum()
        rows.append({"accuracy threshold": name, **{f"{arm}, {mode}": int(counts.get((arm, mode), 0))
                                                    for mode in ("standard", "raw") for arm in ARMS}})
    return pd.DataFrame(rows)


# ---- all of them -------------------------------------------------------------------------------------------------------

QUESTIONS = {
    "errored runs": errored_runs, "scored columns": value_columns, "reruns in one arm": one_arm_reruns,
    "grain of nMAE": grain_aware_nmae, "subset of tasks": subset_selection, "left out": left_out,
    "first attempts": first_attempts, "container failures": container_failures,
}


def summary(sources: Sources) -> tuple[pd.DataFrame, list[str]]:
    """Every headline number under each choice, and the questions that the data at hand cannot answer."""
    parts: list[pd.DataFrame] = []
    notes = [note for note in [attempts_note(sources)] if note]
    for question, function in QUESTIONS.items():
        try:
            parts.append(function(sources).assign(question=question))
        except (M4Error, KeyError) as error:
            notes.append(f"{question}: {error}")
    whole = pd.concat(parts, ignore_index=True)
    whole = whole[~whole.duplicated(["headline", "choice"])]
    order = list(dict.fromkeys(whole["headline"]))
    whole = whole.sort_values("headline", key=lambda names: names.map(order.index), kind="stable", ignore_index=True)
    return whole, notes


def shift(rows: pd.DataFrame) -> float:
    """Largest distance of a choice's delta from the published one, within a headline."""
    base = rows[rows["choice"] == PUBLISHED].set_index("headline")["delta"]
    distance = (rows["delta"] - rows["headline"].map(base)).abs()
    return float(distance[distance > TOLERANCE].max()) if (distance > TOLERANCE).any() else 0.0

"""What a referee would ask for beside the printed numbers, as small frames for the notebooks."""

from __future__ import annotations

import pandas as pd

from m4lib.analysis.intervals import (
    SEED_PRIMARY,
    Interval,
    bca_bootstrap,
    family_balanced_bootstrap,
    family_bootstrap,
    task_bootstrap,
    two_stage_bootstrap,
)
from m4lib.analysis.metrics import family_of, strict_passes, task_deltas
from m4lib.analysis.significance import exact_sign_flip, holm, leave_out, sampled_sign_flip, stratified_permutation_test
from m4lib.analysis.sources import Sources
from m4lib.analysis.tables.controls import CONTROLS, SPEC_ROWS, spec_levels
from m4lib.analysis.tables.effects import ARMS, native_arms


def trial_cells(index: pd.DataFrame, value: str = "reward") -> tuple[list[str], list[list], list[list]]:
    """Tasks with both arms, and for each the values of every model: treated[t][m], control[t][m]."""
    runs = native_arms(index).groupby(["task", "model", "condition"])[value].apply(lambda cell: cell.to_numpy(float))
    both = runs.unstack("condition").reindex(columns=list(ARMS)).dropna()
    tasks = list(both.index.get_level_values("task").unique())
    return tasks, [list(both.loc[task, ARMS[1]]) for task in tasks], [list(both.loc[task, ARMS[0]]) for task in tasks]


def intervals_by_method(index: pd.DataFrame, value: str = "reward", resamples: int = 20_000) -> pd.DataFrame:
    """The task-balanced effect under several interval methods; rows methods, columns estimate, low, high."""
    change = task_deltas(native_arms(index), value)
    _, treated, control = trial_cells(index, value)
    methods: dict[str, Interval] = {
        "task bootstrap, percentile (published)": task_bootstrap(change, SEED_PRIMARY, resamples),
        "task bootstrap, BCa": bca_bootstrap(change, SEED_PRIMARY, resamples),
        "tasks, then trials within cells": two_stage_bootstrap(treated, control, SEED_PRIMARY, resamples),
        "families, tasks pooled": family_bootstrap(change, family_of, resamples=resamples),
        "families, equal weight": family_balanced_bootstrap(change, family_of, resamples=resamples),
    }
    return pd.DataFrame([{"method": name, **interval._asdict()} for name, interval in methods.items()])


def sign_flip_sentence(index: pd.DataFrame) -> str:
    """The sign-flip test of the task-balanced effect, exact where it can be enumerated."""
    change = task_deltas(native_arms(index))
    drawn = sampled_sign_flip(change)
    if len(change) > 30:
        return f"Sign-flip test over {len(change)} tasks: p = {drawn:.2g} from 200,000 draws."
    return (f"Sign-flip test over {len(change)} tasks: p = {exact_sign_flip(change):.2g} by enumerating all "
            f"2^{len(change)} sign patterns, {drawn:.2g} from 200,000 draws.")


def spec_sign_flips(sources: Sources) -> pd.DataFrame:
    """Exact sign-flip p of both comparisons of table 4."""
    levels = spec_levels(sources)
    pairs = zip(SPEC_ROWS, (("operational_spec", "no_skill"), ("targeted_skill", "operational_spec")), strict=True)
    return pd.DataFrame([{"comparison": name, "p": exact_sign_flip((levels[a] - levels[b]).dropna())}
                         for name, (a, b) in pairs])


def strict_pass_counts(index: pd.DataFrame) -> pd.DataFrame:
    """Strict passes and runs by condition and model, native skill comparison."""
    arms = native_arms(index)
    grouped = strict_passes(arms).groupby([arms["condition"], arms["model"]], sort=True)
    return pd.DataFrame({"passes": grouped.sum(), "runs": grouped.size()}).reset_index()


def control_strict_passes(index: pd.DataFrame) -> pd.DataFrame:
    """Strict passes by condition on the tasks of the controls, both models pooled."""
    tasks = index.loc[index["condition"].isin([name for _, name in CONTROLS]), "task"].unique()
    part = index[index["task"].isin(tasks) & (index["schema"] == "native")]
    grouped = strict_passes(part).groupby(part["condition"])
    frame = pd.DataFrame({"passes": grouped.sum(), "runs": grouped.size()})
    order = ["no-skill", "with-skill-decoy", "with-skill", "with-skill-rawsql"]
    return frame.reindex([name for name in order if name in frame.index]).rename_axis("condition").reset_index()


def outcome_counts(index: pd.DataFrame) -> pd.DataFrame:
    """How many runs were scored, had an evaluation error, or never reached the evaluator, by exit."""
    reached = index["reward_uncapped"].notna() if "reward_uncapped" in index else index["errors"] == 0
    outcome = pd.Series("scored", index=index.index)
    outcome[index["errors"] > 0] = "evaluation error"
    outcome[~reached] = "never reached the evaluator"
    codes = index["agent_returncode"] if "agent_returncode" in index else pd.Series(float("nan"), index=index.index)
    exits = codes.map({0: "normal exit", -1: "time limit"}).fillna("other exit").where(codes.notna(), "exit not recorded")
    return pd.DataFrame({"runs": index.groupby([outcome.rename("outcome"), exits.rename("exit")]).size()}).reset_index()


def task_tests(index: pd.DataFrame, value: str = "reward") -> pd.DataFrame:
    """By task: delta, exact permutation p within models, and Holm's adjustment over the tasks."""
    tasks, treated, control = trial_cells(index, value)
    p = pd.Series([stratified_permutation_test(a, b) for a, b in zip(treated, control, strict=True)], index=tasks)
    change = task_deltas(native_arms(index), value).reindex(tasks)
    return pd.DataFrame({"task": tasks, "delta": change.to_numpy(), "p": p.to_numpy(), "p_holm": holm(p).to_numpy()})


def leave_one_out(change: pd.Series) -> pd.DataFrame:
    """The mean effect without each family and without each task: the extremes, and who makes them."""
    rows = []
    for unit, left in (("family", leave_out(change, family_of)), ("task", leave_out(change))):
        for end, name in (("lowest", str(left.idxmin())), ("highest", str(left.idxmax()))):
            rows.append({"leave out one": unit, "end": end, "without": name, "mean_delta": float(left[name])})
    return pd.DataFrame(rows)

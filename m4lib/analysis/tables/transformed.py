"""The follow-up campaign: transformed schemas (table 23) and its integrity (table 24)."""

from __future__ import annotations

import pandas as pd

from m4lib.analysis.intervals import SEED_FOLLOWUP, task_bootstrap
from m4lib.analysis.metrics import improved, strict_passes, task_levels
from m4lib.analysis.sources import PACKAGE_WHERE, SUPERSEDED, Sources
from m4lib.analysis.table import table

SCHEMAS = ("native", "obfuscated", "restructured")
TRANSFORMED_MODEL = "gpt-5.4-mini"
FLAGS = (("Publishable flag failures", "publishable"), ("Isolation flag failures", "isolated"),
         ("Filesystem canary failures", "filesystem_canary"), ("Contamination-lint failures", "contamination_lint"))


def transformed_arms(sources: Sources) -> dict[str, pd.DataFrame]:
    """No-skill and with-skill levels by task for each schema, one model, on the tasks of the transformed campaign.

    Native cells come from the primary index, transformed with-skill cells from the follow-up, transformed no-skill
    cells from the earlier probe where it is at hand (else missing).
    """
    followup = sources["followup"]
    skilled = followup[(followup["condition"] == "with-skill") & (followup["schema"] != "native")]
    models = skilled["model"].unique()
    model = TRANSFORMED_MODEL if TRANSFORMED_MODEL in models or not len(models) else models[0]
    tasks = sorted(skilled["task"].unique())
    arms = {}
    for schema in SCHEMAS:
        control = sources.indexes.get("primary") if schema == "native" else sources.indexes.get("probe")
        treated = sources.indexes.get("primary") if schema == "native" else followup
        arms[schema] = pd.DataFrame({
            arm: pd.Series(dtype=float) if index is None
            else task_levels(index[index["model"] == model], arm, schema=schema)
            for arm, index in (("no-skill", control), ("with-skill", treated))
        }, dtype=float).reindex(tasks)
    return arms


@table("table23_schema_generalization", "Skill effect on transformed schemas", needs=["primary", "followup"],
       columns="schema tasks no_skill with_skill delta ci_low ci_high positive_tasks positive_of robustness_ratio",
       keys="schema", rows=[(schema,) for schema in SCHEMAS],
       formats="tasks:int no_skill:3 with_skill:3 delta:3 ci_low:3 ci_high:3 positive_tasks:int positive_of:int "
               "robustness_ratio:3",
       caption="One model, MIMIC-IV tasks. Ratio: task-balanced delta over the native one.")
def schema_generalization(sources: Sources) -> tuple[pd.DataFrame, list[str]]:
    rows, native_delta = [], float("nan")
    notes = [] if sources.has("probe") else [f"The transformed no-skill runs are absent: {sources.missing('probe')}"]
    for schema, arms in transformed_arms(sources).items():
        change = (arms["with-skill"] - arms["no-skill"]).dropna()
        interval = task_bootstrap(change, SEED_FOLLOWUP)
        native_delta = interval.estimate if schema == "native" else native_delta
        rows.append({
            "schema": schema, "tasks": len(arms), "no_skill": arms["no-skill"].mean(),
            "with_skill": arms["with-skill"].mean(), "delta": interval.estimate, "ci_low": interval.low,
            "ci_high": interval.high, "positive_tasks": improved(change) if len(change) else None,
            "positive_of": len(arms), "robustness_ratio": interval.estimate / native_delta if native_delta else None,
        })
    return pd.DataFrame(rows), notes


@table("table24_followup_integrity", "Integrity of the follow-up campaign", needs=["followup"],
       columns="audit_quantity count", keys="audit_quantity", formats="count:int",
       rows=[(name,) for name in (
           "Raw result directories", "Canonical run keys", "Superseded duplicate directories",
           "Operational-spec canonical runs", "Transformed-schema with-skill canonical runs",
           *(name for name, _ in FLAGS), "Nonzero agent exits", "Fully passing diagnostic runs")])
def followup_integrity(sources: Sources) -> tuple[pd.DataFrame, list[str]]:
    index = sources["followup"]
    superseded, notes = sources.json(SUPERSEDED), []
    older = None if superseded is None else len(superseded["superseded_runs"])
    if sources.own is not None:
        older = 0  # an index of a campaign holds the canonical runs and nothing else is known
    if older is None:
        notes.append(f"{SUPERSEDED} is not at hand ({PACKAGE_WHERE}), so superseded runs cannot be counted.")
    rows: list[tuple[str, int | None]] = [
        ("Raw result directories", None if older is None else len(index) + older),
        ("Canonical run keys", len(index)),
        ("Superseded duplicate directories", older),
        ("Operational-spec canonical runs", int((index["condition"] == "operational-spec").sum())),
        ("Transformed-schema with-skill canonical runs",
         int(((index["condition"] == "with-skill") & (index["schema"] != "native")).sum())),
        *((name, flag_failures(index, flag)) for name, flag in FLAGS),
        ("Nonzero agent exits", nonzero_exits(index)),
        ("Fully passing diagnostic runs", int(strict_passes(index).sum()) if "failed" in index else None),
    ]
    counts = index.groupby(["condition", "schema", "model"], sort=True).size()
    rows += [(" / ".join(label), int(count)) for label, count in counts.items()]  # type: ignore[arg-type]
    return pd.DataFrame(rows, columns=["audit_quantity", "count"], dtype=object), notes


def flag_failures(index: pd.DataFrame, flag: str) -> int | None:
    """Runs whose flag is not true; None when the index has no such column."""
    return int((~index[flag].astype(bool)).sum()) if flag in index else None


def nonzero_exits(index: pd.DataFrame) -> int | None:
    """Runs whose recorded return code is neither 0 nor blank."""
    return int((index["agent_returncode"].fillna(0) != 0).sum()) if "agent_returncode" in index else None

"""The run index: one row a run, with the columns of the published indexes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from m4lib.errors import M4Error
from m4lib.evaluation.score import recall_and_f1
from m4lib.files import atomic_path

COLUMNS = (
    "_legacy_skill_priority", "_source_priority", "agent", "agent_returncode", "agent_status", "agent_unique_keys",
    "condition", "containerized_agent", "contamination_lint", "diagnostics_failed", "elapsed_seconds", "errors",
    "extra_keys", "failed", "filesystem_canary", "isolated", "key_f1", "key_precision", "key_recall", "legacy_condition",
    "match_rates", "model", "ordered_value_columns", "ordered_value_nmae", "passed", "path", "publishable",
    "publishable_reason", "reasoning_effort", "reward", "reward_uncapped", "run_id", "schema", "task", "tier", "tier_name",
    "total_tests", "trial", "truth_rows",
)
_WHOLE = (
    "_legacy_skill_priority", "_source_priority", "agent_returncode", "agent_unique_keys", "errors", "extra_keys", "failed",
    "ordered_value_columns", "passed", "total_tests", "trial", "truth_rows",
)
RUN_KEY = ("task", "condition", "schema", "model", "trial")


def index_row(record: Mapping[str, Any], path: str = "", truth_rows: int | None = None) -> dict[str, Any]:
    """One row from a `result.json`. A run that never reached the evaluator has reward, recall and F1 0, blank
    precision and counts, no match rates and `diagnostics_failed` false; an evaluated one has them all.

    truth_rows: rows of the task's reference, when the record does not hold them.
    """
    agent, tests = record.get("agent_result") or {}, record.get("test_results") or {}
    reached = bool(tests.get("match_rates"))
    known = tests.get("reference_rows") or (record.get("evaluation") or {}).get("reference_rows") or truth_rows
    precision, unique, extra = (tests.get(name) if reached else None for name in ("key_precision", "agent_unique_keys", "extra_keys"))
    isolated = bool(record.get("isolated", False))
    return {
        "_legacy_skill_priority": 0, "_source_priority": 0, "agent": record.get("agent"),
        "agent_returncode": agent.get("returncode"), "agent_status": None, "agent_unique_keys": unique,
        "condition": record.get("condition"), "containerized_agent": isolated,
        "contamination_lint": _passed(record.get("contamination_lint")),
        "diagnostics_failed": bool(tests.get("diagnostics_failed")) and reached,
        "elapsed_seconds": agent.get("elapsed_seconds"), "errors": tests.get("errors", 1), "extra_keys": extra,
        "failed": tests.get("failed", 0), "filesystem_canary": _passed(record.get("filesystem_canary")), "isolated": isolated,
        "key_precision": precision, **recall_and_f1(precision, unique, extra, int(known or 0)), "legacy_condition": None,
        "match_rates": str(dict(tests.get("match_rates") or {})), "model": record.get("model"),
        "ordered_value_columns": tests.get("ordered_value_columns") or 0, "ordered_value_nmae": tests.get("ordered_value_nmae"),
        "passed": tests.get("passed", 0), "path": path, "publishable": bool(record.get("publishable", False)),
        "publishable_reason": record.get("publishable_reason"),
        "reasoning_effort": record.get("resolved_reasoning_effort") or record.get("reasoning_effort"),
        "reward": tests.get("reward", 0.0), "reward_uncapped": tests.get("reward_uncapped", tests.get("reward")) if reached else None,
        "run_id": record.get("run_id"), "schema": record.get("schema"), "task": record.get("task"), "tier": None,
        "tier_name": None, "total_tests": tests.get("total", 1), "trial": record.get("trial"), "truth_rows": known,
    }


def build_index(results_root: str | os.PathLike[str], *, every_attempt: bool = False) -> pd.DataFrame:
    """The runs below `results_root`, one row a run key (or with `every_attempt` one a folder), ordered by run key.

    Which attempt of a key counts is the harness's rule. The number of reference rows of a run that was never
    evaluated is taken from the other runs of its task. Raises M4Error when there is no such folder.
    """
    from m4lib.harness.records import newest, read_records

    root = Path(results_root)
    if not root.is_dir():
        raise M4Error(f"There is no folder of runs at {root}.")
    found = [pair for pair in read_records(root) if not pair[0].is_symlink()] if every_attempt else list(newest(root).values())
    rows_of: dict[str, int] = {}
    for _, record in found:
        rows = (record.get("test_results") or {}).get("reference_rows") or (record.get("evaluation") or {}).get("reference_rows")
        if rows:
            rows_of[record["task"]] = int(rows)
    return as_frame(index_row(record, f"{root.name}/{folder.name}", rows_of.get(record["task"])) for folder, record in found)


def as_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows of `index_row` as a table with the published columns, whole numbers kept whole beside blanks."""
    frame = pd.DataFrame(list(rows), columns=list(COLUMNS))
    for column in _WHOLE:
        frame[column] = pd.to_numeric(frame[column]).astype("Int64")
    for column in ("reward", "reward_uncapped", "key_precision", "ordered_value_nmae", "elapsed_seconds"):
        frame[column] = pd.to_numeric(frame[column]).astype("float64")
    return frame.sort_values(list(RUN_KEY), kind="stable", ignore_index=True)


def write_index(results_root: str | os.PathLike[str], target: str | os.PathLike[str]) -> pd.DataFrame:
    """Build the index of `results_root` and write it as `target` (.csv) and as Parquet beside it, atomically."""
    frame = build_index(results_root)
    target = Path(target).with_suffix(".csv")
    with atomic_path(target) as beside:
        frame.to_csv(beside, index=False)
    with atomic_path(target.with_suffix(".parquet")) as beside:
        frame.to_parquet(beside, index=False)
    return frame


def _passed(check: Any) -> bool:
    """A check's outcome; one that was skipped counts as passed, as in the published indexes."""
    return bool(check.get("passed", True)) if isinstance(check, Mapping) else check is not False

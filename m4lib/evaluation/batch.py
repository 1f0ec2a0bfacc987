"""Evaluate every run of a results root, in parallel, redoing only what changed."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from m4lib.cards import Card
from m4lib.errors import M4Error
from m4lib.evaluation.contract import EvaluationError, MissingOutput, read_contract
from m4lib.evaluation.opening import open_regular
from m4lib.evaluation.score import EVALUATOR_VERSION, evaluate_files, failed
from m4lib.files import read_json, sha256_file, write_json

NOT_EVALUATED = {"passed": 0, "failed": 0, "errors": 1, "total": 1, "reward": 0.0}
REFERENCE_ENDINGS = (".parquet", ".csv.gz", ".csv")


@dataclass(frozen=True)
class Job:
    folder: Path
    reference: Path
    contract: Mapping[str, Any]


def evaluate_root(
    results_root: str | os.PathLike[str],
    references_dir: str | os.PathLike[str],
    cards: Mapping[str, Card],
    *,
    workers: int | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """Evaluate the runs `results_root/<run>/` against `references_dir/<task>.parquet` (or .csv.gz, .csv).

    Each run's `result.json` gets its `test_results` (what `evaluate_files` returns) and `evaluation` (evaluator version,
    SHA-256 of both files); where these are the same as before nothing is done. A run that the harness failed is
    not scored; its ordered nMAE still comes from the output it left. workers: processes, default one a core.

    Returns a table, one row a run: run_id, task, status (evaluated, kept, failed run, unreadable record), reward,
    seconds, reason. Raises M4Error when a folder, a card or a reference is missing.
    """
    root, references = Path(results_root), Path(references_dir)
    if not root.is_dir():
        raise M4Error(f"There is no folder of runs at {root}.")
    jobs: list[Job] = []
    rows: list[dict[str, Any]] = []
    for path in sorted(root.glob("*/result.json")):
        # a linked folder may lie outside of the root
        if path.parent.name.startswith(".") or path.parent.is_symlink():
            continue
        try:
            task = read_json(path)["task"]
        except (ValueError, KeyError, TypeError, OSError) as error:
            rows.append(_row(path.parent.name, "", "unreadable record", None, 0.0, f"{type(error).__name__}: {error}"))
            continue
        if task not in cards:
            raise M4Error(f"{path} is a run of {task!r}, for which there is no task card.")
        jobs.append(Job(path.parent, find_reference(references, cards[task]), dict(cards[task].evaluation)))
    count = min(workers or os.cpu_count() or 1, len(jobs))
    done = _in_turn(jobs) if count <= 1 else _in_parallel(jobs, count)
    if progress:
        from tqdm.auto import tqdm

        done = tqdm(done, total=len(jobs), desc="evaluate", unit="run")
    rows.extend(done)
    return pd.DataFrame(rows, columns=["run_id", "task", "status", "reward", "seconds", "reason"]).sort_values(
        "run_id", ignore_index=True
    )


def find_reference(references: Path, card: Card) -> Path:
    """The task's reference in a folder, by the task's name or by the reference's."""
    for name in (card.name, card.reference_id):
        for ending in REFERENCE_ENDINGS:
            path = references / f"{name}{ending}"
            if path.is_file():
                return path
    raise M4Error(f"There is no reference for {card.name} in {references}; make it with `python -m m4lib reference`.")


def evaluate_run(folder: Path, reference: Path, contract: Mapping[str, Any]) -> dict[str, Any]:
    """Evaluate one run's folder and write its `result.json`. Returns its row of `evaluate_root`'s table."""
    started = time.perf_counter()
    path = folder / "result.json"
    record = read_json(path)
    run_id = record.get("run_id") or folder.name
    output = folder / "output.csv"
    stamp = {
        "evaluator_version": EVALUATOR_VERSION, "output_sha256": _hash(output),
        "reference_sha256": _reference_hash(str(reference), reference.stat().st_mtime_ns), "contract": _plain(contract),
    }
    before = record.get("evaluation") or {}
    agent = record.get("agent_result") or {}
    harness_failed = bool(agent.get("failure_reason")) or agent.get("returncode") not in (0, None)
    if record.get("test_results") and all(before.get(name) == value for name, value in stamp.items()):
        return _row(run_id, record["task"], "kept", record["test_results"].get("reward"), 0.0, before.get("reason"))
    result = evaluate_files(output, reference, contract)
    if harness_failed or not result["match_rates"]:
        reason = agent.get("failure_reason") or ("agent_nonzero_exit" if harness_failed else "no_output")
        tests = NOT_EVALUATED | {
            "ordered_value_nmae": result["ordered_value_nmae"], "ordered_value_columns": result["ordered_value_columns"]
        }
        status = "failed run"
    else:
        reason, status, tests = result["reason"], "evaluated", result
    kept = {name: (record.get("test_results") or {}).get(name) or "" for name in ("pytest_output", "pytest_stderr")}
    record["test_results"] = {**kept, **tests}
    record["evaluation"] = {**stamp, "reference_rows": result["reference_rows"], "reason": reason}
    write_json(path, record)
    return _row(run_id, record["task"], status, tests["reward"], time.perf_counter() - started, reason)


def _in_turn(jobs: Iterable[Job]) -> Iterable[dict[str, Any]]:
    for job in jobs:
        yield evaluate_run(job.folder, job.reference, job.contract)


def _in_parallel(jobs: list[Job], count: int) -> Iterable[dict[str, Any]]:
    """Processes, started afresh: nothing of the caller's threads is copied. A run that kills its process is found out
    by running what is left one at a time, and gets an evaluation error."""
    context = multiprocessing.get_context("spawn")
    threads = max(1, (os.cpu_count() or 1) // count)
    left: list[Job] = []
    with ProcessPoolExecutor(count, context, _prepare, (threads,)) as pool:
        futures: dict[Future, Job] = {pool.submit(evaluate_run, job.folder, job.reference, job.contract): job for job in jobs}
        for future in as_completed(futures):
            try:
                yield future.result()
            except BrokenProcessPool:
                left.append(futures[future])
    for job in left:
        with ProcessPoolExecutor(1, context, _prepare, (threads,)) as pool:
            try:
                yield pool.submit(evaluate_run, job.folder, job.reference, job.contract).result()
            except BrokenProcessPool:
                yield _died(job)


def _died(job: Job) -> dict[str, Any]:
    reason = "The evaluator's process ended while reading this output."
    record = read_json(job.folder / "result.json")
    record["test_results"] = failed(read_contract(job.contract), reason)
    record["evaluation"] = {"evaluator_version": EVALUATOR_VERSION, "reason": reason}
    write_json(job.folder / "result.json", record)
    return _row(record.get("run_id") or job.folder.name, record["task"], "evaluated", 0.0, 0.0, reason)


def _prepare(threads: int) -> None:
    import pyarrow as pa

    pa.set_cpu_count(threads)


def _row(run_id: str, task: str, status: str, reward: float | None, seconds: float, reason: str | None) -> dict[str, Any]:
    return {"run_id": run_id, "task": task, "status": status, "reward": reward, "seconds": round(seconds, 3), "reason": reason}


def _hash(output: Path) -> str | None:
    """SHA-256 of a regular file, never through a link; None when there is none."""
    try:
        opened = open_regular(output)
    except (MissingOutput, EvaluationError):
        return None
    try:
        return hashlib.file_digest(opened.handle, "sha256").hexdigest()  # type: ignore[arg-type]
    finally:
        opened.close()


@lru_cache(maxsize=64)
def _reference_hash(path: str, changed: int) -> str:
    return sha256_file(path)


def _plain(contract: Mapping[str, Any]) -> str:
    """A short digest of the contract: other thresholds or columns mean another evaluation."""
    parts = sorted((name, str(dict(value) if isinstance(value, Mapping) else value)) for name, value in contract.items())
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

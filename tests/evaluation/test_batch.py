"""A results root is evaluated once, again where something changed, and indexed with the published columns."""

from __future__ import annotations

import ast
import io
import json
import os

import numpy as np
import pandas as pd
import pytest

from m4lib.cards import load_cards
from m4lib.errors import M4Error
from m4lib.evaluation import batch, evaluate_files
from m4lib.evaluation.batch import evaluate_root
from m4lib.evaluation.index import COLUMNS, as_frame, build_index, index_row, write_index

TASK = "mimic-meld-24h"


@pytest.fixture
def cards(project):
    return load_cards(project.tasks)


@pytest.fixture
def root(tmp_path, cards):
    """Five runs: right, half right, timed out with an output, no output, unreadable output."""
    card = cards[TASK]
    columns = list(dict.fromkeys([*(card.evaluation.get("required_columns") or []), *card.evaluation["key_columns"], *card.scored_columns]))
    truth = pd.DataFrame({column: np.arange(40.0) for column in columns})
    (tmp_path / "reference").mkdir()
    truth.to_parquet(tmp_path / "reference" / f"{TASK}.parquet", index=False)
    half = truth.copy()
    half.loc[:19, "meld"] += 10
    for trial, (output, failure) in enumerate([(truth, None), (half, None), (half, "timeout"), (None, None), ("a,b\n1", None)], 1):
        folder = tmp_path / "runs" / f"run{trial}"
        folder.mkdir(parents=True)
        if isinstance(output, str):
            (folder / "output.csv").write_text(output)
        elif output is not None:
            output.to_csv(folder / "output.csv", index=False)
        record = {
            "task": TASK, "condition": "no-skill", "schema": "native", "agent": "codex", "model": "gpt-5.5", "trial": trial,
            "run_id": f"run{trial}", "timestamp": f"2026010{trial}_000000", "isolated": True, "publishable": True, "publishable_reason": "ok",
            "resolved_reasoning_effort": "medium", "agent_db": {"sha256": "0" * 64}, "filesystem_canary": {"passed": True},
            "contamination_lint": {"passed": True}, "agent_result": {"returncode": -1 if failure else 0, "elapsed_seconds": 12.5},
            "test_results": {"reward": 0.0},
        }
        if failure:
            record["agent_result"]["failure_reason"] = failure
        (folder / "result.json").write_text(json.dumps(record))
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "result.json").write_text("{")
    os.symlink(tmp_path / "runs" / "run1", tmp_path / "runs" / "linked")
    return tmp_path


def evaluate(root, cards, **options):
    return evaluate_root(root / "runs", root / "reference", cards, progress=False, **options).set_index("run_id")


@pytest.mark.parametrize("workers", [1, 2])
def test_every_run_gets_its_score(root, cards, workers):
    table = evaluate(root, cards, workers=workers)
    assert table["status"].to_dict() == {
        "broken": "unreadable record", "run1": "evaluated", "run2": "evaluated", "run3": "failed run", "run4": "failed run", "run5": "evaluated",
    }
    assert table["reward"].dropna().to_dict() == {"run1": 1.0, "run2": 0.5, "run3": 0.0, "run4": 0.0, "run5": 0.0}
    record = json.loads((root / "runs" / "run2" / "result.json").read_text())
    want = evaluate_files(root / "runs" / "run2" / "output.csv", root / "reference" / f"{TASK}.parquet", cards[TASK].evaluation)
    assert {name: record["test_results"][name] for name in want} == want
    assert record["agent_result"]["elapsed_seconds"] == 12.5
    timed_out = json.loads((root / "runs" / "run3" / "result.json").read_text())["test_results"]
    assert (timed_out["errors"], timed_out["total"], "match_rates" in timed_out) == (1, 1, False)
    assert timed_out["ordered_value_nmae"] == want["ordered_value_nmae"] > 0


def test_only_what_changed_is_done_again(root, cards, monkeypatch):
    evaluate(root, cards, workers=1)
    assert set(evaluate(root, cards, workers=1)["status"]) == {"kept", "unreadable record"}
    path = root / "runs" / "run2" / "output.csv"
    path.write_text(path.read_text().replace("39.0", "38.5"))
    again = evaluate(root, cards, workers=1)["status"]
    assert again["run2"] == "evaluated" and (again.drop(["run2", "broken"]) == "kept").all()
    monkeypatch.setattr(batch, "EVALUATOR_VERSION", "next")
    assert "kept" not in set(evaluate(root, cards, workers=1)["status"])
    reference = root / "reference" / f"{TASK}.parquet"
    frame = pd.read_parquet(reference)
    frame.assign(meld=0.0).to_parquet(reference, index=False)
    assert evaluate(root, cards, workers=1).loc["run1", "reward"] < 1


def test_a_dying_process_costs_one_run(root, cards):
    """A worker that is killed is found out, the other runs keep their scores."""
    path = root / "runs" / "run1" / "result.json"
    jobs = [batch.Job(path.parent, root / "reference" / f"{TASK}.parquet", {}), *[
        batch.Job(root / "runs" / name, root / "reference" / f"{TASK}.parquet", cards[TASK].evaluation) for name in ("run2", "run5")]]
    jobs[0] = batch.Job(path.parent, _Killer(jobs[0].reference), cards[TASK].evaluation)
    rows = {row["run_id"]: row for row in batch._in_parallel(jobs, 2)}
    assert rows["run2"]["reward"] == 0.5 and rows["run5"]["reward"] == 0.0
    assert "ended" in rows["run1"]["reason"]
    assert json.loads(path.read_text())["test_results"]["errors"] == 1


class _Killer:
    """Stands for a reference whose reading kills the process."""

    def __init__(self, path):
        self.path = path

    def stat(self):
        os._exit(9)


def test_mistakes_are_named(root, cards):
    with pytest.raises(M4Error, match="no folder of runs"):
        evaluate_root(root / "nowhere", root / "reference", cards, progress=False)
    with pytest.raises(M4Error, match="no reference for mimic-meld-24h"):
        evaluate_root(root / "runs", root / "runs", cards, progress=False)
    with pytest.raises(M4Error, match="no task card"):
        evaluate_root(root / "runs", root / "reference", {}, progress=False)


def test_index_of_a_root(root, cards):
    evaluate(root, cards, workers=1)
    frame = write_index(root / "runs", root / "index" / "mine.csv")
    assert tuple(frame.columns) == COLUMNS
    assert len(frame) == 5
    text = pd.read_csv(root / "index" / "mine.csv", dtype=str, keep_default_na=False)
    assert text.loc[0, ["reward", "key_f1", "truth_rows", "errors", "diagnostics_failed"]].tolist() == ["1.0", "1.0", "40", "0", "False"]
    assert ast.literal_eval(text.loc[1, "match_rates"])["meld"] == 0.5
    timed_out = text.loc[2]
    assert timed_out[["reward", "reward_uncapped", "match_rates", "key_precision", "agent_unique_keys", "extra_keys"]].tolist() == ["0.0", "", "{}", "", "", ""]
    assert timed_out[["key_recall", "key_f1", "errors", "total_tests", "diagnostics_failed", "truth_rows"]].tolist() == ["0.0", "0.0", "1", "1", "False", "40"]
    assert float(timed_out["ordered_value_nmae"]) > 0 and text.loc[3, "ordered_value_nmae"] == ""
    unreadable = text.loc[4]
    assert unreadable[["key_precision", "diagnostics_failed", "errors"]].tolist() == ["0.0", "True", "1"]
    pd.testing.assert_frame_equal(pd.read_parquet(root / "index" / "mine.parquet"), frame)
    assert build_index(root / "runs", every_attempt=True).shape == frame.shape


@pytest.mark.parametrize("name", ["final_codex_runs.csv", "final_claude_runs.csv", "final_oss_runs.csv"])
def test_published_indexes_follow_from_their_records(evidence_dir, name):
    """Each published row, taken apart into a record and put together again."""
    published = pd.read_csv(evidence_dir / "run-indexes" / name, keep_default_na=False, dtype=str)
    rows = []
    for row in published.to_dict("records"):
        rates = ast.literal_eval(row["match_rates"])
        tests = {"errors": int(row["errors"]), "failed": int(row["failed"]), "passed": int(row["passed"]), "total": int(row["total_tests"]),
                 "reward": float(row["reward"]), "match_rates": rates, "diagnostics_failed": row["diagnostics_failed"] == "True",
                 "ordered_value_columns": int(row["ordered_value_columns"]),
                 "ordered_value_nmae": float(row["ordered_value_nmae"]) if row["ordered_value_nmae"] else None}
        if row["key_precision"]:
            tests |= {"key_precision": float(row["key_precision"]), "agent_unique_keys": int(row["agent_unique_keys"]), "extra_keys": int(row["extra_keys"])}
        record = {name: row[name] for name in ("agent", "condition", "model", "run_id", "schema", "task", "publishable_reason")} | {
            "trial": int(row["trial"]), "resolved_reasoning_effort": row["reasoning_effort"], "isolated": row["isolated"] == "True",
            "publishable": row["publishable"] == "True", "agent_result": {"returncode": int(row["agent_returncode"]), "elapsed_seconds": float(row["elapsed_seconds"])},
            "filesystem_canary": {"passed": row["filesystem_canary"] == "True"}, "contamination_lint": {"passed": row["contamination_lint"] == "True"},
            "test_results": tests}
        rows.append(index_row(record, row["path"], int(row["truth_rows"])))
    made = as_frame(rows).set_index("run_id").loc[published["run_id"]].reset_index()
    assert len(made) == len(published) > 100
    for column in ("reward", "reward_uncapped", "key_precision", "key_recall", "key_f1", "ordered_value_nmae", "elapsed_seconds"):
        want = published[column].map(lambda cell: float(cell) if cell else np.nan)  # to_numeric misses last bits
        pd.testing.assert_series_equal(made[column].astype(float), want, check_exact=True, check_names=False)
    written = pd.read_csv(io.StringIO(made.to_csv(index=False)), dtype=str, keep_default_na=False)
    skipped = {"reward", "reward_uncapped", "key_precision", "key_recall", "key_f1", "ordered_value_nmae", "elapsed_seconds",
               "_legacy_skill_priority", "_source_priority", "legacy_condition"}
    for column in [column for column in published.columns if column not in skipped]:
        assert written[column].tolist() == published[column].tolist(), column


@pytest.mark.parametrize("name", ["final_codex_runs.csv", "final_claude_runs.csv", "final_oss_runs.csv"])
def test_published_rewards_are_the_rounded_means(evidence_dir, cards, name):
    import math

    published = pd.read_csv(evidence_dir / "run-indexes" / name)
    reached = 0
    for row in published.itertuples():
        rates = ast.literal_eval(row.match_rates)
        if not rates:
            assert (row.reward, row.errors, row.total_tests) == (0.0, 1, 1)
            continue
        reached += 1
        assert row.reward == round(math.fsum(rates.values()) / len(rates), 8), row.run_id
        assert list(rates) == cards[row.task].scored_columns, row.run_id
        if row.errors == 0:
            assert row.total_tests == 4 + len(rates)
            assert row.passed + row.failed == row.total_tests
    assert reached >= 30

"""Effects of any index: hand-computed cells, and the paper's headline from the published index."""

from __future__ import annotations

import pandas as pd
import pytest

from m4lib.analysis.effects import effects, levels
from m4lib.analysis.sources import read_index


def index(rows: list[tuple[str, str, str, float]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["task", "model", "condition", "reward"])
    frame["schema"] = "native"
    frame["agent"] = "codex"
    frame["trial"] = frame.groupby(["task", "model", "condition"]).cumcount() + 1
    frame["failed"], frame["errors"] = (frame["reward"] < 1).astype(int), 0
    return frame


def test_cells_before_models_before_tasks():
    frame = index([
        ("a", "m", "no-skill", 0.0), ("a", "m", "no-skill", 1.0), ("a", "m", "with-skill", 1.0),
        ("a", "n", "no-skill", 0.2), ("a", "n", "with-skill", 0.4),
        ("b", "m", "no-skill", 0.5), ("b", "m", "with-skill", 0.5),
    ])
    table = effects(frame).set_index("scope")
    assert table.loc["m", "delta"] == pytest.approx((0.5 + 0.0) / 2)
    assert table.loc["n", "delta"] == pytest.approx(0.2) and pd.isna(table.loc["n", "ci_low"])  # one task: no interval
    assert table.loc["task-balanced", "delta"] == pytest.approx(((0.5 + 0.2) / 2 + 0.0) / 2)
    assert table.loc["task-balanced", "improved_tasks"] == 1 and table.loc["task-balanced", "tasks"] == 2
    assert levels(frame)["runs"].sum() == 7


def test_no_control_no_rows():
    assert effects(index([("a", "m", "with-skill-rawsql", 1.0)])).empty


def test_published_index_gives_the_papers_headline(evidence_dir):
    table = effects(read_index(evidence_dir / "run-indexes" / "final_codex_runs.csv"), conditions=["with-skill"])
    row = table[(table["measure"] == "Reward") & (table["scope"] == "task-balanced")].iloc[0]
    printed = pd.read_csv(evidence_dir / "expected" / "table03_native_skill_effect.csv")
    want = printed[(printed["measure"] == "Reward") & (printed["scope"] == "task-balanced")].iloc[0]
    assert [round(row[c], 3) for c in ("control_level", "condition_level", "delta", "ci_low", "ci_high")] == [
        want["no_skill"], want["with_skill"], want["delta"], want["ci_low"], want["ci_high"]]
    assert (row["improved_tasks"], row["tasks"]) == (want["improved_tasks"], want["tasks"])

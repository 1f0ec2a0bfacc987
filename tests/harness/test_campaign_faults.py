"""Whole campaigns in real containers, and everything that can go wrong with their dispatcher, workers, engine and disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from m4lib.harness.docker_host import Engine
from tests.harness.lab import Bench, Lab, campaign

pytestmark = pytest.mark.docker


@pytest.fixture
def bench(lab: Lab, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    place = lab.bench(tmp_path)
    monkeypatch.setenv("M4_SCRATCH", str(place.scratch))
    return place


def test_the_oracle_scores_one_and_nop_scores_nothing(bench: Bench, engine: Engine) -> None:
    summary = bench.job(campaign("oracle", 2, conditions=["with-skill-rawsql"])).run(show=False)
    assert summary["finished"] == 2 and summary["mean_reward"] == 1.0
    bench.assert_clean(engine)

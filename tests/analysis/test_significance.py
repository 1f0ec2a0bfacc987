"""Tests against brute force and against statsmodels, and the p values that are known for the paper."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from m4lib.analysis import significance as sig
from m4lib.analysis.metrics import task_deltas
from m4lib.analysis.models import mixed_model
from m4lib.analysis.sources import Sources, load_sources
from m4lib.analysis.tables.effects import native_arms
from m4lib.project import Project


@pytest.fixture(scope="module")
def sources(evidence_dir: Path, project: Project) -> Sources:
    return load_sources(evidence_dir, tasks=project.tasks)


@pytest.mark.parametrize("seed", range(4))
def test_exact_sign_flip_is_full_enumeration(seed: int) -> None:
    values = np.round(np.random.default_rng(seed).normal(0.1, 0.3, 9 + seed), 3)
    observed = abs(values.sum()) - 1e-12
    hits = sum(abs(np.dot(values, signs)) >= observed for signs in product((1, -1), repeat=len(values)))
    assert sig.exact_sign_flip(values) == pytest.approx(hits / 2 ** len(values))


def test_sign_flip_edges() -> None:
    assert sig.exact_sign_flip(np.zeros(4)) == 1.0
    assert sig.exact_sign_flip(np.ones(5)) == 2 / 32
    assert np.isnan(sig.exact_sign_flip(np.array([])))
    with pytest.raises(ValueError):
        sig.exact_sign_flip(np.ones(31))


def test_sign_flip_of_the_published_comparisons(sources: Sources) -> None:
    from m4lib.analysis.referee import spec_sign_flips

    change = task_deltas(native_arms(sources["primary"]))
    assert sig.exact_sign_flip(change) == pytest.approx(6.6e-7, abs=0.05e-7)
    assert sig.sampled_sign_flip(change) == pytest.approx(1 / 200_001)
    assert spec_sign_flips(sources)["p"].round(4).tolist() == pytest.approx([0.0156, 0.5859], abs=6e-4)
    assert sig.exact_sign_flip(task_deltas(native_arms(sources["sentinel"]))) == pytest.approx(0.0078, abs=5e-5)


def test_sampled_sign_flip_is_close_to_exact() -> None:
    values = np.random.default_rng(2).normal(0.05, 0.2, 12)
    assert sig.sampled_sign_flip(values, 1) == pytest.approx(sig.exact_sign_flip(values), abs=0.005)


def test_holm_agrees_with_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests

    p = pd.Series(np.random.default_rng(5).uniform(0, 0.2, 20), index=[f"t{n}" for n in range(20)])
    assert sig.holm(p).to_numpy() == pytest.approx(multipletests(p, method="holm")[1])
    with_gap = p.copy()
    with_gap["t3"] = np.nan
    assert np.isnan(sig.holm(with_gap)["t3"]) and sig.holm(with_gap).drop("t3").equals(sig.holm(p.drop("t3")))


def test_permutation_tests() -> None:
    low, high = np.arange(5.0), np.arange(10.0, 15.0)
    assert sig.permutation_test(high, low) == 2 / 252
    assert sig.stratified_permutation_test([high], [low]) == sig.permutation_test(high, low)
    assert sig.stratified_permutation_test([high, high], [low, low]) == 2 / 252**2
    assert sig.permutation_test(low, low) == 1.0


def test_detectable_effect_agrees_with_statsmodels() -> None:
    from statsmodels.stats.power import TTestPower

    values = np.random.default_rng(9).normal(0.1, 0.15, 28)
    theirs = TTestPower().solve_power(nobs=28, alpha=0.05, power=0.8) * values.std(ddof=1)
    assert sig.detectable_effect(values) == pytest.approx(theirs, rel=1e-4)


def test_leaving_out_a_family() -> None:
    values = pd.Series([1.0, 2.0, 6.0], index=["a1", "a2", "b1"])
    assert sig.leave_out(values, lambda task: task[0]).to_dict() == {"a": 6.0, "b": 1.5}
    assert sig.leave_out(values)["b1"] == 1.5


def synthetic_runs(effect: float) -> pd.DataFrame:
    generator = np.random.default_rng(11)
    rows = []
    for task in (f"mimic-{family}-{kind}" for family in "abcdefgh" for kind in ("24h", "24h-raw")):
        base, slope = generator.normal(0.5, 0.2), generator.normal(effect, 0.05)
        rows += [{"task": task, "condition": condition, "schema": "native", "model": model, "trial": trial,
                  "reward": base + slope * (condition == "with-skill") + generator.normal(0, 0.02)}
                 for condition in ("no-skill", "with-skill") for model in ("m1", "m2") for trial in range(1, 6)]
    return pd.DataFrame(rows)


def test_mixed_model_finds_a_known_effect() -> None:
    runs = synthetic_runs(0.2)
    fit = mixed_model(runs)
    # balanced data: the fixed effect is the task-balanced delta itself
    assert fit.effect == pytest.approx(task_deltas(runs).mean(), abs=1e-6)
    assert fit.low < 0.2 < fit.high and fit.slope_sd == pytest.approx(0.05, abs=0.025) and fit.runs == 320
    with pytest.raises(ValueError):
        mixed_model(runs[runs["condition"] == "no-skill"])


def test_mixed_model_of_the_headline(sources: Sources) -> None:
    fit = mixed_model(native_arms(sources["primary"]))
    assert fit.converged and fit.effect == pytest.approx(0.135752, abs=1e-5) and 0.07 < fit.low < fit.high < 0.20

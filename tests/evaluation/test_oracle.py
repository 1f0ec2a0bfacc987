"""The quick evaluator against the naive one on random file pairs, whole and cut into tiny blocks."""

from __future__ import annotations

import gzip
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from m4lib.evaluation import evaluate_files
from m4lib.evaluation.csvtable import CsvTable

from . import generate, oracle

COMPARED = ["reward", "match_rates", "key_precision", "extra_keys", "agent_unique_keys", "passed", "failed", "errors",
            "total", "failed_checks"]
LENIENT = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def agree(folder, seed):
    reference, output, contract = generate.pair(random.Random(seed))
    (folder / "reference.csv").write_text(reference, newline="", encoding="utf-8")
    (folder / "output.csv").write_text(output, newline="", encoding="utf-8")
    (folder / "reference.csv.gz").write_bytes(gzip.compress(reference.encode()))
    want = oracle.evaluate(folder / "output.csv", folder / "reference.csv", contract)
    got = evaluate_files(folder / "output.csv", folder / ("reference.csv.gz" if seed % 2 else "reference.csv"), contract)
    assert {name: got[name] for name in COMPARED} == want, (seed, reference, output, contract)
    return want


@LENIENT
@given(seed=st.integers(0, 10**9))
def test_random_pairs(seed, tmp_path_factory):
    agree(tmp_path_factory.mktemp("pair"), seed)


@LENIENT
@given(seed=st.integers(0, 10**9), piece=st.sampled_from([24, 70, 400]))
def test_random_pairs_in_tiny_blocks(seed, piece, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CsvTable, "piece", piece)
        patch.setattr(CsvTable, "rows", 3)
        agree(tmp_path_factory.mktemp("pair"), seed)


def test_the_generator_reaches_every_outcome(tmp_path):
    outcomes = [agree(tmp_path, seed) for seed in range(60)]
    assert {result["errors"] for result in outcomes} == {0, 1}
    assert any(0 < result["reward"] < 1 for result in outcomes)
    assert any(result["extra_keys"] for result in outcomes)

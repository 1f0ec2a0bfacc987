"""The published cases: file pairs with the results of the published evaluator."""

from __future__ import annotations

import json

import pytest

from m4lib.evaluation import evaluate_files


@pytest.mark.parametrize("name", ["evaluator_cases.json", "evaluator_cases_edge.json"])
def test_published_cases(evidence_dir, tmp_path, name):
    cases = json.loads((evidence_dir / "expected" / name).read_text(encoding="utf-8"))
    flat = [case for group in cases.values() for case in group]
    assert len(flat) >= 20
    for number, case in enumerate(flat):
        reference, output = tmp_path / f"{number}.reference.csv", tmp_path / f"{number}.csv"
        reference.write_text(case["reference_csv"], newline="", encoding="utf-8")
        if case["output_csv"] is not None:
            output.write_text(case["output_csv"], newline="", encoding="utf-8")
        got = evaluate_files(output, reference, case)
        json.dumps(got, allow_nan=False)
        for key, want in case["expected"].items():
            if isinstance(want, float):
                assert got[key] == pytest.approx(want, abs=5e-9), (case["case"], key)
            else:
                assert got[key] == want, (case["case"], key)

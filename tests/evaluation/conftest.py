from __future__ import annotations

import pytest

from m4lib.evaluation import evaluate_files

CONTRACT = {
    "key_columns": ["stay_id"], "value_columns": ["v"], "required_columns": None, "tolerance": {},
    "row_coverage_threshold": 1.0, "accuracy_threshold": 1.0,
}
REFERENCE = "stay_id,v\n1,1\n2,2\n3,3\n4,4\n"


@pytest.fixture
def score(tmp_path):
    """Score an output (text, bytes or a path) against a reference text; `contract` entries override the usual ones."""

    def run(output, reference=REFERENCE, name="output.csv", **contract):
        truth = tmp_path / "reference.csv"
        truth.write_text(reference, newline="", encoding="utf-8")
        path = tmp_path / name
        if isinstance(output, str):
            path.write_text(output, newline="", encoding="utf-8")
        elif isinstance(output, bytes):
            path.write_bytes(output)
        else:
            path = output
        return evaluate_files(path, truth, CONTRACT | contract)

    return run

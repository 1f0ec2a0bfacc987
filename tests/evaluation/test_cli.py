"""`python -m m4lib evaluate`: one JSON object on stdout, status 0 for a score, 2 for a user's mistake."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from m4lib.cli import main


@pytest.fixture
def files(tmp_path):
    truth = pd.DataFrame({"stay_id": np.arange(20), "subject_id": 1, "hadm_id": 2, "meld": np.arange(20.0)})
    truth.to_parquet(tmp_path / "r.parquet", index=False)
    output = truth.copy()
    output.loc[:4, "meld"] += 5
    output.to_csv(tmp_path / "o.csv", index=False)
    return tmp_path


def run(capsys, *arguments):
    status = main(["evaluate", *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, out, err


def test_score(files, capsys):
    status, out, err = run(capsys, "--task", "mimic-meld-24h", "--output", files / "o.csv", "--reference", files / "r.parquet")
    result = json.loads(out)
    assert (status, err, result["reward"], result["task"]) == (0, "", 0.75, "mimic-meld-24h")


@pytest.mark.parametrize("target", ["o.csv", "r.parquet", "sub/../o.csv"])
def test_explanation_never_replaces_what_is_compared(files, capsys, target):
    (files / "sub").mkdir()
    before = [(files / name).read_bytes() for name in ("o.csv", "r.parquet")]
    status, _, err = run(capsys, "--task", "mimic-meld-24h", "--output", files / "o.csv", "--reference", files / "r.parquet", "--explain", files / target)
    assert status == 2 and err.count("\n") == 1 and "a file of its own" in err
    assert [(files / name).read_bytes() for name in ("o.csv", "r.parquet")] == before


def test_no_output_is_a_score(files, capsys):
    status, out, _ = run(capsys, "--task", "mimic-meld-24h", "--output", files / "none.csv", "--reference", files / "r.parquet")
    assert status == 0 and json.loads(out)["errors"] == 1


def test_explain(files, capsys):
    status, out, _ = run(capsys, "--task", "mimic-meld-24h", "--output", files / "o.csv", "--reference", files / "r.parquet",
                         "--explain", files / "e.parquet")
    result = json.loads(out)
    assert status == 0
    assert result["explanation"]["patterns"][0]["pattern"] == "off by a constant"
    assert len(pd.read_parquet(files / "e.parquet")) == 5


@pytest.mark.parametrize(("changed", "words"), [
    (["--task", "mimic-meld"], "no task called 'mimic-meld'"),
    (["--reference", "nowhere.parquet"], "no such file"),
    (["--reference", "/dev/null"], "cannot be used"),
])
def test_mistakes(files, capsys, changed, words):
    arguments = {"--task": "mimic-meld-24h", "--output": files / "o.csv", "--reference": files / "r.parquet"} | {changed[0]: changed[1]}
    status, out, err = run(capsys, *[part for pair in arguments.items() for part in pair])
    assert (status, out) == (2, "")
    assert words in err and len(err.strip().splitlines()) == 1


def test_reference_that_lacks_a_column(files, capsys):
    pd.DataFrame({"stay_id": [1]}).to_parquet(files / "r.parquet")
    status, _, err = run(capsys, "--task", "mimic-meld-24h", "--output", files / "o.csv", "--reference", files / "r.parquet")
    assert status == 2 and "lacks the column meld" in err
    (files / "r.csv").write_text("stay_id,subject_id,hadm_id,meld\n1,1,1,1\n2,2,2,2,2,2\n")
    status, _, err = run(capsys, "--task", "mimic-meld-24h", "--output", files / "o.csv", "--reference", files / "r.csv")
    assert status == 2 and "cannot be used" in err and "Expected 4 fields" in err

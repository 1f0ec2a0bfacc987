"""Planted disagreements are found again, each under its own pattern and with the right count."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from m4lib.cards import load_cards
from m4lib.evaluation import evaluate_files
from m4lib.evaluation.example import made_up
from m4lib.evaluation.explain import explain

CONTRACT = {"key_columns": ["stay_id"], "value_columns": ["score", "creatinine", "lactate", "onset", "status", "absent"]}


@pytest.fixture
def planted(tmp_path):
    rng = np.random.default_rng(1)
    rows = 400
    truth = pd.DataFrame({
        "stay_id": np.arange(rows) + 3000, "score": rng.integers(1, 5, rows), "creatinine": rng.uniform(0.5, 3, rows).round(2),
        "lactate": rng.uniform(5, 9, rows).round(2), "onset": pd.Timestamp("2150-01-01") + pd.to_timedelta(rng.integers(0, 5000, rows), unit="min"),
        "status": rng.choice(["Trach", "HFNC"], rows), "absent": 1,
    })
    output = truth.drop(columns="absent").astype({"score": float})
    output.loc[10:69, "score"] += 1
    output.loc[200:219, "score"] = np.nan
    output.loc[10:99, "creatinine"] = (output["creatinine"] * 88.4).round(3)
    output.loc[50:149, "lactate"] += 2
    output.loc[20:59, "onset"] += pd.Timedelta(hours=6)
    output.loc[10:39, "status"] = "trach"
    output = pd.concat([output.iloc[5:], pd.DataFrame({"stay_id": [1, 2]}), output.iloc[9:12]])
    truth.to_parquet(tmp_path / "r.parquet", index=False)
    output.to_csv(tmp_path / "o.csv", index=False)
    return tmp_path


def test_patterns(planted):
    found = explain(planted / "o.csv", planted / "r.parquet", CONTRACT)
    counts = {(row.column, row.pattern): (row.cells, row.detail) for row in found.summary().itertuples()}
    assert counts.pop(("score", "one bin off")) == (60, "one too high")
    assert counts.pop(("score", "null against value")) == (20, "output null")
    cells, words = counts.pop(("creatinine", "unit factor"))
    assert cells == 90 and "88.4" in words
    assert counts.pop(("lactate", "off by a constant")) == (100, "+2")
    assert counts.pop(("onset", "shifted window")) == (40, "+6 h")
    assert counts.pop(("status", "text differs"))[0] == 30
    assert counts.pop(("absent", "missing column"))[0] == 400
    assert counts.pop(("(row)", "extra key"))[0] == 2
    assert counts.pop(("(row)", "duplicate key"))[0] == 3
    assert {pattern for _, pattern in counts} == {"missing key"} and {cells for cells, _ in counts.values()} == {5}
    assert found.rows == {"missing keys": 5, "extra keys": 2, "duplicate keys": 3}


def test_cells_add_up_to_what_the_score_lost(planted):
    found = explain(planted / "o.csv", planted / "r.parquet", CONTRACT)
    result = evaluate_files(planted / "o.csv", planted / "r.parquet", CONTRACT)
    lost = found.counts[found.counts["column"] != "(row)"].groupby("column")["cells"].sum()
    assert lost.to_dict() == {column: 400 - count for column, count in result["matched"].items()}


def test_confusion_table(planted):
    table = explain(planted / "o.csv", planted / "r.parquet", CONTRACT).confusion["score"]
    assert table.index.name == "reference" and table.columns.name == "output"
    assert table.to_numpy().sum() == 395
    assert table["null"].sum() == 20
    assert np.trace(table[list(table.index)].to_numpy()) == 395 - 80


def test_written_file_and_plot(planted):
    found = explain(planted / "o.csv", planted / "r.parquet", CONTRACT)
    found.write(planted / "e.parquet")
    table = pd.read_parquet(planted / "e.parquet")
    assert list(table.columns) == ["column", "pattern", "detail", "stay_id", "reference", "output", "difference"]
    assert len(table) == found.counts["cells"].sum()
    row = table[(table["column"] == "lactate") & (table["pattern"] == "off by a constant")].iloc[0]
    assert float(row["output"]) - float(row["reference"]) == pytest.approx(2)
    assert len(found.plot().axes[0].patches) > 0
    assert len(found.examples(2)) <= 2 * len(found.counts)


def test_null_against_zero_and_shifted_windows(tmp_path):
    hours = pd.date_range("2150-01-01", periods=40, freq="h")
    truth = pd.DataFrame({"stay_id": 7, "charttime": hours, "uo": np.random.default_rng(0).uniform(10, 90, 40).round(1)})
    output = truth.copy()
    output["uo"] = output["uo"].shift(1)  # each hour has the value of the one before
    truth.loc[5, "uo"] = np.nan
    output.loc[5, "uo"] = 0
    truth.to_csv(tmp_path / "r.csv", index=False)
    output.to_csv(tmp_path / "o.csv", index=False)
    found = explain(tmp_path / "o.csv", tmp_path / "r.csv", {"key_columns": ["stay_id", "charttime"], "value_columns": ["uo"]})
    counts = found.counts.set_index("pattern")["cells"].to_dict()
    assert counts["null against zero"] == 1
    assert counts["shifted window"] >= 36


def test_an_answer_that_is_always_the_same_is_named(tmp_path):
    truth = pd.DataFrame({"stay_id": range(60), "rate": np.linspace(3, 40, 60).round(2)})
    truth.to_csv(tmp_path / "r.csv", index=False)
    truth.assign(rate=0.0).to_csv(tmp_path / "o.csv", index=False)
    found = explain(tmp_path / "o.csv", tmp_path / "r.csv", {"key_columns": ["stay_id"], "value_columns": ["rate"]})
    assert found.summary()[["pattern", "cells", "detail"]].to_numpy().tolist() == [["other", 60, "output 0"]]


def test_made_up_disagreements_of_every_task(project, tmp_path):
    """The notebook's example: for each contract a score below 1 whose losses are all explained."""
    for name, card in load_cards(project.tasks).items():
        output, reference = made_up(card, tmp_path, rows=400)
        result, found = evaluate_files(output, reference, card.evaluation), explain(output, reference, card.evaluation)
        assert 0.5 < result["reward"] < 1 and result["errors"] == 0, name
        lost = found.counts[found.counts["column"] != "(row)"].groupby("column")["cells"].sum().to_dict()
        assert lost == {column: 400 - count for column, count in result["matched"].items()}, name
        assert found.rows == {"missing keys": 12, "extra keys": 2, "duplicate keys": 1}
        assert not (found.counts["pattern"] == "other").any(), (name, found.summary())


def test_nothing_differs_and_nothing_can_be_compared(planted):
    contract = CONTRACT | {"value_columns": ["score"]}
    same = explain(planted / "r.parquet", planted / "r.parquet", contract)
    assert same.cells.empty and same.summary().empty and same.reason is None
    same.plot()
    same.write(planted / "empty.parquet")
    (planted / "bad.csv").write_text("x\n1\n")
    broken = explain(planted / "bad.csv", planted / "r.parquet", contract)
    assert "key column" in broken.reason and broken.cells.empty
    assert explain(planted / "nothing.csv", planted / "r.parquet", contract).reason

"""What must hold for any pair of files, and the tasks' own contracts."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from m4lib.cards import load_cards
from m4lib.evaluation import evaluate_files
from m4lib.evaluation.cells import as_written, numbers, read_column, uniform_times

LENIENT = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def frame(seed, rows):
    """A reference with a composite key, numbers, gaps, labels and times."""
    rng = np.random.default_rng(seed)
    made = pd.DataFrame({
        "stay_id": rng.choice(np.arange(30_000_000, 30_000_000 + 3 * rows), rows, replace=False) if rows else [],
        "charttime": pd.Timestamp("2150-01-01") + pd.to_timedelta(rng.integers(0, 5000, rows), unit="min"),
        "score": rng.integers(0, 5, rows), "rate": rng.random(rows).round(4), "long": rng.random(rows) * 100,
        "gap": np.where(rng.random(rows) < 0.3, np.nan, rng.integers(0, 9, rows)),
        "label": rng.choice(["None", "Trach", "HFNC"], rows),
        "start": pd.Timestamp("2150-01-01") + pd.to_timedelta(rng.integers(0, 10**6, rows), unit="s"),
    })
    return made


VALUES = ["score", "rate", "long", "gap", "label", "start"]
CONTRACT = {"key_columns": ["stay_id", "charttime"], "value_columns": VALUES, "row_coverage_threshold": 1.0, "accuracy_threshold": 1.0}


@LENIENT
@given(seed=st.integers(0, 10**6), rows=st.integers(1, 120), ending=st.sampled_from([".csv", ".parquet", ".csv.gz"]))
def test_reference_against_itself_in_any_order(seed, rows, ending, tmp_path_factory):
    folder = tmp_path_factory.mktemp("self")
    truth = frame(seed, rows)
    shuffled = truth.sample(frac=1, random_state=seed)[list(np.random.default_rng(seed).permutation(truth.columns))]
    truth.to_parquet(folder / "r.parquet", index=False)
    if ending == ".parquet":
        shuffled.to_parquet(folder / "o.parquet", index=False)
    else:
        shuffled.to_csv(folder / f"o{ending}", index=False)
    result = evaluate_files(folder / f"o{ending}", folder / "r.parquet", CONTRACT)
    assert (result["reward"], result["failed"], result["ordered_value_nmae"]) == (1.0, 0, 0.0), result["reason"]
    assert result["key_f1"] == 1.0


@LENIENT
@given(seed=st.integers(0, 10**6), rows=st.integers(1, 80), wrong=st.integers(0, 80), extra=st.integers(0, 9), twice=st.integers(0, 9),
       missing=st.integers(0, 9))
def test_a_known_number_of_wrong_cells_gives_exactly_that_rate(seed, rows, wrong, extra, twice, missing, tmp_path_factory):
    folder = tmp_path_factory.mktemp("known")
    wrong, missing, twice = min(wrong, rows), min(missing, rows), min(twice, rows)
    truth = frame(seed, rows)
    output = truth.copy()
    output.loc[output.index[:wrong], "score"] += 1
    output = output.iloc[: rows - missing]
    more = truth.head(extra).assign(stay_id=lambda f: f["stay_id"] + 10**6)
    output = pd.concat([output, more, output.head(twice)])
    truth.to_csv(folder / "r.csv.gz", index=False)
    output.to_csv(folder / "o.csv", index=False)
    got = evaluate_files(folder / "o.csv", folder / "r.csv.gz", CONTRACT)
    extra, twice = len(more), min(twice, rows - missing)
    denominator = rows + extra + twice
    kept = rows - missing
    assert (got["extra_keys"], got["duplicate_keys"], got["missing_keys"]) == (extra, twice, missing)
    if kept + extra == 0:
        assert got["reward"] == 0
        return
    assert got["match_rates"]["score"] == round(max(kept - wrong, 0) / denominator, 8)
    assert got["match_rates"]["label"] == got["match_rates"]["start"] == got["match_rates"]["long"] == round(kept / denominator, 8)
    assert got["key_precision"] == round(kept / (kept + extra), 8)
    assert got["key_recall"] == kept / rows
    assert got["reward"] == round(math.fsum(got["match_rates"].values()) / 6, 8)


@LENIENT
@given(seed=st.integers(0, 10**6), rows=st.integers(2, 60))
def test_shuffling_rows_never_changes_a_score(seed, rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shuffle")
    truth = frame(seed, rows)
    output = truth.sample(frac=0.9, random_state=seed)
    output["rate"] = output["rate"].where(np.random.default_rng(seed).random(len(output)) < 0.5, 0.123)
    truth.to_parquet(folder / "r.parquet", index=False)
    results = []
    for turn in range(2):
        output.sample(frac=1, random_state=turn).to_csv(folder / "o.csv", index=False)
        results.append(evaluate_files(folder / "o.csv", folder / "r.parquet", CONTRACT))
    nmae = [result.pop("ordered_value_nmae") for result in results]  # a sum of doubles in another order
    assert results[0] == results[1]
    assert nmae[0] == pytest.approx(nmae[1], abs=1e-12)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(
    st.floats(allow_nan=False).map(repr), st.integers(-(10**20), 10**20).map(str), st.decimals(allow_nan=False, places=3).map(str),
    st.from_regex(r"\A[ +-]?[0-9]{0,19}\.?[0-9]{0,20}(e[+-]?[0-9]{1,3})?\Z"), st.sampled_from(["", "nan", "inf", "1e400", "0x1"]),
), min_size=1, max_size=6))
def test_quick_numbers_are_the_slow_ones(cells):
    column = pa.array([cell or None for cell in cells], pa.string())
    quick = numbers(column)
    if quick is not None:
        slow = read_column(column)
        assert slow.dtype.kind in "iuf"
        np.testing.assert_array_equal(quick, slow.to_numpy(float))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64), min_size=1, max_size=20))
def test_doubles_survive_writing_as_pandas_would_have_them(values):
    text = pa.array([repr(value) for value in values])
    np.testing.assert_array_equal(as_written(np.array(values)), read_column(text, "float64").to_numpy())


@settings(max_examples=200, deadline=None)
@given(st.lists(st.datetimes(), min_size=1, max_size=5), st.sampled_from(["%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S.%f"]))
def test_quick_times_are_pandas_times(times, notation):
    cells = [f"{time.year:04d}" + time.strftime(notation)[len(time.strftime("%Y")):] for time in times]
    quick = uniform_times(pa.array(cells))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        slow = pd.to_datetime(pd.Series(cells), errors="coerce")
    if quick is not None:
        assert slow.notna().all()
        assert (slow.astype("int64") // 1000).tolist() == quick.tolist()
    else:
        assert slow.isna().any() or slow.dt.year.min() < 1680


def test_every_task_scores_its_own_reference(project, tmp_path):
    """All 28 contracts, on a made-up reference of each; the number of scored columns is that of the rules."""
    scored = {"mimic-sepsis3-raw": 12, "mimic-suspicion-infection": 7, "mimic-urine-output-rate": 11, "mimic-ventilation": 3,
              "mimic-vasopressor-equivalents": 2, "mimic-creatinine-baseline": 6}
    cards = load_cards(project.tasks)
    assert len(cards) == 28
    for name, card in cards.items():
        rng = np.random.default_rng(0)
        columns = dict.fromkeys([*(card.evaluation.get("required_columns") or []), *card.evaluation["key_columns"], *card.scored_columns])
        truth = pd.DataFrame({column: rng.integers(0, 9, 50) for column in columns})
        truth[card.evaluation["key_columns"][0]] = np.arange(50)
        truth.to_parquet(tmp_path / "r.parquet")
        truth.to_csv(tmp_path / "o.csv", index=False)
        result = evaluate_files(tmp_path / "o.csv", tmp_path / "r.parquet", card.evaluation)
        assert (result["reward"], result["failed"], result["errors"]) == (1.0, 0, 0), name
        if name in scored:
            assert len(result["match_rates"]) == scored[name], name
        assert result["total"] == 4 + len(card.scored_columns)


def test_published_references_score_themselves_as_csv(project, expected_dir, tmp_path):
    """The expected task outputs, written as CSV by two programs, against themselves as Parquet."""
    import duckdb

    found = sorted(expected_dir.glob("*/tasks/*.parquet"))
    assert len(found) >= 12
    cards = load_cards(project.tasks)
    for path in found:
        pd.read_parquet(path).to_csv(tmp_path / "pandas.csv", index=False)
        duckdb.sql(f"COPY (SELECT * FROM '{path}') TO '{tmp_path}/duckdb.csv' (HEADER)")
        for name in ("pandas.csv", "duckdb.csv"):
            result = evaluate_files(tmp_path / name, path, cards[path.stem].evaluation)
            assert (result["reward"], result["failed_checks"]) == (1.0, []), (path.stem, name, result["reason"])

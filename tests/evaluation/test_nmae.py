"""Ordered nMAE against a plain DuckDB query on the two files."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from m4lib.evaluation import evaluate_files
from m4lib.evaluation.nmae import castable


def by_query(output, reference, keys, values):
    """(nMAE or None, number of ordered columns), straight from the definition."""
    con = duckdb.connect()
    con.execute("SET TimeZone='UTC'")
    for name, path in (("truth", reference), ("agent", output)):
        con.execute(f"CREATE TABLE {name} AS SELECT row_number() OVER () AS line, * FROM read_csv('{path}', header=true, sample_size=-1)")
    have = con.table("agent").columns
    cells, ordered = [], 0
    for value in values:
        if value in ("specimen", "ventilation_status"):
            continue
        numbers = [row[0] for row in con.execute(f"SELECT TRY_CAST({value} AS DOUBLE) FROM truth WHERE TRY_CAST({value} AS DOUBLE) IS NOT NULL").fetchall()]
        if not numbers:
            continue
        ordered += 1
        if value not in have:
            cells.append(1.0)
            continue
        scale = max(numbers) - min(numbers) or 1.0
        on = " AND ".join(f"t.{key} = a.{key}" for key in keys)
        names = ", ".join(keys)
        rows = con.execute(
            f"SELECT TRY_CAST(t.{value} AS DOUBLE), TRY_CAST(a.{value} AS DOUBLE) FROM truth t JOIN "
            f"(SELECT DISTINCT ON ({names}) * FROM agent ORDER BY {names}, line) a ON {on}"
        ).fetchall()
        if not rows:
            return None, ordered
        cells.append(float(np.mean([0.0 if t is None and a is None else 1.0 if t is None or a is None else min(abs(a - t) / scale, 1.0)
                                    for t, a in rows])))
    return (float(np.mean(cells)) if cells else None), ordered


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**6), rows=st.integers(1, 40), words=st.booleans(), null_key=st.booleans(), text_key=st.booleans())
def test_random_pairs(seed, rows, words, null_key, text_key, tmp_path_factory):
    folder = tmp_path_factory.mktemp("nmae")
    rng = np.random.default_rng(seed)
    truth = pd.DataFrame({
        "k": [f"k{i}" for i in range(rows)] if text_key else np.arange(rows), "t": pd.Timestamp("2150-01-01 10:00") + pd.to_timedelta(np.arange(rows) % 7, unit="h"),
        "whole": np.where(rng.random(rows) < 0.2, None, rng.integers(0, 9, rows)), "part": rng.normal(0, 3, rows).round(3),
        "flag": rng.random(rows) < 0.5, "specimen": rng.integers(0, 3, rows), "seen": pd.Timestamp("2150-01-01 09:00"),
        "same": 3, "gone": rng.random(rows),
    })
    output = truth.sample(frac=0.9, random_state=seed).astype(object)
    for column in ("whole", "part", "same"):
        hit = rng.random(len(output)) < 0.4
        output.loc[hit, column] = output.loc[hit, column].map(lambda v: None if v is None else v + rng.integers(-3, 4))
        if words:
            output.loc[rng.random(len(output)) < 0.1, column] = "n/a"
    output = pd.concat([output, output.head(2).assign(part=99.0), output.head(1).assign(k="k999" if text_key else 999)])
    if null_key:
        output = pd.concat([output, output.head(1).assign(k=None)])
    output = output.drop(columns="gone")
    truth.to_csv(folder / "r.csv", index=False)
    output.to_csv(folder / "o.csv", index=False)
    values = ["whole", "part", "flag", "specimen", "seen", "same", "gone"]
    want, ordered = by_query(folder / "o.csv", folder / "r.csv", ["k", "t"], values)
    got = evaluate_files(folder / "o.csv", folder / "r.csv", {"key_columns": ["k", "t"], "value_columns": values})
    assert got["ordered_value_columns"] == ordered
    assert got["ordered_value_nmae"] == (None if want is None else pytest.approx(want, abs=1e-12))


@pytest.mark.parametrize(("cells", "numbers"), [
    (["True", "false", None], [1, 0, np.nan]), (["t", "F"], [1, 0]), (["yes", "no"], [1, 0]), (["true", "maybe"], [np.nan, np.nan]),
    (["1", " 2 ", "x", "1e2", None], [1, 2, np.nan, 100, np.nan]), ([None, None], [np.nan, np.nan]), (["2150-01-01"], [np.nan]),
])
def test_what_counts_as_a_number(cells, numbers):
    np.testing.assert_array_equal(castable(pa.array(cells, pa.string())), np.array(numbers, float))


def test_undefined(score):
    assert score("v\n1\n")["ordered_value_columns"] == 0  # key column missing
    assert score("stay_id,v\nx,1\ny,2\n")["ordered_value_columns"] == 0  # keys cannot be compared
    assert score("stay_id,v\n7,1\n")["ordered_value_columns"] == 1  # keys do not meet
    assert score("stay_id,v\n")["ordered_value_columns"] == 1  # no rows
    assert score(b"\xff")["ordered_value_columns"] == 0  # unreadable
    for output in ("v\n1\n", "stay_id,v\nx,1\n", "stay_id,v\n7,1\n", "stay_id,v\n", b"\xff"):
        assert score(output)["ordered_value_nmae"] is None

"""Ordered nMAE: how far off the numbers are, relative to the reference's range, over the keys that both files have.

Computed apart from the reward, and with DuckDB's ideas of what is a number and when keys are equal. Extra, missing
and repeated rows do not count.
"""

from __future__ import annotations

import os
import tempfile

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from m4lib.duck import connect, literal, quote
from m4lib.evaluation.contract import Contract
from m4lib.evaluation.opening import Opened
from m4lib.evaluation.tables import Reference
from m4lib.evaluation.values import Aligned, Tally

UNORDERED = ("specimen", "ventilation_status")
Nmae = tuple[float | None, list[str]]  # value (None: undefined) and the columns it is the mean of


def castable(cells: np.ndarray | pa.Array) -> np.ndarray:
    """float64, NaN where the cell is no number. Takes numbers, microseconds (never numbers) or strings."""
    if isinstance(cells, np.ndarray):
        return cells if cells.dtype.kind == "f" else np.full(len(cells), np.nan)
    words = cells.slice(0, 1000).drop_null().unique()
    if len(words) and pc.all(pc.is_in(pc.utf8_lower(words), _FLAGS)).as_py():
        lower = pc.utf8_lower(cells)
        if pc.all(pc.or_kleene(pc.is_null(cells), pc.is_in(lower, _FLAGS))).as_py():  # a BOOLEAN column to DuckDB
            true = pc.if_else(pc.is_in(lower, _FLAGS.slice(0, 3)), 1.0, 0.0)
            return pc.if_else(pc.is_null(cells), None, true).to_numpy(zero_copy_only=False).astype(np.float64)
    cells = pa.table({"c": cells})  # read by DuckDB under its name
    with connect(threads=1) as con:
        con.execute("SET preserve_insertion_order=true")
        made = con.execute("SELECT TRY_CAST(c AS DOUBLE) AS v FROM cells").fetch_arrow_table()["v"]
    return made.to_numpy(zero_copy_only=False).astype(np.float64)


_FLAGS = pa.array(["true", "t", "yes", "false", "f", "no"])


def from_aligned(reference: Reference, aligned: Aligned, contract: Contract) -> Nmae:
    """From columns that are lined up already."""
    joined = aligned.matched.found.copy()
    for key in contract.keys:
        held = reference[key]
        if isinstance(held, pa.Array) and held.null_count:  # a null key equals nothing here
            joined &= held.is_valid().to_numpy(zero_copy_only=False)
    names: list[str] = []
    errors: list[float] = []
    rows = int(joined.sum())
    for column in contract.values:
        if column in UNORDERED or column not in reference:
            continue
        tally = aligned.tallies.get(column)  # tallied columns come without null keys
        if tally is not None:
            if tally.scale is not None:
                names.append(column)
                errors.append(tally.errors / rows if rows else 0.0)
            continue
        truth = castable(reference[column])
        counted = Tally(truth, 0.0)
        if counted.scale is None:
            continue
        names.append(column)
        if column not in aligned:
            errors.append(1.0)
            continue
        counted.add(truth[joined], castable(aligned.columns[column])[joined])
        errors.append(counted.errors / rows if rows else 0.0)
    return (float(np.mean(errors)) if rows and names else None), names


def from_files(reference: Reference, output: Opened, reference_file: Opened, contract: Contract) -> Nmae:
    """From the files, when the evaluator's own join failed: keys compare as DuckDB types them, null keys drop out."""
    folder = tempfile.TemporaryDirectory()
    con = connect(threads=1, memory_limit="1GB")
    try:
        con.execute(f"SET preserve_insertion_order=true; SET temp_directory={literal(folder.name)}")
        for name, opened in (("truth", reference_file), ("agent", output)):
            con.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM {_source(opened)}")
        have = {row[0] for row in con.execute("SELECT column_name FROM (DESCRIBE agent)").fetchall()}
        keys = ", ".join(quote(key) for key in contract.keys)
        con.execute(
            "CREATE TEMP TABLE once AS SELECT * EXCLUDE (turn) FROM (SELECT *, "
            f"row_number() OVER (PARTITION BY {keys} ORDER BY rowid) AS turn FROM agent) WHERE turn = 1"
        )
        on = " AND ".join(f"t.{quote(key)} = a.{quote(key)}" for key in contract.keys)
        joined = con.execute(f"SELECT count(*) FROM truth t JOIN once a ON {on}").fetchone()
        names, errors = [], []
        for column in contract.values:
            if column in UNORDERED or column not in reference:
                continue
            truth = castable(reference[column])
            if np.isnan(truth).all():
                continue
            names.append(column)
            if not joined or not joined[0]:
                continue
            scale = float(np.nanmax(truth) - np.nanmin(truth)) or 1.0
            if column not in have:
                errors.append(1.0)
                continue
            row = con.execute(
                f"""WITH pairs AS (SELECT TRY_CAST(t.{quote(column)} AS DOUBLE) AS o, TRY_CAST(a.{quote(column)} AS DOUBLE) AS v
                                   FROM truth t JOIN once a ON {on})
                    SELECT avg(CASE WHEN o IS NULL AND v IS NULL THEN 0 WHEN o IS NULL OR v IS NULL THEN 1
                               ELSE least(abs(v - o) / ?, 1) END) FROM pairs""",
                [scale],
            ).fetchone()
            errors.append(row[0])  # type: ignore[index]
        return (float(np.mean(errors)) if errors else None), names
    except duckdb.Error:
        return None, []
    finally:
        con.close()
        folder.cleanup()


def _source(opened: Opened) -> str:
    opened.handle.seek(0)
    path = literal(f"/dev/fd/{opened.handle.fileno()}" if os.path.exists("/dev/fd") else str(opened.path))
    if opened.parquet:
        return f"read_parquet({path})"
    return f"read_csv({path}, header=true, sample_size=-1, compression='{'gzip' if opened.gzipped else 'none'}')"

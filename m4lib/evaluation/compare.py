"""Does a cell match? Numbers, else times, else text, decided for a whole column at a time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from m4lib.evaluation.cells import NOT_A_TIME, looks_like_time, read_column, to_numeric, to_times, uniform_times
from m4lib.evaluation.contract import EvaluationError
from m4lib.evaluation.tables import ColumnType, Reference
from m4lib.evaluation.values import Aligned


def matches(reference: Reference, aligned: Aligned, column: str, tolerance: float) -> np.ndarray:
    """bool, one a reference row. Raises EvaluationError when the two cannot be compared at all."""
    truth, agent, found = reference[column], aligned.columns[column], aligned.matched.found
    if isinstance(truth, np.ndarray) and truth.dtype.kind == "f" and isinstance(agent, np.ndarray):
        return compare_numbers(truth, agent, found, tolerance)
    assert isinstance(agent, pa.Array)
    quick = _quick_times(truth, agent, found, tolerance)
    if quick is None:
        quick = _quick_text(truth, agent, found, aligned.types[column])
    if quick is not None:
        return quick
    try:
        return compare_series(
            read_column(reference.text(column)), joined_series(agent, aligned.types[column], found), found, tolerance
        )
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        words = "both sides are true or false and no cell is empty" if "boolean subtract" in str(error) else str(error).rstrip(".")
        raise EvaluationError(f"The values of {column} cannot be compared: {words}.", readable=True) from None


def compare_numbers(truth: np.ndarray, agent: np.ndarray, found: np.ndarray, tolerance: float) -> np.ndarray:
    """Absolute difference at most `tolerance`; null against null only where the output has the key. NaN is null."""
    with np.errstate(invalid="ignore"):
        match = np.abs(truth - agent) <= tolerance
    if not match.all():
        match |= np.isnan(truth) & np.isnan(agent) & found
    return match


def _quick_times(truth: np.ndarray | pa.Array, agent: pa.Array, found: np.ndarray, tolerance: float) -> np.ndarray | None:
    """Both sides zone-less ISO times, each in one notation."""
    if isinstance(truth, pa.Array):
        ours = uniform_times(truth)
    else:
        ours = truth if truth.dtype.kind == "i" and (truth != NOT_A_TIME).any() else None
    theirs = None if ours is None else uniform_times(agent)
    if ours is None or theirs is None:
        return None
    no_truth, no_agent = ours == NOT_A_TIME, theirs == NOT_A_TIME
    close = np.abs(ours - theirs) / 1e6 <= tolerance if tolerance else ours == theirs
    return close & ~no_truth & ~no_agent | (no_truth & no_agent & found)


def _quick_text(truth: np.ndarray | pa.Array, agent: pa.Array, found: np.ndarray, kind: ColumnType) -> np.ndarray | None:
    """Both columns are text for certain, and the reference's does not look like times."""
    if not isinstance(truth, pa.Array) or kind.kind != "O" or kind.empty_is_text:
        return None
    head = read_column(truth.drop_null().slice(0, 1000))
    if head.dtype != object or not len(head) or not head.map(lambda cell: isinstance(cell, str)).all():
        return None
    if to_numeric(head).notna().all() or looks_like_time(head):
        return None
    same = pc.fill_null(pc.equal(truth, agent), False).to_numpy(zero_copy_only=False)
    neither = pc.and_(pc.is_null(truth), pc.is_null(agent)).to_numpy(zero_copy_only=False)
    return same | (neither & found)


def joined_series(cells: pa.Array, kind: ColumnType, found: np.ndarray) -> pd.Series:
    """The output's column after the left join: its type over the whole file, widened where keys are missing."""
    whole = bool(found.all())
    if kind.kind == "O":
        column = cells.to_pandas().astype(object)
        column = column.where(column.notna(), "" if kind.empty_is_text else np.nan)
        return column.where(found, np.nan)
    if kind.kind == "b":
        words = pd.Series(cells.to_pandas().str.lower() == "true", dtype=object)
        return words.astype(bool) if whole and not kind.nulls else words.where(pc.is_valid(cells).to_numpy(zero_copy_only=False), np.nan)
    if kind.kind in "iu" and whole and not kind.nulls:
        return read_column(cells, "int64" if kind.kind == "i" else "uint64")
    if kind.kind == "f":
        return read_column(cells, "float64")
    column = pd.Series(np.nan, index=range(len(cells)), dtype="float64")
    valid = pc.is_valid(cells).to_numpy(zero_copy_only=False)
    column[valid] = read_column(cells.drop_null(), "int64" if kind.kind == "i" else "uint64").to_numpy(np.float64)
    return column


def compare_series(truth: pd.Series, agent: pd.Series, found: np.ndarray, tolerance: float) -> np.ndarray:
    """The rules on two columns in the reference's order, typed as pandas would after the join."""
    present, answered = truth.notna(), agent.notna()
    both = present & answered
    neither = (~present & ~answered).to_numpy() & found
    left, right = to_numeric(truth), to_numeric(agent)
    if left[present].notna().all() and right[both].notna().all():
        match = (left - right).abs() <= tolerance
    elif looks_like_time(truth):
        left, right = to_times(truth), to_times(agent)
        if left[present].notna().all() and right[both].notna().all():
            match = (left - right).abs().dt.total_seconds() <= tolerance
        else:
            match = truth.astype(str) == agent.astype(str)
    else:
        match = truth.astype(str) == agent.astype(str)
    return (match & both).to_numpy(bool) | neither

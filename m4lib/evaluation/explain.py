"""Which cells differ, and in what manner: why a run lost its points, in a minute.

Every differing cell gets the first pattern that fits:

missing column           the output has no such column
missing key              the output lacks the key: the row is lost in all of its columns
null against zero        null on one side, 0 on the other
null against value       null on one side, another value on the other
one bin off              a score (whole numbers of a small range) that is 1 too high or too low
unit factor              output / reference is a known conversion, for a fifth of the column's differing numbers or more
off by a constant        so many differ by the same amount
shifted window           a time that is off by whole hours; a number that another row of the same first key has
text differs             two different texts
other                    none of these

Rows without a counterpart are listed under the column `(row)`: extra key, duplicate key. They enlarge every denominator.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from m4lib.errors import M4Error
from m4lib.evaluation import compare
from m4lib.evaluation.cells import NOT_A_TIME, to_numeric, to_times, uniform_times
from m4lib.evaluation.contract import Contract, EvaluationError, MissingOutput, read_contract
from m4lib.evaluation.keys import normalise
from m4lib.evaluation.opening import open_regular
from m4lib.evaluation.tables import Reference, Table, open_table, scan
from m4lib.evaluation.values import Aligned, align
from m4lib.files import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FACTORS = {  # output / reference
    10: "10", 0.1: "1/10", 100: "100 (a fraction as percent)", 0.01: "1/100 (percent as a fraction)",
    1000: "1000 (milli)", 0.001: "1/1000 (milli)", 60: "60 (minutes for hours)", 1 / 60: "1/60 (hours for minutes)",
    24: "24 (hours for days)", 1 / 24: "1/24 (days for hours)", 3600: "3600 (seconds for hours)", 1 / 3600: "1/3600 (hours for seconds)",
    88.4: "88.4 (creatinine: µmol/L for mg/dL)", 1 / 88.4: "1/88.4 (creatinine: mg/dL for µmol/L)",
    17.1: "17.1 (bilirubin: µmol/L for mg/dL)", 1 / 17.1: "1/17.1 (bilirubin: mg/dL for µmol/L)",
    2.20462: "2.2 (pounds for kg)", 0.453592: "0.45 (kg for pounds)", 7.50062: "7.5 (mmHg for kPa)", 0.133322: "0.133 (kPa for mmHg)",
    18.0182: "18 (glucose: mg/dL for mmol/L)", 0.0555: "1/18 (glucose: mmol/L for mg/dL)", -1: "-1 (sign)", 2: "2", 0.5: "1/2",
}
PATTERNS = (
    "missing column", "missing key", "extra key", "duplicate key", "null against zero", "null against value", "one bin off", "unit factor", "off by a constant",
    "shifted window", "text differs", "other",
)
_SCORE_RANGE = 30  # whole numbers spanning less than this are taken for a score
MAX_CELLS = 200_000  # kept of each column; the counts are of all
_SHARE = 0.2  # of a column's differing numbers that share one difference


@dataclass
class Explanation:
    """cells: one row a differing cell (column, pattern, detail, keys, reference, output, difference), at most
    MAX_CELLS of a column. counts: one row a column and pattern (column, pattern, cells, detail), of all cells.

    rows: {missing keys, extra keys, duplicate keys} -> count. confusion: per column of few values, reference value by
    output value. reason: set when the files cannot be compared at all.
    """

    cells: pd.DataFrame
    counts: pd.DataFrame
    rows: dict[str, int] = field(default_factory=dict)
    compared: int = 0  # reference rows
    confusion: dict[str, pd.DataFrame] = field(default_factory=dict)
    reason: str | None = None

    def summary(self) -> pd.DataFrame:
        """One row a column and pattern: cells, share of the reference rows, most frequent detail."""
        made = self.counts.assign(share=self.counts["cells"] / max(self.compared, 1))
        made = made.sort_values(["cells", "column"], ascending=[False, True], ignore_index=True)
        return made[["column", "pattern", "cells", "share", "detail"]]

    def by_pattern(self) -> pd.DataFrame:
        """Pattern: cells and the columns it touches."""
        table = self.summary()
        made = table.groupby("pattern", observed=True).agg(cells=("cells", "sum"), columns=("column", "nunique")).reset_index()
        return made.sort_values("cells", ascending=False, ignore_index=True)

    def examples(self, count: int = 3) -> pd.DataFrame:
        """The first cells of each column and pattern."""
        return self.cells.groupby(["column", "pattern"], observed=True, sort=False).head(count).reset_index(drop=True)

    def summary_records(self) -> dict[str, Any]:
        """As plain values: what the command line prints."""
        return {"rows": self.rows, "patterns": self.summary().to_dict("records"), "reason": self.reason}

    def write(self, path: str | os.PathLike[str]) -> None:
        """All differing cells as Parquet, atomically."""
        table = pa.Table.from_pandas(self.cells, preserve_index=False)
        with atomic_path(path) as beside:
            import pyarrow.parquet as pq

            pq.write_table(table, beside, compression="zstd")

    def plot(self) -> Figure:
        """Stacked bars: differing cells a column, by pattern."""
        import matplotlib.pyplot as plt

        wide = self.summary().pivot_table(index="column", columns="pattern", values="cells", aggfunc="sum", fill_value=0)
        wide = wide.loc[wide.sum(axis=1).sort_values().index]
        figure, axis = plt.subplots(figsize=(8, 1.2 + 0.35 * max(len(wide), 1)))
        left = np.zeros(len(wide))
        for pattern in [name for name in PATTERNS if name in wide.columns]:
            axis.barh(wide.index, wide[pattern], left=left, label=pattern)
            left += wide[pattern].to_numpy(float)
        axis.set_xlabel("differing cells")
        if len(wide):
            axis.legend(loc="lower right", fontsize="small")
        figure.tight_layout()
        plt.close(figure)  # the caller shows it once
        return figure


def explain(
    output: str | os.PathLike[str], reference: str | os.PathLike[str], contract: Mapping[str, Any]
) -> Explanation:
    """Compare as `evaluate_files` does, and keep every differing cell. Raises M4Error for an unusable reference."""
    rules = read_contract(contract)
    with ExitStack() as stack:
        try:
            truth_file = stack.enter_context(closing(open_regular(reference, follow_links=True)))
            truth = Reference(open_table(truth_file), rules.columns)
        except (MissingOutput, EvaluationError) as error:
            raise M4Error(f"The reference {reference} cannot be used: {error}") from None
        try:
            table = open_table(stack.enter_context(closing(open_regular(output))))
            lacking = [key for key in rules.keys if key not in table.columns]
            if lacking:
                raise EvaluationError(f"The output lacks the key column {lacking[0]}.")
            aligned = align(truth, table, rules.keys, rules.scored)
            return _explain(truth, table, aligned, rules)
        except (MissingOutput, EvaluationError) as error:
            return Explanation(_frame(rules), _COUNTS, compared=truth.rows, reason=str(error))


def _explain(truth: Reference, table: Table, aligned: Aligned, rules: Contract) -> Explanation:
    found = aligned.matched.found
    keys = pd.DataFrame({key: _shown(truth, key) for key in rules.keys})
    parts: list[pd.DataFrame] = [_frame(rules)]
    counts: list[pd.DataFrame] = [_COUNTS]
    confusion: dict[str, pd.DataFrame] = {}
    for column in rules.scored:
        present = column in aligned.columns and aligned.matched.rows > 0
        ours, theirs = truth[column], aligned.columns[column] if present else pa.nulls(truth.rows, pa.string())
        wrong = np.ones(truth.rows, bool)
        if present:
            wrong = ~compare.matches(truth, aligned, column, rules.tolerance.get(column, 0.0))
            table_of_scores = _confusion(ours, theirs, found) if wrong.any() else None
            if table_of_scores is not None:
                confusion[column] = table_of_scores
        where = np.flatnonzero(wrong)
        if len(where):
            cells = _classify(column, ours, theirs, where, found, column in table.columns, keys)
            parts.append(cells.head(MAX_CELLS))
            grouped = cells.groupby("pattern", sort=False)["detail"].agg(["size", _commonest]).reset_index()
            grouped.columns = ["pattern", "cells", "detail"]
            counts.append(grouped.assign(column=column))
    unanswered = _unanswered(truth, table, aligned, rules)
    rows = {
        "missing keys": int((~found).sum()), "extra keys": aligned.matched.extra, "duplicate keys": aligned.matched.duplicates
    }
    parts.append(unanswered)
    for name in ("extra key", "duplicate key"):
        if rows[f"{name}s"]:
            counts.append(pd.DataFrame({"column": ["(row)"], "pattern": [name], "cells": [rows[f"{name}s"]], "detail": [""]}))
    cells = _concat(parts)
    cells["pattern"] = pd.Categorical(cells["pattern"], PATTERNS)
    for side in ("reference", "output"):
        cells[side] = _words(cells[side])
    for key in rules.keys:
        whole = pd.to_numeric(cells[key], errors="coerce") if keys[key].dtype.kind == "i" else None
        if whole is not None and whole.notna().all() and (whole == np.floor(whole)).all():
            cells[key] = whole.astype(np.int64)
        elif cells[key].dtype == object:
            cells[key] = cells[key].map(str, na_action="ignore")
    return Explanation(cells, _concat(counts), rows, truth.rows, confusion)


_COUNTS = pd.DataFrame({"column": [], "pattern": [], "cells": np.array([], int), "detail": []})


def _frame(rules: Contract) -> pd.DataFrame:
    return pd.DataFrame(columns=["column", "pattern", "detail", *rules.keys, "reference", "output", "difference"])


def _concat(parts: list[pd.DataFrame]) -> pd.DataFrame:
    filled = [part for part in parts if len(part)]
    return pd.concat(filled, ignore_index=True) if filled else parts[0].copy()


def _classify(
    column: str, ours: Any, theirs: Any, where: np.ndarray, found: np.ndarray, present: bool, keys: pd.DataFrame
) -> pd.DataFrame:
    left, right = _take(ours, where), _take(theirs, where)
    frame = keys.iloc[where].reset_index(drop=True)
    pattern = pd.Series("other", index=frame.index, dtype=object)
    detail = pd.Series("", index=frame.index, dtype=object)
    difference = pd.Series(np.nan, index=frame.index)
    open_ = pd.Series(True, index=frame.index)

    def mark(rows: Any, name: str, words: Any = "") -> None:
        rows = pd.Series(np.asarray(rows, bool), index=frame.index) & open_
        pattern[rows] = name
        detail[rows] = words[rows] if isinstance(words, pd.Series) else words
        open_[rows] = False

    if not present:
        mark(np.ones(len(where)), "missing column")
    mark(~found[where], "missing key")
    a, b = to_numeric(left).astype(float), to_numeric(right).astype(float)
    no_a, no_b = left.isna(), right.isna()
    mark(no_a & (b == 0), "null against zero", "reference null, output 0")
    mark(no_b & (a == 0), "null against zero", "reference 0, output null")
    mark(no_a & ~no_b, "null against value", "reference null")
    mark(~no_a & no_b, "null against value", "output null")
    numeric = a.notna() & b.notna() & np.isfinite(a) & np.isfinite(b)
    if numeric.any():
        difference = (b - a).where(numeric)
        rounded = difference.round(6)
        whole = isinstance(ours, np.ndarray) and ours.dtype.kind == "f" and _is_score(ours)
        mark(numeric & (difference.abs() == 1) & whole, "one bin off", difference.map(lambda d: "one too high" if d > 0 else "one too low"))
        ratio = (b / a.where(a != 0)).where(numeric)
        for factor, words in FACTORS.items():
            near = (ratio / factor - 1).abs() < 2e-3
            if near.sum() >= max(2, _SHARE * numeric.sum()):
                mark(near, "unit factor", words)
        counts = rounded[numeric & open_].value_counts()
        for amount, count in counts.head(3).items():
            if count >= max(2, _SHARE * numeric.sum()):
                mark(numeric & (rounded == amount), "off by a constant", f"{amount:+g}")
        first = frame.columns[0]
        mark(numeric & _belongs_to_a_neighbour(ours, right, frame[first], keys[first]), "shifted window",
             "the value of another row with the same first key")
        answers = b[numeric & open_].value_counts()
        if len(answers) and answers.iloc[0] >= max(2, _SHARE * numeric.sum()):
            mark(numeric & (b == answers.index[0]), "other", f"output {float(answers.index[0]):g}")
    else:
        times = [to_times(side) if side.dtype == object else side for side in (left, right)]
        if all(side.dtype.kind == "M" for side in times) and getattr(times[0].dt, "tz", None) == getattr(times[1].dt, "tz", None):
            difference = (times[1] - times[0]).dt.total_seconds()
            counts = difference[open_].dropna().value_counts()
            for amount, count in counts.head(3).items():
                if count >= max(2, _SHARE * difference.notna().sum()):
                    hours = float(amount) / 3600  # type: ignore[arg-type]
                    mark(difference == amount, "shifted window" if hours == int(hours) else "off by a constant", f"{hours:+g} h")
            mark(difference.notna() & (difference % 3600 == 0), "shifted window", "by whole hours")
            mark(difference.notna(), "other", "another time")
        pairs = left.astype(str) + " → " + right.astype(str)
        common = pairs.value_counts().head(20).index
        mark(np.ones(len(where)), "text differs", pairs.where(pairs.isin(common), ""))
    frame.insert(0, "column", column)
    frame.insert(1, "pattern", pattern)
    frame.insert(2, "detail", detail)
    frame["reference"], frame["output"] = left.astype(object), right.astype(object)
    frame["difference"] = difference
    return frame


def _belongs_to_a_neighbour(ours: Any, right: pd.Series, group: pd.Series, groups: pd.Series) -> pd.Series:
    """Whether the output's value is the reference's of another row of the same first key (a window too early or late)."""
    none = pd.Series(False, index=right.index)
    if not isinstance(ours, np.ndarray) or not groups.duplicated().any() or (isinstance(ours, np.ndarray) and _is_score(ours)):
        return none
    have = pd.MultiIndex.from_arrays([groups, pd.Series(ours)])
    wanted = pd.MultiIndex.from_arrays([group, to_numeric(right).astype(float)])
    return pd.Series(wanted.isin(have), index=right.index)


def _is_score(values: np.ndarray) -> bool:
    present = values[~np.isnan(values)]
    return bool(len(present)) and bool((present == np.floor(present)).all()) and present.max() - present.min() < _SCORE_RANGE


def _confusion(ours: Any, theirs: Any, found: np.ndarray) -> pd.DataFrame | None:
    """Reference value by output value for a column of few values; rows without the key are left out."""
    left, right = _take(ours, np.flatnonzero(found)), _take(theirs, np.flatnonzero(found))
    left, right = left.map(_label), right.map(_label)
    if left.nunique() > _SCORE_RANGE or right.nunique() > 2 * _SCORE_RANGE or left.empty:
        return None
    made = pd.crosstab(left, right)
    order = lambda names: sorted(names, key=lambda name: (name == "null", not _number(name), float(name) if _number(name) else 0, name))  # noqa: E731
    made = made.loc[order(made.index), order(made.columns)]
    made.index.name, made.columns.name = "reference", "output"
    return made


def _label(cell: Any) -> str:
    if pd.isna(cell):
        return "null"
    return f"{cell:g}" if isinstance(cell, float) else str(cell)


def _number(text: str) -> bool:
    try:
        float(text)
        return text not in ("nan", "inf", "-inf")
    except ValueError:
        return False


def _take(column: Any, where: np.ndarray) -> pd.Series:
    if isinstance(column, pa.Array):
        return pd.Series(column.take(pa.array(where)).to_pandas().to_numpy(object), dtype=object)
    made = column[where]
    if made.dtype.kind == "i":
        return pd.Series(np.where(made == NOT_A_TIME, np.datetime64("NaT"), made.astype("datetime64[us]"))).astype("datetime64[us]")
    return pd.Series(made)


def _words(column: pd.Series) -> pd.Series:
    return column.map(lambda cell: None if pd.isna(cell) else (f"{cell:.15g}" if isinstance(cell, float) else str(cell))).astype(object)


def _shown(truth: Reference, key: str) -> Any:
    """Key cells for a reader: whole numbers without a point, times as times."""
    held = truth[key]
    if isinstance(held, pa.Array):
        times = uniform_times(held)
        return held.to_pandas() if times is None or (times == NOT_A_TIME).any() else pd.Series(times.astype("datetime64[us]"))
    if held.dtype.kind == "i":
        return pd.Series(held.astype("datetime64[us]"))
    return pd.Series(held.astype(np.int64)) if len(held) and (held == np.floor(held)).all() else pd.Series(held)


def _unanswered(truth: Reference, table: Table, aligned: Aligned, rules: Contract, count: int = 10_000) -> pd.DataFrame:
    """The first output rows that are compared with no reference row: their keys are extra or repeated."""
    used = np.sort(aligned.matched.first_row[aligned.matched.first_row >= 0])
    if len(used) == aligned.matched.rows:
        return _frame(rules)

    def work() -> pd.DataFrame:
        parts: list[pd.DataFrame] = []
        start = have = 0
        for block in table.blocks(rules.keys, rules.keys):
            rows = len(block[rules.keys[0]])
            unused = np.setdiff1d(np.arange(start, start + rows), used, assume_unique=True)[: count - have] - start
            parts.append(pd.DataFrame({key: _take(block[key], unused) for key in rules.keys}))
            start, have = start + rows, have + len(unused)
            if have >= count:
                break
        return pd.concat(parts, ignore_index=True)

    made = scan(table, work)
    theirs = pd.DataFrame({key: _comparable(made[key]) for key in rules.keys})
    ours = pd.DataFrame({key: _comparable(pd.Series(truth.text(key).to_pandas())) for key in rules.keys})
    repeated = theirs.duplicated() | pd.Series(pd.MultiIndex.from_frame(theirs).isin(pd.MultiIndex.from_frame(ours)))
    made = _concat([_frame(rules), made])
    made["column"], made["pattern"], made["detail"] = "(row)", np.where(repeated, "duplicate key", "extra key"), ""
    return made


def _comparable(cells: pd.Series) -> pd.Series:
    """Key cells of either file in one form."""
    made = normalise(cells)
    return made.astype(str) if made.dtype.kind not in "iuf" else made.astype(float).astype(str)


def _commonest(details: pd.Series) -> str:
    known = details[details != ""]
    return str(known.value_counts().index[0]) if len(known) else ""

"""Which output row answers which reference row.

Quick way: each key column of the reference is a lattice (whole numbers, or times in equal steps), so that a key
becomes one integer; the output is matched block by block and never held. General way: pandas, as the rules say:
each column of each file becomes numbers if every cell is one, else times, else text, and then the files are joined.
"""

from __future__ import annotations

import re
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.tseries.api import guess_datetime_format

from m4lib.duck import connect
from m4lib.evaluation.cells import NOT_A_TIME, concat, read_column, to_numeric, to_times, uniform_times
from m4lib.evaluation.contract import EvaluationError
from m4lib.evaluation.tables import Reference, Table, as_numbers, blocks_with_rows

_TABLE = 1 << 26  # largest lattice that is looked up in a table
_HELD = 8_000_000  # extra keys in memory before they go to disk
MAX_GENERAL = 20_000_000  # output rows in the general way


class NotQuick(Exception):
    """The keys need the general way."""


@dataclass
class Matched:
    """first_row[r]: the output row (from 0) compared with reference row r, -1 when the key is missing."""

    first_row: np.ndarray
    rows: int
    unique: int
    extra: int
    duplicates: int

    @property
    def found(self) -> np.ndarray:
        return self.first_row >= 0


class QuickMatcher:
    """Feed it the output's blocks in order; it tells which of their rows are compared with which reference rows."""

    def __init__(self, reference: Reference, keys: tuple[str, ...]) -> None:
        self.keys = keys
        self._axes = [_Axis(reference[key]) for key in keys]
        if np.prod([float(axis.size) for axis in self._axes]) >= 2**62:
            raise NotQuick
        self.count = reference.rows
        codes = np.zeros(self.count, np.int64)
        for axis in self._axes:
            codes = codes * axis.size + axis.code(axis.values)[0]
            axis.values = codes[:0]
        self._size = int(np.prod([axis.size for axis in self._axes], dtype=object))
        self._codes = codes
        ordered = bool((codes[1:] > codes[:-1]).all())
        self._order = None if ordered else np.argsort(codes, kind="stable")
        self._sorted = codes if self._order is None else codes[self._order]
        if not ordered and (self._sorted[1:] == self._sorted[:-1]).any():
            raise EvaluationError("The reference has a repeated key.", readable=True)
        self._table: np.ndarray | None = None
        self.first_row = np.full(self.count, -1, np.int64)
        self._scratch: np.ndarray | None = None
        self.rows = 0
        self._next = 0
        self._extra = _Distinct(len(keys))

    def add(self, block: dict[str, Any]) -> tuple[np.ndarray | slice, np.ndarray | slice]:
        """(reference rows, block rows) that pair up: the first rows of keys not seen before."""
        columns = [axis.read(block[key]) for key, axis in zip(self.keys, self._axes, strict=True)]
        rows = len(columns[0])
        start, self.rows = self.rows, self.rows + rows
        codes, valid = np.zeros(rows, np.int64), np.ones(rows, bool)
        for axis, values in zip(self._axes, columns, strict=True):
            part, fine = axis.code(values)
            codes = codes * axis.size + part
            valid &= fine
        ahead = slice(self._next, self._next + rows)
        if valid.all() and np.array_equal(codes, self._codes[ahead]) and (self.first_row[ahead] < 0).all():
            self.first_row[ahead] = np.arange(start, start + rows)
            self._next += rows
            return ahead, slice(0, rows)
        position = self._find(codes)
        position[~valid] = -1
        outside = position < 0
        if outside.any():
            self._extra.add([values[outside] for values in columns])
        hits = np.flatnonzero(~outside)
        position = position[hits]
        if self._scratch is None:
            self._scratch = np.empty(self.count, np.int64)
        self._scratch[position[::-1]] = hits[::-1]  # the first row of a key is written last
        fresh = (self._scratch[position] == hits) & (self.first_row[position] < 0)
        position, hits = position[fresh], hits[fresh]
        self.first_row[position] = start + hits
        if len(position):
            self._next = int(position[-1]) + 1
        return position, hits

    def _find(self, codes: np.ndarray) -> np.ndarray:
        if self._size <= _TABLE:
            if self._table is None:
                self._table = np.full(self._size, -1, np.int32)
                self._table[self._codes] = np.arange(self.count, dtype=np.int32)
            return self._table[np.clip(codes, 0, self._size - 1)].astype(np.int64)
        at = np.minimum(np.searchsorted(self._sorted, codes), self.count - 1)
        at[self._sorted[at] != codes] = -1
        return at if self._order is None else np.where(at < 0, -1, self._order[at])

    def result(self) -> Matched:
        extra = self._extra.count()
        unique = extra + int((self.first_row >= 0).sum())
        return Matched(self.first_row, self.rows, unique, extra, self.rows - unique)


class _Axis:
    """One key column of the reference as integers 0 .. size-1."""

    def __init__(self, column: np.ndarray | pa.Array) -> None:
        values = column if isinstance(column, np.ndarray) else uniform_times(column)
        if values is None or not len(values):
            raise NotQuick
        self.times = values.dtype.kind == "i"
        if (values == NOT_A_TIME).any() if self.times else (values != np.floor(values)).any() or not np.isfinite(values).all():
            raise NotQuick
        self.low = values.min()
        self.span = int(values.max()) - int(self.low)
        self.step = max(int(np.gcd.reduce(values - self.low)), 1) if self.times else 1
        self.size = self.span // self.step + 1
        self.values = values

    def read(self, cells: Any) -> np.ndarray:
        """The output's cells of this column; NotQuick when they are not all of the reference's kind."""
        if not self.times:
            made = as_numbers(cells)
            if made is None or np.isnan(made).any():
                raise NotQuick
            return made
        if isinstance(cells, np.ndarray):
            raise NotQuick
        if pa.types.is_timestamp(cells.type):
            made = cells.to_numpy(zero_copy_only=False).astype("datetime64[us]").astype(np.int64)
        else:
            made = uniform_times(cells) if pa.types.is_string(cells.type) else None
            notation = None if made is None else (len(cells[0].as_py()), cells[0].as_py()[10:11]) if cells[0].is_valid else None
            if notation is None or getattr(self, "notation", notation) != notation:
                raise NotQuick
            self.notation = notation
        if made is None or (made == NOT_A_TIME).any():
            raise NotQuick
        return made

    def code(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(codes, whether each is on the lattice)"""
        distance = values - self.low
        with np.errstate(invalid="ignore"):
            fine = (distance >= 0) & (distance <= self.span)
            if self.times:
                steps, rest = np.divmod(distance, self.step) if self.step > 1 else (distance, 0)
                return steps, fine & (rest == 0)
            if not fine.all():
                distance = np.where(fine, distance, 0)
            steps = distance.astype(np.int64)
            return steps, fine & (steps == distance)


class _Distinct:
    """Counts distinct keys; on disk once there are many."""

    def __init__(self, width: int) -> None:
        self._names = [f"k{at}" for at in range(width)]
        self._held: list[pd.DataFrame] = []
        self._rows = 0
        self._folder: tempfile.TemporaryDirectory | None = None
        self._con: Any = None

    def add(self, columns: list[np.ndarray]) -> None:
        self._held.append(pd.DataFrame(dict(zip(self._names, columns, strict=True))))
        self._rows += len(columns[0])
        if self._rows > _HELD:
            made = pd.concat(self._held).drop_duplicates()
            if len(made) <= _HELD // 2 and self._con is None:
                self._held, self._rows = [made], len(made)
                return
            if self._con is None:
                self._folder = tempfile.TemporaryDirectory()
                self._con = connect(Path(self._folder.name) / "extra.duckdb", threads=2, memory_limit="1GB")
                self._con.execute("CREATE TABLE extra AS SELECT * FROM made LIMIT 0")
            self._con.execute("INSERT INTO extra SELECT * FROM made")
            self._held, self._rows = [], 0

    def count(self) -> int:
        made = pd.concat(self._held).drop_duplicates() if self._held else None
        if self._con is None:
            return 0 if made is None else len(made)
        if made is not None:
            self._con.execute("INSERT INTO extra SELECT * FROM made")
        count = self._con.execute("SELECT count(*) FROM (SELECT DISTINCT * FROM extra)").fetchone()[0]
        self._con.close()
        self._folder.cleanup()  # type: ignore[union-attr]
        return int(count)


def match_in_general(reference: Reference, table: Table, keys: tuple[str, ...]) -> Matched:
    """The rules' own way, with whole key columns in memory. Raises EvaluationError when the join is impossible."""
    parts: dict[str, list[pa.Array]] = {key: [] for key in keys}
    for start, count, block in blocks_with_rows(table, list(keys), keys):
        if start + count > MAX_GENERAL:
            raise EvaluationError("The key columns cannot be compared with the reference's.", readable=True)
        for key in keys:
            parts[key].append(block[key])
    names = [f"k{at}" for at in range(len(keys))]
    theirs = {key: normalise(read_column(concat(parts[key]))) for key in keys}
    if not reference.rows:
        frame = pd.DataFrame(dict(zip(names, theirs.values(), strict=True)))
        rows, unique = len(frame), int((~frame.duplicated()).sum())
        return Matched(np.array([], np.int64), rows, unique, unique, rows - unique)
    ours = {key: normalise(read_column(reference.text(key))) for key in keys}
    left, right = {}, {}
    for name, key in zip(names, keys, strict=True):
        left[name], right[name] = _same_times(ours[key], theirs[key])
    truth, agent = pd.DataFrame(left), pd.DataFrame(right)
    if truth.duplicated().any():
        raise EvaluationError("The reference has a repeated key.", readable=True)
    rows = len(agent)
    agent["row"] = np.arange(rows)
    agent = agent[~agent.duplicated(names)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whole against fractional numbers: those just do not match
            joined = truth.merge(agent, on=names, how="left", sort=False)
    except (ValueError, TypeError) as error:
        words = [
            f"{key} is {_kind(truth[name])} in the reference and {_kind(agent[name])} in the output"
            for name, key in zip(names, keys, strict=True) if _kind(truth[name]) != _kind(agent[name])
        ] or [str(error)]
        hint = "; one null or stray word makes a column text" if "text" in words[0] else ""
        raise EvaluationError(f"The key columns cannot be joined: {', '.join(words)}{hint}.", readable=True) from None
    first_row = joined["row"].fillna(-1).to_numpy(np.int64)
    found = int((first_row >= 0).sum())
    return Matched(first_row, rows, len(agent), len(agent) - found, rows - len(agent))


def normalise(column: pd.Series) -> pd.Series:
    """Numbers if every cell is one, else times, else text."""
    made = to_numeric(column)
    if made.notna().all():
        return made
    times = to_times(column)
    if times.notna().all():
        return times
    if column.notna().all() and _dates_without_year(column):
        return column.map(lambda cell: ("date without a year", cell))
    return column.map(str, na_action="ignore").astype(object)


def _kind(column: pd.Series) -> str:
    if column.dtype.kind == "M":
        return "times" if getattr(column.dtype, "tz", None) is None else "times with a zone"
    return {"O": "text", "b": "true or false"}.get(column.dtype.kind, "numbers")


_MONTH_AND_DAY = re.compile(
    r"\s*(?:(?P<m>[a-z]{3,9})\.?\s+\d{1,2}|\d{1,2}\s+(?P<n>[a-z]{3,9})\.?)\s*", re.IGNORECASE
)
_MONTHS = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
]


def _dates_without_year(column: pd.Series) -> bool:
    """`Jan 5`: lenient parsers read a date, in no year that a time could have."""
    head = str(column.iloc[0])
    if column.dtype != object or len(head) > 40 or guess_datetime_format(head) is not None:
        return False
    for cell in column:
        hit = _MONTH_AND_DAY.fullmatch(str(cell))
        month = (hit["m"] or hit["n"]).lower() if hit else ""
        if not any(month == name or month == name[:3] for name in _MONTHS):
            return False
    return True


def _same_times(ours: pd.Series, theirs: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Dates without a year may meet times: they join without error and never match."""
    yearless = [len(side) > 0 and isinstance(side.iloc[0], tuple) for side in (ours, theirs)]
    if any(yearless):
        return tuple(  # type: ignore[return-value]
            side.astype(object) if bare or side.dtype.kind == "M" else side
            for side, bare in zip((ours, theirs), yearless, strict=True)
        )
    return ours, theirs

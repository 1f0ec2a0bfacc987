"""The output's values beside the reference's, in the reference's row order, or only counted where that is enough."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from m4lib.evaluation.cells import concat
from m4lib.evaluation.keys import Matched, NotQuick, QuickMatcher, match_in_general
from m4lib.evaluation.tables import ColumnType, Reference, Table, as_numbers, blocks_with_rows, in_threads, scan


@dataclass
class Tally:
    """A numeric column against a numeric one, summed up block by block so that neither has to be held aligned.

    errors: sum over the joined rows of min(|output - reference| / scale, 1), the parts of the ordered nMAE.
    """

    truth: np.ndarray
    tolerance: float
    matched: int = 0
    errors: float = 0.0
    scale: float | None = None  # None: the reference has no number in this column

    def __post_init__(self) -> None:
        self._finite = bool(np.isfinite(self.truth).all())
        low, high = (f.reduce(self.truth, initial=start) for f, start in ((np.fmin, np.inf), (np.fmax, -np.inf)))
        if low <= high:
            with np.errstate(invalid="ignore"):
                self.scale = float(high - low) or 1.0

    def add(self, truth: np.ndarray, agent: np.ndarray) -> None:
        """Two float64 arrays of joined rows, NaN for null."""
        if self._finite and np.array_equal(truth, agent):
            self.matched += len(truth)
            return
        with np.errstate(invalid="ignore", over="ignore"):
            off = np.abs(truth - agent)
            near = int(np.count_nonzero(off <= self.tolerance))
            neither = np.isnan(truth) & np.isnan(agent)
            self.matched += near + int(np.count_nonzero(neither))
            cell = np.fmin(off / (self.scale or 1.0), 1.0)  # fmin: one side no number counts 1
        cell[neither] = 0.0
        self.errors += float(cell.sum())


@dataclass
class Aligned:
    """columns: float64 (NaN: null or key missing) or Arrow strings of len(matched.first_row); tallies: the others."""

    matched: Matched
    columns: dict[str, np.ndarray | pa.Array] = field(default_factory=dict)
    types: dict[str, ColumnType] = field(default_factory=dict)  # of the text columns, over the whole file
    tallies: dict[str, Tally] = field(default_factory=dict)

    def __contains__(self, column: str) -> bool:
        return column in self.columns or column in self.tallies


def align(
    reference: Reference, table: Table, keys: tuple[str, ...], values: Iterable[str],
    tolerance: Mapping[str, float] | None = None,
) -> Aligned:
    """Match the keys and line up `values` (those that the output has). Raises EvaluationError (see `keys`).

    With `tolerance`, numeric columns are tallied wherever possible instead of being lined up.
    """
    present = [column for column in values if column in table.columns and column in reference]
    try:
        return scan(table, lambda: _quickly(reference, table, keys, present, tolerance))
    except NotQuick:
        aligned = Aligned(scan(table, lambda: match_in_general(reference, table, keys)))
        fill(aligned, reference, table, present)
        return aligned


def _quickly(
    reference: Reference, table: Table, keys: tuple[str, ...], values: list[str], tolerance: Mapping[str, float] | None
) -> Aligned:
    matcher = QuickMatcher(reference, keys)
    numeric = {column for column in values if _is_numeric(reference, column)}
    text = {column for column in values if column not in numeric}
    sink = _Sink(matcher.count, numeric, text)
    if tolerance is not None:
        sink.tally({column: Tally(np.asarray(reference[column]), tolerance.get(column, 0.0)) for column in numeric})
    for _, _, block in blocks_with_rows(table, list(dict.fromkeys([*keys, *values])), text - set(keys)):
        sink.add(block, *matcher.add(block))
    aligned = Aligned(matcher.result())
    sink.finish(aligned)
    if sink.odd:
        fill(aligned, reference, table, sorted(sink.odd), as_text=True)
    return aligned


def fill(aligned: Aligned, reference: Reference, table: Table, values: list[str], *, as_text: bool = False) -> None:
    """Line up further columns, for keys that are matched already."""
    if not values:
        return
    numeric = {column for column in values if _is_numeric(reference, column) and not as_text}
    place = np.flatnonzero(aligned.matched.first_row >= 0)
    rows = aligned.matched.first_row[place]
    order = np.argsort(rows, kind="stable")
    place, rows = place[order], rows[order]

    def work() -> _Sink:
        sink = _Sink(len(aligned.matched.first_row), numeric, set(values) - numeric)
        for start, count, block in blocks_with_rows(table, values, set(values) - numeric):
            low, high = np.searchsorted(rows, [start, start + count])
            sink.add(block, place[low:high], rows[low:high] - start)
        return sink

    sink = scan(table, work)
    sink.finish(aligned)
    if sink.odd:
        fill(aligned, reference, table, sorted(sink.odd), as_text=True)


def _is_numeric(reference: Reference, column: str) -> bool:
    held = reference[column]
    return isinstance(held, np.ndarray) and held.dtype.kind == "f"


class _Sink:
    """Takes (block, reference rows, block rows) and counts cells or puts them in the reference's order."""

    def __init__(self, count: int, numeric: set[str], text: set[str]) -> None:
        self.count = count
        self.numeric: dict[str, np.ndarray] = {}
        self.tallies: dict[str, Tally] = {}
        self._waiting = set(numeric)  # numeric columns without an array yet: they may become tallies
        self.text: dict[str, list[tuple[Any, pa.Array]]] = {column: [] for column in sorted(text)}
        self.types = {column: ColumnType() for column in text}
        self.odd: set[str] = set()  # expected to be numbers, but are not: read again as text

    def tally(self, tallies: dict[str, Tally]) -> None:
        self.tallies = tallies
        self._waiting -= set(tallies)

    def add(self, block: dict[str, Any], place: np.ndarray | slice, rows: np.ndarray | slice) -> None:
        for column in self._waiting:
            self.numeric[column] = np.full(self.count, np.nan)
        self._waiting = set()
        numeric = [*self.numeric, *self.tallies]
        for column, made in zip(numeric, in_threads(as_numbers, [block[column] for column in numeric]), strict=True):
            if made is None:
                self.odd.add(column)
                self.numeric.pop(column, None)
                self.tallies.pop(column, None)
            elif column in self.numeric:
                self.numeric[column][place] = made[rows]
            else:
                tally = self.tallies[column]
                tally.add(tally.truth[place], made[rows])
        for column, parts in self.text.items():
            cells = block[column]
            if isinstance(cells, pa.ChunkedArray):
                cells = concat(cells.chunks)
            if not isinstance(cells, pa.Array) or not pa.types.is_string(cells.type):  # a key that is scored too
                cells = pa.array(cells).cast(pa.string())
            self.types[column].add(cells)
            parts.append((place, cells if isinstance(rows, slice) else cells.take(pa.array(rows))))

    def finish(self, aligned: Aligned) -> None:
        for column in self._waiting:  # a file without rows
            self.numeric[column] = np.full(self.count, np.nan)
        aligned.columns |= self.numeric
        aligned.tallies |= self.tallies
        for column, parts in self.text.items():
            source = np.full(self.count, -1, np.int64)
            done = 0
            for place, cells in parts:
                source[place] = np.arange(done, done + len(cells))
                done += len(cells)
            cells = concat([cells for _, cells in parts])
            if len(cells) != self.count or not np.array_equal(source, np.arange(self.count)):
                cells = cells.take(pa.array(source, mask=source < 0))
            aligned.columns[column] = cells
            aligned.types[column] = self.types[column]

"""Either kind of file behind one interface, and the reference held in memory column by column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from m4lib.evaluation.cells import concat, numbers, read_column
from m4lib.evaluation.csvtable import CsvTable, NotPlain
from m4lib.evaluation.opening import Opened
from m4lib.evaluation.parquettable import ParquetTable

Table: TypeAlias = CsvTable | ParquetTable
Column: TypeAlias = Any  # np.ndarray or pa.Array: float64: numbers, NaN for null; int64: microseconds; Arrow strings: everything else
Result = TypeVar("Result")


def open_table(opened: Opened) -> Table:
    return ParquetTable(opened) if opened.parquet else CsvTable(opened)


def scan(table: Table, work: Callable[[], Result]) -> Result:
    """Run `work`, which reads the table from its start; once more when the file turns out not to be plain."""
    try:
        return work()
    except NotPlain:
        table.plain = False  # type: ignore[misc]
        return work()


def as_numbers(cells: Any) -> np.ndarray | None:
    """A block's column as float64, or None when it is not plainly numeric."""
    if isinstance(cells, np.ndarray):
        return cells
    return None if pa.types.is_timestamp(cells.type) else numbers(cells)


def in_threads(function: Callable[[Any], Any], items: list[Any]) -> list[Any]:
    """The function of each item; columns of some size in parallel, on as many threads as Arrow may use."""
    threads = min(pa.cpu_count(), len(items))
    if not items or threads < 2 or len(items[0]) < 50_000:
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, items))


def _numbers_or_micros(cells: Any) -> np.ndarray | None:
    if not isinstance(cells, np.ndarray) and pa.types.is_timestamp(cells.type):
        return _micros(cells)
    return as_numbers(cells)


class Reference:
    """The reference's columns. Numeric ones become float64, timestamps int64, the rest stays text."""

    def __init__(self, table: Table, columns: Iterable[str]) -> None:
        self.table = table
        wanted = [column for column in columns if column in table.columns]
        self.rows, self._columns = scan(table, lambda: self._load(wanted))

    def __contains__(self, column: str) -> bool:
        return column in self._columns

    def __getitem__(self, column: str) -> Column:
        return self._columns[column]

    def text(self, column: str) -> pa.Array:
        """The column's cells as written, null for the empty one."""
        held = self._columns[column]
        return held if isinstance(held, pa.Array) else self._texts([column])[column]

    def _load(self, columns: list[str]) -> tuple[int, dict[str, Column]]:
        text = [column for column in columns if column in self.table.text_at_first_sight(columns)]
        parts: dict[str, list[Any]] = {column: [] for column in columns}
        odd: set[str] = set()  # columns that turn out to be no numbers later on
        rows = 0
        for block in self.table.blocks(columns, text):
            rows += len(next(iter(block.values())))
            for column in text:
                parts[column].append(block[column])
            even = [column for column in columns if column not in odd and column not in text]
            for column, made in zip(even, in_threads(_numbers_or_micros, [block[column] for column in even]), strict=True):
                if made is None:
                    odd.add(column)
                    parts[column].clear()
                else:
                    parts[column].append(made)
        loaded: dict[str, Column] = {}
        for column in columns:
            if column in text:
                loaded[column] = concat(parts.pop(column))
            elif column not in odd:
                loaded[column] = _join(parts.pop(column))
        if odd:
            loaded |= self._texts(sorted(odd))
        pa.default_memory_pool().release_unused()
        return rows, loaded

    def _texts(self, columns: list[str]) -> dict[str, pa.Array]:
        parts: dict[str, list[pa.Array]] = {column: [] for column in columns}
        for block in self.table.blocks(columns, columns):
            for column in columns:
                parts[column].append(block[column])
        return {column: concat(parts[column]) for column in columns}


def _join(parts: list[np.ndarray]) -> np.ndarray:
    if {part.dtype.kind for part in parts} == {"i", "f"}:  # Parquet timestamps: a block of nulls came as floats
        raise AssertionError("mixed kinds of blocks")
    return parts[0] if len(parts) == 1 else np.concatenate(parts or [np.array([], np.float64)])


def _micros(cells: pa.Array) -> np.ndarray:
    made = cells.to_numpy(zero_copy_only=False).astype("datetime64[us]")
    return made.astype(np.int64)  # NaT becomes NOT_A_TIME


class ColumnType:
    """The type that `read_csv` would give a whole column, from its blocks in order.

    The type depends on which classes of cells there are and on which class comes first, so that the first cell of
    each class stands for all of them. One cell of certain text settles it.
    """

    def __init__(self) -> None:
        self._first: dict[str, str | None] = {}  # class -> its first cell, in order of appearance
        self._text = False
        self.nulls = False

    def add(self, cells: pa.Array) -> None:
        if self._text or not len(cells):
            return
        self.nulls |= cells.null_count > 0
        if cells.null_count == len(cells):
            self._first.setdefault("null", None)
            return
        head = read_column(cells.slice(0, 64).drop_null())
        if head.dtype == object and any(isinstance(cell, str) and _class(cell) == "text" for cell in head):
            self._text = True
            return
        matched = pc.match_substring_regex(cells, r"^\s*[+-]?[0-9]+\s*$")
        whole = pc.fill_null(matched, False)
        short = pc.and_(whole, pc.fill_null(pc.less(pc.binary_length(cells), 18), False))
        found: list[tuple[int, str]] = []
        for negative in (True, False):
            sign = pc.match_substring_regex(cells, r"^\s*-")
            self._note(found, "small -" if negative else "small", pc.and_(short, sign if negative else pc.invert(sign)))
        self._note(found, "null", pc.is_null(cells))
        for at in np.flatnonzero(pc.and_not(whole, short).to_numpy(zero_copy_only=False)).tolist():
            name = _class(cells[at].as_py())
            if name not in self._first and name not in {seen for _, seen in found}:
                found.append((at, name))
        rest = pc.fill_null(pc.invert(matched), False).to_numpy(zero_copy_only=False)
        words = pc.fill_null(pc.is_in(pc.utf8_lower(cells), pa.array(["true", "false"])), False).to_numpy(zero_copy_only=False)
        self._note(found, "bool", pa.array(words))
        rest &= ~words
        if rest.any():
            if read_column(cells.filter(pa.array(rest))).dtype.kind == "O":
                self._text = True
                return
            self._note(found, "float", pa.array(rest))
        for at, name in sorted(found):
            self._first[name] = cells[at].as_py()

    def _note(self, found: list[tuple[int, str]], name: str, mask: pa.Array) -> None:
        at = pc.index(mask, True).as_py() if name not in self._first else -1
        if at >= 0:
            found.append((at, name))

    @property
    def _typed(self) -> pd.Series:
        return read_column(pa.array(list(self._first.values()), pa.string()))

    @property
    def kind(self) -> str:
        """i, u, f, b or O"""
        if self._text:
            return "O"
        typed = self._typed
        kind = typed.dtype.kind
        if kind == "O":
            return "b" if any(isinstance(cell, bool) for cell in typed) else "O"
        if kind == "f" and self.nulls:
            present = [cell for cell in self._first.values() if cell is not None]
            return "i" if present and read_column(pa.array(present, pa.string())).dtype.kind == "i" else "f"
        return kind

    @property
    def empty_is_text(self) -> bool:
        """pandas keeps '' in a column that fails between int64 and uint64."""
        return not self._text and bool((self._typed == "").any())


def _class(cell: str) -> str:
    """What one cell is to the type inference; whole numbers by the range that holds them."""
    bare = cell.strip()
    digits = bare[1:] if bare[:1] in ("+", "-") else bare
    if digits.isascii() and digits.isdigit():
        digits = digits.lstrip("0")
        size = int(digits or "0") if len(digits) < 21 else 2**64
        if bare[0] == "-":
            return "small -" if size <= 2**63 else "beyond -"
        return "small" if size < 2**63 else ("large" if size < 2**64 else "beyond")
    if bare.lower() in ("true", "false"):
        return "bool" if bare == cell else "text"
    return "float" if read_column(pa.array([cell])).dtype.kind in "iuf" else "text"


def blocks_with_rows(table: Table, columns: list[str], text: Iterable[str] = ()) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """(first row, row count, block) for each block."""
    start = 0
    for block in table.blocks(columns, set(text)):
        rows = len(next(iter(block.values())))
        yield start, rows, block
        start += rows

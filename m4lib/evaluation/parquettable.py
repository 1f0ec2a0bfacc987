"""Parquet as blocks of columns, each cell as it would read in the CSV file with the same content."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Collection, Iterator
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from m4lib.evaluation.cells import as_written, float_text
from m4lib.evaluation.contract import EvaluationError
from m4lib.evaluation.opening import MAX_COLUMNS, Opened, pieces

Block = dict[str, Any]
_ROWS = 1 << 20  # rows a block
MAX_ROWS = 1_000_000_000
_FAILURES = (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError, NotImplementedError)


class ParquetTable:
    """One Parquet file. Timestamps are written the way pandas does: without the time when all are midnights."""

    plain = True

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        try:
            self._file = pq.ParquetFile(_seekable(opened))
            schema = self._file.schema_arrow
        except _FAILURES as error:
            raise EvaluationError(f"The file cannot be read as Parquet: {_words(error)}.") from None
        if len(schema) > MAX_COLUMNS or self._file.metadata.num_rows > MAX_ROWS:
            raise EvaluationError("The Parquet file has too many columns or rows and is refused.")
        self._types = {name: schema.field(at).type for at, name in reversed(list(enumerate(schema.names)))}
        self._steps: dict[str, int] = {}

    @property
    def columns(self) -> list[str]:
        return list(self._types)

    def blocks(self, columns: Collection[str], text: Collection[str] = ()) -> Iterator[Block]:
        """Rows in order. As text: strings. Else int64, float64 (numpy, NaN for null), timestamp[us] or strings."""
        wanted = [column for column in columns if column in self._types]
        for column in wanted:
            if column in text and pa.types.is_timestamp(self._types[column]) and column not in self._steps:
                self._steps[column] = self._step(column)
        for batch in self._batches(wanted):
            try:
                yield {
                    column: self._text(column, batch.column(at)) if column in text else _typed(batch.column(at))
                    for at, column in enumerate(wanted)
                } or {"": pa.nulls(batch.num_rows)}
            except _FAILURES as error:
                raise EvaluationError(f"The Parquet file has a column that cannot be read: {_words(error)}.") from None

    def text_at_first_sight(self, columns: Collection[str]) -> set[str]:
        """Columns that are neither numbers nor zone-less timestamps."""
        kinds = {column: self._types[column] for column in columns if column in self._types}
        numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
        return {
            column for column, kind in kinds.items()
            if not any(check(kind) for check in numeric) and not (pa.types.is_timestamp(kind) and kind.tz is None)
        }

    def _batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._file.iter_batches(_ROWS, columns=columns, use_threads=True):
                yield batch.select(columns)
        except _FAILURES as error:
            raise EvaluationError(f"The file cannot be read as Parquet: {_words(error)}.") from None

    def _step(self, column: str) -> int:
        """The coarsest of day, second and microsecond that all of the column's times are multiples of."""
        step = 86_400_000_000
        for batch in self._batches([column]):
            times = _micros(batch.column(0)).drop_null().to_numpy(zero_copy_only=False).astype(np.int64)
            while step > 1 and (times % step).any():
                step = 1_000_000 if step > 1_000_000 else 1
        return step

    def _text(self, column: str, cells: pa.Array) -> pa.Array:
        kind = cells.type
        if pa.types.is_timestamp(kind):
            step = self._steps[column]
            unit, pattern = ("s", "%Y-%m-%d") if step > 1_000_000 else ("s" if step > 1 else "us", "%Y-%m-%d %H:%M:%S")
            text = pc.strftime(pc.cast(_micros(cells), pa.timestamp(unit), safe=False), pattern)
            return text if kind.tz is None else pc.binary_join_element_wise(text, "+00:00", "")
        typed = _typed(cells)
        if isinstance(typed, np.ndarray):
            # what was a float stays one: 1.0, not 1
            return float_text(pa.array(typed, from_pandas=True))
        return pc.cast(typed, pa.string())


def _seekable(opened: Opened) -> BinaryIO:
    if not opened.gzipped:
        return io.BufferedReader(opened.handle, 1 << 20)  # type: ignore[type-var]
    spool = tempfile.TemporaryFile()  # noqa: SIM115  (lives as long as the ParquetFile that reads it)
    for piece in pieces(opened):
        spool.write(piece)
    spool.seek(0)
    return spool  # type: ignore[return-value]


def _micros(cells: pa.Array) -> pa.Array:
    return pc.cast(pc.cast(cells, pa.timestamp("us", cells.type.tz), safe=False), pa.timestamp("us"))


def _typed(cells: pa.Array) -> Any:
    kind = cells.type
    if pa.types.is_dictionary(kind):
        return _typed(cells.dictionary_decode())
    if pa.types.is_integer(kind):
        return pc.cast(cells, pa.int64()) if not pa.types.is_uint64(kind) else pc.cast(cells, pa.string())
    if pa.types.is_floating(kind):
        wide = cells.to_numpy(zero_copy_only=False)
        # a 32-bit float is written with its own shortest digits
        wide = wide if kind == pa.float64() else np.array([float(str(cell)) for cell in wide], np.float64)
        return as_written(np.asarray(wide, np.float64))
    if pa.types.is_decimal(kind):
        return as_written(pc.cast(pc.cast(cells, pa.string()), pa.float64()).to_numpy(zero_copy_only=False))
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return _micros(cells)
    if pa.types.is_timestamp(kind):
        return pc.binary_join_element_wise(pc.strftime(_micros(cells), "%Y-%m-%d %H:%M:%S"), "+00:00", "")
    if pa.types.is_boolean(kind):
        return pc.if_else(cells, "True", "False")
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind):
        text = pc.cast(cells, pa.string())
        return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_date(kind) or pa.types.is_time(kind):
        return pc.cast(cells, pa.string())
    return pa.array([None if cell is None else str(cell) for cell in cells.to_pylist()], pa.string())


def _words(error: BaseException) -> str:
    return " ".join(str(error).split())[:300].rstrip(".") or type(error).__name__

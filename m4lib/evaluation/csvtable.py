"""CSV as blocks of columns, cell for cell what pandas 2.3 sees, most of it read by Arrow.

Arrow reads *plain* files: quotes only around whole cells, as many cells in each row as in the header, ordinary line
ends. On those the two readers agree on where a cell starts and ends. Anything else (`NotPlain`) is cut into cells by
pandas itself, in chunks, as text. What the cells mean is not decided here: see `cells`.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Collection, Generator, Iterator
from contextlib import closing

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from m4lib.evaluation.cells import numbers, safe_floats
from m4lib.evaluation.contract import EvaluationError
from m4lib.evaluation.opening import MAX_COLUMNS, MAX_LINE, PIECE, Opened, ahead, text_pieces

Block = dict[str, pa.Array]
_DIGITS = bytes(48 if byte in b"0123456789." else 32 for byte in range(256))
_LONG = b"0" * 17  # digits and a point in a row
_BLANK_LINES = re.compile(rb"(?:[ \t]*\r?\n)*")


class NotPlain(Exception):
    """Arrow and pandas could disagree about this file; start again with `plain = False`."""


class CsvTable:
    """One CSV file. `columns`: its header, of two equal names only the first. `plain` turns false once for good."""

    piece = PIECE  # bytes a block when Arrow reads
    rows = 65_536  # rows a block when pandas cuts the cells

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        self.plain = True
        self._widths_fine = False
        try:
            with closing(self._chunks(1 << 16)) as chunks:
                header, rest = next(chunks, (b"", b""))
            second = rest[: rest.find(b"\n") + 1] or rest
            if max(header.count(b","), second.count(b",")) > MAX_COLUMNS:
                raise EvaluationError(f"The file has more than {MAX_COLUMNS} columns and is refused.")
            names = next(csv.reader([header.decode("utf-8")]), [])
            if len(names) < 2:
                raise NotPlain
            self._place = {name: at for at, name in reversed(list(enumerate(names)))}
            self._width = len(names)
        except (NotPlain, csv.Error):
            self.plain = False
            with closing(self._by_pandas(rows=0)) as frames:
                self._place = {name: at for at, name in enumerate(next(frames).columns)}

    @property
    def columns(self) -> list[str]:
        return list(self._place)

    def blocks(self, columns: Collection[str], text: Collection[str] = ()) -> Iterator[Block]:
        """The file's rows in order, `columns` only. Null is the empty cell. Columns in `text` come as strings; others,
        in Arrow's chunks, as int64 or float64 where each cell is a number that all readers read the same, else as strings."""
        wanted = [column for column in columns if column in self._place]
        yield from self._plain(wanted, text) if self.plain else self._odd(wanted)

    def text_at_first_sight(self, columns: Collection[str]) -> set[str]:
        """Columns whose first rows hold something else than numbers."""
        if not self.plain:
            return set()
        with closing(self._chunks(1 << 16)) as chunks:
            chunk = next(chunks, (b"", b""))[1]
        places = {column: self._place[column] for column in columns if column in self._place}
        if not chunk or chunk.isspace() or not places:
            return set()
        table = self._text(chunk, sorted(set(places.values())), b'"' in chunk and _check_quotes(chunk))
        return {column for column, place in places.items() if numbers(table[str(place)]) is None}

    def _plain(self, columns: list[str], text: Collection[str]) -> Iterator[Block]:
        places = {column: self._place[column] for column in columns}
        open_ = {places[column] for column in columns if column not in text}
        types: dict[int, pa.DataType] | None = None
        with closing(self._chunks(self.piece)) as chunks:
            for _, chunk in chunks:
                if not chunk or chunk.isspace():
                    continue
                lines_in_quotes = b'"' in chunk and _check_quotes(chunk)
                if b"\0" in chunk or (b"\r" in chunk and chunk.count(b"\r") != chunk.count(b"\r\n")):
                    raise NotPlain
                if types is None:
                    cut = len(chunk) if lines_in_quotes else chunk.rfind(b"\n", 0, 1 << 16) + 1
                    types = _types(self._text(chunk[:cut], sorted(open_), lines_in_quotes)) if cut and open_ else {}
                table = self._typed(chunk, set(places.values()), types, lines_in_quotes)
                if table is None:
                    table = self._text(chunk, sorted(set(places.values())), lines_in_quotes)
                    types = _types(table, open_)
                yield {
                    column: _one(table[str(place)]) if column in text else table[str(place)] for column, place in places.items()
                }

    def _typed(self, chunk: bytes, places: set[int], types: dict[int, pa.DataType], lines_in_quotes: bool) -> pa.Table | None:
        """The chunk with numbers as numbers; None when the types do not fit it."""
        # Arrow takes 0x1F for a whole number and pandas does not
        hexadecimal = b"x" in chunk or b"X" in chunk
        # more than 15 digits: pandas 2.3 may not read the nearest double
        long = pa.float64() in types.values() and _LONG in chunk.translate(_DIGITS)
        chosen = {at: kind for at, kind in types.items() if not (hexadecimal if kind == pa.int64() else long)}
        try:
            table = _arrow(chunk, self._width, places, chosen, lines_in_quotes)
            odd = [at for at, kind in chosen.items() if kind == pa.float64() and not all(map(safe_floats, table[str(at)].chunks))]
            if not odd:
                return table
            chosen = {at: kind for at, kind in chosen.items() if at not in odd}
            return _arrow(chunk, self._width, places, chosen, lines_in_quotes)
        except pa.ArrowInvalid:
            return None

    def _text(self, chunk: bytes, places: Collection[int], lines_in_quotes: bool) -> pa.Table:
        try:
            return _arrow(chunk, self._width, places, {}, lines_in_quotes)
        except pa.ArrowInvalid:
            raise NotPlain from None

    def _chunks(self, size: int) -> Generator[tuple[bytes, bytes], None, None]:
        """(header, chunk) pairs; a chunk ends with a line, outside quotes."""
        header: bytes | None = None
        rest = b""
        with closing(ahead(text_pieces(self.opened, size))) as source:
            for piece in source:
                rest += piece
                if header is None:
                    rest = rest[_BLANK_LINES.match(rest).end():]  # type: ignore[union-attr]
                    end = _line_end(rest, first=True)
                    if not end:
                        continue
                    header, rest = rest[:end].rstrip(b"\r\n"), rest[end:]
                    if b'"' in header:
                        _check_quotes(header)
                    if b"\r" in header or b"\0" in header:
                        raise NotPlain
                end = _line_end(rest)
                if end:
                    yield header, rest[:end]
                    rest = rest[end:]
                elif len(rest) > MAX_LINE:
                    raise NotPlain
        if header is None:
            header, rest = rest.rstrip(b"\r\n"), b""
            if not header.strip(b" \t"):
                raise EvaluationError("The file is empty.")
            if b"\r" in header or b"\0" in header or b'"' in header:
                raise NotPlain
        yield header, rest

    def _by_pandas(self, rows: int | None = None) -> Generator[pd.DataFrame, None, None]:
        with closing(ahead(text_pieces(self.opened))) as source:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    made = pd.read_csv(  # type: ignore[call-overload]
                        io.BufferedReader(_Stream(source), 1 << 18), dtype=str, keep_default_na=False, na_values=[""],
                        **({"chunksize": self.rows} if rows is None else {"nrows": rows}),
                    )
                    yield from [made] if isinstance(made, pd.DataFrame) else made
            except EvaluationError:
                raise
            except pd.errors.EmptyDataError:
                raise EvaluationError("The file is empty.") from None
            except (ValueError, OverflowError, UnicodeError, MemoryError, pd.errors.ParserError) as error:
                reason = " ".join(str(error).split()) or type(error).__name__
                raise EvaluationError(f"The file cannot be read as CSV: {reason[:300]}.") from None

    def _odd(self, columns: list[str]) -> Iterator[Block]:
        for number, frame in enumerate(self._by_pandas()):
            if number == 1:
                self._check_widths()
            if len(frame):
                yield {column: pa.array(frame[column], pa.string(), from_pandas=True) for column in columns}


    def _check_widths(self) -> None:
        """No row is longer than the header and the first row: pandas does not look at the first row of a later chunk."""
        if self._widths_fine:
            return
        csv.field_size_limit(1 << 30)
        with closing(ahead(text_pieces(self.opened))) as source:
            text = io.TextIOWrapper(io.BufferedReader(_Stream(source), 1 << 18), encoding="utf-8", newline="")
            allowed, seen = 0, 0
            try:
                for row in csv.reader(text):
                    if not row:
                        continue
                    seen += 1
                    if seen <= 2:
                        allowed = max(allowed, len(row))
                    elif len(row) > allowed:
                        raise EvaluationError(f"The file cannot be read as CSV: Expected {allowed} fields, saw {len(row)}.")
            except csv.Error:
                pass  # quotes that only pandas understands
        self._widths_fine = True


class _Stream(io.RawIOBase):
    """Pieces as a readable binary file."""

    def __init__(self, source: Iterator[bytes]) -> None:
        self._source, self._rest = source, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._rest:
            self._rest = memoryview(next(self._source, b""))
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def _line_end(text: bytes, *, first: bool = False) -> int:
    """Length of `text` up to and including its last (or first) line end outside quotes; 0 when there is none."""
    end = (text.find(b"\n") if first else text.rfind(b"\n")) + 1
    if not end or b'"' not in text or text.count(b'"', 0, end) % 2 == 0:
        return end
    data = np.frombuffer(text, np.uint8)
    quotes, lines = np.flatnonzero(data == 34), np.flatnonzero(data == 10)
    outside = lines[np.searchsorted(quotes, lines) % 2 == 0]
    return int(outside[0 if first else -1]) + 1 if len(outside) else 0


def _check_quotes(text: bytes) -> bool:
    """NotPlain unless quotes open and close whole cells (doubled inside); True when a line end is inside quotes."""
    data = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(data == 34)
    if len(quotes) % 2:
        raise NotPlain
    opening, closing_ = quotes[0::2], quotes[1::2]
    doubled = opening[1:] == closing_[:-1] + 1
    before = data[np.maximum(opening - 1, 0)]
    after = data[np.minimum(closing_ + 1, len(data) - 1)]
    starts = (opening == 0) | (before == 44) | (before == 10)
    ends = (closing_ + 1 >= len(data)) | (after == 44) | (after == 10) | (after == 13)
    starts[1:] |= doubled
    ends[:-1] |= doubled
    if not (starts.all() and ends.all()):
        raise NotPlain
    lines = np.flatnonzero((data == 10) | (data == 13))
    return bool((np.searchsorted(quotes, lines) % 2).any())


def _arrow(
    chunk: bytes, width: int, places: Collection[int], types: dict[int, pa.DataType], lines_in_quotes: bool
) -> pa.Table:
    """Columns by place, named by it; strings unless `types` says otherwise."""
    return pa_csv.read_csv(
        pa.BufferReader(chunk),
        read_options=pa_csv.ReadOptions(
            column_names=[str(at) for at in range(width)], block_size=len(chunk) + 1 if lines_in_quotes else 2 << 20
        ),
        parse_options=pa_csv.ParseOptions(newlines_in_values=lines_in_quotes),
        convert_options=pa_csv.ConvertOptions(
            include_columns=[str(at) for at in places],
            column_types={str(at): types.get(at, pa.string()) for at in places},
            null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=True, check_utf8=False,
        ),
    )


def _types(table: pa.Table, places: Collection[int] | None = None) -> dict[int, pa.DataType]:
    """Which columns of strings hold whole numbers, which other numbers; the rest is left out."""
    found = {}
    for at in map(int, table.column_names) if places is None else places:
        for kind in (pa.int64(), pa.float64()):
            try:
                pc.cast(table[str(at)], kind)
                found[at] = kind
                break
            except pa.ArrowInvalid:
                continue
    return found


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])

"""What cells mean: numbers and times exactly as pandas 2.3 reads them, with quick ways where those agree.

The rules (facts of the published evaluator) are those of `pandas.read_csv(keep_default_na=False, na_values=[""])`,
`to_numeric` and `to_datetime`. Floats are read to at most 17 digits and not always to the nearest double, so that a
quick correctly-rounded reader is used only for short cells, where both give the same double.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

EXACT = 2**53  # below this a double holds every whole number
NOT_A_TIME = np.iinfo(np.int64).min
_LONGEST_TIME = 1000  # characters; the parser below looks at each one in Python
_BREAKS = "[\n\r\"\x00\x01]"  # a cell with one of these is no number, and would not survive being written as a line
_LOOKS_LIKE_TIME = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}:\d{2}")


def read_column(cells: pa.Array, dtype: str | None = None) -> pd.Series:
    """The column as `read_csv` types it over all its cells: int64, uint64, float64, bool or object.

    cells: strings, null for the empty cell. dtype: the type it is known to have.
    """
    if len(cells) and pc.any(pc.match_substring_regex(cells, _BREAKS)).as_py():
        return _objects(cells)
    lines = pc.binary_join_element_wise(pc.fill_null(cells, ""), "", "\n")
    text = b"x\n" + b"".join(_bytes(chunk) for chunk in (lines.chunks if isinstance(lines, pa.ChunkedArray) else [lines]))
    made = pd.read_csv(
        pa.BufferReader(text), sep="\x01", quoting=3, keep_default_na=False, na_values=[""], skip_blank_lines=False,
        low_memory=False, dtype=dtype,  # type: ignore[arg-type]
    )
    return made["x"] if len(made) == len(cells) else _objects(cells)


def _bytes(strings: pa.Array) -> memoryview:
    """The characters of a string array, one cell after the other."""
    if not len(strings):
        return memoryview(b"")
    wide = pa.types.is_large_string(strings.type)
    ends = np.frombuffer(strings.buffers()[1], np.int64 if wide else np.int32)[strings.offset : strings.offset + len(strings) + 1]
    data = strings.buffers()[2]
    return memoryview(data)[int(ends[0]) : int(ends[-1])] if data is not None else memoryview(b"")


def concat(parts: list[pa.Array]) -> pa.Array:
    """String arrays one after the other; none at all is an empty one."""
    return pa.concat_arrays(parts or [pa.array([], pa.string())])


def _objects(cells: pa.Array) -> pd.Series:
    return pd.Series(cells.to_pandas().to_numpy(object), dtype=object).where(lambda s: s.notna(), np.nan)


def numbers(cells: pa.Array) -> np.ndarray | None:
    """float64 with NaN for null, or None unless each cell is null or a number below 2**53 that reads the same
    whatever the rest of its column holds. Takes int64 and string arrays, and floats that `safe_floats` let pass."""
    if pa.types.is_null(cells.type):
        return np.full(len(cells), np.nan)
    if pa.types.is_floating(cells.type):  # known to be safe
        return cells.to_numpy(zero_copy_only=False)
    if pa.types.is_integer(cells.type):
        if len(cells) > cells.null_count:
            ends = pc.min_max(cells)
            if ends["max"].as_py() >= EXACT or ends["min"].as_py() <= -EXACT:
                return None
        return _doubles(cells)
    if cells.null_count == len(cells):
        return np.full(len(cells), np.nan)
    long = pc.fill_null(pc.greater(pc.binary_length(cells), 16), False)
    count = pc.sum(long).as_py()
    if count < len(cells) / 2:
        quick = _short_numbers(pc.if_else(long, None, cells) if count else cells)
        if quick is not None and count:  # each number reads the same whatever stands beside it
            rest = _read_numbers(cells.filter(long))
            if rest is None:
                return None
            quick = quick.copy()
            quick[long.to_numpy(zero_copy_only=False)] = rest
        if quick is not None:
            return quick
    return _read_numbers(cells)


def _doubles(cells: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Whole numbers as float64, NaN for null, converted chunk by chunk into one array."""
    made, start = np.empty(len(cells)), 0
    for chunk in cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]:
        made[start : start + len(chunk)] = chunk.to_numpy(zero_copy_only=False)
        start += len(chunk)
    return made


def _read_numbers(cells: pa.Array) -> np.ndarray | None:
    column = read_column(cells)
    if column.dtype.kind not in "iuf":
        return None
    made = column.to_numpy(np.float64)
    finite = np.abs(made[np.isfinite(made)])
    return made if not len(finite) or finite.max() < EXACT else None


def _short_numbers(cells: pa.Array) -> np.ndarray | None:
    """As `numbers`, for cells of at most 16 characters, which every reader takes for the same double; else None."""
    try:
        made = pc.cast(cells, pa.float64())
    except pa.ArrowInvalid:
        return None
    return made.to_numpy(zero_copy_only=False) if safe_floats(made) else None


def safe_floats(cells: pa.Array) -> bool:
    """Whether doubles that were read from at most 15 digits each, or 16 without a point, are the same to every reader.

    NaN that is no null was the word; beyond 1e15 a cell may have 16 digits; below 1e-7 its exponent may pass the
    powers of ten that doubles hold exactly.
    """
    if len(cells) == cells.null_count:
        return True
    made = cells.to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        size = np.abs(made)
        if (size >= 1e15).any() or ((size > 0) & (size < 1e-7)).any():
            return False
    return int(np.isnan(made).sum()) == cells.null_count


def as_written(values: np.ndarray) -> np.ndarray:
    """Doubles after being written to CSV and read back by pandas 2.3, which can move the last bit of long ones."""
    with np.errstate(all="ignore"):
        short = (np.rint(values * 1e6) / 1e6 == values) & (np.abs(values) < 1e9) | ~np.isfinite(values)
    if short.all():
        return values
    made = values.copy()
    made[~short] = read_column(float_text(pa.array(values[~short]))).to_numpy(np.float64)
    return made


def float_text(values: pa.Array) -> pa.Array:
    """Each double as Python writes it: shortest digits, always with a point or an exponent."""
    text = pc.cast(values, pa.string())
    bare = pc.invert(pc.match_substring_regex(text, "[.en]"))
    text = pc.if_else(bare, pc.binary_join_element_wise(text, ".0", ""), text)
    # Arrow goes over to exponents later than Python, and leading zeros count as digits when read
    numbers = values.to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        far = np.isfinite(numbers) & (numbers != 0) & ((np.abs(numbers) < 1e-3) | (np.abs(numbers) >= 1e15))
    if not far.any():
        return text
    mine = np.full(len(numbers), None, object)
    mine[far] = [repr(number) for number in numbers[far].tolist()]
    return pc.if_else(pa.array(far), pa.array(mine, pa.string()), text)


def uniform_times(cells: pa.Array) -> np.ndarray | None:
    """Microseconds since 1970 (NOT_A_TIME for null) when all cells are zone-less ISO times in one notation."""
    if len(cells) == cells.null_count:
        return None
    present = cells.drop_null() if cells.null_count else cells
    ends = pc.min_max(pc.binary_length(present))
    length = ends["max"].as_py()
    if length != ends["min"].as_py() or length not in (10, 16, 19, *range(21, 27)):
        return None
    if isinstance(present, pa.ChunkedArray):
        present = present.combine_chunks()
    if length > 10:
        data = np.frombuffer(_bytes(present), np.uint8)
        if len(data) != length * len(present) or (data[10::length] != data[10]).any():
            return None
    try:
        times = pc.cast(present, pa.timestamp("us")).to_numpy(zero_copy_only=False).astype(np.int64)
    except pa.ArrowInvalid:
        return None
    if times.min() < -9_214_560_000_000_000 or times.max() >= 9_214_646_400_000_000:  # 1678 to 2261: nanoseconds hold it
        return None
    if not cells.null_count:
        return times
    made = np.full(len(cells), NOT_A_TIME)
    made[pc.is_valid(cells).to_numpy(zero_copy_only=False)] = times
    return made


def looks_like_time(reference: pd.Series) -> bool:
    """Whether one of the first 50 present cells shows an ISO date or hours and minutes."""
    return any(_LOOKS_LIKE_TIME.search(str(cell)) for cell in reference[reference.notna()].head(50))


def to_numeric(column: pd.Series) -> pd.Series:
    return pd.to_numeric(column, errors="coerce")


def to_times(column: pd.Series) -> pd.Series:
    """Each cell by the notation of the first one; what does not parse is NaT, and so is a cell of enormous length."""
    if column.dtype == object:
        column = column.mask(column.map(lambda cell: isinstance(cell, str) and len(cell) > _LONGEST_TIME), "no time")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pd.to_datetime(column, errors="coerce")

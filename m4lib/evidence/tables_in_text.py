"""Tables written out in text: the cells below a heading `age` hold ages, whatever their delimiter."""

from __future__ import annotations

import re
from collections import Counter

_AGE_CELL = re.compile(r"[\"'`*\\\s]*(?:(?:anchor|admission|admit|patient|icu)_?)?age(?:_at_\w+|_years)?(?:\s*\(\w+\))?[\"'`*\\\s]*", re.IGNORECASE)
_NUMBER_CELL = re.compile(r"([\"'`*\\\s]*)\d{1,3}(?:\.\d+)?([\"'`*\\\s]*)")
_LINE = re.compile(r"(\n|\r|\\{1,32}n)")
_HAS_AGE = re.compile(r"age(?![a-z])", re.IGNORECASE)


def _delimiter(line: str) -> str | None:
    for mark in ("|", "│", "┃", "\t", "\\t", ",", ";"):
        if mark in line:
            return mark
    return None


def withhold_age_cells(text: str, counts: Counter[str]) -> str:
    """Replace the numbers of age columns. A table ends at the first line with another number of cells."""
    if not _HAS_AGE.search(text):
        return text
    parts = _LINE.split(text)
    delimiter: str | None = None
    columns: list[int] = []
    width = 0
    spaced: list[str] = []  # the headings of a table that is aligned with spaces
    for number in range(0, len(parts), 2):
        line = parts[number]
        cells = line.split(delimiter) if delimiter else []
        if columns and len(cells) == width:
            for column in columns:
                found = _NUMBER_CELL.fullmatch(cells[column])
                if found:
                    cells[column] = f"{found[1]}[age withheld]{found[2]}"
                    counts["ages"] += 1
            parts[number] = delimiter.join(cells) if delimiter else line
            continue
        if spaced:
            parts[number], fits = _spaced(line, spaced, counts)
            if fits:
                continue
            spaced = []
        delimiter = _delimiter(line)
        cells = line.split(delimiter) if delimiter else []
        columns = [position for position, cell in enumerate(cells) if _AGE_CELL.fullmatch(cell)]
        width = len(cells)
        if not columns:
            delimiter = None
            words = line.split()
            spaced = words if len(words) > 1 and any(_AGE_CELL.fullmatch(word) for word in words) else []
    return "".join(parts)


def _spaced(line: str, headings: list[str], counts: Counter[str]) -> tuple[str, bool]:
    """A line of a table aligned with spaces; a first column without heading is its index."""
    cells = list(re.finditer(r"\S+", line))
    shift = len(cells) - len(headings)
    if shift not in (0, 1):
        return line, False
    for position in range(len(headings) - 1, -1, -1):
        cell = cells[position + shift]
        if _AGE_CELL.fullmatch(headings[position]):
            if not _NUMBER_CELL.fullmatch(cell.group()):
                return line, False
            counts["ages"] += 1
            line = f"{line[:cell.start()]}[age withheld]{line[cell.end():]}"
    return line, True

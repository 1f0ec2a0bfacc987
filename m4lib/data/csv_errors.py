"""DuckDB's CSV errors as one sentence with file, line and column."""

from __future__ import annotations

import re

from m4lib.errors import M4Error

KINDS = {
    "BIGINT": "a whole number",
    "DOUBLE": "a number",
    "TIMESTAMP": "a time (YYYY-MM-DD HH:MM:SS)",
    "DATE": "a date (YYYY-MM-DD)",
}


def short(text: str, limit: int = 40) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


def csv_error(label: str, message: str) -> M4Error:
    """The sentence for an error that DuckDB raised while parsing the file called `label`."""
    line = re.search(r"CSV Error on Line: (\d+)", message)
    where = f"{label}, line {line[1]}" if line else label
    wrong_type = re.search(r'converting column "(.*?)"\. Could not convert string "(.*?)" to \'(\w+)', message, re.S)
    if wrong_type:
        column, value, kind = wrong_type.groups()
        wanted = KINDS.get(kind, kind)
        return M4Error(
            f"{where}, column {column}: {short(value)!r} is not {wanted}. Correct the value or leave the field empty."
        )
    counts = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if counts:
        found = f"{counts[2]} fields" if int(counts[2]) < int(counts[1]) else "more fields"  # DuckDB stops counting
        return M4Error(
            f"{where} has {found} where the header has {counts[1]} columns. "
            "Correct that line, or quote the fields that contain a comma."
        )
    if "unterminated quote" in message:
        return M4Error(f"{where}: a quoted field does not end. Close the quote, or copy the file again.")
    if "nicode" in message or "utf-8" in message:
        return M4Error(f"{where} is not UTF-8 text. Save the file as UTF-8, then build again.")
    if "Maximum line size" in message:
        return M4Error(f"{where} is longer than two million bytes; a quote is probably missing its end.")
    return M4Error(f"{where} cannot be read: {short(message, 200)}")

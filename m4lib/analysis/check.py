"""Our values beside the printed ones. The only place where a printed number is read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

import pandas as pd

from m4lib.analysis.render import aligned
from m4lib.analysis.table import Table
from m4lib.files import atomic_path

COLUMNS = ["table", "row", "column", "printed", "ours", "equal", "note"]
BOUNDS = ("ci_low", "ci_high")
REMARKS = ("source",)  # free text about where a number comes from
BOUND_NOISE = 0.005  # bounds of another random stream stay within this of the published ones


def printed_folder() -> Path:
    """The printed values that come with the library."""
    return Path(str(resources.files("m4lib.analysis") / "printed"))


def printed_values(table_id: str, folder: str | os.PathLike[str] | None = None) -> pd.DataFrame | None:
    """Printed cells of one table as strings: from `folder` if it has them, else those of the library; None if unknown."""
    for base in ([Path(folder)] if folder else []) + [printed_folder()]:
        path = base / f"{table_id}.csv"
        if path.is_file():
            return pd.read_csv(path, dtype=str, keep_default_na=False)
    return None


def number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def same(printed: str, ours: str) -> bool:
    """Equal as printed; numbers by value, so that -0.000 equals 0.000."""
    a, b = number(printed), number(ours)
    return a == b if a is not None and b is not None else printed.strip() == ours.strip()


def compare(table: Table, folder: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """One row for each printed cell of `table`: printed, ours, equal, note. Empty when nothing printed is known."""
    printed = printed_values(table.id, folder)
    if printed is None:
        return pd.DataFrame(columns=COLUMNS)
    ours = table.printed_form()
    keys = [key for key in table.keys if key in printed and key in ours]
    by_label = {tuple(row[key] for key in keys): row for _, row in ours.iterrows()}
    rows = []
    for _, line in printed.iterrows():
        label = tuple(line[key] for key in keys)
        match = by_label.get(label)
        for column in printed.columns:
            if column in keys or column in REMARKS or line[column] == "":
                continue
            known = match is not None and column in ours
            value = match[column] if known else ""  # type: ignore[index]
            equal = known and same(line[column], value)
            rows.append({
                "table": table.id, "row": " / ".join(label), "column": column, "printed": line[column], "ours": value,
                "equal": equal, "note": "" if equal else _why(table, column, line[column], value, known),
            })
    return pd.DataFrame(rows, columns=COLUMNS)


def _why(table: Table, column: str, printed: str, ours: str, known: bool) -> str:
    if not known:
        return "no such row or column in our table"
    if ours == "":
        return table.notes[0] if table.notes else "not computable from the data at hand"
    a, b = number(printed), number(ours)
    if column in BOUNDS and a is not None and b is not None and abs(a - b) <= BOUND_NOISE:
        return "random stream of the printed interval is not known; within its noise"
    if a is not None and b is not None:
        return f"differs by {abs(a - b):.3g}"
    return "differs"


def verdict(checked: pd.DataFrame) -> str:
    """One line: n of m printed numbers equal; the rest differ by at most d; why."""
    if checked.empty:
        return "No printed value of this item is at hand; nothing to compare."
    numbers = checked[[number(text) is not None for text in checked["printed"]]]
    part, word = (numbers, "numbers") if len(numbers) else (checked, "entries")
    equal = int(part["equal"].sum())
    words = checked.drop(part.index)
    words = words[words["ours"] != ""]
    tail = (f" Of {len(words)} printed entries that are words {int(words['equal'].sum())} are equal."
            if len(words) and not words["equal"].all() else "")
    head = f"{equal} of {len(part)} printed {word} equal"
    rest = part[~part["equal"].astype(bool)]
    if rest.empty:
        return f"{head}.{tail}"
    absent = rest[rest["ours"] == ""]
    present = rest[rest["ours"] != ""]
    pieces = [head]
    if len(present):
        gaps = [abs(a - b) for a, b in ((number(p), number(o)) for p, o in
                                        zip(present["printed"], present["ours"], strict=True))
                if a is not None and b is not None]
        pieces.append(f"{len(present)} differ" + (f" by at most {max(gaps):.3g}" if gaps else "")
                      + f" ({'; '.join(dict.fromkeys(present['note']))})")
    if len(absent):
        pieces.append(f"{len(absent)} cannot be computed ({'; '.join(dict.fromkeys(absent['note'])).rstrip('.')})")
    return "; ".join(pieces) + "." + tail


def beside(checked: pd.DataFrame) -> str:
    """The comparison as aligned text, one line a printed cell, and the verdict."""
    if checked.empty:
        return verdict(checked)
    shown = checked[["row", "column", "printed", "ours", "equal"]].copy()
    shown["equal"] = ["yes" if equal else "NO" if ours else "missing"
                      for equal, ours in zip(shown["equal"], shown["ours"], strict=True)]
    shown = shown.astype(str).map(lambda text: text if len(text) <= 48 else text[:47] + "…")
    return aligned(shown, {"printed", "ours"}) + "\n\n" + verdict(checked)


def write_check(parts: Iterable[pd.DataFrame], path: str | os.PathLike[str]) -> pd.DataFrame:
    """Write all comparisons as one CSV (`paper_check.csv`); returns the frame."""
    frames = [part for part in parts if len(part)]
    whole = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=COLUMNS)
    with atomic_path(path) as beside_path:
        whole.to_csv(beside_path, index=False, lineterminator="\n")
    return whole

"""What a paper table is here: values in full precision, how each column prints, and what could not be computed."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from m4lib.analysis.sources import ROLES, Sources

NA = "NA"  # undefined by its definition, as against blank: not computable from the data at hand

MODEL_NAMES = {
    "gpt-5.4-mini": "GPT 5.4 Mini", "gpt-5.5": "GPT 5.5", "opus": "Claude Opus", "sonnet": "Claude Sonnet",
    "gpt-oss:20b": "gpt-oss-20b local",
}


@dataclass
class Table:
    """One table. `frame` has the published CSV columns in order; None or NaN is a blank, "NA" stays NA."""

    id: str
    title: str
    frame: pd.DataFrame
    formats: dict[str, str] = field(default_factory=dict)  # column -> text | int | <decimals>; default text
    keys: tuple[str, ...] = ()  # columns that identify a row
    caption: str = ""
    notes: list[str] = field(default_factory=list)
    headings: dict[str, str] = field(default_factory=dict)

    @property
    def number(self) -> int:
        return int(self.id.removeprefix("table").removeprefix("figure")[:2])

    def printed_form(self) -> pd.DataFrame:
        """Every cell as it prints, strings only; columns and rows as published."""
        return pd.DataFrame(
            {column: [format_value(value, self.formats.get(column, "text")) for value in self.frame[column]]
             for column in self.frame.columns},
            dtype=object,
        )

    def __repr__(self) -> str:
        from m4lib.analysis.render import to_text

        return to_text(self)

    def _repr_html_(self) -> str:
        from m4lib.analysis.render import to_html

        return to_html(self)


def is_blank(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def format_value(value: Any, kind: str) -> str:
    """One cell as printed: decimals by ordinary rounding of the binary float, integers plain, blanks empty."""
    if is_blank(value):
        return ""
    if isinstance(value, str) or kind == "text":
        return str(value)
    if kind == "int":
        return str(int(value))
    return f"{float(value):.{int(kind)}f}"


Builder = Callable[[Sources], Table]
REGISTRY: dict[str, Builder] = {}
NEEDS: dict[str, tuple[str, ...]] = {}
TITLES: dict[str, str] = {}


def table(
    id: str, title: str, *, needs: Sequence[str] = (), columns: str = "", keys: str = "", formats: str = "",
    rows: Callable[[Sources], list[tuple]] | list[tuple] | None = None, caption: str = "",
    headings: dict[str, str] | None = None,
) -> Callable[[Callable[..., pd.DataFrame | tuple[pd.DataFrame, list[str]]]], Builder]:
    """Register the function that computes a table.

    The function takes `Sources` and returns the frame, or (frame, notes). `columns` names the published columns in
    order; `formats` is `column:kind` pairs; `rows` are the labels (values of `keys`) of the blank table that stands in
    when an index that the table `needs` is absent.
    """
    names, key_names = columns.split(), tuple(keys.split())
    kinds = dict(pair.split(":") for pair in formats.split())

    def decorate(function: Callable[..., pd.DataFrame | tuple[pd.DataFrame, list[str]]]) -> Builder:
        @functools.wraps(function)
        def build(sources: Sources) -> Table:
            absent = [role for role in needs if not sources.has(role)]
            if absent:
                labels = rows(sources) if callable(rows) else (rows or [])
                result: Any = pd.DataFrame([dict(zip(key_names, label, strict=False)) for label in labels],
                                           columns=names, dtype=object)
                notes = [sources.missing(role) for role in absent]
            else:
                result = function(sources)
                result, notes = result if isinstance(result, tuple) else (result, [])
            frame = result.reindex(columns=names).reset_index(drop=True)
            return Table(id, title, frame, kinds, key_names, caption, list(notes), headings or {})

        REGISTRY[id], NEEDS[id], TITLES[id] = build, tuple(needs), title
        return build

    return decorate


def registered() -> dict[str, Builder]:
    """All tables by id, in the paper's order."""
    from m4lib.analysis import tables  # noqa: F401  imports every table module

    return dict(sorted(REGISTRY.items()))


def build_table(id: str, sources: Sources) -> Table:
    """One table by id (`table03_native_skill_effect`) or number (`3`)."""
    builders = registered()
    if id not in builders:
        id = next((name for name in builders if name.startswith(f"table{int(id):02d}_")), id) if id.isdigit() else id
    return builders[id](sources)


def needed_files(id: str) -> list[str]:
    """Usual file names of the indexes that a table needs."""
    return [ROLES[role][0] for role in NEEDS[id]]

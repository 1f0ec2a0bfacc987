"""Tables as CSV, text, Markdown, LaTeX and HTML. CSV keeps the published columns; the others are typeset as in the paper."""

from __future__ import annotations

import html
import os
import re
from pathlib import Path

import pandas as pd

from m4lib.analysis.table import MODEL_NAMES, Table
from m4lib.files import write_text

DASH = "–"
MINUS = re.compile(r"(?<![\w.])-(?=\d)")
WORDS = {
    "no_skill": "No skill", "with_skill": "With skill", "nmae": "nMAE", "f1": "F1", "ci": "CI", "runs": "Runs",
    "delta": "Delta", "mean_delta": "Mean delta", "key_f1": "Key F1", "cli_2_1_119_runs": "CLI 2.1.119",
    "cli_2_1_220_runs": "CLI 2.1.220", "sha256": "SHA-256", "nmae_delta": "nMAE delta", "key_f1_delta": "Key F1 delta",
    "codex_primary": "Codex primary", "claude_sentinel": "Claude sentinel", "opus_delta": "Opus delta",
    "haiku_usage_runs": "Haiku in usage", "haiku_turn_runs": "Haiku turns", "overrides_recorded_runs": "Overrides recorded",
}
# a count and its total print as 26/28, an estimate and its bounds as 0.136 [0.085, 0.191]
FRACTIONS = (("improved_tasks", "tasks", "Improved"), ("positive_tasks", "positive_of", "Positive"),
             ("positive_tasks", "tasks", "Positive"),
             ("strict_pass_no_skill", "runs_no_skill", "Strict, no skill"),
             ("strict_pass_with_skill", "runs_with_skill", "Strict, with skill"))


def heading(table: Table, column: str) -> str:
    return table.headings.get(column) or WORDS.get(column) or column.replace("_", " ").capitalize()


def typeset(table: Table) -> pd.DataFrame:
    """Strings as the paper prints them: intervals in brackets, fractions, model names, thousands separators, dashes."""
    cells = table.printed_form()
    for column in cells.columns:
        if table.formats.get(column) == "int" and column != "rank":
            cells[column] = [f"{int(v):,}" if v.lstrip("-").isdigit() else v for v in cells[column]]
        if column in ("model", "scope", "row"):
            cells[column] = [_model_names(value) for value in cells[column]]
    out: dict[str, list[str]] = {}
    used: set[str] = set()
    for column in cells.columns:
        if column in used:
            continue
        name, values = heading(table, column), list(cells[column])
        if column in ("delta", "mean_delta") and {"ci_low", "ci_high"} <= set(cells.columns):
            used |= {"ci_low", "ci_high"}
            name += " [95% CI]"
            values = [f"{d} [{low}, {high}]" if low and high else d
                      for d, low, high in zip(values, cells["ci_low"], cells["ci_high"], strict=True)]
        for count, total, label in FRACTIONS:
            if column == count and total in cells.columns:
                name = label
                values = [f"{a}/{b}" if a else "" for a, b in zip(values, cells[total], strict=True)]
                if total == "tasks" and list(cells.columns).index("tasks") < list(cells.columns).index(count):
                    break  # the table prints its task count in a column of its own
                used.add(total)
                break
        numeric = table.formats.get(column, "text") != "text"
        out[name] = [(MINUS.sub("−", value) if numeric else value) or DASH for value in values]
    return pd.DataFrame(out, dtype=object)


def _model_names(value: str) -> str:
    for model, name in MODEL_NAMES.items():
        if value == model or value.endswith(f"/ {model}"):
            return value[: len(value) - len(model)] + name
    return value


def to_text(table: Table, width: int = 60) -> str:
    """Plain text, columns aligned; long cells are cut to `width` characters."""
    cells = typeset(table)
    clipped = cells.map(lambda value: value if len(value) <= width else value[: width - 1] + "…")
    return f"Table {table.number}. {table.title}\n" + aligned(clipped, _numeric_columns(cells)) + _note_lines(table)


def aligned(cells: pd.DataFrame, right: set[str]) -> str:
    """A frame of strings as aligned text; the columns in `right` are right-aligned."""
    widths = {column: max([len(column), *(len(value) for value in cells[column])]) for column in cells.columns}

    def line(values: dict[str, str]) -> str:
        return "  ".join(values[c].rjust(widths[c]) if c in right else values[c].ljust(widths[c])
                         for c in cells.columns).rstrip()

    rule = "  ".join("-" * widths[column] for column in cells.columns)
    return "\n".join([line({c: c for c in cells.columns}), rule, *(line(dict(row)) for _, row in cells.iterrows())])


def _numeric_columns(cells: pd.DataFrame) -> set[str]:
    def numeric(value: str) -> bool:
        return value in (DASH, "NA") or value.lstrip("−")[:1].isdigit()

    return {column for column in cells.columns if len(cells) and all(numeric(v) for v in cells[column])}


def _note_lines(table: Table) -> str:
    return "".join(f"\nNote: {note}" for note in table.notes)


def to_markdown(table: Table) -> str:
    """A Markdown page: heading, pipe table, caption and notes."""
    cells = typeset(table)
    right = _numeric_columns(cells)
    lines = [f"## Table {table.number}. {table.title}", "",
             "| " + " | ".join(cells.columns) + " |",
             "| " + " | ".join("---:" if column in right else "---" for column in cells.columns) + " |"]
    lines += ["| " + " | ".join(value.replace("|", "\\|") for value in row) + " |" for row in cells.to_numpy()]
    tail = ([table.caption] if table.caption else []) + [f"Note: {note}" for note in table.notes]
    return "\n".join(lines) + "\n" + "".join(f"\n{text}\n" for text in tail)


def to_latex(table: Table) -> str:
    """A LaTeX table environment (booktabs), by pandas Styler."""
    cells = typeset(table)
    right = _numeric_columns(cells)
    signs = {"−": "$-$", DASH: "--", "≥": "$\\geq$", "≤": "$\\leq$"}
    styler = cells.style.hide(axis="index").format(escape="latex").format_index(escape="latex", axis="columns")
    shape = "".join("r" if column in right else
                    "p{6cm}" if cells[column].str.len().max() > 60 else "l" for column in cells.columns)
    text = styler.to_latex(hrules=True, column_format=shape, caption=_latex_escape(table.title),
                           label=f"tab:{table.id}", position="t", position_float="centering")
    for sign, code in signs.items():
        text = text.replace(sign, code)
    return text + "".join(f"% {note}\n" for note in table.notes)


def _latex_escape(text: str) -> str:
    return "".join({"&": "\\&", "%": "\\%", "_": "\\_", "#": "\\#"}.get(char, char) for char in text)


CELL = "padding: 2px 10px; vertical-align: top; background: none; border: 0; "


def to_html(table: Table) -> str:
    """The typeset table as HTML, rules above, below and under the heading as in print.

    Written out rather than by Styler: the same text under every pandas version, and a third of a second less to import.
    """
    cells = typeset(table)
    right = _numeric_columns(cells)
    side = {column: f"text-align: {'right' if column in right else 'left'}" for column in cells.columns}
    head = "".join(f'<th style="{CELL}{side[column]}; border-bottom: 1px solid">{html.escape(column)}</th>'
                   for column in cells.columns)
    body = "".join(
        "<tr>" + "".join(f'<td style="{CELL}{side[column]}">{html.escape(value)}</td>'
                         for column, value in zip(cells.columns, row, strict=True)) + "</tr>\n"
        for row in cells.to_numpy())
    below = ([table.caption] if table.caption else []) + [f"Note: {note}" for note in table.notes]
    tail = "".join(f'<p style="max-width: 60em"><small>{html.escape(text)}</small></p>' for text in below)
    return (f'<table id="T_{table.id}" style="border-collapse: collapse; border-top: 2px solid; border-bottom: 2px solid">\n'
            f'<caption style="caption-side: top; text-align: left; padding: 4px 0; white-space: nowrap"><b>Table {table.number}.</b> '
            f"{html.escape(table.title)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>{tail}")


def to_csv(table: Table) -> str:
    return table.printed_form().to_csv(index=False, lineterminator="\n")


def write_table(table: Table, out_dir: str | os.PathLike[str]) -> list[Path]:
    """Write `<id>.csv`, `.md` and `.tex` into `out_dir`; returns the paths."""
    written = []
    for ending, text in (("csv", to_csv(table)), ("md", to_markdown(table)), ("tex", to_latex(table))):
        path = Path(out_dir) / f"{table.id}.{ending}"
        write_text(path, text)
        written.append(path)
    return written

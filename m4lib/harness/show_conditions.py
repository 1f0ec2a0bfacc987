"""Two conditions compared: a list of what differs, a unified diff as text, and a side-by-side table for a notebook."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

import pandas as pd

from m4lib.harness.conditions import Condition

# !important, because notebook themes align and stripe every table
STYLE = """<style>
table.m4diff {font-family: monospace; font-size: 12px; border-collapse: collapse; width: 100%; table-layout: fixed}
.m4diff tr {background: none !important}
.m4diff td, .m4diff th {text-align: left !important; vertical-align: top; padding: 1px 6px !important;
  white-space: pre-wrap !important; word-break: break-word; border: 0}
.m4diff th {padding-top: 8px !important}
.m4diff .only {background: #e6f4e6 !important} .m4diff .gone {background: #fbe9e7 !important} .m4diff .skip {color: #888}
</style>"""


def texts(condition: Condition) -> dict[str, str]:
    """Everything that a run receives: "prompt" and each file without the agent's own folder."""
    files = {path.removeprefix(f"{condition.skill_dir}/"): text for path, text in condition.files.items()}
    return {"prompt": condition.prompt, **files}


def sides(left: Condition, right: Condition) -> tuple[str, str]:
    """What to call the two: the condition, and the schema where that is what differs."""
    if left.condition != right.condition:
        return left.condition, right.condition
    return f"{left.condition} ({left.schema})", f"{right.condition} ({right.schema})"


def inventory(conditions: Iterable[Condition]) -> pd.DataFrame:
    """One row a condition: its skills, number and size of its files, size of its prompt, hash of all of it."""
    return pd.DataFrame([{
        "condition": one.condition, "skills": len(one.skills), "files": len(one.files),
        "file chars": sum(map(len, one.files.values())), "prompt chars": len(one.prompt), "hash": one.sha256[:12],
        "first skill": one.skills[0] if one.skills else "-",
    } for one in conditions])


def overview(left: Condition, right: Condition) -> pd.DataFrame:
    """One row a text: characters on either side and the lines that only one side has."""
    mine, other = texts(left), texts(right)
    first, second = sides(left, right)
    rows = []
    for name in dict.fromkeys([*mine, *other]):
        lines = list(difflib.ndiff(mine.get(name, "").splitlines(), other.get(name, "").splitlines()))
        rows.append({
            "text": name, f"{first} chars": len(mine.get(name, "")), f"{second} chars": len(other.get(name, "")),
            "lines removed": sum(line.startswith("- ") for line in lines),
            "lines added": sum(line.startswith("+ ") for line in lines),
        })
    return pd.DataFrame(rows)


def difference(left: Condition, right: Condition, context: int = 2) -> str:
    """Unified diff over all texts; "" when both runs receive the same."""
    mine, other = texts(left), texts(right)
    first, second = sides(left, right)
    lines: list[str] = []
    for name in dict.fromkeys([*mine, *other]):
        lines += difflib.unified_diff(
            mine.get(name, "").splitlines(), other.get(name, "").splitlines(),
            f"{first}/{name}", f"{second}/{name}", lineterm="", n=context)
    return "\n".join(lines)


def side_by_side(left: Condition, right: Condition, context: int = 2) -> str:
    """HTML table of both sides, one block a text that differs; equal stretches are folded to `context` lines."""
    mine, other = texts(left), texts(right)
    first, second = sides(left, right)
    parts = [STYLE, '<table class="m4diff">', f"<tr><th>{first}</th><th>{second}</th></tr>"]
    for name in dict.fromkeys([*mine, *other]):
        if mine.get(name) != other.get(name):
            parts.append(f'<tr><th colspan="2">{_escaped(name)}</th></tr>')
            parts += _rows(mine.get(name, "").splitlines(), other.get(name, "").splitlines(), context)
    return "\n".join([*parts, "</table>"])


def _rows(mine: list[str], other: list[str], context: int) -> Iterator[str]:
    for tag, a, b, c, d in difflib.SequenceMatcher(None, mine, other, autojunk=False).get_opcodes():
        if tag == "equal":
            if b - a > 2 * context + 1:
                shown = [*zip(mine[a:a + context], other[c:c + context], strict=True), None,
                         *zip(mine[b - context:b], other[d - context:d], strict=True)]
            else:
                shown = list(zip(mine[a:b], other[c:d], strict=True))
            for pair in shown:
                if pair is None:
                    yield f'<tr><td class="skip" colspan="2">⋯ {b - a - 2 * context} equal lines</td></tr>'
                else:
                    yield _row(pair[0], pair[1], "", "")
        else:
            for line in range(max(b - a, d - c)):
                yield _row(
                    mine[a + line] if a + line < b else "", other[c + line] if c + line < d else "",
                    "gone" if a + line < b else "", "only" if c + line < d else "")


def _row(left: str, right: str, left_class: str, right_class: str) -> str:
    return f'<tr><td class="text {left_class}">{_escaped(left)}</td><td class="text {right_class}">{_escaped(right)}</td></tr>'


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

"""One static page with every table and figure of the paper and how many printed numbers are equal."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from m4lib.analysis.sources import ROLES, Sources
from m4lib.files import write_text

if TYPE_CHECKING:
    from m4lib.analysis.batch import Piece

STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; color: #1b1f24; background: #fff;
  margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 76rem; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; } h2 { font-size: 1.15rem; margin: 2.4rem 0 .4rem; }
nav { display: flex; flex-wrap: wrap; gap: .25rem .5rem; margin: 1rem 0; }
nav a { padding: .1rem .45rem; border: 1px solid #c9d1d9; border-radius: .3rem; text-decoration: none; color: #0550ae; }
nav a.part { border-color: #bf8700; color: #7d4e00; } nav a.bad { border-color: #cf222e; color: #a40e26; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .92rem; }
td, th { padding: .15rem .6rem; text-align: left; vertical-align: top; } th { border-bottom: 1px solid #57606a; }
table.summary td { border-bottom: 1px solid #eaeef2; } td.n { text-align: right; }
p.verdict { margin: .4rem 0; } .ok { color: #116329; } .none { color: #57606a; } section caption { display: none; } .part { color: #7d4e00; } .bad { color: #a40e26; }
small a { margin-right: .6rem; } img { max-width: 100%; height: auto; } details { margin: .3rem 0; }
@media (max-width: 40rem) { body { padding: 1rem .7rem 3rem; } h1 { font-size: 1.35rem; } }
"""


def status(piece: Piece) -> str:
    """`bad`: failed, or a number that could be computed differs; `part`: something is missing; `none`: nothing printed; `ok`."""
    wrong = piece.checked[~piece.checked["equal"].astype(bool) & (piece.checked["ours"] != "")]
    tolerated = wrong["note"].str.contains("within its noise") if len(wrong) else pd.Series(dtype=bool)
    if piece.error or (len(wrong) and not tolerated.all()):
        return "bad"
    return "part" if piece.notes or len(wrong) else "ok" if len(piece.checked) else "none"


def write_paper_report(pieces: Sequence[Piece], sources: Sources, out_dir: Path) -> Path:
    """Write `out_dir`/report/index.html; opens without a server. Returns its path."""
    checked = pd.concat([piece.checked for piece in pieces], ignore_index=True)
    equal, absent = int(checked["equal"].astype(bool).sum()), int((checked["ours"] == "").sum())
    head = (f"{equal} of {len(checked)} printed entries that are at hand are equal; {absent} cannot be computed from the "
            f"indexes at hand; {len(checked) - equal - absent} differ." if len(checked) else
            "Computed from a campaign's own index; nothing printed to compare with.")
    inputs = "".join(
        f"<tr><td>{escape(what)}</td><td>{escape(sources.paths[role].name) if role in sources.paths else '–'}</td>"
        f"<td class='n'>{len(sources[role]) if sources.has(role) else 'absent'}</td></tr>"
        for role, (_, what, _) in ROLES.items()) if sources.own is None else (
        f"<tr><td>own index</td><td>{escape(sources.own.name)}</td><td class='n'>{len(sources['primary'])}</td></tr>")
    links = "".join(f'<a class="{status(piece)}" href="#{piece.id}">{_short(piece.id)}</a>' for piece in pieces)
    body = "".join(_section(piece) for piece in pieces)
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>M4Bench: tables and figures</title><style>{STYLE}</style></head><body>
<h1>M4Bench: tables and figures</h1>
<p>{escape(head)} Every comparison: <a href="../paper_check.csv">paper_check.csv</a>.</p>
<details><summary>Run indexes that were read</summary><div class="wide"><table class="summary">
<tr><th>Index</th><th>File</th><th>Runs</th></tr>{inputs}</table></div></details>
<nav aria-label="Tables and figures">{links}</nav>
{body}</body></html>
"""
    path = Path(out_dir) / "report" / "index.html"
    write_text(path, page)
    return path


def _short(id: str) -> str:
    return f"{'Figure' if id.startswith('figure') else 'Table'} {int(id.removeprefix('figure').removeprefix('table')[:2])}"


def _section(piece: Piece) -> str:
    folder, endings = ("figures", ("pdf", "png")) if piece.id.startswith("figure") else ("tables", ("csv", "md", "tex"))
    files = "" if piece.error else "".join(
        f'<a href="../{folder}/{piece.id}.{ending}">{ending}</a>' for ending in endings)
    notes = "".join(f'<p class="part">{escape(note)}</p>' for note in piece.notes) if folder == "figures" else ""
    return (f'<section id="{piece.id}"><h2>{_short(piece.id)}. {escape(piece.title)}</h2><div class="wide">{piece.html}</div>'
            f'{notes}<p class="verdict {status(piece)}">{escape(piece.verdict)}</p><small>{files}</small></section>\n')

"""The report of a batch: one static page that links every executed notebook, table and figure."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from m4lib import __version__
from m4lib.files import read_json, write_text
from m4lib.pipeline.batch import StageResult
from m4lib.pipeline.params import Params


def _resource(name: str) -> str:
    return resources.files("m4lib.pipeline").joinpath(name).read_text(encoding="utf-8")


def notebook_page(source: str, target: str, home: str, root: str) -> str:
    """Render one executed notebook to a self-contained HTML page without scripts; returns its title.

    Parameters are shown with folders relative to `root`: the page may go elsewhere, the notebook has what it was given.
    """
    import nbformat
    from nbconvert import HTMLExporter

    notebook = nbformat.read(source, as_version=4)
    for cell in notebook.cells:
        if "injected-parameters" in cell.metadata.get("tags", ()):
            cell.source = relative_folders(cell.source, root)
    exporter = HTMLExporter(template_name="basic", exclude_input_prompt=True, exclude_output_prompt=True)
    body, _ = exporter.from_notebook_node(notebook)
    title = notebook_title(Path(source))
    page = (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width, "
        f"initial-scale=1'><title>{escape(title)}</title><style>{_resource('report.css')}{pygments_css()}</style></head><body>"
        f"<main class='notebook'><p><a href='{escape(home)}'>&larr; report</a></p>{body}</main></body></html>"
    )
    write_text(target, page)
    return title


def relative_folders(code: str, root: str) -> str:
    """`code` with every text in it that is an absolute path as seen from `root`."""

    def shown(match: re.Match[str]) -> str:
        value = ast.literal_eval(match[0])
        return json.dumps(os.path.relpath(value, root), ensure_ascii=False) if os.path.isabs(value) else match[0]

    return re.sub(r'"(?:[^"\\\n]|\\.)*"', shown, code)


def pygments_css() -> str:
    """Colours of the code cells, as CSS."""
    from pygments.formatters import HtmlFormatter

    return str(HtmlFormatter(style="friendly").get_style_defs(".highlight"))


def notebook_title(path: Path) -> str:
    """The first heading of a notebook, or its file name."""
    for cell in json.loads(path.read_text(encoding="utf-8")).get("cells", []):
        text = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
        match = re.search(r"^#\s+(.+)$", text, flags=re.MULTILINE) if cell["cell_type"] == "markdown" else None
        if match:
            return match.group(1).strip()
    return path.stem


def _render(jobs: Sequence[tuple[str, str, str, str]]) -> None:
    if not jobs:
        return
    if len(jobs) == 1:
        notebook_page(*jobs[0])
        return
    with ProcessPoolExecutor(max_workers=min(len(jobs), os.cpu_count() or 1)) as pool:
        for future in [pool.submit(notebook_page, *job) for job in jobs]:
            future.result()


def _databases(params: Params) -> list[dict[str, Any]]:
    rows = []
    for source in ("mimic-iv", "eicu"):
        path = params.database(source)
        manifest = path.with_name(path.name + ".manifest.json")
        if manifest.is_file():
            facts = read_json(manifest)
            tables = facts.get("tables") or {}
            counts = [entry.get("rows") or 0 for entry in (tables.values() if isinstance(tables, dict) else tables)]
            rows.append({
                "source": source, "origin": facts.get("origin") or facts.get("raw") or "unknown", "tables": len(counts),
                "rows": f"{sum(counts):,}", "engine": f"DuckDB {facts['duckdb']}",
            })
    return rows


def _campaigns(params: Params) -> list[dict[str, Any]]:
    rows = []
    for path in sorted(params.runs.glob("*/campaign_summary.json")):
        facts = read_json(path)
        skipped = facts.get("skipped")
        reward = facts.get("mean_reward")
        rows.append({
            "campaign": facts["campaign"], "agent": facts["agent"], "planned": facts["planned"],
            "finished": facts.get("finished", 0), "void": facts.get("void", 0),
            "reward": "" if reward is None else f"{reward:.3f}", "status": "skipped" if skipped else "done",
            "state": f"skipped: {skipped}" if skipped else ("complete" if facts.get("finished") == facts["planned"] else "incomplete"),
        })
    return rows


def _check(outputs: Path) -> tuple[str, dict[str, str]]:
    """One line for the whole paper, and per table `equal of printed`, from the check files that the tables leave."""
    import pandas as pd

    files = sorted((outputs / "check").glob("*.csv"))
    if (outputs / "paper_check.csv").is_file():
        files = [outputs / "paper_check.csv"]
    frames = [frame for frame in (pd.read_csv(file, dtype=str) for file in files) if len(frame)]
    if not frames:
        return "", {}
    table = pd.concat(frames, ignore_index=True)
    table["same"] = table["equal"].str.lower().isin(["true", "1", "yes"])
    table["absent"] = table["ours"].isna()

    def count(group: pd.DataFrame) -> tuple[int, int, int]:
        return int(group["same"].sum()), int((~group["absent"]).sum()), int(group["absent"].sum())

    per = {}
    for name, group in table.groupby("table"):
        equal, known, absent = count(group)
        per[str(name)] = ", ".join([f"{equal} of {known}"] * bool(known) + [f"{absent} not at hand"] * bool(absent))
    equal, known, absent = count(table)
    line = f"{equal} of {known} printed entries that can be computed from the runs at hand are equal."
    return line + (f" {absent} cannot be computed; the pages of their tables say why." if absent else ""), per


def write_report(params: Params, results: Sequence[StageResult]) -> Path:
    """Write `report/index.html` and a page for every executed notebook. Returns the index page.

    Pages are kept when neither their executed notebook nor this module has changed.
    """
    from jinja2 import Environment

    outputs, folder = params.outputs, params.outputs / "report"
    executed = sorted((outputs / "notebooks").rglob("*.ipynb"))
    executed = [path for path in executed if not path.name.startswith(".")]
    jobs, hrefs = [], {}
    code = max(Path(__file__).with_name(name).stat().st_mtime for name in ("report.py", "report.css"))
    for path in executed:
        name = str(path.relative_to(outputs / "notebooks").with_suffix(""))
        rendered = folder / "notebooks" / f"{name}.html"
        hrefs[name] = os.path.relpath(rendered, folder)
        if not rendered.is_file() or rendered.stat().st_mtime < max(path.stat().st_mtime, code):
            jobs.append((str(path), str(rendered), os.path.relpath(folder / "index.html", rendered.parent), str(params.project.root)))
    _render(jobs)

    check, per_table = _check(outputs)

    def files(stem: Path, suffixes: Sequence[str]) -> list[tuple[str, str]]:
        return [(suffix, os.path.relpath(stem.with_suffix(f".{suffix}"), folder)) for suffix in suffixes
                if stem.with_suffix(f".{suffix}").is_file()]

    tables, figures, audits = [], [], []
    for path in executed:
        name = str(path.relative_to(outputs / "notebooks").with_suffix(""))
        kind, _, stem = name.partition("/")
        if kind == "tables":
            tables.append({"title": notebook_title(path), "href": hrefs[name], "files": files(outputs / "tables" / stem, ("csv", "md", "tex")),
                           "equal": per_table.get(stem, "")})
        elif kind == "audit":
            audits.append((notebook_title(path), hrefs[name]))
        elif kind == "figures":
            drawn = files(outputs / "figures" / stem, ("png", "pdf"))
            if drawn and drawn[0][0] == "png":
                figures.append({"title": notebook_title(path), "href": hrefs[name], "png": drawn[0][1], "files": drawn})

    data, campaigns = _databases(params), _campaigns(params)
    effects_file = params.effects / "effects.csv"
    effects = ""
    if effects_file.is_file():
        import pandas as pd

        frame = pd.read_csv(effects_file)
        frame = frame[(frame["measure"] == "Reward") & (frame["source"].isin([row["campaign"] for row in campaigns]))]
        frame = frame[["source", "scope", "condition", "control_level", "condition_level", "delta", "ci_low", "ci_high", "improved_tasks", "tasks"]]
        frame.columns = ["campaign", "model", "condition", "no-skill", "condition's reward", "delta", "low", "high", "tasks improved", "tasks"]
        effects = frame.to_html(index=False, border=0, na_rep="", float_format=lambda value: f"{value:.3f}") if len(frame) else ""
    skipped = [row for row in campaigns if row["status"] == "skipped"]
    notes = [f"The campaign {row['campaign']} was {row['state']}. Its results are absent, not zero." for row in skipped]
    failures = [f"{result.name} failed: {result.message}" for result in results if result.status == "failed"]
    finished = sum(int(row["finished"]) for row in campaigns)
    page = Environment(autoescape=True).from_string(_resource("report.html.j2")).render(
        title=f"M4Bench report: {params.name}", css=_resource("report.css"),
        lead="Can AI coding agents reproduce clinical derivations on MIMIC-IV and eICU, and what do clinician-reviewed skills change?",
        failures=failures, notes=notes, data=data, campaigns=campaigns, effects=effects, tables=tables, figures=figures,
        audits=audits, check=check, version=__version__, when=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        facts=[("agent runs finished", finished), ("tables", len(tables)), ("figures", len(figures)),
               ("stages done or kept", f"{sum(r.status != 'failed' for r in results)} of {len(results)}")],
        stages=[{"name": r.name, "status": r.status, "seconds": f"{r.seconds:.1f}" if r.seconds else "", "href": hrefs.get(r.name), "page": "/" in r.name} for r in results],
    )
    index = folder / "index.html"
    write_text(index, page)
    return index

"""Author the table, figure and audit notebooks: `python -m m4lib.analysis.notebooks [--write]`.

The notebooks are what people read and change; this keeps their shared frame (title, paragraph, parameters, table, check)
the same in all of them. The texts are in `notebook_texts.yaml`. `--write` stores and executes what has changed,
`--all` everything. Without either, the command says which notebooks differ from their texts.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from m4lib.files import write_text

PARAMETERS = """\
evidence_dir = None  # folder with the published run indexes; None: the one beside the checkout, else the cached download
index = None  # a campaign's own run index (CSV or Parquet) instead of the published ones
out_dir = None  # folder for {what}; None: nothing is written"""
VARIES = "nbval-ignore-output"


def texts() -> dict[str, Any]:
    import yaml

    return yaml.safe_load((resources.files("m4lib.analysis") / "notebook_texts.yaml").read_text(encoding="utf-8"))


def table_cells(id: str, entry: dict[str, Any], module: str, function: str, title: str) -> list[tuple[str, str, str]]:
    """Cells of a table notebook as (kind, text, tag)."""
    number = int(id[5:7])
    cells = [
        ("markdown", f"# Table {number}. {title}\n\n{entry['text'].strip()}", ""),
        ("code", PARAMETERS.format(what="the table as CSV, Markdown and LaTeX"), "parameters"),
        ("code", f"from m4lib.analysis import paper\nfrom {module} import {function}\n\n"
                 f"sources = paper.open_sources(evidence_dir, index)\ntable = {function}(sources)\ntable", ""),
        ("markdown", "Ours beside the printed values:", ""),
        ("code", "print(paper.beside_printed(table, sources))", ""),
    ]
    for extra in entry.get("more", []):
        if "markdown" in extra:
            cells.append(("markdown", extra["markdown"].strip(), ""))
        cells.append(("code", extra["code"].strip(), extra.get("tag", "")))
    cells.append(("code", "print(paper.save(table, sources, out_dir))", VARIES))
    return cells


def free_cells(entry: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Cells of a figure or audit notebook, spelled out in the texts."""
    cells = [("markdown", f"# {entry['title']}\n\n{entry['text'].strip()}", ""),
             ("code", PARAMETERS.format(what=entry["writes"]), "parameters")]
    for cell in entry["cells"]:
        if "markdown" in cell:
            cells.append(("markdown", cell["markdown"].strip(), ""))
        if "code" in cell:
            cells.append(("code", cell["code"].strip(), cell.get("tag", "")))
    return cells


def notebook(cells: Sequence[tuple[str, str, str]]) -> Any:
    """An nbformat notebook without outputs, execution counts or times."""
    import nbformat

    made = []
    for number, (kind, text, tag) in enumerate(cells):
        new = nbformat.v4.new_markdown_cell if kind == "markdown" else nbformat.v4.new_code_cell
        cell = new(text, metadata={"tags": [tag]} if tag else {})
        cell["id"] = f"cell-{number:02d}"
        made.append(cell)
    return nbformat.v4.new_notebook(cells=made, metadata={
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    })


def all_notebooks() -> dict[str, Any]:
    """Relative path below notebooks/ -> notebook."""
    from m4lib.analysis.table import TITLES, registered

    spoken, made = texts(), {}
    for id, builder in registered().items():
        cells = table_cells(id, spoken["tables"][id], builder.__module__, builder.__name__, TITLES[id])
        made[f"tables/{id}.ipynb"] = notebook(cells)
    for folder in ("figures", "audit"):
        for name, entry in spoken[folder].items():
            made[f"{folder}/{name}.ipynb"] = notebook(free_cells(entry))
    return made


def sources_of(document: Any) -> list[tuple[str, str, tuple[str, ...]]]:
    """What was written, as against what was executed: kind, text and tags of every cell."""
    return [(cell.cell_type, cell.source, tuple(cell.metadata.get("tags", []))) for cell in document.cells]


def main(arguments: Sequence[str]) -> int:
    import nbformat

    from m4lib.project import find_project

    project = find_project()
    changed = []
    for name, document in all_notebooks().items():
        path = project.notebooks / name
        same = path.is_file() and sources_of(nbformat.read(path, as_version=4)) == sources_of(document)
        if same and "--all" not in arguments:
            continue
        changed.append(path)
        if {"--write", "--all"} & set(arguments):
            write_text(path, nbformat.writes(document, version=4) + "\n")
        else:
            print(f"differs: {name}")
    if not changed:
        print("Every notebook equals its text.")
        return 0
    return execute(changed, project.root) if {"--write", "--all"} & set(arguments) else 1


def execute(paths: Sequence[Path], root: Path) -> int:
    """Execute notebooks in place with their own parameters and store them without anything that varies."""
    import tempfile

    import nbformat

    from m4lib.pipeline.refresh import cleaned
    from m4lib.pipeline.warm import run_many

    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        jobs: list[Any] = [(path, Path(folder) / path.name, {}) for path in paths]
        for (path, target, _), (seconds, error) in zip(jobs, run_many(jobs, workers=2, cwd=root), strict=True):
            failed += error is not None
            print(f"{path.name}: {error or f'{seconds:.1f} s'}")
            if error is None:
                write_text(path, nbformat.writes(cleaned(nbformat.read(target, as_version=4)), version=4) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

"""Execute every committed notebook and store it with its outputs, without anything that differs from run to run.

`make notebooks`, or `python -m m4lib.pipeline.refresh [NOTEBOOK ...]`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat

from m4lib.files import write_text
from m4lib.pipeline.execute import Progress, run_notebook
from m4lib.project import find_project

KEEP_METADATA = ("tags",)
WIDGET = "application/vnd.jupyter.widget-view+json"  # a widget's state is not stored, so its picture is empty


def cleaned(notebook: Any) -> Any:
    """The notebook with the outputs that readers and nbval want, and no times, counts of runs, ids or paths."""
    cells, executed = [], 0
    for number, cell in enumerate(notebook.cells):
        if "injected-parameters" in cell.metadata.get("tags", []):
            continue
        cell.metadata = {key: cell.metadata[key] for key in KEEP_METADATA if cell.metadata.get(key)}
        cell["id"] = f"cell-{number:02d}"
        if cell.cell_type == "code":
            executed += 1  # nbval wants a count where there are outputs; this one is the same on every run
            cell.execution_count = executed
            for output in cell.outputs:
                output.pop("execution_count", None)
                if output.output_type == "execute_result":
                    output["execution_count"] = executed
                if "metadata" in output:
                    output.metadata = {}
            cell.outputs = merged([output for output in cell.outputs if output.get("name") != "stderr" and WIDGET not in output.get("data", {})])
        cells.append(cell)
    notebook.cells = cells
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def merged(outputs: list[Any]) -> list[Any]:
    """Neighbouring pieces of one stream as one output: where a stream is cut depends on time."""
    whole: list[Any] = []
    for output in outputs:
        if whole and output.output_type == "stream" == whole[-1].output_type and output.name == whole[-1].name:
            whole[-1].text += output.text
        else:
            whole.append(output)
    return whole


def refresh(path: Path, root: Path, label: str) -> None:
    """Execute one notebook with its own default parameters and store it in place."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / path.name
        progress = Progress(label)
        run_notebook(path, target, {}, progress=progress, cwd=root)
        notebook = cleaned(nbformat.read(target, as_version=4))
        write_text(path, nbformat.writes(notebook, version=4) + "\n")
        progress.end("stored")


def main(names: Sequence[str]) -> int:
    project = find_project()
    paths = [Path(name).resolve() for name in names] or [
        path for path in sorted(project.notebooks.rglob("*.ipynb")) if ".ipynb_checkpoints" not in path.parts
    ]
    for number, path in enumerate(paths, 1):
        refresh(path, project.root, f"[{number}/{len(paths)}] {path.relative_to(project.root)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

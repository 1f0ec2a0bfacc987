"""The batch runner on a small checkout of its own: what is kept, what is redone, and how it fails."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from m4lib.errors import M4Error
from m4lib.pipeline.batch import run_batch
from m4lib.pipeline.execute import NotebookError, run_notebook
from m4lib.pipeline.params import load_params
from m4lib.project import Project


def notebook(path: Path, *cells: str) -> None:
    parameters = nbformat.v4.new_code_cell('params = "?"', metadata={"tags": ["parameters"]})
    book = nbformat.v4.new_notebook(cells=[parameters, *map(nbformat.v4.new_code_cell, cells)])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(book, path)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.delenv("M4_OUTPUTS", raising=False)
    monkeypatch.delenv("M4_DATA", raising=False)
    for folder in ("m4lib/evaluation", "m4lib/harness", "m4lib/pipeline", "tasks", "skills", "params"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "m4lib/evaluation/score.py").write_text("rule = 1\n")
    notebook(tmp_path / "notebooks/3_evaluate_runs.ipynb", "print(params)", "open('ran.txt', 'a').write('x')")
    (tmp_path / "params/small.yaml").write_text("name: small\nstages: [evaluate]\n")
    return Project(tmp_path)


def go(checkout: Project, **options):
    stream = io.StringIO()
    results = run_batch(load_params(checkout.params / "small.yaml", checkout), stream=stream, **options)
    return results, stream.getvalue()


def runs(checkout: Project) -> int:
    return len((checkout.root / "ran.txt").read_text())


def test_second_call_keeps_and_changes_redo(checkout):
    results, text = go(checkout)
    assert [r.status for r in results] == ["done"] and "[1/1] 3_evaluate_runs  done" in text
    assert results[0].target.is_file() and runs(checkout) == 1
    results, text = go(checkout)
    assert [r.status for r in results] == ["kept"] and "unchanged, kept" in text and runs(checkout) == 1

    (checkout.root / "m4lib/evaluation/score.py").write_text("rule = 2\n")  # code of the stage
    assert [r.status for r in go(checkout)[0]] == ["done"] and runs(checkout) == 2
    (checkout.root / "m4lib/harness/other.py").write_text("x = 1\n")  # code of another stage
    assert [r.status for r in go(checkout)[0]] == ["kept"]
    notebook(checkout.root / "notebooks/3_evaluate_runs.ipynb", "open('ran.txt', 'a').write('x')")  # the notebook
    assert [r.status for r in go(checkout)[0]] == ["done"] and runs(checkout) == 3
    results[0].target.unlink()  # its output
    assert [r.status for r in go(checkout)[0]] == ["done"] and runs(checkout) == 4
    assert [r.status for r in go(checkout, force=True)[0]] == ["done"] and runs(checkout) == 5


def test_executing_does_not_count_as_a_change_of_the_notebook(checkout):
    go(checkout)
    path = checkout.root / "notebooks/3_evaluate_runs.ipynb"
    book = nbformat.read(path, as_version=4)
    book.cells[1].outputs = [nbformat.v4.new_output("stream", text="shown")]
    nbformat.write(book, path)
    assert [r.status for r in go(checkout)[0]] == ["kept"]


def test_a_failing_cell_stops_the_batch_and_leaves_the_notebook(checkout):
    notebook(checkout.root / "notebooks/3_evaluate_runs.ipynb", "before = 7\nbefore", "raise ValueError('no such table')", "never = 1")
    results, text = go(checkout)
    assert [r.status for r in results] == ["failed"] and "failed" in text
    assert "ValueError: no such table" in results[0].message and str(results[0].target) in results[0].message
    executed = json.loads(results[0].target.read_text())
    assert any("no such table" in json.dumps(cell.get("outputs", [])) for cell in executed["cells"])
    assert [r.status for r in go(checkout)[0]] == ["failed"]  # never recorded as done


def test_a_mistake_of_the_user_is_one_line_in_the_notebook(tmp_path):
    source, target = tmp_path / "a.ipynb", tmp_path / "out.ipynb"
    notebook(source, "from m4lib.analysis import paper\npaper.open_sources('/no/such/folder')", "never = 1")
    with pytest.raises(NotebookError, match=r"stopped at cell 2: M4Error: .*/no/such/folder"):
        run_notebook(source, target, {}, cwd=tmp_path)
    (error,) = [output for cell in nbformat.read(target, as_version=4).cells if cell.cell_type == "code"
                for output in cell.outputs if output.output_type == "error"]
    assert error.ename == "M4Error" and error.traceback == [f"M4Error: {error.evalue}"] and "\n" not in error.evalue


def test_interrupt_records_nothing_and_the_next_call_goes_on(checkout):
    notebook(checkout.root / "notebooks/3_evaluate_runs.ipynb",
             "import os, time\nopen('ran.txt', 'a').write('x')\nif not os.path.exists('go'): time.sleep(60)")
    code = ("from m4lib.pipeline.batch import run_batch; from m4lib.pipeline.params import load_params; "
            "from m4lib.project import Project; from pathlib import Path; import sys; p = Project(Path(sys.argv[1])); "
            "run_batch(load_params(p.params / 'small.yaml', p))")
    process = subprocess.Popen([sys.executable, "-c", code, str(checkout.root)], stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 60
    while not (checkout.root / "ran.txt").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    begun = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=30)
    assert time.monotonic() - begun < 20 and process.returncode != 0
    assert not list((checkout.outputs / ".state").glob("*.json")) if (checkout.outputs / ".state").exists() else True
    (checkout.root / "go").touch()
    assert [r.status for r in go(checkout)[0]] == ["done"]


@pytest.mark.parametrize(("text", "message"), [
    ("stages: [bild]", "unknown stages: bild"),
    ("campaign: [x]", "unknown entries: campaign"),
    ("data: {mimic: {}}", "unknown data sources: mimic"),
    ("a: [", "not valid YAML"),
    ("data: {mimic-iv: {rwa: /x}}", "`data.mimic-iv` has unknown entries: rwa"),
    ("data: {mimic-iv: /x}", "`data.mimic-iv` must hold entries"),
    ("bootstrap: {sed: 1}", "`bootstrap` has unknown entries: sed"),
])
def test_wrong_params_are_named(checkout, text, message):
    (checkout.params / "small.yaml").write_text(text)
    with pytest.raises(M4Error, match=message):
        load_params(checkout.params / "small.yaml", checkout)

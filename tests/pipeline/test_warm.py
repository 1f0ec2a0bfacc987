"""Forked kernels: the same results as a fresh kernel, failures reported, nothing left behind."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest

from m4lib.pipeline.execute import run_notebook
from m4lib.pipeline.refresh import merged
from m4lib.pipeline.warm import WarmServer, register_engine, run_many
from m4lib.project import Project
from tests.needs import lacking

CELLS = {
    "good": ["x = 1  # parameters", "print('x is', x)\nx + 1", "import os, sys\nprint(os.getcwd())\nprint(sys.argv[1:2] == ['-f'])",
             "import matplotlib\nmatplotlib.get_backend()", "import numpy as np\nnp.arange(3) / 3"],
    "bad": ["x = 1", "print('before')", "raise ValueError('on purpose')", "print('never')"],
    "dies": ["x = 1", "import os\nos._exit(3)"],
    "random": ["x = 1", "import numpy, random, uuid\nprint(numpy.random.random(), random.random(), uuid.uuid4())"],
}


@pytest.fixture(autouse=True, scope="module")
def forks() -> None:
    if not hasattr(os, "fork"):
        lacking("processes cannot be forked on this machine")


def write(folder: Path, name: str) -> Path:
    cells = [nbformat.v4.new_code_cell(text) for text in CELLS[name]]
    cells[0].metadata["tags"] = ["parameters"]
    path = folder / f"{name}.ipynb"
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "p", "language": "python"}})
    nbformat.write(notebook, path)
    return path


def outputs(path: Path) -> list[Any]:
    """What the cells show, without anything that tells one execution from another."""
    shown = []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            shown.append([(o.output_type, o.get("text"), o.get("data"), o.get("evalue")) for o in merged(cell.outputs)])
    return shown


@pytest.fixture(scope="module")
def server():
    with WarmServer() as running:
        yield running


def test_a_warm_kernel_is_like_a_fresh_one(server: WarmServer, tmp_path: Path) -> None:
    source = write(tmp_path, "good")
    run_notebook(source, tmp_path / "cold.ipynb", {"x": 5}, cwd=tmp_path)
    seconds, error = server.run(source, tmp_path / "warm.ipynb", {"x": 5}, tmp_path)
    assert error is None and seconds < 30
    warm = outputs(tmp_path / "warm.ipynb")
    assert warm == outputs(tmp_path / "cold.ipynb")
    assert warm[2][0][1] == "x is 5\n" and str(tmp_path) in warm[3][0][1]


@pytest.mark.parametrize("name", ["tables/table03_native_skill_effect", "figures/figure02_task_deltas", "audit/audit01_first_attempts"])
def test_results_of_the_paper_are_those_of_a_cold_run(
    name: str, server: WarmServer, tmp_path: Path, project: Project, evidence_dir: Path
) -> None:
    source = project.notebooks / f"{name}.ipynb"
    given = {"evidence_dir": str(evidence_dir)}
    run_notebook(source, tmp_path / "cold.ipynb", {**given, "out_dir": str(tmp_path / "cold")}, cwd=project.root)
    _, error = server.run(source, tmp_path / "warm.ipynb", {**given, "out_dir": str(tmp_path / "warm")}, project.root)
    assert error is None and outputs(tmp_path / "warm.ipynb") == outputs(tmp_path / "cold.ipynb")
    files = sorted(path.relative_to(tmp_path / "cold") for path in (tmp_path / "cold").rglob("*.*"))
    assert files
    for file in files:
        assert (tmp_path / "cold" / file).read_bytes() == (tmp_path / "warm" / file).read_bytes(), file


def test_as_a_papermill_engine(server: WarmServer, tmp_path: Path) -> None:
    import papermill

    source = write(tmp_path, "good")
    papermill.execute_notebook(str(source), str(tmp_path / "out.ipynb"), {"x": 7}, engine_name=register_engine(server),
                               progress_bar=False, cwd=str(tmp_path))
    assert outputs(tmp_path / "out.ipynb")[2][0][1] == "x is 7\n"


def test_forks_do_not_share_random_numbers(server: WarmServer, tmp_path: Path) -> None:
    source = write(tmp_path, "random")
    for name in ("a", "b"):
        server.run(source, tmp_path / f"{name}.ipynb", {})
    a, b = (outputs(tmp_path / f"{name}.ipynb")[-1][0][1].split() for name in ("a", "b"))
    assert all(first != second for first, second in zip(a, b, strict=True))


def test_errors_are_reported_and_the_output_notebook_is_kept(tmp_path: Path) -> None:
    names = ["good", "bad", "dies", "good"]
    jobs = [(write(tmp_path, name), tmp_path / "out" / f"{number}.ipynb", {}) for number, name in enumerate(names)]
    ended: list[int] = []
    results = run_many(jobs, workers=3, cwd=tmp_path, on_done=lambda number, seconds, error: ended.append(number))
    assert [error is None for _, error in results] == [True, False, False, True] and sorted(ended) == [0, 1, 2, 3]
    assert "ValueError: on purpose" in str(results[1][1])
    assert "before" in str(outputs(tmp_path / "out" / "1.ipynb")) and "on purpose" in str(outputs(tmp_path / "out" / "1.ipynb"))
    assert not list(tmp_path.glob("kernel-*"))  # no sockets in the working directory


def test_stop_on_error_begins_nothing_new(tmp_path: Path) -> None:
    jobs = [(write(tmp_path, name), tmp_path / "out" / f"{number}.ipynb", {}) for number, name in enumerate(["bad", "good", "good"])]
    results = run_many(jobs, workers=1, cwd=tmp_path, stop_on_error=True)
    assert [error for _, error in results][1:] == ["not started", "not started"]


def children() -> set[int]:
    """Processes whose command names the server."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if b"m4lib.pipeline.warm" in (entry / "cmdline").read_bytes() and (entry / "stat").read_text().split()[2] != "Z":
                found.add(int(entry.name))
        except OSError:
            continue
    return found


def test_nothing_is_left_when_the_server_ends_in_the_middle(tmp_path: Path) -> None:
    if not Path("/proc/self/cmdline").exists():
        lacking("this machine has no /proc to look for processes in")
    sleeper = tmp_path / "sleeper.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("import time\ntime.sleep(600)")], metadata={
        "kernelspec": {"name": "python3", "display_name": "p", "language": "python"}}), sleeper)
    before = children()
    with WarmServer() as server:
        fork = server.start(sleeper, tmp_path / "out.ipynb", {})
        for _ in range(100):  # server, notebook and kernel
            if len(children() - before) >= 3:
                break
            time.sleep(0.1)
        assert len(children() - before) >= 3
    fork.close()
    for _ in range(100):
        if not children() - before:
            break
        time.sleep(0.1)
    assert children() - before == set()

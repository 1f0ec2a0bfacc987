"""The committed notebooks: there is one for each table and figure, they equal their texts, and they run as a whole."""

from __future__ import annotations

import time
from pathlib import Path

import nbformat
import pytest

from m4lib.analysis.notebooks import all_notebooks, sources_of
from m4lib.analysis.table import registered
from m4lib.pipeline.warm import run_many
from m4lib.project import Project


def test_committed_notebooks_equal_their_texts(project: Project) -> None:
    made = all_notebooks()
    assert {f"tables/{id}.ipynb" for id in registered()} <= set(made) and len(made) == 31 + 2 + 12
    for name, document in made.items():
        committed = nbformat.read(project.notebooks / name, as_version=4)
        assert sources_of(committed) == sources_of(document), f"{name}: run python -m m4lib.analysis.notebooks --write"


def test_notebooks_are_thin_and_clean(project: Project) -> None:
    for name in all_notebooks():
        raw = (project.notebooks / name).read_text(encoding="utf-8")
        assert "/work" not in raw and "execution" not in raw.replace("execution_count", "") and len(raw) < 800_000, name
        notebook = nbformat.reads(raw, as_version=4)
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert notebook.cells[0].source.startswith("# ") and "parameters" in code[0].metadata.tags, name
        assert sum(len(cell.source.splitlines()) for cell in code) <= 60, name
        for cell in code:
            pictures = [output for output in cell.outputs if "image/png" in output.get("data", {})]
            assert not pictures or "nbval-ignore-output" in cell.metadata.tags, name
            assert not any(output.output_type == "error" for output in cell.outputs), name


def shown(path: Path) -> list[str]:
    """Compared outputs of a notebook: those of cells that are not marked as varying."""
    texts = []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code" and not {"nbval-ignore-output", "injected-parameters"} & set(cell.metadata.get("tags", [])):
            texts.append("".join(str(output.get("text") or output.get("data")) for output in cell.outputs))
    return texts


@pytest.fixture(scope="module")
def executed(project: Project, evidence_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], float]:
    """All table and figure notebooks, executed on two cores."""
    folder = tmp_path_factory.mktemp("executed")
    names = [name for name in all_notebooks() if not name.startswith("audit")]
    jobs = [(project.notebooks / name, folder / name, {"evidence_dir": str(evidence_dir), "out_dir": str(folder / "out")})
            for name in names]
    begun = time.perf_counter()
    results = run_many(jobs, workers=2, cwd=project.root)
    assert [error for _, error in results if error] == []
    return folder, names, time.perf_counter() - begun


def test_all_33_give_what_was_committed(executed: tuple[Path, list[str], float], project: Project) -> None:
    folder, names, _ = executed
    assert len(names) == 33
    for name in names:
        assert shown(folder / name) == shown(project.notebooks / name), name


def test_they_leave_tables_figures_and_checks(executed: tuple[Path, list[str], float]) -> None:
    out = executed[0] / "out"
    assert len(list((out / "tables").glob("table*.csv"))) == len(list((out / "tables").glob("*.tex"))) == 31
    assert len(list((out / "check").glob("*.csv"))) == 32
    assert sorted(path.name for path in (out / "figures").iterdir()) == [
        "figure01_pipeline.pdf", "figure01_pipeline.png", "figure02_task_deltas.csv", "figure02_task_deltas.pdf",
        "figure02_task_deltas.png"]


def test_a_batch_takes_well_under_a_second_a_notebook_of_processor_time(executed: tuple[Path, list[str], float]) -> None:
    # wall time depends on what else the machine does; the benchmark holds it to 30 s on two idle cores
    assert executed[2] < 120


def test_own_index_as_parameter(project: Project, tmp_path: Path) -> None:
    from tests.analysis.test_paper import own_index

    index = str(own_index(tmp_path))
    names = ["tables/table03_native_skill_effect", "tables/table15_codex_integrity", "tables/table28_oss_effect",
             "figures/figure02_task_deltas"]
    jobs = [(project.notebooks / f"{name}.ipynb", tmp_path / f"{number}.ipynb", {"index": index}) for number, name in enumerate(names)]
    results = run_many(jobs, workers=2, cwd=project.root)
    assert [error for _, error in results] == [None] * 4
    assert "not from the published index" in "".join(shown(tmp_path / "0.ipynb"))

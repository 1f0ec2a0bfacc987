"""The repository's own promises: one list of dependencies, pinned versions, no patient data, readable notebooks."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml


def tracked(project, *patterns: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns], cwd=project.root, capture_output=True, check=True)
    return [project.root / name for name in listed.stdout.decode().split("\0") if name and (project.root / name).is_file()]


def name_of(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[^A-Za-z0-9_.-]", requirement, maxsplit=1)[0]).lower()


@pytest.fixture(scope="module")
def settings(project):
    return tomllib.loads((project.root / "pyproject.toml").read_text())["project"]


def test_conda_environment_is_the_project_itself(project, settings):
    environment = yaml.safe_load((project.root / "environment.yml").read_text())
    *plain, pip = environment["dependencies"]
    assert plain == [f"python{settings['requires-python']}", "pip"]
    assert pip == {"pip": ["-c constraints.txt", "-e .[dev]"]}


def test_every_dependency_is_pinned_without_addresses(project, settings):
    lines = [line for line in (project.root / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.+!-]+", line) for line in lines)
    pinned = {name_of(line) for line in lines}
    wanted = {name_of(entry) for entry in [*settings["dependencies"], *settings["optional-dependencies"]["dev"]]}
    assert wanted <= pinned
    assert len(pinned) == len(lines)


def test_makefile_has_what_the_readme_promises(project):
    readme, makefile = (project.root / "README.md").read_text(), (project.root / "Makefile").read_text()
    promised = set(re.findall(r"\bmake ([a-z]+)", readme))
    assert {"demo", "test", "docker", "doctor", "paper", "lab", "bench"} <= promised
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in promised)


def test_readme_names_every_command(project):
    from m4lib.cli import COMMANDS

    readme = (project.root / "README.md").read_text()
    assert [name for name in COMMANDS if f"python -m m4lib {name}" not in readme] == []


def test_notebooks_are_short_parameterised_and_carry_no_times(project):
    notebooks = tracked(project, "notebooks/*.ipynb")
    assert len(notebooks) >= 40
    for path in notebooks:
        book = json.loads(path.read_text())
        code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
        assert book["cells"][0]["cell_type"] == "markdown", path
        assert sum("parameters" in cell["metadata"].get("tags", []) for cell in code) == 1, path
        assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1)), path
        assert "papermill" not in book["metadata"] and not any("papermill" in cell["metadata"] for cell in book["cells"]), path
        assert not any(output.get("output_type") == "error" for cell in code for output in cell["outputs"]), path


IDENTIFIERS = re.compile(r"(?<![\d.])[123]\d{7}(?![\d.])")  # subject_id, hadm_id, stay_id of MIMIC-IV
SHIFTED = re.compile(r"\b2(?:1\d\d|20\d|21[0-4])-[01]\d-[0-3]\d\b")  # dates of MIMIC-IV


def test_notebook_outputs_hold_no_identifier_and_no_shifted_date(project):
    for path in tracked(project, "notebooks/*.ipynb"):
        for cell in json.loads(path.read_text())["cells"]:
            for output in cell.get("outputs", []):
                data = {kind: value for kind, value in output.get("data", {}).items() if not kind.startswith("image/")}
                text = json.dumps([output.get("text", ""), data])
                text = re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL)
                found = IDENTIFIERS.search(text) or SHIFTED.search(text)
                assert found is None, f"{path.name}: {found and found.group(0)}"


def test_no_data_files_and_no_large_files_are_tracked(project):
    for path in tracked(project):
        assert path.stat().st_size < 800 << 10, path
        assert path.suffix not in {".parquet", ".duckdb", ".gz", ".zst"}, path

"""Shared fixtures: where the demo data lie, and databases built from them once a session."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from m4lib.project import Project, find_project
from tests.needs import lacking

# a shell that starts the tests in the background has them ignore Ctrl-C, and every process that they start would inherit it
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def existing(path: Path, what: str) -> Path:
    if not path.exists():
        lacking(f"{what} ({path}) is not on this machine", "M4_REQUIRE_DATA")
    return path


@pytest.fixture(scope="session")
def project() -> Project:
    return find_project(Path(__file__).parent)


@pytest.fixture(scope="session")
def demo_mimic_raw(project: Project) -> Path:
    return existing(project.shared / "data" / "mimic-iv-demo", "the MIMIC-IV demo")


@pytest.fixture(scope="session")
def demo_eicu_raw(project: Project) -> Path:
    return existing(project.shared / "data" / "eicu-demo", "the eICU demo")


@pytest.fixture(scope="session")
def expected_dir(project: Project) -> Path:
    return existing(project.shared / "expected", "the folder of expected results")


@pytest.fixture(scope="session")
def evidence_dir(project: Project) -> Path:
    return existing(project.shared / "evidence", "the published run indexes")


@pytest.fixture(scope="session")
def demo_mimic_db(demo_mimic_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The MIMIC-IV demo with all derived concepts; open it read-only."""
    from m4lib.data.build import build

    path = tmp_path_factory.mktemp("mimic") / "mimic-iv.duckdb"
    build("mimic-iv", demo_mimic_raw, path, progress=False)
    return path


@pytest.fixture(scope="session")
def demo_eicu_db(demo_eicu_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The eICU demo; open it read-only."""
    from m4lib.data.build import build

    path = tmp_path_factory.mktemp("eicu") / "eicu.duckdb"
    build("eicu", demo_eicu_raw, path, progress=False)
    return path

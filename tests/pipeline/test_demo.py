"""The main job, end to end: every stage as a notebook, real containers, the report; and what a second call redoes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from m4lib.files import read_json
from m4lib.pipeline.batch import docker_answers
from tests.needs import lacking


def demo(project, outputs: Path, **more: str) -> subprocess.CompletedProcess:
    env = {**os.environ, "M4_OUTPUTS": str(outputs), **more}
    return subprocess.run([sys.executable, "-m", "m4lib", "demo"], cwd=project.root, env=env, capture_output=True, text=True, timeout=1500)


@pytest.fixture(scope="module")
def outputs(project, demo_mimic_raw, demo_eicu_raw, evidence_dir, tmp_path_factory) -> Path:
    """Outputs of one finished demo. The whole suite shares them through M4_OUTPUTS."""
    if not docker_answers():
        lacking("no Docker Engine answers on this machine", "M4_REQUIRE_DOCKER")
    folder = Path(os.environ.get("M4_OUTPUTS") or tmp_path_factory.mktemp("outputs"))
    done = demo(project, folder)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Look at" in done.stdout
    return folder


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_demo_runs_everything_and_the_agents_score_what_they_must(outputs, project):
    index = pd.concat([pd.read_csv(path).assign(campaign=path.stem) for path in sorted((outputs / "index").glob("*.csv"))])
    by = index.groupby("campaign")["reward"]
    assert (index.loc[index["campaign"] == "demo-oracle", "reward"] == 1).all() and by.size()["demo-oracle"] == 13
    assert by.mean()["demo-nop"] == 0
    for name in ("demo-codex", "demo-claude"):
        part = index[index["campaign"] == name]
        assert len(part) == 12
        assert (part.loc[part["condition"] == "with-skill", "reward"] == 1).all()
        assert part.loc[part["condition"] == "no-skill", "reward"].between(0.01, 0.99).all()
    assert not index["publishable"].any()
    effects = pd.read_csv(outputs / "effects" / "effects.csv")
    assert {"demo-codex", "demo-claude"} <= set(effects["source"])


@pytest.mark.docker
@pytest.mark.slow
def test_every_page_of_the_report_is_there(outputs, project):
    index = outputs / "report" / "index.html"
    text = index.read_text(encoding="utf-8")
    links = [link for link in re.findall(r'(?:href|src)="([^"#]+)"', text) if not link.startswith("http")]
    assert len(links) > 60
    assert [link for link in links if not (index.parent / link).exists()] == []
    assert not re.search(r'(?:src|href)="https?://', text), "the report must open without a network"
    names = {path.stem for path in (project.notebooks / "tables").glob("*.ipynb")}
    assert names <= {path.stem for path in (outputs / "tables").glob("*.csv")}


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_second_call_redoes_nothing(outputs, project):
    before = {path: path.stat().st_mtime_ns for path in (outputs / "notebooks").rglob("*.ipynb")}
    done = demo(project, outputs)
    assert done.returncode == 0, done.stderr[-3000:]
    assert re.search(r"(\d+) stages: 0 done, \1 unchanged", done.stdout), done.stdout
    assert before == {path: path.stat().st_mtime_ns for path in (outputs / "notebooks").rglob("*.ipynb")}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_without_docker_everything_else_is_done_and_said(project, demo_mimic_raw, demo_eicu_raw, evidence_dir, tmp_path):
    done = demo(project, tmp_path, DOCKER_HOST="unix:///nowhere/docker.sock")
    assert done.returncode == 0, done.stderr[-3000:]
    assert "No Docker Engine answers, so the agent runs are skipped" in done.stderr
    text = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert "The campaign demo-codex was skipped: no Docker Engine answers" in text
    assert (tmp_path / "tables" / "table03_native_skill_effect.csv").is_file()
    summary = read_json(tmp_path / "runs" / "demo-oracle" / "campaign_summary.json")
    assert summary["finished"] == 0 and summary["mean_reward"] is None

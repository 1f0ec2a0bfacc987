"""Real containers, real command lines, replayed models: packed, searched, checked; no identifier of the data gets out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from m4lib.cards import get_card
from m4lib.cli import main
from m4lib.duck import connect
from m4lib.evidence.package import make_package
from m4lib.evidence.unpack import unpack
from m4lib.harness.isolation import Limits
from m4lib.harness.network import ModelAccess
from m4lib.harness.run import HarnessSettings, RunSpec, run_one
from m4lib.tasks import reference, taskdb
from tests.harness.conftest import engine  # noqa: F401

pytestmark = pytest.mark.docker


def test_runs_of_two_agents_there_and_back(engine, demo_mimic_db, project, tmp_path):  # noqa: F811
    card = get_card(project.tasks, "mimic-meld-24h")
    reference.write_references([card], demo_mimic_db, tmp_path / "reference")
    taskdb.build(card, "native", demo_mimic_db, tmp_path / "taskdb", data_prefix="/data")
    for agent in ("codex", "claude", "oracle"):
        results = tmp_path / "runs" / agent
        results.mkdir(parents=True)
        settings = HarnessSettings(results, tmp_path / "taskdb", tmp_path / "reference", project=project, limits=Limits(timeout=120))
        if agent != "oracle":
            settings = replace(settings, model_access=ModelAccess("replay"))
        run_one(RunSpec(card, "with-skill-rawsql" if agent == "oracle" else "with-skill", agent=agent, model=None if agent == "oracle" else "m-1", campaign=agent), settings, engine=engine)
    made = make_package(tmp_path / "runs", tmp_path / "out", name="real")
    assert made.runs == 3 and made.campaigns == ["claude", "codex", "oracle"]
    assert main(["evidence", "verify", str(tmp_path / "out"), "--against", str(tmp_path / "runs")]) == 0
    assert main(["evidence", "scan", str(tmp_path / "out")]) == 0
    assert main(["evidence", "scan", str(tmp_path / "runs")]) == 1
    unpack(made.archive, tmp_path / "u")
    with connect(demo_mimic_db, read_only=True) as con:
        known = {str(value).encode() for column in ("subject_id", "hadm_id", "stay_id") for (value,) in con.execute(f"SELECT DISTINCT {column} FROM mimiciv_icu.icustays").fetchall()}
    assert len(known) > 300
    for path in Path(tmp_path / "u").rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        assert not any(value in data for value in known), path
        assert str(tmp_path).encode() not in data, path

"""One run in a real container: what it gets, what it leaves, what is recorded, and that nothing else changes."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from m4lib.errors import InfrastructureError, M4Error
from m4lib.files import sha256_file
from m4lib.harness import images, isolation
from m4lib.harness.canary import leak_canary
from m4lib.harness.docker_host import Engine
from m4lib.harness.failures import Cancelled, EngineUnavailable
from m4lib.harness.run import sweep
from tests.harness.site import QUERY, Site

pytestmark = pytest.mark.docker


def test_oracle_scores_one_and_everything_is_recorded(engine: Engine, clean: Site) -> None:
    record = clean.run("oracle", "with-skill-rawsql", engine=engine)
    folder = clean.folder(record)
    assert record["test_results"]["reward"] == 1.0 and record["agent_result"]["returncode"] == 0
    assert json.loads((folder / "result.json").read_text()) == json.loads(json.dumps(record))
    assert {path.name for path in folder.iterdir()} == {"result.json", "instruction.md", "trace.jsonl", "trace_times.csv", "egress.jsonl", "output.csv", "output_summary.json"}
    summary = json.loads((folder / "output_summary.json").read_text())
    assert summary["columns"] == ["stay_id", "score"] and summary["rows"] == 5 and summary["sha256"] == sha256_file(folder / "output.csv")
    assert (folder / "instruction.md").read_text() == "Compute the toy score into ./output.csv."
    assert record["run_id"].startswith("toy-score_with-skill-rawsql_oracle_default_t1_")
    assert not record["publishable"] and "reference" in record["publishable_reason"]
    assert record["filesystem_canary"]["passed"] and len(record["filesystem_canary"]["checks"]) >= 25
    source = record["provenance"]
    assert source["image_digest"].startswith("sha256:") and source["docker"]["version"] and len(source["prompt_sha256"]) == 64
    assert record["agent_db"]["sha256"] == sha256_file(clean.settings.taskdb_dir / "toy-score" / "database.duckdb")
    assert record["started_at"] < record["ended_at"] and [entry["ordinal"] for entry in record["attempts"]] == [1]
    assert record["resources"]["memory_peak_bytes"] > 1 << 20 and record["resources"]["cpu_seconds"] > 0


def test_nop_has_no_output_and_no_reward(engine: Engine, clean: Site) -> None:
    record = clean.run("nop", engine=engine)
    assert record["agent_result"]["failure_reason"] == "no_output" and not record["void"]
    assert record["test_results"] | {"pytest_output": "", "pytest_stderr": ""} == {"passed": 0, "failed": 0, "errors": 1, "total": 1, "reward": 0.0, "pytest_output": "", "pytest_stderr": ""}


def test_scripted_agent_in_sql_and_python(engine: Engine, clean: Site) -> None:
    assert clean.run(script=f"-- a comment\n{QUERY}", engine=engine)["test_results"]["reward"] == 1.0
    half = "import duckdb\nduckdb.connect('database.duckdb', read_only=True).execute(\"COPY (SELECT stay_id, score FROM hospital.scores WHERE stay_id < 3) TO 'output.csv' (HEADER)\")"
    record = clean.run(script=half, engine=engine, trial=2)
    assert 0 < record["test_results"]["reward"] < 1
    failed = clean.run(script="import sys\nopen('output.csv','w').write('stay_id,score\\n')\nsys.exit(3)", engine=engine, trial=3)
    assert failed["agent_result"]["failure_reason"] == "agent_nonzero_exit" and failed["test_results"]["reward"] == 0


INSPECT = """
import json, os, pathlib, socket
seen = {
    "files": sorted(str(p) for p in pathlib.Path(".").rglob("*")), "environment": dict(os.environ), "uid": os.getuid(), "host": socket.gethostname(),
    "home": sorted(os.listdir(os.environ["HOME"])), "data": sorted(os.listdir("/data")), "mounts": open("/proc/self/mountinfo").read(),
    "stdin": os.readlink("/proc/self/fd/0"), "devices": sorted(os.listdir("/sys/class/net")),
}
json.dump(seen, open("seen.json", "w"))
print("on stdout", flush=True)
os.write(2, b"on stderr\\n")
"""


def test_the_container_holds_what_it_should_and_no_more(engine: Engine, clean: Site) -> None:
    os.environ["M4_TEST_HOST_SECRET"] = "host-only"
    try:
        record = clean.run("scripted", "with-skill", script=INSPECT, engine=engine)
    finally:
        del os.environ["M4_TEST_HOST_SECRET"]
    seen = json.loads((clean.folder(record) / "files" / "seen.json").read_text())
    assert seen["files"] == [".skills", ".skills/toy-score", ".skills/toy-score/SKILL.md", "database.duckdb", "instruction.md"]
    assert seen["data"] == ["database.duckdb", "t1.parquet"] and seen["home"] == ["script.py"]
    assert seen["uid"] != 0 and seen["host"] == "agent" and seen["stdin"] == "/dev/null"
    assert "host-only" not in str(seen["environment"]) and set(seen["environment"]) <= {
        "PATH", "HOME", "SHELL", "LANG", "TERM", "TMPDIR", "TMP", "TEMP", "USER", "PYTHONDONTWRITEBYTECODE", "LC_CTYPE", "PWD", "SHLVL", "_"}
    for word in ("toy-score", "with-skill", "native", "taskdb", "runs"):
        assert word not in seen["mounts"].replace("/work", ""), word
    assert (clean.folder(record) / "trace.jsonl").read_text() == "on stdout\non stderr\n"


def test_inputs_are_checked_before_anything_starts(engine: Engine, site: Site) -> None:
    database = site.settings.taskdb_dir / "toy-score" / "database.duckdb"
    with pytest.raises(M4Error, match="no obfuscated task database"):
        from m4lib.harness.run import taskdb_folder
        taskdb_folder(site.settings.taskdb_dir, "toy-score", "obfuscated")
    wal = database.with_name("database.duckdb.wal")
    wal.touch()
    with pytest.raises(M4Error, match="wal"):
        site.run("nop", engine=engine)
    wal.unlink()
    kept = database.read_bytes()
    database.write_bytes(kept.replace(b"/data", b"/dota"))
    with pytest.raises(M4Error, match="data_prefix"):
        site.run("nop", engine=engine)
    database.write_bytes(kept)
    with pytest.raises(M4Error, match="reference"):
        site.run("nop", engine=engine, reference_dir=site.settings.reference_dir / "absent")
    with pytest.raises(M4Error, match="script"):
        site.run("scripted", engine=engine)
    assert site.published() == [] and engine.containers(site.settings.labels()) == []


def test_a_container_that_is_not_as_it_should_be_never_starts_the_agent(engine: Engine, clean: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = isolation.container_options
    shared = {str(clean.settings.results_root): {"bind": "/shared", "mode": "ro"}}

    def careless(*given: Any) -> dict[str, Any]:
        options = kept(*given)
        return {**options, "volumes": {**options["volumes"], **shared}, "read_only": False, "environment": {**options["environment"], "SOME_TOKEN": "x"}}

    monkeypatch.setattr(isolation, "container_options", careless)
    record = clean.run(script="print('started')", engine=engine)
    assert record["agent_result"]["failure_reason"] == "filesystem_canary" and record["void"] and not record["publishable"]
    assert set(record["filesystem_canary"]["failures"]) >= {"mounts", "environment"} and (clean.folder(record) / "trace.jsonl").read_text() == ""
    with pytest.raises(M4Error, match="mounts"):
        leak_canary(clean.card, clean.settings, engine=engine)


def test_a_missing_image_is_infrastructure(engine: Engine, clean: Site) -> None:
    with pytest.raises(InfrastructureError, match="m4bench/absent"):
        clean.run("nop", engine=engine, image="m4bench/absent:none")
    assert clean.published() == []
    digest = images.agent_image(engine, None).id
    assert clean.run("nop", engine=engine, image=digest)["provenance"]["image_id"] == digest


def test_without_an_engine_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    with pytest.raises(EngineUnavailable, match="ensure-docker"):
        Engine()


def test_cancelling_leaves_nothing(engine: Engine, clean: Site) -> None:
    cancel = threading.Event()
    threading.Timer(1.5, cancel.set).start()
    begun = time.monotonic()
    with pytest.raises(Cancelled):
        clean.run(script="import time\ntime.sleep(50)", engine=engine, cancel=cancel)
    assert time.monotonic() - begun < 20 and clean.published() == []


def test_earlier_attempts_are_in_the_record_and_left_overs_are_swept(engine: Engine, clean: Site) -> None:
    key = "toy-score_no-skill_nop_default_t1"
    journal = clean.settings.results_root / ".attempts" / f"{key}.jsonl"
    journal.parent.mkdir()
    journal.write_text('{"time": "2026-01-01T00:00:00.000Z", "event": "begin"}\n')
    labels = {**clean.settings.labels(), "m4bench.key": key}
    engine.container(images.agent_image(engine, None).tag, [], labels, stdin=True).start()  # of a worker that was killed
    left = clean.settings.scratch_root() / "0123456789ab"
    left.mkdir()
    (left / "owner.json").write_text(json.dumps(labels))
    record = clean.run("nop", engine=engine)
    assert [(entry["ordinal"], entry["state"]) for entry in record["attempts"]] == [(1, None), (2, None)]
    assert json.loads(journal.read_text().splitlines()[-1])["state"] == "finished"
    (clean.settings.results_root / ".partial-x").mkdir()
    (clean.settings.scratch_root() / "someone-else").mkdir()
    assert sweep(clean.settings, engine) == 1
    (clean.settings.scratch_root() / "someone-else").rmdir()


def test_half_a_result_under_the_same_name_is_set_aside(engine: Engine, clean: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from m4lib.harness import result

    kept = result.publish

    def beside(partial: Path, done: dict, root: Path) -> dict:
        (root / done["run_id"]).mkdir()
        (root / done["run_id"] / "trace.jsonl").write_text("half")
        return kept(partial, done, root)

    monkeypatch.setattr(result, "publish", beside)
    record = clean.run("nop", engine=engine)
    assert (clean.folder(record) / "result.json").is_file()
    assert len(list(clean.settings.results_root.glob(".broken-*"))) == 1


def test_images_are_built_once(engine: Engine) -> None:
    first = images.agent_image(engine, None)
    begun = time.monotonic()
    assert images.agent_image(engine, None) == first and time.monotonic() - begun < 2
    assert first.tag.startswith("m4bench/agent-plain:") and first.base_id.startswith("sha256:")


def test_overhead_beside_docker_run(engine: Engine, clean: Site) -> None:
    """Evaluation, canary, record and clean-up included: at most 1.5 s more than `docker run` of the same command."""
    tag = images.agent_image(engine, None).tag
    bare, whole = [], []
    for trial in range(5):
        begun = time.monotonic()
        subprocess.run(["docker", "run", "--rm", "--network", "none", "--entrypoint", "/bin/true", tag], check=True)
        bare.append(time.monotonic() - begun)
        begun = time.monotonic()
        clean.run("nop", engine=engine, trial=trial)
        whole.append(time.monotonic() - begun)
    assert statistics.median(whole) - statistics.median(bare) <= 1.5


def test_condition_files_cannot_leave_the_folder(engine: Engine, clean: Site) -> None:
    from m4lib.harness.conditions import Condition
    from m4lib.harness.run import RunSpec, run_one

    bad = Condition("toy-score", "no-skill", "native", "nop", "p", {"../outside": "x"})
    with pytest.raises(M4Error, match="outside"):
        run_one(RunSpec(clean.card, "no-skill", agent="nop"), replace(clean.settings, conditions={"no-skill": bad}), engine=engine)


def test_a_sidecar_that_says_nothing_is_given_up(engine: Engine, site: Site) -> None:
    container = engine.container(images.sidecar(engine).tag, ["-c", "import time; time.sleep(60)"], site.settings.labels(), stdin=True)
    try:
        stream = container.attach()
        container.start()
        begun = time.monotonic()
        assert list(stream.frames(silence=1)) == [] and time.monotonic() - begun < 20
        stream.close()
    finally:
        container.remove()

"""The leak canary: an adversary fails at everything in our containers, and finds what a careless container leaves open."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from m4lib.errors import M4Error
from m4lib.harness import canary, images, isolation
from m4lib.harness.agents import get_agent
from m4lib.harness.canary import MINIMUM, leak_canary, require_canary
from m4lib.harness.docker_host import Container, Engine
from m4lib.harness.network import ModelAccess
from tests.harness.site import Site

pytestmark = pytest.mark.docker


@pytest.mark.parametrize("network", [False, True])
def test_the_adversary_fails_at_everything(engine: Engine, clean: Site, network: bool) -> None:
    settings = replace(clean.settings, model_access=ModelAccess("replay"))
    record = leak_canary(clean.card, settings, like=get_agent("codex") if network else None, rows=("a row that was deleted",), engine=engine)
    report = record["canary_report"]
    assert report["leaks"] == [] and record["canary_passed"], record["canary_validation"]
    assert len(report["probes"]) >= 80 > MINIMUM and len({probe["name"] for probe in report["probes"]}) == len(report["probes"])
    assert record["task"] == "leak-canary" and record["trial"] == 0 and not record["publishable"]
    assert clean.published() == [], "a canary is kept apart from the runs"
    denied = record["agent_result"].get("egress_violations", [])
    assert ("example.com:443" in denied) is network, "the probes did reach the proxy"


def test_a_campaign_needs_a_canary_that_passed_and_asks_once(engine: Engine, clean: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    first = require_canary(clean.card, clean.settings, "nop", engine=engine)
    assert require_canary(clean.card, clean.settings, "nop", engine=engine)["run_id"] == first["run_id"]
    monkeypatch.setattr(canary, "MINIMUM", 1000)
    monkeypatch.setattr(canary.record, "package_hash", lambda name: "another harness")
    with pytest.raises(M4Error, match="no run may start"):
        require_canary(clean.card, clean.settings, "nop", engine=engine)


def test_a_canary_counts_only_for_what_it_looked_for(engine: Engine, clean: Site) -> None:
    """A record that did not search for deleted rows, or dropped relations, is not accepted in the place of one that did."""
    first = require_canary(clean.card, clean.settings, "nop", engine=engine)
    assert first["canary_sought"] == {"relations": ["hospital.answers"], "rows": []}
    time.sleep(1)  # ids tell seconds apart
    second = require_canary(clean.card, clean.settings, "nop", rows=("a deleted row",), engine=engine)
    assert second["run_id"] != first["run_id"] and "a deleted row" not in json.dumps(second)
    assert require_canary(clean.card, clean.settings, "nop", rows=("a deleted row",), engine=engine)["run_id"] == second["run_id"]
    time.sleep(1)
    more = replace(clean.card, drop=(*clean.card.drop, "hospital.more_answers"))
    assert require_canary(more, clean.settings, "nop", engine=engine)["run_id"] not in (first["run_id"], second["run_id"])
    time.sleep(1)
    with pytest.raises(M4Error, match="no run may start: dropped_rows_in_bytes"):  # these bytes are in every Parquet file
        require_canary(clean.card, clean.settings, "nop", rows=("PAR1",), engine=engine)


def test_the_adversary_finds_what_a_careless_container_leaves_open(engine: Engine, clean: Site, tmp_path: Path) -> None:
    """The positive control: without it, a probe that cannot find anything would look like safety."""
    work = tmp_path / "careless"
    work.mkdir(mode=0o777)
    work.chmod(0o777)
    (work / "marker").write_text("planted-token")
    data = clean.settings.taskdb_dir / "toy-score"
    ask: dict[str, Any] = {
        "absent": {"host_work": "/host"}, "markers": ["planted-token"], "words": ["toy-score", "careless"], "dropped": ["scores"],
        "rows": ["PAR1"],
    }
    (work / "probes.py").write_text((images.CONTEXT / "runner" / "leak_probes.py").read_text())
    tag = images.agent_image(engine, None).tag
    volumes = {str(work): {"bind": "/work", "mode": "rw"}, str(data): {"bind": "/data", "mode": "rw"}, str(tmp_path): {"bind": "/host", "mode": "ro"}, "/var/run/docker.sock": {"bind": "/var/run/docker.sock", "mode": "rw"}}
    labels = clean.settings.labels()
    network = engine.network(labels, internal=False)
    started: list[Container] = []

    def sidecar(script: str, alias: str, config: dict[str, Any]) -> None:
        made = Container.create(
            engine, images.sidecar(engine).tag, [f"/opt/sidecar/{script}"], labels, stdin=True, network=network, aliases=(alias,), **isolation.sidecar_options()
        )
        started.append(made)
        stream = made.attach()
        made.start()
        stream.send(json.dumps(config).encode() + b"\n")
        assert next(stream.frames())
        stream.close()

    try:
        with canary._listener() as (port, addresses):
            ask |= {"host_port": port, "host_addresses": addresses, "proxy": "egress"}
            (work / "ask.json").write_text(json.dumps(ask))
            sidecar("proxy.py", "egress", {"allow": ["example.com:443", "example.com:80", "169.254.169.254:80", "127.0.0.1:3128", "replay:9000"]})
            sidecar("replay_server.py", "replay", {"steps": [{"say": "x"}], "port": 9000})
            made = Container.create(
                engine, tag, ["python3", "/work/probes.py", "/work/ask.json"], labels, entrypoint=[], network=network, user="0:0", volumes=volumes,
                environment={"KEY": "sk-careless", "TASK": "toy-score"}, cap_add=["SYS_ADMIN", "NET_ADMIN"], security_opt=["seccomp=unconfined"], hostname="agent",
            )
            started.append(made)
            made.start()
            assert made.wait(100) == 0, made.logs()
        report = json.loads((work / "report.json").read_text())
    finally:
        for container in started:
            container.remove()
        network.remove()
    found = {probe["name"] for probe in report if probe["leak"]}
    assert {
        "path_host_work", "docker_socket", "planted_marker", "foreign_mounts", "mount_sources_tell_nothing", "environment_tells_nothing", "environment_holds_no_key",
        "root_user", "become_root", "capabilities", "new_privileges", "seccomp_filter", "mount_something", "make_device", "process_one_environment",
        "process_one_files", "write_root", "write_data", "write_etc", "write_opt", "write_database", "dropped_names_in_bytes", "dropped_names_in_catalogue",
        "dropped_rows_in_bytes", "raw_socket", "change_routes", "host_listener", "other_containers", "name_replay", "proxy_other_host", "proxy_plain_request",
        "proxy_metadata", "proxy_itself", "proxy_around_the_gateway", "proxy_host_header",
    } <= found, sorted(found)

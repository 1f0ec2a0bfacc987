"""The leak canary of a campaign: an adversary in the very container that agents get, which must fail at everything.

It runs as an agent does (same image, mounts, limits, network, proxy and gateway) on one of the campaign's task databases,
with a script of more than forty probes. The result is a record like a run's, `task: leak-canary`, kept apart from runs.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from m4lib.cards import Card
from m4lib.errors import M4Error
from m4lib.files import read_json, sha256_text, write_json
from m4lib.harness import images, isolation, record, replay
from m4lib.harness.agents import get_agent
from m4lib.harness.agents.base import Agent, Launch, Task
from m4lib.harness.conditions import Condition
from m4lib.harness.docker_host import Engine
from m4lib.harness.isolation import HOME
from m4lib.harness.run import HarnessSettings, RunSpec, run_one

MINIMUM = 40
FOLDER = ".leak-canary"


@dataclass(frozen=True)
class Adversary(Agent):
    """Runs the probes; `ask` is what it is told to look for."""

    ask: str = "{}"

    def launch(self, task: Task) -> Launch:
        script = (images.CONTEXT / "runner" / "leak_probes.py").read_text(encoding="utf-8")
        argv = ("python3", f"{HOME}/probes.py", f"{HOME}/ask.json")
        return Launch(argv, {}, {f"{HOME}/probes.py": script, f"{HOME}/ask.json": self.ask})


def require_canary(
    card: Card, settings: HarnessSettings, agent: str, *, schema: str = "native", rows: tuple[str, ...] = (), engine: Engine | None = None,
) -> dict[str, Any]:
    """The record of a canary that passed in the set-up of `agent`; a new one unless the same harness and image had one.

    rows: values that were deleted from the database before it was served. A record counts only for what it looked for: one
        that did not search for these rows, and for the names of the relations that `card` drops, is not accepted.
    Raises M4Error that names the leaks when the adversary found any: no run may start then.
    """
    like = get_agent(agent)
    harness = record.package_hash("harness")
    wanted = _sought(card, rows)
    for path in sorted((settings.results_root / FOLDER).glob("*/result.json")):
        with contextlib.suppress(OSError, ValueError, KeyError):
            held = read_json(path)
            same = (held["provenance"]["harness_sha256"], held["schema"], held["like"]) == (harness, schema, like.name)
            sought = all(set(wanted[kind]) <= set(held["canary_sought"][kind]) for kind in wanted)
            if held["canary_passed"] and same and sought and held["provenance"]["image_id"] == _image(settings, like, engine):
                return dict(held)
    found = leak_canary(card, settings, schema=schema, like=like, rows=rows, engine=engine)
    if not found["canary_passed"]:
        leaks = ", ".join(entry["name"] for entry in found["canary_report"]["leaks"]) or "too few probes ran, or the proxy let something through"
        raise M4Error(f"The leak canary failed, so no run may start: {leaks} (see {settings.results_root / FOLDER / found['run_id']}).")
    return found


def _sought(card: Card, rows: tuple[str, ...]) -> dict[str, list[str]]:
    """What a canary has to search the database for. Of rows only their hashes: a record holds no patient's values."""
    return {"relations": sorted(card.drop), "rows": sorted(map(sha256_text, rows))}


def _image(settings: HarnessSettings, like: Agent, engine: Engine | None) -> str:
    with contextlib.ExitStack() as stack:
        docker = engine or stack.enter_context(Engine())
        return (images.named(docker, settings.image) if settings.image else images.agent_image(docker, like.cli)).id


def leak_canary(
    card: Card, settings: HarnessSettings, *, schema: str = "native", like: Agent | None = None, rows: tuple[str, ...] = (),
    forbidden: tuple[str, ...] = (), engine: Engine | None = None,
) -> dict[str, Any]:
    """Run the adversary and return the canary's record; `canary_passed` is what a campaign needs.

    like: the agent whose set-up is probed: its image and, if it has a model, its network with proxy and gateway (the
        gateway forwards none of the probes). None: the plain image without a network.
    rows: values that were deleted from the database before it was served, to be searched in its bytes.
    forbidden: further names that nothing inside may spell, beside task, condition, schema, dropped relations and paths.
    """
    network = bool(like and like.provider)
    access = settings.model_access
    if access and access.kind == "replay":
        access = replace(access, conversation=replay.script([]))
    places = {
        "checkout": settings.project.root if settings.project else None, "results": settings.results_root,
        "task_databases": settings.taskdb_dir, "references": settings.reference_dir,
    }
    absent = isolation.probes({name: path.resolve() for name, path in places.items() if path is not None})
    quiet = settings.results_root / FOLDER
    marker = quiet / "earlier-run" / "output.csv"
    token = f"earlier-run-{uuid.uuid4().hex}"
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.write_text(token)
    spelled = [card.name, card.family + "-", settings.results_root.name, *(() if schema == "native" else (schema,)), "with-skill", "no-skill", *forbidden]
    bare = {name.split(".")[-1] for name in card.drop}
    # a bare name that is an ordinary word (chemistry) stands in the data by right
    dropped = [*card.drop, *sorted(name for name in bare if "_" in name)]
    with _listener() as (port, addresses):
        ask = {
            "absent": {**absent, "earlier_run": str(marker)}, "markers": [token], "words": [word for word in spelled if len(word) > 4],
            "dropped": dropped, "rows": list(rows),
            "host_port": port, "host_addresses": addresses, "proxy": "egress" if network else "",
        }
        adversary = Adversary("leak-canary", like.cli if like else None, like.provider if like else None, test_only=True, why_unpublishable="a canary is no run", ask=json.dumps(ask))
        condition = Condition(card.name, "adversarial", schema, "leak-canary", "Probe the isolation.", {}, (), "")
        inner = replace(
            settings, results_root=quiet, conditions={"adversarial": condition}, publishable=False,
            model_access=access,
        )
        spec = RunSpec(card, "adversarial", schema, agent="leak-canary", trial=0, campaign="leak-canary")
        done = run_one(spec, inner, engine=engine, agent=adversary)
    folder = quiet / done["run_id"]
    if not done["filesystem_canary"]["passed"]:
        raise M4Error(f"The container itself is not as it should be, so no run may start: {', '.join(done['filesystem_canary']['failures'])}.")
    try:
        report = read_json(folder / "files" / "report.json")
    except (OSError, ValueError):
        raise M4Error(f"The leak canary wrote no report; its trace is {folder / 'trace.jsonl'}.") from None
    leaks = [entry for entry in report if entry["leak"]]
    opened = [entry for entry in _egress(folder) if entry.get("by") != "gateway" and entry.get("allowed") and entry.get("host") != "model"]  # what the proxy let out
    validation = {
        "passed": not leaks and not opened and len(report) >= MINIMUM,
        "probes": len(report), "required": MINIMUM, "let_through": opened,
        "violations": [text for text in done["contamination_lint"]["violations"] if "marker" in text],
    }
    done |= {
        "task": "leak-canary", "condition": "adversarial", "trial": 0, "like": like.name if like else None, "canary_passed": validation["passed"],
        "canary_report": {"leak_found": bool(leaks), "probes": report, "leaks": leaks}, "canary_validation": validation,
        "canary_sought": _sought(card, rows),
    }
    write_json(folder / "result.json", done)
    return done


def _egress(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "egress.jsonl").read_text().splitlines()]


@contextlib.contextmanager
def _listener() -> Iterator[tuple[int, list[str]]]:
    """A server on every address of the host, which no container may reach: its port and the host's addresses."""
    server = socket.create_server(("0.0.0.0", 0))
    stop = threading.Event()

    def serve() -> None:
        server.settimeout(0.2)
        while not stop.is_set():
            with contextlib.suppress(OSError):
                server.accept()[0].close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        listed = subprocess.run(["hostname", "-I"], capture_output=True, text=True, timeout=5).stdout.split()
    except (OSError, subprocess.SubprocessError):
        listed = []
    try:
        yield server.getsockname()[1], [address for address in listed if "." in address] + ["172.17.0.1"]
    finally:
        stop.set()
        thread.join(2)
        server.close()

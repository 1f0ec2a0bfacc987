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
from m4lib.files import read_json, write_json
from m4lib.harness import images, isolation, replay
from m4lib.harness.agents.base import Agent, Launch, Task
from m4lib.harness.conditions import Condition
from m4lib.harness.docker_host import Engine
from m4lib.harness.isolation import HOME
from m4lib.harness.network import ModelAccess
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


def leak_canary(
    card: Card, settings: HarnessSettings, *, schema: str = "native", network: bool = True, rows: tuple[str, ...] = (),
    forbidden: tuple[str, ...] = (), engine: Engine | None = None,
) -> dict[str, Any]:
    """Run the adversary and return the canary's record; `canary_passed` is what a campaign needs.

    network: in an agent's network with proxy and gateway (a replay behind it), else without any network.
    rows: values that were deleted from the database before it was served, to be searched in its bytes.
    forbidden: further names that nothing inside may spell, beside task, condition, schema, dropped relations and paths.
    """
    spot = f"spot-{uuid.uuid4().hex[:8]}"
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
    spelled = [card.name, card.family + "-", settings.results_root.name, *(() if schema == "native" else (schema,)), "with-skill", "no-skill", spot, *forbidden]
    bare = {name.split(".")[-1] for name in card.drop}
    # a bare name that is an ordinary word (chemistry) stands in the data by right
    dropped = [*card.drop, *sorted(name for name in bare if "_" in name)]
    with _listener() as (port, addresses):
        ask = {
            "absent": {**absent, "earlier_run": str(marker)}, "markers": [token], "words": [word for word in spelled if len(word) > 4],
            "dropped": dropped, "rows": list(rows),
            "host_port": port, "host_addresses": addresses, "proxy": "egress" if network else "",
        }
        adversary = Adversary("leak-canary", provider="openai" if network else None, test_only=True, why_unpublishable="a canary is no run", ask=json.dumps(ask))
        condition = Condition(card.name, "adversarial", schema, "leak-canary", "Probe the isolation.", {}, (), "")
        inner = replace(
            settings, results_root=quiet, conditions={"adversarial": condition}, publishable=False,
            model_access=ModelAccess("replay", conversation=replay.script([])) if network else None,
        )
        spec = RunSpec(card, "adversarial", schema, agent="leak-canary", trial=0, campaign="leak-canary")
        record = run_one(spec, inner, engine=engine, agent=adversary)
    folder = quiet / record["run_id"]
    try:
        report = read_json(folder / "files" / "report.json")
    except (OSError, ValueError):
        raise M4Error(f"The leak canary wrote no report; its trace is {folder / 'trace.jsonl'}.") from None
    leaks = [entry for entry in report if entry["leak"]]
    opened = [entry for entry in _egress(folder) if entry.get("by") != "gateway" and entry.get("allowed") and entry.get("host") != "model"]
    validation = {
        "passed": not leaks and not opened and len(report) >= MINIMUM and record["filesystem_canary"]["passed"],
        "probes": len(report), "required": MINIMUM, "let_through": opened,
        "violations": [text for text in record["contamination_lint"]["violations"] if "marker" in text],
    }
    record |= {
        "task": "leak-canary", "condition": "adversarial", "trial": 0, "canary_passed": validation["passed"],
        "canary_report": {"leak_found": bool(leaks), "probes": report, "leaks": leaks}, "canary_validation": validation,
    }
    write_json(folder / "result.json", record)
    return record


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

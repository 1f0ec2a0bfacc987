"""A place for whole campaigns: a synthetic MIMIC-IV of twenty stays, its references and task databases. No patient data."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import yaml

from m4lib.cards import load_cards
from m4lib.data.build import build
from m4lib.data.synthetic import synthesize
from m4lib.files import read_json, sha256_text
from m4lib.harness.campaign import parse_campaign
from m4lib.harness.campaign_run import Job, make_job
from m4lib.harness.docker_host import LABEL, Engine
from m4lib.harness.records import read_records
from m4lib.project import Project
from m4lib.tasks import taskdb
from m4lib.tasks.reference import write_references
from m4lib.tasks.schemas import codebook
from m4lib.tasks.store import open_store
from tests.needs import lacking

TASK, RAW = "mimic-meld-24h", "mimic-meld-24h-raw"
SEED = 7  # of the codes below codes-7/
DOCKER: dict[str, Any] = {"memory": 512 << 20, "host_free": 16 << 20, "retry_wait": 0.2, "grace": 1, "timeout": 120}


def make_lab(root: Path, project: Project) -> Lab:
    """About ten seconds on two free cores; everything below `root`."""
    db, outputs = root / "mimic.duckdb", root / "outputs"
    synthesize("mimic-iv", root / "raw", 20, 1)
    build("mimic-iv", root / "raw", db, threads=2, progress=False)
    shutil.rmtree(root / "raw")
    cards = load_cards(project.tasks)
    write_references([cards[TASK], cards[RAW]], db, outputs / "reference")
    store = open_store(db, outputs / "taskdb" / ".store")
    for name in (TASK, RAW):
        taskdb.build(cards[name], "native", db, outputs / "taskdb", store=store, data_prefix="/data")
    for schema in ("obfuscated", "restructured"):
        taskdb.build(cards[TASK], schema, db, outputs / "taskdb", store=store, data_prefix="/data")
        taskdb.build(
            cards[TASK], schema, db, outputs / "taskdb" / f"codes-{SEED}", store=store, data_prefix="/data", codebook=codebook(seed=SEED)
        )
    return Lab(project, db, outputs)


def campaign(agent: str = "nop", trials: int = 4, **more: Any) -> dict[str, Any]:
    """One tier with one task and one condition; `more` are further entries of the campaign or its tier."""
    tier: dict[str, Any] = {"name": "all", "tasks": [TASK], "conditions": ["no-skill"]}
    tier |= {key: more.pop(key) for key in ("tasks", "conditions", "schemas") if key in more}
    return {"campaign": "lab", "agent": agent, "trials": trials, "tiers": [tier], **more}


def sleeper(seconds: float) -> str:
    """A scripted agent's program: say that it is up, sleep, write an empty answer."""
    return f"import time\nprint('up', flush=True)\ntime.sleep({seconds})\nopen('output.csv', 'w').write('stay_id\\n')\n"


@dataclass(frozen=True)
class Lab:
    project: Project
    db: Path
    outputs: Path

    def bench(self, root: Path, *, own_inputs: bool = False) -> Bench:
        """Outputs of one test's own. `own_inputs`: references and task databases may be changed by it."""
        root.mkdir(parents=True, exist_ok=True)
        outputs = root / "outputs"
        outputs.mkdir()
        (root / "scratch").mkdir()
        for name in ("reference", "taskdb"):
            if own_inputs:
                shutil.copytree(self.outputs / name, outputs / name)
            else:
                (outputs / name).symlink_to(self.outputs / name)
        return Bench(self.project, root, outputs)


@dataclass(frozen=True)
class Bench:
    """One test's place to run campaigns, in this process or as the command line does."""

    project: Project
    root: Path
    outputs: Path

    @property
    def results(self) -> Path:
        return self.outputs / "runs" / "lab"

    @property
    def scratch(self) -> Path:
        return self.root / "scratch"

    def job(self, entry: dict[str, Any], *, parallel: int = 2, scheduler: str | None = None, project: Project | None = None, **options: Any) -> Job:
        return make_job(
            parse_campaign(entry), project or self.project, outputs=self.outputs, parallel=parallel, scheduler=scheduler,
            options={**DOCKER, **options},
        )

    def params(self, *entries: dict[str, Any], **docker: Any) -> Path:
        path = self.root / "params.yaml"
        path.write_text(yaml.safe_dump({"campaigns": list(entries), "docker": {**DOCKER, "parallel": 2, **docker}}))
        return path

    def environment(self, **more: str) -> dict[str, str]:
        return {**os.environ, "M4_SCRATCH": str(self.scratch), "PYTHONPATH": str(self.project.root), **more}

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "m4lib", "run", "--outputs", str(self.outputs), *words]

    def start(self, params: Path, **environment: str) -> subprocess.Popen[str]:
        """The command line in a session of its own, as a terminal would give it."""
        log = open(self.root / "log", "a")  # noqa: SIM115 - the child's
        with log:
            return subprocess.Popen(
                self.command("--params", str(params)), cwd=self.project.root, env=self.environment(**environment), stdout=log,
                stderr=log, text=True, start_new_session=True,
            )

    def call(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words), cwd=self.project.root, env=self.environment(**environment), capture_output=True, text=True, timeout=300
        )

    def records(self) -> dict[int, list[dict[str, Any]]]:
        """Trial -> its complete records on disk."""
        found: dict[int, list[dict[str, Any]]] = {}
        for _, record in read_records(self.results):
            found.setdefault(record["trial"], []).append(record)
        return found

    def attempts(self, trial: int) -> list[str | None]:
        """How each attempt at a trial ended: finished, not done, cancelled, or None for without a word."""
        states: list[str | None] = []
        for path in (self.results / ".attempts").glob(f"*_t{trial}.jsonl"):
            for line in path.read_text().splitlines():
                event = yaml.safe_load(line)
                if event["event"] == "begin":
                    states.append(None)
                else:
                    states[-1] = event["state"]
        return states

    def labels(self) -> dict[str, str]:
        return {f"{LABEL}.root": sha256_text(str(self.results.resolve()))[:16]}

    def containers(self, engine: Engine) -> list[str]:
        return engine.containers(self.labels())

    def assert_clean(self, engine: Engine) -> None:
        """No container, network, working folder or half-made result of this place is left."""
        assert self.containers(engine) == []
        assert engine.networks(self.labels()) == []
        assert [path for path in self.scratch.rglob("owner.json")] == []
        assert list(self.results.glob(".partial-*")) == []

    def summary(self) -> dict[str, Any]:
        return dict(read_json(self.results / "campaign_summary.json"))


def until(what: Callable[[], Any], seconds: float = 90, process: subprocess.Popen[str] | None = None) -> Any:
    """Wait until `what()` is true and return it; fail when it never is, or when `process` ends before."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = what()
        if found:
            return found
        if process is not None and process.poll() is not None:
            raise AssertionError(f"the process ended with {process.returncode} before its time")
        time.sleep(0.05)
    raise AssertionError(f"nothing happened within {seconds} s")


def kill_group(process: subprocess.Popen[str], sig: int = signal.SIGKILL) -> None:
    """As a terminal or a batch system does: the signal goes to the whole session that we started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, sig)


class Watch:
    """What this process and its workers hold while a campaign runs; for tests and measurements of leaks.

    `left(engine)` after the end: containers, networks, folders, temporary files, processes and descriptors more than at
    the beginning. `growth(first, last)`: bytes that the worker that grew most had more when `last` runs were done than
    when `first` were.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.descriptors = psutil.Process().num_fds()
        self.temporary = set(os.listdir(tempfile.gettempdir()))
        self.children = {child.pid for child in psutil.Process().children(recursive=True)}
        self.samples: list[tuple[int, dict[int, int]]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.25):
            found = {}
            for child in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    words = " ".join(child.cmdline())
                    if child.pid not in self.children and "spawn_main" in words:
                        found[child.pid] = child.memory_info().rss
            self.samples.append((len(list(self.bench.results.glob("*/result.json"))), found))

    def growth(self, first: int, last: int) -> int:
        early = next(found for done, found in self.samples if done >= first)
        late = [found for done, found in self.samples if done <= last and set(early) & set(found)][-1]
        return max(late[pid] - early[pid] for pid in early if pid in late)

    def left(self, engine: Engine) -> dict[str, int]:
        deadline = time.monotonic() + 20
        while {child.pid for child in psutil.Process().children(recursive=True)} - self.children and time.monotonic() < deadline:
            time.sleep(0.1)
        return {
            "containers": len(self.bench.containers(engine)), "networks": len(engine.networks(self.bench.labels())),
            "folders": len(list(self.bench.scratch.rglob("owner.json"))) + len(list(self.bench.results.glob(".partial-*"))),
            "temporary files": len([name for name in set(os.listdir(tempfile.gettempdir())) - self.temporary if name.startswith(("m4-", "dask"))]),
            "processes": len({child.pid for child in psutil.Process().children(recursive=True)} - self.children),
            "descriptors": max(0, psutil.Process().num_fds() - self.descriptors),
        }


@contextlib.contextmanager
def small_disk(place: Path, size: str = "64m") -> Iterator[Path]:
    """A file system of its own at `place`."""
    place.mkdir()
    if os.getuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], capture_output=True).returncode:
        lacking("a small disk can only be mounted by root", "M4_REQUIRE_DOCKER")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)

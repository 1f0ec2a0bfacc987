"""One run: prepare, isolate, watch, lint, evaluate, publish. Either a complete folder appears, or nothing does.

    record = run_one(RunSpec(card, "with-skill", agent="codex", model="gpt-5.5", trial=1), HarnessSettings(...))

A run that failed by the agent's doing is complete, with its reason and reward 0. Whatever else fails (Docker, disk, the
provider, a killed container) raises InfrastructureError: there is no record, and the run is to be done again. Every
attempt is noted in `.attempts/` of the results root, also those that died without a word.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from m4lib.cards import Card
from m4lib.errors import M4Error
from m4lib.files import sha256_text
from m4lib.harness import collect, images, isolation, replay, result
from m4lib.harness.agents import Agent, Task, get_agent
from m4lib.harness.agents.base import PROXY
from m4lib.harness.campaign import resolve_effort
from m4lib.harness.conditions import Condition, materialize
from m4lib.harness.docker_host import LABEL, Container, Engine
from m4lib.harness.failures import Cancelled, InfrastructureError
from m4lib.harness.isolation import Limits
from m4lib.harness.journal import Journal
from m4lib.harness.network import ModelAccess, ModelNetwork, Traffic
from m4lib.harness.supervise import Outcome, TraceFile, supervise
from m4lib.harness.workspace import Workspace, prepare, remove_left_over, taskdb_folder
from m4lib.project import Project, find_project
from m4lib.tasks import schemas

PROXY_NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


@dataclass(frozen=True)
class RunSpec:
    """What is to be run. `effort` is as requested; `script` is the scripted agent's program."""

    card: Card
    condition: str
    schema: str = "native"
    agent: str = "oracle"
    model: str | None = None
    effort: str = "auto"
    trial: int = 1
    campaign: str = "adhoc"
    script: str = ""

    @property
    def key(self) -> str:
        """The run key as one word, safe in file names."""
        model = re.sub(r"[^A-Za-z0-9.-]+", "-", self.model or "default")
        schema = [] if self.schema == "native" else [self.schema]
        return "_".join([self.card.name, self.condition, *schema, self.agent, model, f"t{self.trial}"])


@dataclass(frozen=True)
class HarnessSettings:
    """Where a run finds its inputs and leaves its results. Picklable: it travels to workers.

    results_root: the campaign's folder; the run becomes `results_root/<run_id>/`.
    taskdb_dir: task databases built for the container (`data_prefix="/data"`), `<task>/` or `<schema>/<task>/` in it.
    reference_dir: `<task>.parquet` files.
    image: reference of the agent's image (a digest, on several machines); None builds or finds the pinned one.
    model_access: how an agent reaches its model; None: its provider, with the key in the environment.
    scratch: where working folders lie; None: the temporary folder when it can hard-link, else beside `taskdb_dir`.
    publishable / publishable_reason: a campaign may say that its runs are not evidence; it cannot say that they are.
    codes_seed: deals the codes of transformed schemas out at random; None: the published ones.
    conditions: by condition name; only for tests of the harness itself.
    """

    results_root: Path
    taskdb_dir: Path
    reference_dir: Path
    project: Project | None = None
    limits: Limits = field(default_factory=Limits)
    timeout: float | None = None
    image: str | None = None
    model_access: ModelAccess | None = None
    scratch: Path | None = None
    publishable: bool = True
    publishable_reason: str = ""
    codes_seed: int | None = None
    conditions: Mapping[str, Condition] | None = None

    def codes(self, schema: str) -> schemas.Codebook | None:
        """The names of a transformed schema; None for the native one."""
        return None if schema == "native" else schemas.codebook(seed=self.codes_seed)

    @property
    def run_limits(self) -> Limits:
        return self.limits if self.timeout is None else replace(self.limits, timeout=self.timeout)

    def scratch_root(self) -> Path:
        return isolation.scratch_root(self.taskdb_dir, self.scratch)

    def labels(self) -> dict[str, str]:
        """What all Docker objects and working folders of this results root carry; it does not spell the path."""
        return {f"{LABEL}.root": sha256_text(str(self.results_root.resolve()))[:16]}


def run_one(
    spec: RunSpec, settings: HarnessSettings, *, engine: Engine | None = None, cancel: threading.Event | None = None,
    agent: Agent | None = None,
) -> dict[str, Any]:
    """Do one run and return its record, as published in `results_root/<run_id>/result.json`.

    Raises M4Error before anything starts when an input is missing, InfrastructureError (ProviderFailure, Cancelled)
    for whatever is not the agent's doing. Nothing of the run is left behind in either case. `cancel` stops it from
    another thread; `agent` replaces the one that the spec names (the leak canary's adversary).
    """
    project = settings.project or find_project()
    agent = agent or get_agent(spec.agent)
    effort = resolve_effort(spec.agent, spec.effort)
    database = taskdb_folder(settings.taskdb_dir, spec.card.name, spec.schema, settings.codes_seed)
    reference = settings.reference_dir / f"{spec.card.name}.parquet"
    if not reference.is_file():
        raise M4Error(f"There is no reference output {reference}; build it with `python -m m4lib reference`.")
    held = settings.conditions or {}
    condition = held.get(spec.condition) or materialize(
        spec.card, spec.condition, spec.schema, spec.agent, project, codes=settings.codes(spec.schema)
    )
    journal = Journal(settings.results_root, spec.key)
    journal.begin()
    try:
        with contextlib.ExitStack() as stack:
            docker = engine or stack.enter_context(Engine())
            attempt = _Attempt(spec, settings, project, agent, effort, condition, database, reference, docker, journal)
            done = attempt.execute(cancel)
        journal.end("finished", done["run_id"])
        return done
    except BaseException as error:
        stopped = isinstance(error, (Cancelled, KeyboardInterrupt, SystemExit))
        journal.end("cancelled" if stopped else "not done", f"{type(error).__name__}: {error}")
        raise


@dataclass
class _Attempt:
    """One attempt at a run, with everything it was given."""

    spec: RunSpec
    settings: HarnessSettings
    project: Project
    agent: Agent
    effort: str
    condition: Condition
    database: Path
    reference: Path
    engine: Engine
    journal: Journal

    def execute(self, cancel: threading.Event | None) -> dict[str, Any]:
        limits, root = self.settings.run_limits, self.settings.scratch_root()
        self.labels = {**self.settings.labels(), f"{LABEL}.key": self.spec.key}
        self.engine.reap(self.labels)  # what an earlier attempt left when it was killed
        remove_left_over(root, self.labels)
        for place in (root, self.settings.results_root):
            free = shutil.disk_usage(place).free
            if free < limits.host_free:
                raise InfrastructureError(f"Only {free >> 20} MiB are free at {place}; a run needs {limits.host_free >> 20} MiB.")
        scratch = root / uuid.uuid4().hex[:12]
        partial = self.settings.results_root / f".partial-{uuid.uuid4().hex[:12]}"
        try:
            space = prepare(scratch, self.database, self.condition, self.labels)
            outcome, trace_file, traffic, facts = self._contain(space, cancel)
            if shutil.disk_usage(scratch).free < limits.host_free:
                raise InfrastructureError(f"The disk at {root} is full.")
            partial.mkdir(parents=True)
            evidence = result.Evidence(
                self.spec, self.settings, self.project, self.agent, self.effort, self.condition, self.database, self.reference,
                self.host_paths(), space, outcome, trace_file, traffic, facts, self.journal.attempts(),
            )
            return result.publish(partial, evidence.write(partial), self.settings.results_root)
        except OSError as error:
            raise InfrastructureError(f"The run's files could not be handled: {error}.") from error
        finally:
            for folder in (scratch, partial):
                with contextlib.suppress(OSError):  # the next start, or the campaign's end, sweeps by label
                    collect.remove_tree(folder)

    def host_paths(self) -> dict[str, Path]:
        """Places of this host that must exist nowhere inside and be named in no artefact."""
        settings = self.settings
        return {
            "host_checkout": self.project.root.resolve(), "host_results": settings.results_root.resolve(),
            "host_task_databases": settings.taskdb_dir.resolve(), "host_references": settings.reference_dir.resolve(),
            "host_scratch": settings.scratch_root().resolve(),
        }

    def _contain(self, space: Workspace, cancel: threading.Event | None) -> tuple[Outcome, TraceFile, Traffic | None, dict[str, Any]]:
        """Build the surroundings, run the agent in them, tear everything down."""
        limits = self.settings.run_limits
        image = images.named(self.engine, self.settings.image) if self.settings.image else images.agent_image(self.engine, self.agent.cli)
        with contextlib.ExitStack() as stack:
            network: ModelNetwork | None = None
            if self.agent.provider:
                network = ModelNetwork.open(self.engine, self.labels, self.agent, self.settings.model_access, self._conversation)
                stack.callback(_quietly, network.close)
            launch = self.agent.launch(Task(
                self.spec.card, self.spec.condition, self.spec.schema, self.condition.prompt, self.spec.model, self.effort,
                self.condition.files, self._script(), network.login if network else {},
            ))
            container = Container.create(
                self.engine, image.tag, [], {**self.labels, f"{LABEL}.role": "agent"}, stdin=True,
                network=network.inner if network else None, **isolation.container_options(limits, space.work, space.data),
            )
            stack.callback(_quietly, container.remove)
            # all that matters travels on stdin: the container's own configuration holds no prompt, path or credential
            message = {
                "argv": launch.argv, "cwd": isolation.WORK, "env": self._environment(launch.env, network is not None),
                "files": [{"path": path, "text": text} for path, text in launch.files.items()],
                "canary": {
                    "control": {"path": f"{isolation.WORK}/.probe", "token": space.control}, "absent": isolation.probes(self.host_paths()),
                    "network": network is not None, "environment": isolation.CONTAINER_ENVIRONMENT,
                },
            }
            outcome, trace = supervise(
                container, message, limits, space.folder / "trace.jsonl", work=space.work, cancel=cancel,
                trouble=network.trouble if network else lambda: None,
            )
            traffic = network.collect() if network else None
        argv = ["PROMPT" if word == self.condition.prompt else word for word in launch.argv]
        facts = {
            "image": image.tag, "image_id": image.id, "image_digest": image.digest or image.id, "base_image_id": image.base_id,
            "cli_version_pinned": image.cli or None, "docker": self.engine.facts(), "argv": argv,
        }
        return outcome, trace, traffic, facts

    def _script(self) -> str:
        """What the scripted agents execute: the given program, or for the oracle the raw-SQL condition's query, adapted."""
        if self.spec.agent != "oracle" or self.spec.script:
            return self.spec.script
        held = self.settings.conditions or {}
        name = "with-skill-rawsql"
        condition = held.get(name) or materialize(self.spec.card, name, self.spec.schema, self.spec.agent, self.project)
        sql = replay.sql_of_skill(condition.files)
        return json.dumps(replay.adapted(self.spec.card, sql, self.spec.schema, self.settings.codes(self.spec.schema)))

    def _conversation(self) -> dict[str, Any]:
        codes = self.settings.codes(self.spec.schema)
        return replay.conversation(self.spec.card, self.condition, schema=self.spec.schema, trial=self.spec.trial, codes=codes)

    @staticmethod
    def _environment(own: Mapping[str, str], network: bool) -> dict[str, str]:
        """All that an agent finds in its environment."""
        proxies = {name: PROXY for name in PROXY_NAMES} | {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
        return {
            "PATH": "/opt/cli/bin:/opt/venv/bin:/usr/local/bin:/usr/bin:/bin", "HOME": isolation.HOME, "SHELL": "/bin/bash",
            "LANG": "C.UTF-8", "TERM": "dumb", "TMPDIR": "/tmp", "TMP": "/tmp", "TEMP": "/tmp", "USER": "agent",
            "PYTHONDONTWRITEBYTECODE": "1", **(proxies if network else {}), **own,
        }


def sweep(settings: HarnessSettings, engine: Engine | None = None) -> int:
    """Remove every container, network, working folder and half-made result of a results root; how many there were.

    Only while no run of this root is going on.
    """
    with contextlib.ExitStack() as stack:
        gone = (engine or stack.enter_context(Engine())).reap(settings.labels())
    gone += remove_left_over(settings.scratch_root(), settings.labels())
    for folder in settings.results_root.glob(".partial-*"):
        collect.remove_tree(folder)
        gone += 1
    return gone


def _quietly(action: Any) -> None:
    """Tear down; what fails here is swept by label later and must not hide the run's own end."""
    with contextlib.suppress(InfrastructureError):
        action()

"""One run: prepare, isolate, watch, lint, evaluate, publish. Either a complete folder appears, or nothing does.

    record = run_one(RunSpec(card, "with-skill", agent="codex", model="gpt-5.5", trial=1), HarnessSettings(...))

A run that failed by the agent's doing is complete, with its reason and reward 0. Whatever else fails (Docker, disk, the
provider, a killed container) raises InfrastructureError: there is no record, and the run is to be done again. Every
attempt is noted in `.attempts/` of the results root, also those that died without a word.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from m4lib.cards import Card
from m4lib.errors import M4Error
from m4lib.files import sha256_text, write_json
from m4lib.harness import collect, images, isolation, lint, record, traces
from m4lib.harness.agents import Agent, Task, get_agent
from m4lib.harness.campaign import resolve_effort
from m4lib.harness.conditions import Condition, materialize
from m4lib.harness.docker_host import LABEL, Container, Engine
from m4lib.harness.failures import Cancelled, InfrastructureError
from m4lib.harness.isolation import Limits
from m4lib.harness.supervise import Outcome, TraceFile, supervise
from m4lib.project import Project, find_project


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
    model_access: how an agent reaches its model; see m4lib.harness.network.ModelAccess. None for agents without one.
    publishable / publishable_reason: a campaign may say that its runs are not evidence; it cannot say that they are.
    """

    results_root: Path
    taskdb_dir: Path
    reference_dir: Path
    project: Project | None = None
    limits: Limits = field(default_factory=Limits)
    timeout: float | None = None
    image: str | None = None
    model_access: Any = None
    scratch: Path | None = None
    publishable: bool = True
    publishable_reason: str = ""
    conditions: Mapping[str, Condition] | None = None  # by condition name; only for tests of the harness itself

    @property
    def run_limits(self) -> Limits:
        return self.limits if self.timeout is None else replace(self.limits, timeout=self.timeout)


def taskdb_folder(taskdb_dir: Path, task: str, schema: str) -> Path:
    """The folder that is mounted; M4Error when the task database is missing, unfinished, or made for another place."""
    places = [taskdb_dir / schema / task, *([taskdb_dir / task] if schema == "native" else [])]
    for folder in places:
        database = folder / "database.duckdb"
        if database.is_file():
            if database.with_name("database.duckdb.wal").exists():
                raise M4Error(f"{database} has a .wal beside it, so it was not closed; build the task database again.")
            return folder
    raise M4Error(f"There is no {schema} task database of {task} in {taskdb_dir}; build it with `python -m m4lib taskdb`.")


def run_one(
    spec: RunSpec, settings: HarnessSettings, *, engine: Engine | None = None, cancel: threading.Event | None = None
) -> dict[str, Any]:
    """Do one run and return its record, as published in `results_root/<run_id>/result.json`.

    Raises M4Error before anything starts when an input is missing, InfrastructureError (ProviderFailure, Cancelled)
    for whatever is not the agent's doing. Nothing of the run is left behind in either case.
    """
    project = settings.project or find_project()
    agent = get_agent(spec.agent)
    effort = resolve_effort(spec.agent, spec.effort)
    database = taskdb_folder(settings.taskdb_dir, spec.card.name, spec.schema)
    reference = settings.reference_dir / f"{spec.card.name}.parquet"
    if not reference.is_file():
        raise M4Error(f"There is no reference output {reference}; build it with `python -m m4lib reference`.")
    condition = _condition(spec, settings, project, spec.condition)
    script = spec.script
    if spec.agent == "oracle" and not script:
        from m4lib.harness.agents.local import sql_of_skill

        script = sql_of_skill(dict(_condition(spec, settings, project, "with-skill-rawsql").files))

    own = engine is None
    docker = engine or Engine()
    journal = Journal(settings.results_root, spec.key)
    journal.begin()
    try:
        run = _Run(spec, settings, project, agent, effort, condition, script, database, reference, docker, journal)
        done = run.execute(cancel)
        journal.end("finished", done["run_id"])
        return done
    except BaseException as error:
        journal.end("cancelled" if isinstance(error, (Cancelled, KeyboardInterrupt)) else "not done", f"{type(error).__name__}: {error}")
        raise
    finally:
        if own:
            docker.close()


def _condition(spec: RunSpec, settings: HarnessSettings, project: Project, name: str) -> Condition:
    if settings.conditions and name in settings.conditions:
        return settings.conditions[name]
    return materialize(spec.card, name, spec.schema, spec.agent, project)


class Journal:
    """Attempts of one run key, appended line by line; what a killed process began stays visible."""

    def __init__(self, root: Path, key: str) -> None:
        self.path = root / ".attempts" / f"{key}.jsonl"

    def _write(self, **values: Any) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a", encoding="utf-8") as handle:
            handle.write(json.dumps({"time": _utc(), **values}) + "\n")

    def begin(self) -> None:
        try:
            self._write(event="begin", process=os.getpid(), host=os.uname().nodename)
        except OSError as error:
            raise InfrastructureError(f"The results root cannot be written: {error}.") from error

    def end(self, state: str, detail: str) -> None:
        with contextlib.suppress(OSError):  # a full disk is already what is being reported
            self._write(event="end", state=state, detail=lint.redact(detail)[:500])

    def attempts(self) -> list[dict[str, Any]]:
        """Every attempt so far, the running one last: when it began, how it ended (None: without a word)."""
        found: list[dict[str, Any]] = []
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except OSError:
            return found
        for line in lines:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if entry.get("event") == "begin":
                found.append({"ordinal": len(found) + 1, "began": entry["time"], "ended": None, "state": None, "detail": None})
            elif found:
                found[-1] |= {"ended": entry["time"], "state": entry.get("state"), "detail": entry.get("detail")}
        return found


@dataclass
class _Run:
    """One attempt, with everything it was given."""

    spec: RunSpec
    settings: HarnessSettings
    project: Project
    agent: Agent
    effort: str
    condition: Condition
    script: str
    database: Path
    reference: Path
    engine: Engine
    journal: Journal

    def execute(self, cancel: threading.Event | None) -> dict[str, Any]:
        limits = self.settings.run_limits
        self.labels = {f"{LABEL}.root": root_label(self.settings.results_root), f"{LABEL}.key": self.spec.key}
        self.engine.reap(self.labels)  # an earlier attempt that was killed
        scratch_root = isolation.scratch_root(self.settings.taskdb_dir, self.settings.scratch)
        remove_scratch(scratch_root, self.labels)
        free = shutil.disk_usage(scratch_root).free
        if free < limits.host_free:
            raise InfrastructureError(f"Only {free >> 20} MiB are free at {scratch_root}; a run needs {limits.host_free >> 20} MiB.")
        scratch = scratch_root / uuid.uuid4().hex[:12]
        partial: Path | None = None
        try:
            try:
                self._prepare(scratch)
                outcome, trace_file, traffic, image = self._contain(scratch, cancel)
                if shutil.disk_usage(scratch).free < limits.host_free:
                    raise InfrastructureError(f"The disk at {scratch_root} is full.")
                partial = self.settings.results_root / f".partial-{uuid.uuid4().hex[:12]}"
                partial.mkdir(parents=True)
                done = self._record(scratch, partial, outcome, trace_file, traffic, image)
                return self._publish(partial, done)
            except OSError as error:
                raise InfrastructureError(f"The run's files could not be handled: {error}.") from error
        finally:
            for folder in (scratch, partial):
                if folder is not None:
                    with contextlib.suppress(OSError):  # the next start, or the campaign's end, sweeps by label
                        collect.remove_tree(folder)

    def _prepare(self, scratch: Path) -> None:
        """The run's folders: hard links to the task database, the prompt, the condition's files. Names are neutral."""
        scratch.mkdir(mode=0o755)
        write_json(scratch / "owner.json", self.labels)
        self.marker = f"m4-marker-{uuid.uuid4().hex}"
        (scratch / "marker.txt").write_text(self.marker + "\n")
        data, work = scratch / "data", scratch / "work"
        data.mkdir(mode=0o755)
        self.data_files = sorted(path for path in self.database.rglob("*") if path.suffix in (".duckdb", ".parquet"))
        if str(self.database).encode() in (self.database / "database.duckdb").read_bytes():
            raise M4Error(f"The task database in {self.database} names its own place on the host; build it with data_prefix=\"/data\".")
        for path in self.data_files:
            target = data / path.relative_to(self.database)
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(path, target)
            except OSError:
                shutil.copy2(path, target)
            if not target.stat().st_mode & 0o004:
                raise M4Error(f"{path} cannot be read by the agent's user; give it mode 644.")
        work.mkdir(mode=0o700)
        for relative, text in {**self.condition.files, "instruction.md": self.condition.prompt}.items():
            target = work / relative
            if not target.resolve().is_relative_to(work.resolve()):
                raise M4Error(f"The condition's file {relative!r} lies outside the working folder.")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        if self.condition.skill_dir:
            (work / self.condition.skill_dir).mkdir(parents=True, exist_ok=True)
        (work / "database.duckdb").symlink_to(f"{isolation.DATA}/database.duckdb")
        self.control = uuid.uuid4().hex
        (work / ".probe").write_text(self.control)
        self.given = {str(path.relative_to(work)) for path in work.rglob("*") if not path.is_dir() or path.is_symlink()}
        uid, gid = isolation.container_user()
        if os.getuid() == 0:
            for path in (work, *work.rglob("*")):
                os.chown(path, uid, gid, follow_symlinks=False)

    def _host_paths(self) -> dict[str, Path]:
        """Places of this host that must exist nowhere inside and be named in no artefact."""
        return {
            "host_checkout": self.project.root.resolve(), "host_results": self.settings.results_root.resolve(),
            "host_task_databases": self.settings.taskdb_dir.resolve(), "host_references": self.settings.reference_dir.resolve(),
            "host_scratch": isolation.scratch_root(self.settings.taskdb_dir, self.settings.scratch).resolve(),
        }

    def _contain(self, scratch: Path, cancel: threading.Event | None) -> tuple[Outcome, TraceFile, Any, dict[str, Any]]:
        """Build the surroundings, run the agent in them, tear everything down."""
        limits = self.settings.run_limits
        if self.settings.image:
            attrs = self.engine.image(self.settings.image)
            if attrs is None:
                raise InfrastructureError(f"The image {self.settings.image} is not on this machine.")
            image = images.Image(self.settings.image, attrs["Id"], (attrs.get("RepoDigests") or [""])[0], "", "")
        else:
            image = images.agent_image(self.engine, self.agent.cli)
        network: Any = None
        container: Container | None = None
        try:
            if self.agent.provider:
                from m4lib.harness.network import ModelNetwork

                network = ModelNetwork.open(self.engine, self.labels, self.agent, self.settings.model_access, self._conversation)
            task = Task(
                self.spec.card, self.spec.condition, self.spec.schema, self.condition.prompt, self.spec.model, self.effort,
                self.condition.files, self.script, network.login if network else {},
            )
            launch = self.agent.launch(task)
            options = isolation.container_options(limits, scratch / "work", scratch / "data")
            # the command of the image's entry point stays empty: all that matters comes on stdin
            container = Container.create(
                self.engine, image.tag, [], {**self.labels, f"{LABEL}.role": "agent"}, stdin=True,
                network=network.inner if network else None, **options,
            )
            message = {
                "argv": launch.argv, "cwd": isolation.WORK, "network": network is not None,
                "env": self._environment(launch.env, network is not None), "environment": isolation.CONTAINER_ENVIRONMENT,
                "files": [{"path": path, "text": text} for path, text in launch.files.items()],
            }
            message["canary"] = {
                "control": {"path": f"{isolation.WORK}/.probe", "token": self.control}, "absent": isolation.probes(self._host_paths()),
                "network": message["network"], "environment": isolation.CONTAINER_ENVIRONMENT,
            }
            outcome, trace = supervise(
                container, message, limits, scratch / "trace.jsonl", work=scratch / "work", cancel=cancel,
                trouble=network.trouble if network else lambda: None,
            )
            container.remove()
            container = None
            traffic = network.collect() if network else None
            facts = {
                "image": image.tag, "image_id": image.id, "image_digest": image.digest or image.id, "base_image_id": image.base_id,
                "cli_version_pinned": image.cli or None, "docker": self.engine.facts(), "argv": [*launch.argv[:-1], "PROMPT"] if launch.argv[-1:] == (self.condition.prompt,) else list(launch.argv),
            }
            return outcome, trace, traffic, facts
        finally:
            _quietly(container.remove if container else None)
            _quietly(network.close if network else None)

    def _conversation(self) -> dict[str, Any]:
        from m4lib.harness.replay import conversation

        return conversation(self.spec.card, self.condition, trial=self.spec.trial)

    @staticmethod
    def _environment(own: Mapping[str, str], network: bool) -> dict[str, str]:
        from m4lib.harness.agents.base import PROXY

        proxies = {name: PROXY for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy")}
        proxies |= {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
        return {
            "PATH": "/opt/cli/bin:/opt/venv/bin:/usr/local/bin:/usr/bin:/bin", "HOME": isolation.HOME, "SHELL": "/bin/bash",
            "LANG": "C.UTF-8", "TERM": "dumb", "TMPDIR": "/tmp", "TMP": "/tmp", "TEMP": "/tmp", "USER": "agent",
            "PYTHONDONTWRITEBYTECODE": "1", **(proxies if network else {}), **own,
        }

    def _record(
        self, scratch: Path, partial: Path, outcome: Outcome, trace_file: TraceFile, traffic: Any, facts: dict[str, Any]
    ) -> dict[str, Any]:
        """Collect, lint, evaluate; returns the record. Raises ProviderFailure when the model's side failed."""
        spec, limits = self.spec, self.settings.run_limits
        stamp = datetime.now(UTC).strftime("%Y%m%d_%H%M%S")
        run_id = f"{spec.key}_{stamp}"
        (partial / "instruction.md").write_text(self.condition.prompt, encoding="utf-8")
        shutil.copyfile(trace_file.path, partial / "trace.jsonl")
        shutil.copyfile(trace_file.times_path, partial / "trace_times.csv")
        egress_records = traffic.egress if traffic else []
        (partial / "egress.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in egress_records), encoding="utf-8")
        trace = traces.read_trace(self.agent.name, partial / "trace.jsonl")
        found = collect.collect(scratch / "work", partial, self.given, output_limit=limits.output, file_limit=limits.keep_file)
        secrets = list(traffic.secrets) if traffic else []

        egress = lint.egress(egress_records, traffic.allowed if traffic else ())
        tools = [*lint.external_tools(trace), *(traffic.hosted_tools if traffic else [])]
        memory = lint.memory(trace, isolation.HOME) if self.agent.name == "claude" else None
        texts: dict[str, bytes | Path] = {"trace.jsonl": partial / "trace.jsonl"}
        texts |= {f"files/{name}": partial / "files" / name for name in found.kept}
        texts |= {"output.csv": found.output} if found.output else {}
        clean = lint.contamination(
            texts, host_paths=[str(path) for path in self._host_paths().values()], markers=[self.marker, self.control],
            secrets=secrets, run_id=run_id, other_runs=(path.name for path in self.settings.results_root.glob("*_t*")),
            databases=found.databases, given=self.condition.prompt + "".join(self.condition.files.values()),
        )
        copied = lint.answer_copy(found.output, self.reference)
        if not copied["passed"]:
            clean["violations"].append(f"output.csv: {copied['reason']}")
            clean["passed"] = False
        reason, void = self._reason(outcome, trace, traffic, egress, tools, memory, clean, found)
        if clean["violations"] and any("credential" in text for text in clean["violations"]):
            _scrub(partial, secrets)  # evidence is kept, the credential is not
        tests = dict(record.NOT_EVALUATED) if reason else record.evaluate(found.output, self.reference, spec.card.evaluation)
        if found.output:
            write_json(partial / "output_summary.json", collect.output_summary(found.output))
        done = self._assemble(run_id, stamp, outcome, trace, trace_file, traffic, facts, found, tests, reason, void, egress, tools, memory, clean, copied, partial, secrets)
        write_json(partial / "result.json", done)
        return done

    def _reason(
        self, outcome: Outcome, trace: traces.Trace, traffic: Any, egress: Mapping[str, Any], tools: list, memory: Mapping[str, Any] | None,
        clean: Mapping[str, Any], found: collect.Collected,
    ) -> tuple[str | None, bool]:
        """(failure reason, whether the run is void), in the order of precedence."""
        if outcome.state == "canary":
            return "filesystem_canary", True
        if not egress["passed"]:
            return "disallowed_egress", True
        if tools:
            return "external_tool_use", True
        if memory and not memory["validated"]:
            return "claude_memory_escape", True
        if traffic is not None:
            traffic.raise_for_provider(trace, outcome, found.output is not None)
        if outcome.state == "timeout":
            return "timeout", False
        if outcome.state in ("oom", "disk"):
            return {"oom": "out_of_memory", "disk": "disk_limit"}[outcome.state], False
        if outcome.returncode != 0:
            return "agent_nonzero_exit", False
        if not clean["passed"]:
            return "contamination_lint", True
        if found.output is None:
            return "no_output", False
        return None, False

    def _assemble(
        self, run_id: str, stamp: str, outcome: Outcome, trace: traces.Trace, trace_file: TraceFile, traffic: Any, facts: dict[str, Any],
        found: collect.Collected, tests: dict[str, Any], reason: str | None, void: bool, egress: dict[str, Any], tools: list,
        memory: dict[str, Any] | None, clean: dict[str, Any], copied: dict[str, Any], partial: Path, secrets: list[str],
    ) -> dict[str, Any]:
        spec, limits = self.spec, self.settings.run_limits
        failures = [check["name"] for check in outcome.canary if not check["ok"]]
        canary = {
            "passed": bool(outcome.canary) and not failures, "required": True, "agent": spec.agent, "agent_user": "agent",
            "checks": outcome.canary, "failures": failures, "containerized_agent": True,
        }
        exception = traffic.exception if traffic else ""
        source = record.source_commit(self.project.root)
        terms = {
            "evidence_agent": not self.agent.test_only, "real_model": not (traffic and traffic.replayed),
            "no_host_exception": not exception, "campaign_publishable": self.settings.publishable, "isolated": True,
            "canary": canary["passed"], "egress": egress["passed"], "lint": clean["passed"], "not_void": not void,
            "provenance": bool(source["commit"] and facts["image_id"]),
        }
        allowed, why = record.publishable(terms, {
            "evidence_agent": self.agent.why_unpublishable, "real_model": "the model's answers are replayed from a script",
            "no_host_exception": exception, "campaign_publishable": self.settings.publishable_reason or "the campaign is not publishable",
        })
        result: dict[str, Any] = {
            "task": spec.card.name, "condition": spec.condition, "schema": spec.schema, "agent": spec.agent, "model": spec.model,
            "reasoning_effort": spec.effort, "resolved_reasoning_effort": self.effort, "trial": spec.trial, "campaign": spec.campaign,
            "isolated": True, "publishable": allowed, "publishable_reason": why, "publishable_terms": terms,
            "timestamp": stamp, "run_id": run_id, "container_name": None, "results_root": str(self.settings.results_root),
            "void": void, "void_reason": reason if void else None,
            "agent_db": record.database_facts(self.database, self.data_files),
            "agent_result": {
                "returncode": outcome.returncode, "stdout": _tail(partial / "trace.jsonl", secrets), "stderr": "",
                "elapsed_seconds": round(outcome.elapsed, 1), "trace_file": "trace.jsonl", "reasoning_effort": self.effort,
                "exit_state": outcome.state, "exit_signal": outcome.signal, "argv": facts.pop("argv"),
                "output_problem": found.output_problem,
            },
            "test_results": tests, "filesystem_canary": canary, "contamination_lint": clean, "egress_lint": egress,
            "answer_copy": copied, "token_usage": trace.usage(),
            "skill_evidence": traces.skill_reads(trace, self.condition.files),
            "trace_summary": {
                "bytes": trace_file.bytes, "dropped_bytes": trace_file.dropped, "events": trace.events, "skipped_lines": trace.skipped_lines,
                "messages": len(trace.messages), "tool_calls": len(trace.calls), "tools": _count(call.tool for call in trace.calls),
                "failed_calls": sum(call.ok is False for call in trace.calls), "finished": trace.finished, "errors": [lint.redact(text, secrets)[:300] for text in trace.errors[:20]],
                "warnings": [lint.redact(text, secrets)[:300] for text in trace.warnings[:20]],
            },
            "artifacts": {"files": found.kept, "left_out": found.left_out, "output_bytes": found.output_bytes},
            "started_at": outcome.started_at, "ended_at": outcome.ended_at, "attempts": self.journal.attempts(),
            "resources": {**outcome.usage, "oom_killed": outcome.oom_killed},
            "provenance": {
                "source": source, **facts, "cli_version": (trace.cli_version or (traffic.cli_version if traffic else None) or facts["cli_version_pinned"]),
                "prompt_sha256": sha256_text(self.condition.prompt), "condition_sha256": self.condition.sha256,
                "condition_files": {path: sha256_text(text) for path, text in sorted(self.condition.files.items())},
                "card_sha256": record.file_hash(spec.card.folder / "task.toml") if (spec.card.folder / "task.toml").is_file() else None,
                "reference_sha256": record.file_hash(self.reference), "evaluator_sha256": record.package_hash("evaluation"),
                "harness_sha256": record.package_hash("harness"), "limits": limits.as_dict(), "host": record.host_facts(),
                "restrictions": self.agent.restrictions(),
                "provider_models": traffic.models if traffic else [], "model_requests": traffic.requests if traffic else None,
            },
        }
        details = result["agent_result"]
        if reason:
            details["failure_reason"] = reason
        if egress["violations"]:
            details["egress_violations"] = egress["violations"]
        if tools:
            details["external_tools"] = tools
        if memory:
            result |= {
                "claude_auth_method": traffic.auth_method if traffic else None, "claude_home_ephemeral": True,
                "claude_memory_validated_ephemeral": memory["validated"], "claude_memory_validation": memory,
            }
        return result

    def _publish(self, partial: Path, done: dict[str, Any]) -> dict[str, Any]:
        """Flush, then one rename: readers see a whole run or none."""
        target = self.settings.results_root / done["run_id"]
        for path in sorted(partial.rglob("*")):
            if path.is_file():
                handle = os.open(path, os.O_RDONLY)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)
        if target.exists():
            if (target / "result.json").is_file():
                raise InfrastructureError(f"{target} exists already.")
            os.replace(target, target.with_name(f".broken-{uuid.uuid4().hex[:8]}-{target.name}"))  # half of a copy from elsewhere
        os.replace(partial, target)
        return done


def root_label(results_root: Path) -> str:
    """Names a results root in labels, without its path."""
    return sha256_text(str(results_root.resolve()))[:16]


def remove_scratch(scratch_root: Path, labels: Mapping[str, str]) -> int:
    """Remove working folders that carry these labels; how many there were."""
    gone = 0
    for owner in scratch_root.glob("*/owner.json"):
        try:
            held = json.loads(owner.read_text())
        except (OSError, ValueError):
            continue
        if all(held.get(key) == value for key, value in labels.items()):
            collect.remove_tree(owner.parent)
            gone += 1
    return gone


def reap(settings: HarnessSettings, engine: Engine | None = None) -> int:
    """Remove every container, network, working folder and half-made result of a results root. Only while no run is going on."""
    labels = {f"{LABEL}.root": root_label(settings.results_root)}
    own = engine is None
    docker = engine or Engine()
    try:
        gone = docker.reap(labels)
    finally:
        if own:
            docker.close()
    gone += remove_scratch(isolation.scratch_root(settings.taskdb_dir, settings.scratch), labels)
    for folder in settings.results_root.glob(".partial-*"):
        collect.remove_tree(folder)
        gone += 1
    return gone


def _quietly(action: Any) -> None:
    """Tear down; what fails here is swept by label later and must not hide the run's own end."""
    if action is not None:
        with contextlib.suppress(InfrastructureError):
            action()


def _scrub(folder: Path, secrets: list[str]) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            for secret in secrets:
                data = data.replace(secret.encode(), b"[redacted]")
            path.write_bytes(data)


def _tail(path: Path, secrets: list[str]) -> str:
    with open(path, "rb") as handle:
        handle.seek(max(0, path.stat().st_size - 20_000))
        return lint.redact(handle.read().decode("utf-8", "replace"), secrets)[-10_000:]


def _count(names: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return found


def _utc() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

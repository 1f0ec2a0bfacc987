"""From what a run left to what is published: collect, lint, judge, evaluate, write, rename."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from m4lib.files import sha256_text, write_json
from m4lib.harness import collect, isolation, lint, record, traces
from m4lib.harness.agents import Agent
from m4lib.harness.conditions import Condition
from m4lib.harness.failures import InfrastructureError
from m4lib.harness.network import Traffic
from m4lib.harness.supervise import Outcome, TraceFile
from m4lib.harness.workspace import Workspace
from m4lib.project import Project

if TYPE_CHECKING:
    from m4lib.harness.run import HarnessSettings, RunSpec

LIMIT_REASONS = {"oom": "out_of_memory", "disk": "disk_limit", "timeout": "timeout"}


@dataclass
class Evidence:
    """Everything known about an ended run."""

    spec: RunSpec
    settings: HarnessSettings
    project: Project
    agent: Agent
    effort: str
    condition: Condition
    database: Path
    reference: Path
    host_paths: Mapping[str, Path]
    space: Workspace
    outcome: Outcome
    trace_file: TraceFile
    traffic: Traffic | None
    facts: dict[str, Any]
    attempts: list[dict[str, Any]]

    def write(self, folder: Path) -> dict[str, Any]:
        """Fill `folder` and return the record. Raises ProviderFailure when it was the model's side that failed."""
        limits = self.settings.run_limits
        self.stamp = datetime.now(UTC).strftime("%Y%m%d_%H%M%S")
        self.run_id = f"{self.spec.key}_{self.stamp}"
        self.secrets = list(self.traffic.secrets) if self.traffic else []
        egress_records = self.traffic.egress if self.traffic else []
        (folder / "instruction.md").write_text(self.condition.prompt, encoding="utf-8")
        shutil.copyfile(self.trace_file.path, folder / "trace.jsonl")
        shutil.copyfile(self.trace_file.times_path, folder / "trace_times.csv")
        (folder / "egress.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in egress_records), encoding="utf-8")
        self.trace = traces.read_trace(self.agent.name, folder / "trace.jsonl")
        self.found = collect.collect(
            self.space.work, folder, set(self.space.given), output_limit=limits.output, file_limit=limits.keep_file
        )
        self._lint(folder)
        reason, void = self._reason()
        if any("credential" in text for text in self.clean["violations"]):
            _scrub(folder, self.secrets)  # the evidence is kept, the credential is not
        if self.found.output:
            write_json(folder / "output_summary.json", collect.output_summary(self.found.output))
        tests = dict(record.NOT_EVALUATED) if reason else record.evaluate(self.found.output, self.reference, self.spec.card.evaluation)
        done = self._record(folder, tests, reason, void)
        write_json(folder / "result.json", done)
        return done

    def _lint(self, folder: Path) -> None:
        self.egress = lint.egress(self.traffic.egress if self.traffic else [], self.traffic.allowed if self.traffic else ())
        self.tools = [*lint.external_tools(self.trace), *(self.traffic.hosted_tools if self.traffic else [])]
        self.memory = lint.memory(self.trace, isolation.HOME) if self.agent.name == "claude" else None
        texts: dict[str, bytes | Path] = {"trace.jsonl": folder / "trace.jsonl"}
        texts |= {f"files/{name}": folder / "files" / name for name in self.found.kept}
        texts |= {"output.csv": self.found.output} if self.found.output else {}
        hidden = {name: str(path) for name, path in self.host_paths.items()}
        self.clean = lint.contamination(
            texts, visible=hidden.pop("host_scratch"), host_paths=hidden.values(), markers=[self.space.marker, self.space.control],
            secrets=self.secrets, run_id=self.run_id, other_runs=(path.name for path in self.settings.results_root.glob("*_t*")),
            databases=self.found.databases, given=self.condition.prompt + "".join(self.condition.files.values()),
        )
        self.copied = lint.answer_copy(self.found.output, self.reference)
        if not self.copied["passed"]:
            self.clean["violations"].append(f"output.csv: {self.copied['reason']}")
            self.clean["passed"] = False

    def _reason(self) -> tuple[str | None, bool]:
        """(failure reason, whether the run is void), in the order of precedence."""
        outcome = self.outcome
        if outcome.state == "canary":
            return "filesystem_canary", True
        if not self.egress["passed"]:
            return "disallowed_egress", True
        if self.tools:
            return "external_tool_use", True
        if self.memory and not self.memory["validated"]:
            return "claude_memory_escape", True
        if self.traffic is not None:
            self.traffic.raise_for_provider(self.trace, outcome, self.found.output is not None)
        # before the agent's own failures: a leak is a leak, however the run ended
        if not self.clean["passed"]:
            return "contamination_lint", True
        if outcome.state in LIMIT_REASONS:
            return LIMIT_REASONS[outcome.state], False
        if outcome.returncode != 0:
            return "agent_nonzero_exit", False
        if self.found.output is None:
            return "no_output", False
        return None, False

    def _record(self, folder: Path, tests: dict[str, Any], reason: str | None, void: bool) -> dict[str, Any]:
        spec, outcome, traffic = self.spec, self.outcome, self.traffic
        failures = [check["name"] for check in outcome.canary if not check["ok"]]
        canary: dict[str, Any] = {
            "passed": bool(outcome.canary) and not failures, "required": True, "agent": spec.agent, "agent_user": "agent",
            "checks": outcome.canary, "failures": failures, "containerized_agent": True,
        }
        allowed, why, terms = self._publishable(canary["passed"], void)
        details: dict[str, Any] = {
            "returncode": outcome.returncode, "stdout": self._tail(folder / "trace.jsonl"), "stderr": "",
            "elapsed_seconds": round(outcome.elapsed, 1), "trace_file": "trace.jsonl", "reasoning_effort": self.effort,
            "exit_state": outcome.state, "exit_signal": outcome.signal, "argv": self.facts["argv"],
            "output_problem": self.found.output_problem,
        }
        if reason:
            details["failure_reason"] = reason
        if self.egress["violations"]:
            details["egress_violations"] = self.egress["violations"]
        if self.tools:
            details["external_tools"] = self.tools
        done: dict[str, Any] = {
            "task": spec.card.name, "condition": spec.condition, "schema": spec.schema, "agent": spec.agent, "model": spec.model,
            "reasoning_effort": spec.effort, "resolved_reasoning_effort": self.effort, "trial": spec.trial, "campaign": spec.campaign,
            "isolated": True, "publishable": allowed, "publishable_reason": why, "publishable_terms": terms,
            "timestamp": self.stamp, "run_id": self.run_id, "container_name": None, "results_root": str(self.settings.results_root),
            "void": void, "void_reason": reason if void else None,
            "agent_db": record.database_facts(self.database, self.space.data_files),
            "agent_result": details, "test_results": tests, "filesystem_canary": canary, "contamination_lint": self.clean,
            "egress_lint": self.egress, "answer_copy": self.copied, "token_usage": self.trace.usage(),
            "skill_evidence": traces.skill_reads(self.trace, self.condition.files), "trace_summary": self._trace_summary(),
            "artifacts": {"files": self.found.kept, "left_out": self.found.left_out, "output_bytes": self.found.output_bytes},
            "started_at": outcome.started_at, "ended_at": outcome.ended_at, "attempts": self.attempts,
            "resources": {**outcome.usage, "oom_killed": outcome.oom_killed}, "provenance": self._provenance(),
        }
        if self.memory:
            done |= {
                "claude_auth_method": {"login": "claude-login"}.get(traffic.auth_method, traffic.auth_method) if traffic else None,
                "claude_home_ephemeral": True, "claude_memory_validated_ephemeral": self.memory["validated"],
                "claude_memory_validation": self.memory,
            }
        return done

    def _publishable(self, canary: bool, void: bool) -> tuple[bool, str, dict[str, bool]]:
        """At the end, from what was found; every term is stored."""
        traffic, agent, settings = self.traffic, self.agent, self.settings
        exception = traffic.exception if traffic else ""
        source = record.source_commit(self.project.root)
        terms = {
            "evidence_agent": not agent.test_only, "real_model": not (traffic and traffic.replayed), "no_host_exception": not exception,
            "campaign_publishable": settings.publishable, "isolated": True, "canary": canary, "egress": self.egress["passed"],
            "lint": self.clean["passed"], "not_void": not void, "provenance": bool(source["commit"] and self.facts["image_id"]),
        }
        reasons = {
            "evidence_agent": agent.why_unpublishable, "real_model": "the model's answers are replayed from a script",
            "no_host_exception": exception, "campaign_publishable": settings.publishable_reason or "the campaign is not publishable",
        }
        allowed, why = record.publishable(terms, reasons)
        return allowed, why, terms

    def _trace_summary(self) -> dict[str, Any]:
        trace = self.trace
        tools: dict[str, int] = {}
        for call in trace.calls:
            tools[call.tool] = tools.get(call.tool, 0) + 1
        return {
            "bytes": self.trace_file.bytes, "dropped_bytes": self.trace_file.dropped, "events": trace.events,
            "skipped_lines": trace.skipped_lines, "messages": len(trace.messages), "tool_calls": len(trace.calls), "tools": tools,
            "failed_calls": sum(call.ok is False for call in trace.calls), "finished": trace.finished,
            "errors": [lint.redact(text, self.secrets)[:300] for text in trace.errors[:20]],
            "warnings": [lint.redact(text, self.secrets)[:300] for text in trace.warnings[:20]],
        }

    def _provenance(self) -> dict[str, Any]:
        card = self.spec.card.folder / "task.toml"
        codes = self.settings.codes(self.spec.schema)
        facts = {name: value for name, value in self.facts.items() if name != "argv"}
        return {
            "source": record.source_commit(self.project.root), **facts,
            "cli_version": self.trace.cli_version or facts["cli_version_pinned"],
            "prompt_sha256": sha256_text(self.condition.prompt), "condition_sha256": self.condition.sha256,
            "condition_files": {path: sha256_text(text) for path, text in sorted(self.condition.files.items())},
            "codes_seed": self.settings.codes_seed if codes else None, "codes_sha256": codes.sha256 if codes else None,
            "card_sha256": record.file_hash(card) if card.is_file() else None,
            "reference_sha256": record.file_hash(self.reference), "evaluator_sha256": record.package_hash("evaluation"),
            "harness_sha256": record.package_hash("harness"), "limits": self.settings.run_limits.as_dict(),
            "host": record.host_facts(), "restrictions": self.agent.restrictions(),
            "provider_models": self.traffic.models if self.traffic else [],
            "model_requests": self.traffic.requests if self.traffic else None,
        }

    def _tail(self, path: Path) -> str:
        with open(path, "rb") as handle:
            handle.seek(max(0, path.stat().st_size - 20_000))
            return lint.redact(handle.read().decode("utf-8", "replace"), self.secrets)[-10_000:]


def publish(partial: Path, done: dict[str, Any], results_root: Path) -> dict[str, Any]:
    """Flush, then one rename: readers see a whole run or none."""
    target = results_root / done["run_id"]
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
        os.replace(target, target.with_name(f".broken-{uuid.uuid4().hex[:8]}"))  # half of a copy from elsewhere
    os.replace(partial, target)
    return done


def _scrub(folder: Path, secrets: list[str]) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            for secret in secrets:
                data = data.replace(secret.encode(), b"[redacted]")
            path.write_bytes(data)

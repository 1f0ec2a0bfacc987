"""Run folders as the harness leaves them, made without Docker: two campaigns, synthetic values only."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

HOST = "ward-server-17"
IDS = ("10999001", "20999002", "30999003")


def _trace(agent: str, rng: random.Random) -> list[dict[str, Any]]:
    words = f"The stay {IDS[2]} of patient {IDS[0]} begins 2151-03-04 05:06:07; itemid 220045 counts. Done in /srv/m4/runs."
    result = f"subject_id,sofa\n{IDS[0]},4\n"
    if agent == "codex":
        return [{"type": "thread.started", "thread_id": "t"},
                {"type": "item.completed", "item": {"id": "1", "type": "command_execution", "command": f"duckdb -c 'SELECT * FROM icustays WHERE stay_id = {IDS[2]}'",
                                                    "aggregated_output": result, "exit_code": 0, "status": "completed"}},
                {"type": "item.completed", "item": {"id": "2", "type": "agent_message", "text": words}},
                {"type": "turn.completed", "usage": {"input_tokens": rng.randint(1000, 9000), "cached_input_tokens": 500, "output_tokens": 200}}]
    return [{"type": "system", "subtype": "init", "model": "sonnet", "claude_code_version": "2.1.119", "cwd": "/work"},
            {"type": "assistant", "message": {"id": "m1", "role": "assistant", "model": "sonnet", "usage": {"input_tokens": 5, "output_tokens": 5},
                                              "content": [{"type": "tool_use", "id": "u1", "name": "Bash", "input": {"command": f"echo {IDS[1]}"}}]}},
            {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "u1", "content": result}]}},
            {"type": "assistant", "message": {"id": "m2", "role": "assistant", "model": "sonnet", "usage": {"input_tokens": 5, "output_tokens": 5}, "content": [{"type": "text", "text": words}]}},
            {"type": "result", "subtype": "success", "is_error": False, "result": words, "num_turns": 2, "usage": {"input_tokens": 10, "output_tokens": 10}}]


def write_run(folder: Path, *, agent: str, model: str, task: str, condition: str, trial: int, stamp: str, reward: float | None = None, reason: str | None = None,
              rng: random.Random, columns: tuple[str, ...] = ("sofa", "renal")) -> Path:
    """One run's folder; without a reward it ended with `reason` before the evaluator."""
    run_id = f"{task}_{condition}_{agent}_{model}_t{trial}_{stamp}"
    run = folder / run_id
    run.mkdir(parents=True)
    tests: dict[str, Any] = {"passed": 0, "failed": 0, "errors": 1, "total": 1, "reward": 0.0, "pytest_output": "", "pytest_stderr": ""}
    if reward is not None:
        rates = {name: round(min(1.0, reward + 0.01 * n), 8) for n, name in enumerate(columns)}
        tests = {"passed": 6, "failed": int(reward < 1), "errors": 0, "total": 7, "reward": reward, "reward_uncapped": reward, "match_rates": rates,
                 "diagnostics_failed": reward < 1, "key_precision": 0.98, "extra_keys": 3, "agent_unique_keys": 140, "reference_rows": 140,
                 "ordered_value_nmae": 0.02, "ordered_value_columns": 2, "pytest_output": f"first wrong row: {IDS[2]}"}
    agent_result = {"returncode": 0 if reason is None else 1, "stdout": f"...{IDS[0]},4,1.2", "stderr": "", "elapsed_seconds": round(rng.random() * 300, 1), "trace_file": "trace.jsonl"}
    if reason:
        agent_result["failure_reason"] = reason
    record = {
        "task": task, "condition": condition, "schema": "native", "agent": agent, "model": model, "reasoning_effort": "auto", "resolved_reasoning_effort": "medium",
        "trial": trial, "campaign": folder.name, "isolated": True, "publishable": True, "publishable_reason": "agent-only Docker isolation active", "timestamp": stamp,
        "run_id": run_id, "container_name": None, "results_root": f"/srv/m4/runs/{folder.name}", "agent_result": agent_result, "test_results": tests,
        "agent_db": {"path": f"/srv/m4/taskdb/{task}/database.duckdb", "sha256": "ab" * 32, "size_bytes": 31_234_567},
        "filesystem_canary": {"passed": True}, "contamination_lint": {"passed": True, "violations": []}, "started_at": "2026-05-04T05:30:51.000Z",
        "token_usage": {"input_tokens": rng.randint(1_000_000, 30_000_000), "cached_input_tokens": 500_000, "output_tokens": 12_345, "turns": 1, "model_strings": [model]},
        "trace_summary": {"warnings": [f"slow host {HOST}"]}, "provenance": {"host": {"host": HOST, "cpus": 2}, "source": {"commit": "c" * 39 + "1"}},
    }
    (run / "result.json").write_text(json.dumps(record, indent=1))
    (run / "instruction.md").write_text("# SOFA\n\nWrite `./output.csv`. Adults only (age >= 18). Vincent 1996;22:707-710.\n")
    lines = [json.dumps(event) for event in _trace(agent, rng)]
    (run / "trace.jsonl").write_text("Reading additional input from stdin...\n" + "\n".join(lines) + "\n")
    (run / "egress.jsonl").write_text(json.dumps({"ts": 1795980233.9, "method": "CONNECT", "host": "api.openai.com", "port": 443, "allowed": True}) + "\n")
    if reward is not None:
        (run / "output.csv").write_text(f"subject_id,stay_id,sofa\n{IDS[0]},{IDS[2]},4\n")
    (run / "files").mkdir()
    (run / "files" / "solve.py").write_text(f"ids = [{IDS[0]}]\n")
    return run


def make_runs(root: Path, *, trials: int = 2) -> Path:
    """`root`/<campaign>/<run>/: alpha (codex) with an attempt that was repeated, beta (claude) with a failed run."""
    rng = random.Random(3)
    tasks, conditions = ["mimic-sofa-24h", "mimic-meld-24h"], ["no-skill", "with-skill"]
    for campaign, agent, model in (("alpha", "codex", "gpt-5.5"), ("beta", "claude", "sonnet")):
        folder, minute = root / campaign, 10
        for task in tasks:
            for condition in conditions:
                for trial in range(1, trials + 1):
                    minute += 1
                    reward = round(0.6 + 0.3 * rng.random() + (0.05 if condition == "with-skill" else 0), 8)
                    last = (task, condition, trial) == (tasks[-1], conditions[-1], trials)
                    write_run(folder, agent=agent, model=model, task=task, condition=condition, trial=trial, stamp=f"20260504_05{minute:02}51",
                              reward=None if last and agent == "claude" else reward, reason="timeout" if last and agent == "claude" else None, rng=rng)
        if agent == "codex":  # an earlier attempt of a run that was done again
            write_run(folder, agent=agent, model=model, task=tasks[0], condition="no-skill", trial=1, stamp="20260504_050151", reason="rate_limit", rng=rng)
        (folder / "campaign_manifest.json").write_text(json.dumps({
            "agent": agent, "campaign": campaign, "created_at_utc": "2026-05-04T05:00:00+00:00", "host": HOST, "reasoning_effort": "auto", "runs": 8 * trials // 2,
            "publishable": True, "tiers": [{"name": "main", "tasks": tasks, "conditions": conditions, "models": [model]}]}))
        (folder / ".attempts").mkdir()
        (folder / ".attempts" / "x.jsonl").write_text("{}\n")
    return root

"""Every agent's trace format: tokens counted once, calls with their results, versions, errors, skills that were read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from m4lib.harness.traces import Trace, read_trace, skill_reads
from tests.harness.site import SKILL, SKILL_LINE


def parse(tmp_path: Path, form: str, *events: object) -> Trace:
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join(event if isinstance(event, str) else json.dumps(event) for event in events) + "\n")
    return read_trace(form, path)


def test_codex_sums_turns_and_keeps_warnings_apart(tmp_path: Path) -> None:
    call = {"id": "1", "type": "command_execution", "command": "bash -lc 'ls'"}
    trace = parse(
        tmp_path, "codex", "Reading additional input", {"type": "thread.started", "thread_id": "x"},
        {"type": "item.completed", "item": {"id": "0", "type": "error", "message": "metadata not found"}},
        {"type": "item.started", "item": {**call, "status": "in_progress", "exit_code": None}},
        {"type": "item.completed", "item": {**call, "status": "failed", "exit_code": 2, "aggregated_output": "no"}},
        {"type": "turn.completed", "usage": {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 3}},
        {"type": "item.completed", "item": {"id": "2", "type": "agent_message", "text": "done"}},
        {"type": "turn.completed", "usage": {"input_tokens": 20, "cached_input_tokens": 5, "output_tokens": 7}},
    )
    assert (trace.input_tokens, trace.cached_input_tokens, trace.output_tokens, trace.turns) == (30, 9, 10, 2)
    assert [(call.tool, call.command, call.output, call.ok) for call in trace.calls] == [("command_execution", "bash -lc 'ls'", "no", False)]
    assert trace.messages == ["done"] and trace.warnings == ["metadata not found"] and not trace.errors
    assert trace.finished and not trace.failed and trace.skipped_lines == 1


def test_codex_failed_turn(tmp_path: Path) -> None:
    trace = parse(tmp_path, "codex", {"type": "error", "message": "stream"}, {"type": "turn.failed", "error": {"message": "403"}})
    assert trace.failed and trace.errors == ["stream", "403"] and trace.output_tokens is None
    assert trace.usage()["reported"] is False and trace.usage()["output_tokens"] == 0


CLAUDE_USE = {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 7, "output_tokens": 2}


def claude_events() -> list[dict]:
    blocks = [{"type": "text", "text": "look"}, {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]
    messages = [{"type": "assistant", "message": {"id": "m1", "model": "opus-x", "usage": CLAUDE_USE, "content": [block]}} for block in blocks]
    init = {"type": "system", "subtype": "init", "claude_code_version": "9.9.9", "skills": ["toy-score"], "memory_paths": {"auto": "/home/agent/m", "more": ["/root/x"]}}
    back = {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "a\nb"}]}]}}
    return [init, *messages, back]


def test_claude_counts_the_closing_result_alone(tmp_path: Path) -> None:
    result = {"type": "result", "is_error": False, "num_turns": 2, "usage": {**CLAUDE_USE, "output_tokens": 11}, "modelUsage": {"opus-x": {}, "haiku-y": {}}}
    trace = parse(tmp_path, "claude", *claude_events(), result)
    assert (trace.input_tokens, trace.cached_input_tokens, trace.cache_write_tokens, trace.output_tokens) == (5, 100, 7, 11)
    assert trace.turns == 2 and trace.models == ["opus-x", "haiku-y"] and trace.cli_version == "9.9.9"
    assert trace.memory_paths == ["/home/agent/m", "/root/x"] and trace.skills_listed == ["toy-score"]
    assert trace.calls[0].command == "ls" and trace.calls[0].output == "a\nb" and trace.calls[0].ok is True


def test_claude_without_result_counts_each_message_once(tmp_path: Path) -> None:
    trace = parse(tmp_path, "claude", *claude_events())
    assert (trace.input_tokens, trace.output_tokens, trace.turns) == (5, 2, 1) and not trace.finished


@pytest.mark.parametrize(("status", "limited"), [("allowed", False), ("allowed_warning", False), ("rejected", True)])
def test_claude_rate_limit_events(tmp_path: Path, status: str, limited: bool) -> None:
    trace = parse(tmp_path, "claude", {"type": "rate_limit_event", "rate_limit_info": {"status": status, "resetsAt": 1_900_000_000}})
    assert trace.rate_limited is limited
    assert trace.rate_limited_until == (1_900_000_000 if limited else None)


def test_claude_success_subtype_with_error_flag_is_a_failure(tmp_path: Path) -> None:
    trace = parse(tmp_path, "claude", {"type": "result", "subtype": "success", "is_error": True, "result": "API Error: 403", "usage": {}})
    assert trace.failed and trace.errors == ["API Error: 403"]


def test_claude_server_side_search_is_a_call(tmp_path: Path) -> None:
    trace = parse(tmp_path, "claude", {"type": "result", "usage": {"server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 0}}})
    assert [call.tool for call in trace.calls] == ["web_search"]


def test_gemini(tmp_path: Path) -> None:
    trace = parse(
        tmp_path, "gemini", {"type": "init", "model": "g"}, {"type": "message", "role": "assistant", "content": "a", "delta": True},
        {"type": "message", "role": "assistant", "content": "b", "delta": True},
        {"type": "tool_use", "tool_name": "run_shell_command", "tool_id": "1", "parameters": {"command": "ls"}},
        {"type": "tool_result", "tool_id": "1", "status": "error", "error": {"message": "bad"}},
        {"type": "message", "role": "assistant", "content": "c", "delta": True},
        {"type": "result", "status": "success", "stats": {"input_tokens": 9, "output_tokens": 2, "cached": 4}},
    )
    assert trace.messages == ["ab", "c"] and trace.calls[0].output == "bad" and trace.calls[0].ok is False
    assert (trace.input_tokens, trace.cached_input_tokens, trace.output_tokens) == (9, 4, 2) and trace.models == ["g"]


def test_pi_counts_finished_messages_only(tmp_path: Path) -> None:
    message = {"role": "assistant", "model": "q", "usage": {"input": 3, "output": 1, "cacheRead": 2, "cacheWrite": 0}, "content": [{"type": "text", "text": "hi"}]}
    trace = parse(
        tmp_path, "pi-ollama", {"type": "message_start", "message": message}, {"type": "message_update", "message": message},
        {"type": "message_end", "message": message}, {"type": "turn_end", "message": message},
        {"type": "tool_execution_start", "toolCallId": "c", "toolName": "bash", "args": {"command": "ls"}},
        {"type": "tool_execution_end", "toolCallId": "c", "toolName": "bash", "result": {"content": [{"type": "text", "text": "x"}]}, "isError": False},
        {"type": "agent_end", "messages": [message]},
    )
    assert (trace.input_tokens, trace.output_tokens, trace.turns) == (3, 1, 1) and trace.messages == ["hi"]
    assert trace.calls[0].output == "x" and trace.finished


def test_broken_lines_hide_nothing(tmp_path: Path) -> None:
    trace = parse(
        tmp_path, "codex", "", "plain", '{"type": "turn.comp', "[1]", {"type": "turn.completed", "usage": "text"}, {"type": "item.completed", "item": None},
        json.dumps({"type": "harness.truncated", "dropped_bytes": 5}), {"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}},
    )
    assert trace.input_tokens == 1 and trace.truncated and trace.skipped_lines >= 3


def test_unknown_form_and_missing_file_are_empty(tmp_path: Path) -> None:
    assert parse(tmp_path, "nop", {"type": "turn.completed"}).turns == 0
    assert read_trace("codex", tmp_path / "absent").events == 0


@pytest.mark.parametrize(
    ("command", "output", "read", "seen"),
    [
        ("cat .codex/skills/toy-score/SKILL.md", SKILL, True, True),
        ("grep -rh worst .codex", f"x\n{SKILL_LINE}\n", True, True),
        ("cat .codex/skills/toy-score/SKILL.md", "No such file", True, False),
        ("ls", "README", False, False),
        ("ls .codex", "toy-score: how the toy score is computed", False, False),
    ],
)
def test_skill_evidence(tmp_path: Path, command: str, output: str, read: bool, seen: bool) -> None:
    item = {"id": "1", "type": "command_execution", "command": command, "aggregated_output": output, "exit_code": 0}
    trace = parse(tmp_path, "codex", {"type": "item.completed", "item": item})
    evidence = skill_reads(trace, {".codex/skills/toy-score/SKILL.md": SKILL})
    assert evidence["any"] is read
    assert any(entry["content_seen"] for entry in evidence["files"].values()) is seen


def test_skill_tool_is_evidence(tmp_path: Path) -> None:
    use = {"type": "tool_use", "id": "1", "name": "Skill", "input": {"skill": "toy-score"}}
    trace = parse(tmp_path, "claude", {"type": "assistant", "message": {"id": "m", "content": [use]}})
    assert skill_reads(trace, {".claude/skills/toy-score/SKILL.md": SKILL})["files"][".claude/skills/toy-score/SKILL.md"]["by"] == "skill tool"

"""What voids a run, and what must not: commands, tools, egress, secrets, host paths, other runs, copies."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from m4lib.harness import lint
from m4lib.harness.traces import ToolCall, Trace


def tools(*calls: ToolCall) -> list[str]:
    return [entry["kind"] for entry in lint.external_tools(Trace(calls=list(calls)))]


def shell(command: str) -> ToolCall:
    return ToolCall("Bash", command, command)


@pytest.mark.parametrize("command", [
    "curl https://example.com", "/usr/bin/wget -q x", "ls && curl x", "cd /tmp; X=1 wget y", "bash -lc 'curl x'", "/bin/bash -lc \"ls | nc host 80\"",
    "echo hi # note\ncurl x", "timeout 5 curl x", "true | xargs curl", "python3 -c 'import urllib.request'",
    "python3 - <<'EOF'\nimport requests\nrequests.get('u')\nEOF", "(curl x)", "if true; then curl x; fi",
])
def test_network_commands(command: str) -> None:
    assert tools(shell(command)) == ["external_network_command"]


@pytest.mark.parametrize("command", [
    "python3 solve.py 2>/dev/null", "echo 'see https://example.com'", "# curl is not used\nls", "cat > n.md <<'EOF'\ncurl https://x\nEOF", "grep curl notes.md",
    "SELECT 1", "python3 - <<'EOF'\n# urllib.request is not needed\nprint(1)\nEOF", "ls ./curl-notes", "echo unbalanced ' quote",
])
def test_harmless_commands(command: str) -> None:
    assert tools(shell(command)) == []


def test_web_tools_of_every_agent_nested_or_not() -> None:
    calls = [ToolCall("web_search", "{}"), ToolCall("WebFetch", "{}"), ToolCall("google_web_search", "{}"), ToolCall("Read", "{}")]
    assert tools(*calls) == ["web_search"] * 3


def test_code_that_is_written_and_not_typed() -> None:
    assert tools(ToolCall("Write", '{"file_path": "a.py", "content": "import urllib.request\\nurllib.request.urlopen(u)"}')) == ["external_network_command"]
    assert tools(ToolCall("Write", '{"file_path": "a.md", "content": "curl https://x"}')) == []


def check(text: str, **changes: Any) -> list[str]:
    given = {"host_paths": ["/srv/m4/checkout"], "markers": ["m4-marker-1"], "secrets": ["topsecretvalue"], "run_id": "me", "other_runs": ["a_b_c_d_t1_20260101_000000"]}
    return lint.contamination({"x": text.encode()}, **{**given, **changes})["violations"]


@pytest.mark.parametrize(("text", "found"), [
    ("cat /benchmark/tasks/x", "sensitive"), ("dictionary.json", "sensitive"), ("in /srv/m4/checkout/tasks", "path of the host"),
    ("m4-marker-1", "marker"), ("topsecretvalue", "credential"), ("sk-ant-" + "a" * 30, "anthropic key"), ("sk-" + "b" * 40, "openai key"),
    ("AIza" + "c" * 35, "google key"), ("ghp_" + "d" * 30, "github token"), ("-----BEGIN RSA PRIVATE KEY-----", "private key"),
    ('{"refresh_token": "abcdefghijklmnop"}', "token in JSON"), ('\\"access_token\\": \\"abcdefghijklmnop\\"', "token in JSON"),
    ("like a_b_c_d_t1_20260101_000000 did", "another run"),
])
def test_contamination(text: str, found: str) -> None:
    violations = check(text)
    assert len(violations) == 1 and found in violations[0]
    assert "topsecretvalue" not in violations[0] and "m4-marker-1" not in violations[0]


@pytest.mark.parametrize("text", ["plain", "sk-short", "a_b_c_d_t1_20260101_000001", "task-based approach to /srv", '"api_key": "short"'])
def test_clean_texts(text: str) -> None:
    assert check(text) == []


def test_what_was_given_is_no_leak() -> None:
    assert check("see dictionary.json", given="use dictionary.json") == []


def test_the_path_that_the_kernel_shows_is_no_leak() -> None:
    mounts = "/srv/m4/checkout/outputs/m4-runs-0/abc/work /work"
    assert len(check(mounts)) == 1 and check(mounts, visible="/srv/m4/checkout/outputs/m4-runs-0") == []
    assert len(check(mounts + " /srv/m4/checkout/tasks", visible="/srv/m4/checkout/outputs/m4-runs-0")) == 1


def test_databases_left_behind_and_large_files(tmp_path: Path) -> None:
    path = tmp_path / "big"
    path.write_bytes(b"x" * ((8 << 20) - 4) + b"topsecretvalue" + b"y" * 100)  # across the border of two pieces
    found = lint.contamination({"big": path}, host_paths=[], markers=[], secrets=["topsecretvalue"], run_id="", other_runs=[], databases=["copy.db"])
    assert found["violations"] == ["copy.db: a database beside the given one", "big: the provider's credential"]


def test_linting_takes_linear_time(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"x" * (6 << 20) + b"_t1_2026")
    begun = time.monotonic()
    assert check("sk" * 2_000_000) == [] and check(path.read_text()) == []
    assert tools(shell("echo " + "<<a\n" * 20_000)) == []
    assert time.monotonic() - begun < 20


def test_redaction() -> None:
    assert lint.redact("key sk-ant-" + "a" * 30 + " and topsecretvalue", ["topsecretvalue"]) == "key [redacted] and [redacted]"


@pytest.mark.parametrize(("record", "passed"), [
    ({"host": "model", "port": 8000, "allowed": True}, True), ({"host": "model", "port": 8000, "allowed": False}, False),
    ({"host": "other", "port": 8000, "allowed": True}, False), ({"host": "model", "port": 22, "allowed": True}, False),
    ({"host": "statsig.anthropic.com", "port": 443, "allowed": False}, True),
    ({"host": "statsig.anthropic.com", "port": 443, "allowed": True}, False), ({"host": "api.github.com", "port": 443, "allowed": False}, False),
    ({"host": "notsentry.io.evil.org", "port": 443, "allowed": False}, False), ({"by": "gateway", "host": "x", "port": 1, "allowed": False}, True),
])
def test_egress(record: dict[str, Any], passed: bool) -> None:
    assert lint.egress([record], ["model:8000"])["passed"] is passed


def test_answer_copy(tmp_path: Path) -> None:
    output, reference = tmp_path / "output.csv", tmp_path / "reference.parquet"
    output.write_text("a\n1\n")
    assert lint.answer_copy(None, None)["passed"]
    assert not lint.answer_copy(output, reference)["passed"], "no reference: fails closed"
    reference.write_text("b\n")
    assert lint.answer_copy(output, reference)["passed"]
    reference.write_bytes(output.read_bytes())
    assert not lint.answer_copy(output, reference)["passed"]


def test_memory_paths() -> None:
    inside = Trace(memory_paths=["/home/agent/.claude/m/", "/work/.claude/x"])
    assert lint.memory(inside, "/home/agent")["validated"]
    for path in ("/claude-auth/x", "/root/.claude", "/home/agent/../root", "/home/agentx/y"):
        assert lint.memory(Trace(memory_paths=[path]), "/home/agent")["violations"] == [path]

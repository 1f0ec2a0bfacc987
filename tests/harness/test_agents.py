"""The real command lines in real containers, against a model that follows a script."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from m4lib.errors import InfrastructureError, M4Error
from m4lib.harness import images, replay
from m4lib.harness.agents import AGENTS, Task, get_agent
from m4lib.harness.docker_host import Container, Engine
from m4lib.harness.failures import ProviderFailure
from m4lib.harness.images import CLIS
from m4lib.harness.network import ModelAccess
from tests.harness.site import FOLDERS, QUERY, Site, conditions, toy_card

SHELL = {"codex": "command_execution", "claude": "Bash", "gemini": "run_shell_command", "pi-ollama": "bash"}
REAL = [
    pytest.param("codex"), pytest.param("claude"),
    pytest.param("gemini", marks=pytest.mark.slow), pytest.param("pi-ollama", marks=pytest.mark.slow),
]


def task(agent: str, tmp_path: Path, **changes: Any) -> Task:
    card = toy_card(tmp_path / "toy")
    given: dict[str, Any] = {"model": "m-1", "effort": "medium", "login": {}, **changes}
    return Task(card, "with-skill", "native", "PROMPT", given["model"], given["effort"], conditions(agent, card)["with-skill"].files, "", given["login"])


def test_command_lines(tmp_path: Path) -> None:
    codex = get_agent("codex").launch(task("codex", tmp_path)).argv
    assert codex[:3] == ("codex", "exec", "--skip-git-repo-check") and codex[-1] == "PROMPT" and codex[-4:-1] == ("--json", "-C", "/work")
    assert 'model_reasoning_effort="medium"' in codex and 'web_search="disabled"' in codex and codex[codex.index("-m") : codex.index("-m") + 2] == ("-m", "m-1")
    assert "--dangerously-bypass-approvals-and-sandbox" not in codex
    claude = get_agent("claude").launch(task("claude", tmp_path)).argv
    assert claude[:2] == ("claude", "-p") and claude[-1] == "PROMPT" and "stream-json" in claude and claude[claude.index("--effort") + 1] == "medium"
    assert "WebSearch" in claude[claude.index("--disallowedTools") + 1]
    gemini = get_agent("gemini").launch(task("gemini", tmp_path, effort="provider-default")).argv
    assert gemini[-2:] == ("-p", "PROMPT") and gemini.index("-m") < gemini.index("-p") and "--sandbox" not in gemini
    pi = get_agent("pi-ollama").launch(task("pi-ollama", tmp_path, model=None)).argv
    assert pi[-2:] == ("-p", "PROMPT") and pi.index("--model") < pi.index("-p") and pi[pi.index("--skill") + 1] == ".pi/skills"


def test_no_effort_flag_for_the_providers_default(tmp_path: Path) -> None:
    for name in ("codex", "claude"):
        argv = get_agent(name).launch(task(name, tmp_path, effort="provider-default")).argv
        assert "--effort" not in argv and not any("reasoning_effort" in word for word in argv)


def test_a_login_lives_in_home_and_nowhere_else(tmp_path: Path) -> None:
    for name, path in (("codex", ".codex/auth.json"), ("claude", ".claude/.credentials.json"), ("gemini", ".gemini/oauth_creds.json")):
        launch = get_agent(name).launch(task(name, tmp_path, login={path: '{"token": "secret-login"}'}))
        holders = [place for place, text in launch.files.items() if "secret-login" in text]
        assert len(holders) == 1 and holders[0].endswith(path)
        assert "secret-login" not in json.dumps([launch.argv, dict(launch.env)]) and "gateway" not in json.dumps(dict(launch.env))


def test_unknown_agent() -> None:
    with pytest.raises(M4Error, match="codex"):
        get_agent("codecks")


def test_every_agent_has_a_pinned_version_and_a_home() -> None:
    for agent in AGENTS.values():
        assert agent.test_only or (agent.cli in CLIS and CLIS[agent.cli].version[0].isdigit() and agent.provider and agent.restrictions())


@pytest.mark.docker
@pytest.mark.parametrize("agent", REAL)
def test_a_real_command_line_reads_its_skill_and_solves_the_task(engine: Engine, clean: Site, agent: str) -> None:
    folder = FOLDERS[agent]
    script = replay.script([f"ls {folder}", f"cat {folder}/toy-score/SKILL.md", replay.sql_command([QUERY])], input=2000, cached=500, output=70)
    record = clean.run(agent, "with-skill", model="m-1", engine=engine, model_access=clean.replayed(script))
    result = record["agent_result"]
    assert record["test_results"]["reward"] == 1.0 and result["returncode"] == 0 and "failure_reason" not in result, result
    assert record["provenance"]["cli_version"] == CLIS[str(AGENTS[agent].cli)].version
    assert record["trace_summary"]["tools"] == {SHELL[agent]: 3} and record["trace_summary"]["finished"] and record["trace_summary"]["failed_calls"] == 0
    usage = record["token_usage"]
    total = usage["input_tokens"] if agent in ("codex", "gemini") else usage["input_tokens"] + usage["cached_input_tokens"]
    assert (total, usage["cached_input_tokens"], usage["output_tokens"]) == (8000, 2000, 280) and usage["reported"]
    read = record["skill_evidence"]["files"][f"{folder}/toy-score/SKILL.md"]
    assert read["content_seen"] and record["skill_evidence"]["any"]
    assert record["provenance"]["provider_models"] == ["m-1"] and record["provenance"]["model_requests"]["statuses"] == {"200": 4}
    log = [json.loads(line) for line in (clean.folder(record) / "egress.jsonl").read_text().splitlines()]
    by_proxy = [entry for entry in log if entry["by"] == "proxy"]
    assert by_proxy and {(entry["host"], entry["port"], entry["allowed"]) for entry in by_proxy} == {("model", 8000, True)}
    assert not record["publishable"] and "replayed" in record["publishable_reason"] and not record["void"]
    if agent == "claude":
        assert record["claude_memory_validation"]["validated"] and record["claude_memory_validation"]["paths"]
        assert "toy-score" in record["skill_evidence"]["listed_by_cli"]


@pytest.mark.docker
@pytest.mark.parametrize("agent", REAL)
def test_the_image_holds_the_pinned_version(engine: Engine, site: Site, agent: str) -> None:
    cli = str(AGENTS[agent].cli)
    container = Container.create(
        engine, images.agent_image(engine, cli).tag, ["--version"], site.settings.labels(), entrypoint=[cli], environment={"HOME": "/tmp"}
    )
    try:
        container.start()
        assert container.wait(60) == 0
        said = engine.client.api.logs(container.id, stdout=True, stderr=True).decode()
    finally:
        container.remove()
    assert CLIS[cli].version in said


@pytest.mark.docker
def test_without_a_skill_there_is_no_evidence_of_one(engine: Engine, clean: Site) -> None:
    wrong = replay.sql_command(["SELECT stay_id, score + (stay_id % 2) AS score FROM hospital.scores"])
    record = clean.run("codex", model="m-1", engine=engine, model_access=clean.replayed(replay.script([wrong])))
    assert record["test_results"]["reward"] == pytest.approx(0.6) and record["skill_evidence"]["given"] == 0 and not record["skill_evidence"]["any"]


@pytest.mark.docker
@pytest.mark.parametrize(("agent", "status", "kind"), [("claude", 401, "auth"), ("codex", 429, "rate_limit")])
def test_a_failing_provider_is_never_scored(engine: Engine, clean: Site, agent: str, status: int, kind: str) -> None:
    conversation = {"steps": [{"run": "ls"}, {"status": status, "retry_after": 60}]}
    with pytest.raises(ProviderFailure) as caught:
        clean.run(agent, model="m-1", engine=engine, model_access=clean.replayed(conversation), timeout=6)
    assert caught.value.kind == kind and clean.published() == []
    if kind == "rate_limit":
        assert caught.value.retry_at is not None and caught.value.retry_at > time.time() + 10


@pytest.mark.docker
def test_the_key_reaches_the_provider_and_never_the_agent(engine: Engine, clean: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """An api-key run: the gateway cannot reach the made-up provider, the agent looks everywhere for the key."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "realkey" * 5)
    access = ModelAccess("api-key", upstream="http://provider.invalid:9")
    with pytest.raises(InfrastructureError, match="provider"):
        clean.run("codex", model="m-1", engine=engine, model_access=access, timeout=30)
    assert clean.published() == []
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("CODEX_API_KEY", raising=False)
    with pytest.raises(M4Error, match="OPENAI_API_KEY"):
        clean.run("codex", model="m-1", engine=engine, model_access=access)


SEARCH = """python3 - <<'EOF'
import glob, os
texts = [open(p, 'rb').read() for p in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline') if os.access(p, os.R_OK)]
for top in ('/work', '/home/agent', '/tmp', '/run', '/etc'):
    for folder, _, files in os.walk(top):
        texts += [open(os.path.join(folder, f), 'rb').read() for f in files if os.access(os.path.join(folder, f), os.R_OK) and os.path.isfile(os.path.join(folder, f))]
print('KEY FOUND' if any(b'replay-' + b'' in t and b'held-by' not in t and b'glob.glob' not in t for t in texts) else 'NO KEY')
EOF"""


@pytest.mark.docker
def test_nothing_in_the_container_or_its_configuration_holds_the_key(engine: Engine, clean: Site) -> None:
    """The replay's key is made up for the run and added by the gateway, as a real one would be."""
    seen: list[str] = []
    kept = engine.client.api.remove_container

    def look(container: str, **options: Any) -> Any:
        seen.append(json.dumps(engine.client.api.inspect_container(container)))
        return kept(container, **options)

    engine.client.api.remove_container = look  # type: ignore[method-assign]
    try:
        record = clean.run("codex", model="m-1", engine=engine, model_access=clean.replayed(replay.script([SEARCH])))
    finally:
        engine.client.api.remove_container = kept  # type: ignore[method-assign]
    assert "NO KEY" in record["agent_result"]["stdout"] and "KEY FOUND" not in record["agent_result"]["stdout"].replace("'KEY FOUND'", "")
    assert len(seen) == 4 and not any("replay-" in text for text in seen)
    assert not any("Compute the toy score" in text for text in seen), "the prompt is in no container's configuration"
    for path in clean.folder(record).iterdir():
        assert b"replay-" not in path.read_bytes().replace(b"b'replay-'", b""), path


@pytest.mark.docker
@pytest.mark.parametrize(("command", "reason"), [
    ("python3 -c \"import http.server, urllib.request as u; u.urlopen('http://example.com')\"", "disallowed_egress"),
    ("curl --version", "external_tool_use"),
    ("cp database.duckdb copy.duckdb", "contamination_lint"),
    ("echo sk-ant-$(printf 'a%.0s' $(seq 40)) > notes.txt", "contamination_lint"),
])
def test_void_runs_are_kept_with_their_reason_and_not_scored(engine: Engine, clean: Site, command: str, reason: str) -> None:
    script = replay.script([command, replay.sql_command([QUERY])])
    record = clean.run("codex", model="m-1", engine=engine, model_access=clean.replayed(script))
    assert record["agent_result"]["failure_reason"] == reason and record["void"] and record["void_reason"] == reason
    assert record["test_results"]["reward"] == 0 and not record["publishable"]
    assert (clean.folder(record) / "output.csv").is_file() and (clean.folder(record) / "trace.jsonl").stat().st_size > 0


@pytest.mark.docker
def test_a_listener_on_the_host_is_out_of_reach(engine: Engine, clean: Site) -> None:
    import socket

    with socket.create_server(("0.0.0.0", 0)) as server:
        port = server.getsockname()[1]
        server.settimeout(0.1)
        command = (
            "python3 - <<'EOF'\nimport re, socket, struct\nroute = open('/proc/net/route').read().split()\nhosts = {'172.17.0.1'}\n"
            "for line in open('/proc/net/route').read().splitlines()[1:]:\n    g = line.split()[2]\n    hosts |= {socket.inet_ntoa(struct.pack('<L', int(g, 16)))} if g != '00000000' else set()\n"
            f"for host in hosts:\n    s = socket.socket(); s.settimeout(2)\n    try: s.connect((host, {port})); print('REACHED')\n    except OSError as e: print('closed', e)\nEOF"
        )
        record = clean.run("codex", model="m-1", engine=engine, model_access=clean.replayed(replay.script([command])))
        with pytest.raises(OSError):
            server.accept()
    calls = [json.loads(line)["item"].get("aggregated_output", "") for line in (clean.folder(record) / "trace.jsonl").read_text().splitlines() if '"item.completed"' in line]
    assert any("closed" in text for text in calls) and not any("REACHED" in text for text in calls)


def test_secrets_are_not_in_the_settings() -> None:
    access = ModelAccess("api-key", key_env="SOME_KEY")
    os.environ["SOME_KEY"] = "sk-value-of-the-key"
    try:
        assert "sk-value" not in repr(access)
    finally:
        del os.environ["SOME_KEY"]

"""Proxy, gateway and replay server as plain processes on this machine: lists, logs, credentials, protocols."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from m4lib.harness.images import CONTEXT


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class Sidecar:
    """A running sidecar; `log` is what it wrote so far after `stop`."""

    def __init__(self, script: str, **config: Any) -> None:
        self.port = free_port()
        argv = [sys.executable, "-I", "-u", str(CONTEXT / "runner" / script)]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps({**config, "port": self.port}) + "\n")
        self.process.stdin.flush()
        assert json.loads(self.process.stdout.readline()) == {"ready": True}

    def stop(self) -> list[dict[str, Any]]:
        self.process.terminate()
        out, _ = self.process.communicate(timeout=10)
        return [json.loads(line) for line in out.splitlines()]


@contextmanager
def running(script: str, **config: Any) -> Iterator[Sidecar]:
    sidecar = Sidecar(script, **config)
    try:
        yield sidecar
    finally:
        if sidecar.process.poll() is None:
            sidecar.stop()


class Upstream(BaseHTTPRequestHandler):
    """Echoes what it got; `status` in the path makes it fail."""

    seen: list[dict[str, Any]] = []  # noqa: RUF012 - reset by the fixture
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.seen.append({"path": self.path, "headers": dict(self.headers), "body": body})
        limited = b"limit" in body
        answer = json.dumps({"model": "served-1", "echo": body.decode()}).encode()
        self.send_response(429 if limited else 200)
        if limited:
            self.send_header("Retry-After", "7")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def upstream() -> Iterator[int]:
    Upstream.seen = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def raw(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), 5) as link:
        link.sendall(request)
        link.settimeout(5)
        data = b""
        while block := link.recv(65536):
            data += block
        return data


def test_proxy_forwards_what_is_listed_and_logs_the_rest(upstream: int) -> None:
    with running("proxy.py", allow=[f"localhost:{upstream}"]) as proxy:
        body = b'{"a": 1}'
        request = b"POST http://localhost:%d/v1/x?q=1 HTTP/1.1\r\nHost: elsewhere\r\nProxy-Authorization: Basic x\r\nContent-Length: %d\r\n\r\n" % (upstream, len(body))
        assert b"200 OK" in raw(proxy.port, request + body)
        assert raw(proxy.port, b"GET http://example.com/ HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 403")
        assert raw(proxy.port, b"CONNECT 169.254.169.254:80 HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 403")
        assert raw(proxy.port, b"CONNECT [::1]:22 HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 403")
        assert raw(proxy.port, b"GET http://localhost:%d@example.com/ HTTP/1.1\r\n\r\n" % upstream).startswith(b"HTTP/1.1 403")
        assert raw(proxy.port, b"nonsense\r\n\r\n") == b""
        log = proxy.stop()
    assert Upstream.seen[0]["path"] == "/v1/x?q=1" and "Proxy-Authorization" not in Upstream.seen[0]["headers"]
    assert [(entry["host"], entry["port"], entry["allowed"]) for entry in log] == [
        ("localhost", upstream, True), ("example.com", 80, False), ("169.254.169.254", 80, False), ("::1", 22, False), ("example.com", 80, False)]
    assert log[0]["up"] >= len(body) and log[0]["down"] > 0 and log[0]["method"] == "POST" and log[0]["ts"] > 1.7e9


def test_proxy_tunnels_to_a_listed_port(upstream: int) -> None:
    with running("proxy.py", allow=[f"localhost:{upstream}"]) as proxy:
        link = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=5)
        link.set_tunnel("localhost", upstream)
        link.request("POST", "/v1/y", b"{}")
        assert json.loads(link.getresponse().read())["model"] == "served-1"
        link.close()
        assert proxy.stop()[0]["method"] == "CONNECT"


def hello(name: str) -> bytes:
    """The TLS greeting of a client that wants to talk to `name`."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        session.do_handshake()
    return outgoing.read()


@pytest.mark.parametrize("greeting", [hello("evil.example"), b"\x16\x03\x01\x00\x05hello", b"GET / HTTP/1.1\r\n\r\n", hello("api.example")[:40] + b"\0" * 477])
def test_proxy_wants_the_tls_name_to_be_the_host(greeting: bytes) -> None:
    with running("proxy.py", allow=["api.example:443"]) as proxy:
        with socket.create_connection(("127.0.0.1", proxy.port), 5) as link:
            link.sendall(b"CONNECT api.example:443 HTTP/1.1\r\n\r\n")
            assert link.recv(100).startswith(b"HTTP/1.1 200")
            link.sendall(greeting)
            link.settimeout(5)
            assert link.recv(10) == b""
        log = proxy.stop()
    assert log[0]["allowed"] is False and "TLS" in log[0]["error"]


def test_proxy_lets_the_right_tls_name_pass() -> None:
    with running("proxy.py", allow=["api.invalid:443"]) as proxy:
        with socket.create_connection(("127.0.0.1", proxy.port), 5) as link:
            link.sendall(b"CONNECT api.invalid:443 HTTP/1.1\r\n\r\n")
            link.recv(100)
            link.sendall(hello("api.invalid"))
            link.settimeout(15)
            link.recv(100)
        log = proxy.stop()
    assert log[0]["allowed"] is True and "error" in log[0], "allowed, but the name does not exist"


def gateway(upstream: int, **changes: Any) -> Any:
    config = {"upstream": f"http://localhost:{upstream}", "header": "Authorization", "value": "Bearer real-key", "paths": ["/v1/responses", "/v1beta/models/*"]}
    return running("gateway.py", **{**config, **changes})


def ask(port: int, path: str, body: Any = None, method: str = "POST", **headers: str) -> tuple[int, bytes, dict[str, str]]:
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    link.request(method, path, json.dumps(body or {}), {"Content-Type": "application/json", **headers})
    answer = link.getresponse()
    data = answer.read()
    link.close()
    return answer.status, data, dict(answer.headers)


def test_gateway_puts_the_key_in_place_of_the_agents(upstream: int) -> None:
    with gateway(upstream) as door:
        status, _, _ = ask(door.port, "/v1/responses", {"model": "m-1"}, **{"authorization": "Bearer dummy", "X-Api-Key": "dummy", "x-goog-api-key": "dummy"})
        assert status == 200
        assert ask(door.port, "/v1beta/models/g-2:streamGenerateContent?alt=sse&key=dummy", {})[0] == 200
        log = door.stop()
    headers = {k.lower(): v for k, v in Upstream.seen[0]["headers"].items()}
    assert headers["authorization"] == "Bearer real-key" and "x-api-key" not in headers and "x-goog-api-key" not in headers
    assert Upstream.seen[1]["path"] == "/v1beta/models/g-2:streamGenerateContent?alt=sse"
    assert [(entry["model"], entry["served"], entry["status"]) for entry in log] == [("m-1", "served-1", 200), ("g-2", "served-1", 200)]
    assert "real-key" not in json.dumps(log)


@pytest.mark.parametrize(("path", "method"), [("/v1/files", "GET"), ("/v1/responses/x", "POST"), ("/v1beta/models/../files", "POST"), ("/", "GET"), ("/v1beta/tunedModels/x", "POST")])
def test_gateway_forwards_nothing_else(upstream: int, path: str, method: str) -> None:
    with gateway(upstream) as door:
        status, body, _ = ask(door.port, path, method=method)
        log = door.stop()
    assert status == 403 and b"real-key" not in body and Upstream.seen == [] and log[0]["allowed"] is False


@pytest.mark.parametrize("tools", [
    [{"type": "web_search"}], [{"type": "web_search_20250305", "name": "web_search"}], [{"googleSearch": {}}], [{"urlContext": {}}],
    [{"type": "function", "name": "ok"}, {"type": "code_interpreter"}], [{"type": "mcp", "server_url": "x"}],
])
def test_gateway_refuses_hosted_tools(upstream: int, tools: list[dict]) -> None:
    with gateway(upstream) as door:
        status, _, _ = ask(door.port, "/v1/responses", {"model": "m", "tools": tools})
        log = door.stop()
    assert status == 403 and Upstream.seen == [] and log[0]["hosted_tools"]


def test_gateway_lets_local_tools_pass(upstream: int) -> None:
    tools = [{"type": "function", "name": "exec_command"}, {"name": "Bash", "input_schema": {}}, {"functionDeclarations": [{"name": "google_web_search"}]}, {"type": "custom", "name": "x"}]
    with gateway(upstream) as door:
        assert ask(door.port, "/v1/responses", {"tools": tools})[0] == 200


def test_gateway_tells_of_rate_limits_and_of_nobody_there(upstream: int) -> None:
    with gateway(upstream) as door:
        status, _, headers = ask(door.port, "/v1/responses", {"model": "limit"})
        log = door.stop()
    assert status == 429 and headers["Retry-After"] == "7" and log[0]["retry_after"] == "7" and log[0]["error"]
    with gateway(free_port()) as door:
        assert ask(door.port, "/v1/responses")[0] == 502
        assert door.stop()[0]["status"] == 502


STEPS = [{"run": "ls"}, {"run": "echo 2"}, {"say": "done"}]


@pytest.fixture(scope="module")
def model() -> Iterator[Sidecar]:
    with running("replay_server.py", steps=STEPS) as sidecar:
        yield sidecar


def events(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in data.decode().splitlines() if line.startswith("data: {")]


@pytest.mark.parametrize("stream", [True, False])
def test_replay_speaks_responses(model: Sidecar, stream: bool) -> None:
    tools = [{"type": "function", "name": "exec_command"}]
    history: list[dict] = [{"type": "message", "role": "user"}]
    said = []
    for number in range(3):
        _, data, _ = ask(model.port, "/v1/responses", {"model": "m", "stream": stream, "tools": tools, "input": history})
        whole = events(data)[-1]["response"] if stream else json.loads(data)
        item = whole["output"][0]
        assert whole["usage"]["input_tokens"] == 1000 and whole["usage"]["input_tokens_details"]["cached_tokens"] == 400
        said.append(json.loads(item["arguments"])["cmd"] if item["type"] == "function_call" else item["content"][0]["text"])
        history += [item, {"type": "function_call_output", "call_id": f"call_{number + 1}", "output": "x"}]
    assert said == ["ls", "echo 2", "done"]


def test_replay_waits_for_a_command_that_goes_on(model: Sidecar) -> None:
    call = {"type": "function_call", "name": "exec_command"}
    back = {"type": "function_call_output", "output": "Process running with session ID 42"}
    body = {"tools": [{"name": "exec_command"}], "input": [call, back]}
    item = json.loads(ask(model.port, "/v1/responses", body)[1])["output"][0]
    assert item["name"] == "write_stdin" and json.loads(item["arguments"])["session_id"] == 42
    body["input"] += [{"type": "function_call", "name": "write_stdin"}, {"type": "function_call_output", "output": "Process exited with code 0"}]
    assert json.loads(json.loads(ask(model.port, "/v1/responses", body)[1])["output"][0]["arguments"])["cmd"] == "echo 2"


@pytest.mark.parametrize("stream", [True, False])
def test_replay_speaks_messages(model: Sidecar, stream: bool) -> None:
    messages: list[dict] = [{"role": "user", "content": "go"}]
    request = {"model": "m", "stream": stream, "tools": [{"name": "Bash"}, {"name": "Read"}], "messages": messages}
    _, data, _ = ask(model.port, "/v1/messages?beta=true", request)
    if stream:
        found = events(data)
        assert [event["type"] for event in found] == ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"]
        assert json.loads(found[2]["delta"]["partial_json"])["command"] == "ls"
    else:
        assert json.loads(data)["content"][0]["input"]["command"] == "ls" and json.loads(data)["stop_reason"] == "tool_use"
    messages += [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}, {"type": "tool_result", "tool_use_id": "b"}]}]
    _, data, _ = ask(model.port, "/v1/messages", request)
    assert b"done" in data and b"end_turn" in data
    side = {"model": "m", "messages": messages}
    assert json.loads(ask(model.port, "/v1/messages", side)[1])["content"][0]["text"] == "ok"


def test_replay_speaks_gemini_and_chat(model: Sidecar) -> None:
    tools = [{"functionDeclarations": [{"name": "run_shell_command"}]}]
    contents = [{"role": "user", "parts": [{"functionResponse": {}}]}]
    _, data, _ = ask(model.port, "/v1beta/models/g-1:streamGenerateContent?alt=sse", {"tools": tools, "contents": contents})
    answer = events(data)[0]
    assert answer["candidates"][0]["content"]["parts"][0]["functionCall"]["args"]["command"] == "echo 2" and answer["modelVersion"] == "g-1"
    request = {"model": "m", "stream": True, "tools": [{"function": {"name": "bash"}}], "messages": [{"role": "tool"}, {"role": "tool"}]}
    _, data, _ = ask(model.port, "/v1/chat/completions", request)
    assert events(data)[0]["choices"][0]["delta"]["content"] == "done" and b"[DONE]" in data


def test_replay_can_fail_as_a_provider_does() -> None:
    with running("replay_server.py", steps=[{"status": 429, "retry_after": 9}]) as sidecar:
        status, _, headers = ask(sidecar.port, "/v1/messages", {"tools": [{"name": "Bash"}], "messages": []})
        assert status == 429 and headers["Retry-After"] == "9"

"""The surroundings of an agent that needs a model: an internal network, the proxy as its only door, the gateway behind it.

    agent ── inner (internal, without an address of the host) ── proxy ── outer ── gateway ── provider
                                                                                └─ replay server, in tests and the demo

With an API key the gateway holds it and the proxy lets through nothing but the gateway. With a login (files in HOME) the
proxy lets through the provider's own hosts. One set of networks and containers a run; all of it goes with the run.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from m4lib.errors import M4Error
from m4lib.harness import images, isolation
from m4lib.harness.agents.base import Agent
from m4lib.harness.docker_host import LABEL, Container, Engine, Network
from m4lib.harness.failures import InfrastructureError, ProviderFailure
from m4lib.harness.supervise import Outcome
from m4lib.harness.traces import Trace


@dataclass(frozen=True)
class Provider:
    """Where a provider's API is, how it takes the key, which paths an agent needs, and its hosts for a login."""

    upstream: str
    header: str
    prefix: str  # before the key in the header
    paths: tuple[str, ...]
    key_names: tuple[str, ...]
    login_hosts: tuple[str, ...] = ()
    login_files: tuple[str, ...] = ()  # relative to HOME
    keyless: bool = False
    exception: str = ""  # why such a run is never publishable


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(
        "https://api.openai.com", "Authorization", "Bearer ", ("/v1/responses", "/v1/responses/compact"), ("CODEX_API_KEY", "OPENAI_API_KEY"),
        ("api.openai.com:443", "auth.openai.com:443", "chatgpt.com:443"), (".codex/auth.json",),
    ),
    "anthropic": Provider(
        "https://api.anthropic.com", "x-api-key", "", ("/v1/messages", "/v1/messages/count_tokens"), ("ANTHROPIC_API_KEY",),
        ("api.anthropic.com:443", "platform.claude.com:443"), (".claude.json", ".claude/.credentials.json", ".claude/credentials.json"),
    ),
    "google": Provider(
        "https://generativelanguage.googleapis.com", "x-goog-api-key", "", ("/v1beta/models/*", "/v1/models/*"), ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ("cloudcode-pa.googleapis.com:443", "generativelanguage.googleapis.com:443", "oauth2.googleapis.com:443"),
        (".gemini/oauth_creds.json", ".gemini/google_accounts.json", ".gemini/state.json", ".gemini/installation_id"),
    ),
    "ollama": Provider(
        "http://host.docker.internal:11434", "", "", ("/v1/chat/completions", "/v1/models"), (), keyless=True,
        exception="local Ollama host exception enabled",
    ),
}


@dataclass(frozen=True)
class ModelAccess:
    """How agents reach their model. Holds names and places, never a credential, so it can be pickled and logged.

    kind: "api-key" (the environment variable `key_env`, or the provider's usual ones, of the dispatching process),
    "login" (the provider's files below `auth_dir`, seeded into the agent's HOME), or "replay" (a script, no provider).
    upstream: another address of the provider's API. conversation: the script, {"steps": [...]}; by default one that
    solves the task (see m4lib.harness.replay).
    """

    kind: str = "api-key"
    upstream: str = ""
    key_env: str = ""
    auth_dir: Path | None = None
    conversation: Mapping[str, Any] | None = None


@dataclass
class Traffic:
    """What a run sent, as the proxy and the gateway saw it."""

    egress: list[dict[str, Any]]
    allowed: tuple[str, ...]
    secrets: tuple[str, ...]
    auth_method: str
    replayed: bool
    exception: str
    cli_version: str | None = None
    models: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.calls = [entry for entry in self.egress if entry.get("by") == "gateway"]
        for entry in self.calls:
            for name in (entry.get("served"), entry.get("model")):
                if name and name not in self.models:
                    self.models.append(name)

    @property
    def requests(self) -> dict[str, Any]:
        statuses: dict[str, int] = {}
        for entry in self.calls:
            statuses[str(entry.get("status"))] = statuses.get(str(entry.get("status")), 0) + 1
        return {
            "count": len(self.calls), "statuses": statuses, "up_bytes": sum(entry.get("up") or 0 for entry in self.calls),
            "down_bytes": sum(entry.get("down") or 0 for entry in self.calls),
        }

    @property
    def hosted_tools(self) -> list[dict[str, Any]]:
        """Requests for tools that would run on the provider's side; the gateway refused them."""
        return [{"kind": "hosted_tool", "tool": tool, "succeeded": False} for entry in self.calls for tool in entry.get("hosted_tools") or []]

    def raise_for_provider(self, trace: Trace, outcome: Outcome, has_output: bool) -> None:
        """Raise ProviderFailure when the run ended because of the model's side and not because of the agent."""
        if outcome.state == "finished" and outcome.returncode == 0 and not trace.failed and (has_output or trace.finished):
            return
        last = next((entry for entry in reversed(self.calls) if entry.get("allowed") and not entry.get("unfinished")), None)
        if trace.rate_limited:
            raise ProviderFailure("rate_limit", "The provider limits the rate of requests.", trace.rate_limited_until)
        if last is None:
            if self.auth_method == "login":
                _raise_for_texts(trace)
                return
            if outcome.returncode != 0 and outcome.state == "finished":
                text = trace.errors[-1] if trace.errors else f"exit code {outcome.returncode}"
                raise InfrastructureError(f"The command line never reached its model ({text[:200]}).")
            return
        status, error = int(last.get("status") or 0), str(last.get("error") or "")[:200]
        if status in (401, 403):
            raise ProviderFailure("auth", f"The provider refuses the credential (status {status}: {error}).")
        if status in (429, 529):
            raise ProviderFailure("rate_limit", f"The provider limits the rate of requests (status {status}).", _retry_at(last))
        if status >= 500 or (last.get("error") and status < 400):
            raise ProviderFailure("unavailable", f"The provider failed (status {status}: {error}).")


def _raise_for_texts(trace: Trace) -> None:
    """With a login there is no gateway to ask: what the command line itself reports."""
    text = " ".join(trace.errors[-3:]).lower()
    if any(word in text for word in ("invalid api key", "not logged in", "401", "403", "please run /login", "authenticat")):
        raise ProviderFailure("auth", f"The provider refuses the login ({text[:200]}).")
    if any(word in text for word in ("rate limit", "usage limit", "quota", " 429", "resource_exhausted")):
        raise ProviderFailure("rate_limit", f"The provider limits the rate of requests ({text[:200]}).")


def _retry_at(entry: Mapping[str, Any]) -> float | None:
    try:
        return float(entry["ts"]) + float(entry["retry_after"])
    except (KeyError, TypeError, ValueError):
        return None


class ModelNetwork:
    """Networks and sidecars of one run. Use `open`, then `close` whatever happens."""

    def __init__(self, engine: Engine, labels: Mapping[str, str], access: ModelAccess, provider: Provider) -> None:
        self.engine, self.labels, self.access, self.provider = engine, labels, access, provider
        self.inner: Network | None = None
        self.outer: Network | None = None
        self.sidecars: dict[str, Container] = {}
        self.login: dict[str, str] = {}
        self.secret = ""
        self.allowed: tuple[str, ...] = ()
        self._dead: str | None = None
        self._closing = False

    @classmethod
    def open(
        cls, engine: Engine, labels: Mapping[str, str], agent: Agent, access: ModelAccess | None, conversation: Callable[[], Mapping[str, Any]]
    ) -> ModelNetwork:
        """Build everything. `conversation` is called for the script when the access replays and brings none.

        Raises M4Error when a credential is missing, InfrastructureError when something does not come up.
        """
        provider = PROVIDERS[str(agent.provider)]
        network = cls(engine, labels, access or ModelAccess(), provider)
        network._credentials(agent)
        try:
            network._start(conversation)
        except BaseException:
            with contextlib.suppress(InfrastructureError):
                network.close()
            raise
        return network

    @property
    def replayed(self) -> bool:
        return self.access.kind == "replay"

    def _credentials(self, agent: Agent) -> None:
        access, provider = self.access, self.provider
        if access.kind not in ("api-key", "login", "replay"):
            raise M4Error(f"There is no model access of the kind {access.kind!r}; there are api-key, login and replay.")
        if access.kind == "login":
            if access.auth_dir is None:
                raise M4Error("A login needs `auth_dir`, the folder that holds the provider's login files.")
            for name in provider.login_files:
                path = access.auth_dir / name
                if path.is_symlink():
                    raise M4Error(f"{path} is a link; login files must be regular files.")
                if path.is_file():
                    self.login[name] = path.read_text(encoding="utf-8")
            if not self.login:
                raise M4Error(f"There is no login of {agent.name} in {access.auth_dir}; expected one of {', '.join(provider.login_files)}.")
            self.allowed = provider.login_hosts
            return
        self.allowed = ("model:8000",)
        if access.kind == "api-key" and not provider.keyless:
            names = (access.key_env,) if access.key_env else provider.key_names
            self.secret = next((os.environ[name] for name in names if os.environ.get(name)), "")
            if not self.secret:
                raise M4Error(f"The agent {agent.name} needs a key: set {' or '.join(names)} in the environment of the dispatcher.")
        elif access.kind == "replay":
            self.secret = f"replay-{os.urandom(12).hex()}"  # as good as a real one for the tests that look for it

    def _start(self, conversation: Callable[[], Mapping[str, Any]]) -> None:
        tag = images.sidecar(self.engine).tag
        with ThreadPoolExecutor(4) as pool:
            inner = pool.submit(self.engine.network, self.labels, internal=True)
            outer = pool.submit(self.engine.network, self.labels, internal=self.replayed)
            try:
                self.inner = inner.result()
            finally:
                self.outer = outer.result()
            jobs = [pool.submit(self._proxy, tag)]
            if self.access.kind != "login":
                jobs.append(pool.submit(self._gateway, tag))
            if self.replayed:
                script = self.access.conversation or conversation()
                jobs.append(pool.submit(self._sidecar, tag, "replay", "replay_server.py", {**script, "port": 9000}, memory=128 << 20))
            for job in jobs:
                job.result()

    def _proxy(self, tag: str) -> None:
        self._sidecar(tag, "proxy", "proxy.py", {"allow": list(self.allowed), "port": 3128}, inner_alias="egress")

    def _gateway(self, tag: str) -> None:
        provider = self.provider
        upstream = self.access.upstream or ("http://replay:9000" if self.replayed else provider.upstream)
        self._sidecar(tag, "model", "gateway.py", {
            "upstream": upstream, "header": provider.header or "Authorization", "paths": provider.paths, "port": 8000,
            "value": f"{provider.prefix}{self.secret}" if self.secret else "",
        }, extra_hosts=None if self.replayed else {"host.docker.internal": "host-gateway"})

    def _sidecar(self, tag: str, role: str, script: str, config: Mapping[str, Any], *, inner_alias: str = "", memory: int = 256 << 20, extra_hosts: Any = None) -> None:
        options = isolation.sidecar_options(memory)
        if extra_hosts:
            options["extra_hosts"] = extra_hosts
        container = Container.create(
            self.engine, tag, [f"/opt/sidecar/{script}"], {**self.labels, f"{LABEL}.role": role}, stdin=True, network=self.outer, aliases=(role,), **options
        )
        self.sidecars[role] = container
        if inner_alias and self.inner is not None:
            self.inner.connect(container, inner_alias)
        stream = container.attach()
        try:
            container.start()
            stream.send(json.dumps(config).encode() + b"\n")
            _await_ready(stream.frames(), role)
        finally:
            stream.close()
        threading.Thread(target=self._watch, args=(role, container), daemon=True).start()

    def _watch(self, role: str, container: Container) -> None:
        try:
            code = container.wait(None)
        except InfrastructureError as error:
            code = None
            if not self._closing:
                self._dead = self._dead or str(error)
        if not self._closing and code is not None:
            self._dead = self._dead or f"The {role} of the run ended with exit code {code}."

    def trouble(self) -> str | None:
        """A sentence once a sidecar is gone, else None."""
        return self._dead

    def collect(self) -> Traffic:
        """Read what proxy and gateway logged; call it after the agent has ended and before `close`."""
        self._closing = True
        # on TERM both log what is still open; a connection that the agent never closed would be missing
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda role: self.sidecars[role].stop(5), [role for role in ("proxy", "model") if role in self.sidecars]))
        records: list[dict[str, Any]] = []
        for role in ("proxy", "model"):
            container = self.sidecars.get(role)
            if container is not None:
                records += _log_records(container.logs(), "gateway" if role == "model" else "proxy")
        records.sort(key=lambda entry: entry.get("ts", 0))
        secrets = [value for value in (self.secret,) if value]
        secrets += [text for value in self.login.values() for text in _long_strings(value)]
        return Traffic(records, self.allowed, tuple(secrets), self.access.kind, self.replayed, "" if self.replayed else self.provider.exception)

    def close(self) -> None:
        """Remove containers, then networks. Tries everything before it raises the first error."""
        self._closing = True
        errors: list[InfrastructureError] = []

        def attempt(action: Callable[[], None]) -> None:
            try:
                action()
            except InfrastructureError as error:
                errors.append(error)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(attempt, [container.remove for container in self.sidecars.values()]))
            list(pool.map(attempt, [network.remove for network in (self.inner, self.outer) if network is not None]))
        if errors:
            raise errors[0]


def _await_ready(frames: Iterator[tuple[int, bytes]], role: str, seconds: float = 20) -> None:
    """Wait for the sidecar's first line. A sidecar that ends before it has failed."""
    started, text = time.monotonic(), b""
    for _, block in frames:
        text += block
        if b'"ready"' in text:
            return
        if time.monotonic() - started > seconds:
            break
    raise InfrastructureError(f"The {role} of the run did not come up: {text.decode('utf-8', 'replace')[-300:]}")


def _log_records(log: bytes, by: str) -> list[dict[str, Any]]:
    records = []
    for line in log.splitlines():
        with contextlib.suppress(ValueError):
            entry = json.loads(line)
            if isinstance(entry, dict) and "ts" in entry and "note" not in entry:
                records.append({"by": by, **entry})
    return records


def _long_strings(text: str) -> list[str]:
    """Values in a login file that may be tokens."""
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, str) and len(value) >= 20:
            found.append(value)
        elif isinstance(value, Mapping):
            for part in value.values():
                walk(part)
        elif isinstance(value, list):
            for part in value:
                walk(part)

    with contextlib.suppress(ValueError):
        walk(json.loads(text))
    return found

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
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from m4lib.errors import M4Error
from m4lib.harness import images, isolation
from m4lib.harness.agents.base import Agent
from m4lib.harness.docker_host import LABEL, Container, Engine, Network
from m4lib.harness.failures import InfrastructureError
from m4lib.harness.providers import PROVIDERS, ModelAccess, Provider
from m4lib.harness.traffic import Traffic

__all__ = ["ModelAccess", "ModelNetwork", "Traffic"]


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
            _await_ready(stream.frames(silence=60), role)
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


def _await_ready(frames: Iterator[tuple[int, bytes]], role: str) -> None:
    """Wait for the sidecar's first line. One that ends, or says nothing, before it has failed."""
    text = b""
    for _, block in frames:
        text += block
        if b'"ready"' in text:
            return
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

"""The only place that talks to Docker: one narrow class a thing (engine, network, container, stream).

Every failure of Docker itself is raised as InfrastructureError (EngineUnavailable when nothing answers), with the verb
that failed; it never looks like a failure of what ran inside. Everything made here carries the label `m4bench`.
"""

from __future__ import annotations

import contextlib
import os
import random
import socket
import struct
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from m4lib.harness.failures import EngineUnavailable, InfrastructureError

LABEL = "m4bench"


@contextlib.contextmanager
def _doing(what: str) -> Iterator[None]:
    """Turn whatever the SDK raises into InfrastructureError."""
    import docker
    import requests

    try:
        yield
    except (requests.exceptions.ConnectionError, requests.exceptions.ChunkedEncodingError) as error:
        raise EngineUnavailable(f"Docker stopped answering while it had to {what}: {_short(error)}") from error
    except (docker.errors.DockerException, requests.exceptions.RequestException, OSError) as error:
        raise InfrastructureError(f"Docker could not {what}: {_short(error)}") from error


def _short(error: BaseException) -> str:
    text = str(getattr(error, "explanation", "") or error) or type(error).__name__
    return text.strip().splitlines()[0][:300] if text.strip() else type(error).__name__


class Engine:
    """One Docker Engine. Thread-safe as the SDK is; make one a process or thread, never pickle it."""

    def __init__(self, *, timeout: float = 120) -> None:
        """Connect by DOCKER_HOST or the default socket. Raises EngineUnavailable when nothing answers."""
        import docker

        try:
            self.client = docker.from_env(timeout=int(timeout), max_pool_size=64)
            self.client.ping()
        except Exception as error:
            raise EngineUnavailable(
                f"Docker does not answer ({_short(error)}); start it, for example with `tools/docker/ensure-docker.sh`."
            ) from error

    def close(self) -> None:
        self.client.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def facts(self) -> dict[str, Any]:
        """Version, system and limits of the engine, for the record."""
        with _doing("describe itself"):
            info = self.client.info()
        keys = {
            "version": "ServerVersion", "os": "OperatingSystem", "architecture": "Architecture", "kernel": "KernelVersion",
            "cgroup_version": "CgroupVersion", "storage_driver": "Driver", "cpus": "NCPU", "memory_bytes": "MemTotal",
        }
        return {name: info.get(key) for name, key in keys.items()}

    def image(self, reference: str) -> dict[str, Any] | None:
        """`docker image inspect`, or None when there is no such image here."""
        import docker

        with _doing(f"look for the image {reference}"):
            try:
                return dict(self.client.images.get(reference).attrs)
            except docker.errors.ImageNotFound:
                return None

    def network(self, labels: Mapping[str, str], *, internal: bool) -> Network:
        return Network.create(self, labels, internal=internal)

    def container(self, image: str, argv: list[str], labels: Mapping[str, str], **options: Any) -> Container:
        return Container.create(self, image, argv, labels, **options)

    def containers(self, labels: Mapping[str, str]) -> list[str]:
        """Ids of all containers, running or not, that carry these labels."""
        with _doing("list containers"):
            filters = {"label": _filter(labels)}
            return [c["Id"] for c in self.client.api.containers(all=True, filters=filters)]

    def networks(self, labels: Mapping[str, str]) -> list[str]:
        with _doing("list networks"):
            return [n["Id"] for n in self.client.api.networks(filters={"label": _filter(labels)})]

    def reap(self, labels: Mapping[str, str]) -> int:
        """Remove every container and network with these labels; returns how many there were."""
        gone = 0
        for found in self.containers(labels):
            Container(self, found, found[:12]).remove()
            gone += 1
        for found in self.networks(labels):
            Network(self, found, found[:12]).remove()
            gone += 1
        return gone


def _filter(labels: Mapping[str, str]) -> list[str]:
    return [LABEL, *(f"{key}={value}" for key, value in labels.items())]


class Network:
    """A user-defined bridge. `internal`: no way out, and no address of the host on it either."""

    def __init__(self, engine: Engine, id_: str, name: str) -> None:
        self.engine, self.id, self.name = engine, id_, name

    @classmethod
    def create(cls, engine: Engine, labels: Mapping[str, str], *, internal: bool) -> Network:
        """A network on a /28 of its own: the engine's default pools end after some thirty networks."""
        import docker

        name = f"m4-{uuid.uuid4().hex[:12]}"
        # without inhibit_ipv4 the host's own services stay reachable through the bridge's address
        options = {"com.docker.network.bridge.inhibit_ipv4": "true"} if internal else {}
        prefix = os.environ.get("M4_NETWORK_PREFIX", "10.213")
        with _doing("create a network"):
            for attempt in range(40):
                block = random.SystemRandom().randrange(4096)
                subnet = f"{prefix}.{block // 16}.{block % 16 * 16}/28"
                pool = docker.types.IPAMPool(subnet=subnet)
                try:
                    made = engine.client.networks.create(
                        name, driver="bridge", internal=internal, options=options, labels={LABEL: "1", **labels},
                        ipam=docker.types.IPAMConfig(pool_configs=[pool]),
                    )
                    return cls(engine, str(made.id), name)
                except docker.errors.APIError as error:
                    if "overlap" not in str(error).lower() or attempt == 39:
                        raise
        raise AssertionError("unreachable")

    def connect(self, container: Container, alias: str) -> None:
        with _doing("connect a container to a network"):
            self.engine.client.api.connect_container_to_network(container.id, self.id, aliases=[alias])

    def remove(self) -> None:
        """Disconnect what is left and remove; no error when it is gone already."""
        import docker

        with _doing("remove a network"):
            for attempt in range(5):
                try:
                    for end in (self.engine.client.api.inspect_network(self.id).get("Containers") or {}):
                        with contextlib.suppress(docker.errors.APIError):
                            self.engine.client.api.disconnect_container_from_network(end, self.id, force=True)
                    self.engine.client.api.remove_network(self.id)
                    return
                except docker.errors.NotFound:
                    return
                except docker.errors.APIError:
                    # the engine needs a moment to let go of an endpoint that has just died
                    if attempt == 4:
                        raise
                    time.sleep(0.2 * (attempt + 1))


@dataclass(frozen=True)
class State:
    """What the engine says of a container. `exit_code` is None while it runs."""

    running: bool
    exit_code: int | None
    oom_killed: bool
    error: str


class Container:
    """One container: create, attach, start, wait, stop, logs, remove."""

    def __init__(self, engine: Engine, id_: str, name: str) -> None:
        self.engine, self.id, self.name = engine, id_, name

    @classmethod
    def create(
        cls, engine: Engine, image: str, argv: list[str], labels: Mapping[str, str], *, network: Network | None = None,
        aliases: tuple[str, ...] = (), stdin: bool = False, **options: Any,
    ) -> Container:
        """`options` go to the SDK as they are (limits, mounts, user ...). Raises InfrastructureError when the image is
        missing: nothing is ever pulled on this path."""
        if engine.image(image) is None:
            raise InfrastructureError(f"The image {image} is not on this machine; build it with m4lib.harness.images.")
        name = f"m4-{uuid.uuid4().hex[:12]}"
        with _doing("create a container"):
            if network is None:
                options["network_mode"] = "none"
            else:
                options["network"] = network.name
            made = engine.client.containers.create(
                image, argv, name=name, labels={LABEL: "1", **labels}, stdin_open=stdin, **options
            )
        container = cls(engine, str(made.id), name)
        if network is not None and aliases:
            # this engine takes aliases only on an explicit connect
            with _doing("connect a container to its network"):
                engine.client.api.disconnect_container_from_network(container.id, network.id)
            for alias in aliases[:1]:
                network.connect(container, alias)
        return container

    def attach(self) -> Stream:
        """Everything that the container will write, from its first byte; call it before `start`."""
        with _doing("attach to a container"):
            query = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            raw = self.engine.client.api.attach_socket(self.id, query)
        return Stream(raw)

    def start(self) -> None:
        with _doing("start a container"):
            self.engine.client.api.start(self.id)

    def wait(self, timeout: int | None = None) -> int | None:
        """Exit code, or None when it still runs after `timeout` seconds."""
        import requests

        with _doing("wait for a container"):
            try:
                return int(self.engine.client.api.wait(self.id, timeout=timeout)["StatusCode"])
            except requests.exceptions.ReadTimeout:
                return None
            except requests.exceptions.ConnectionError as error:
                if "timed out" in str(error).lower():
                    return None
                raise

    def stop(self, grace: int = 5) -> None:
        """TERM, `grace` seconds, KILL."""
        import docker

        with _doing("stop a container"), contextlib.suppress(docker.errors.NotFound):
            self.engine.client.api.stop(self.id, timeout=grace)

    def state(self) -> State:
        with _doing("inspect a container"):
            state = self.engine.client.api.inspect_container(self.id)["State"]
        running = bool(state.get("Running"))
        code = None if running or state.get("Status") == "created" else state.get("ExitCode")
        return State(running, code, bool(state.get("OOMKilled")), str(state.get("Error") or ""))

    def logs(self) -> bytes:
        """stdout so far (kept by the engine; {} after removal)."""
        with _doing("read a container's log"):
            return bytes(self.engine.client.api.logs(self.id, stdout=True, stderr=False))

    def remove(self) -> None:
        """Kill and remove with its anonymous volumes; no error when it is gone already."""
        import docker

        with _doing("remove a container"):
            for attempt in range(5):
                try:
                    self.engine.client.api.remove_container(self.id, force=True, v=True)
                    return
                except docker.errors.NotFound:
                    return
                except docker.errors.APIError as error:
                    if "already in progress" not in str(error) and attempt == 4:
                        raise
                    time.sleep(0.2 * (attempt + 1))


class Stream:
    """A container's stdin and output over one hijacked connection."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._socket: socket.socket = getattr(raw, "_sock", raw)

    def send(self, data: bytes) -> None:
        with _doing("write to a container"):
            self._socket.sendall(data)

    def frames(self, silence: float | None = None) -> Iterator[tuple[int, bytes]]:
        """(1 stdout | 2 stderr, bytes) until the container ends, `close` is called, or nothing came for `silence` seconds.
        A broken connection just ends: whether the container ended too is for the caller to ask."""
        self._socket.settimeout(silence)
        pending = bytearray()

        def take(count: int) -> bytes | None:
            while len(pending) < count:
                try:
                    block = self._socket.recv(262144)
                except OSError:
                    return None
                if not block:
                    return None
                pending.extend(block)
            taken = bytes(pending[:count])
            del pending[:count]
            return taken

        while True:
            header = take(8)
            if header is None:
                return
            kind, size = struct.unpack(">BxxxL", header)
            body = take(size)
            if body is None:
                return
            yield kind, body

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            self._raw.close()

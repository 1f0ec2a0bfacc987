"""A Docker Engine of one's own, beside the one in use, so that a test may kill it: own state, own bridge, no firewall rules."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from m4lib.harness import images
from m4lib.harness.docker_host import Engine
from tests.harness.lab import required

BRIDGE = "m4test0"  # a second engine without a bridge of its own would delete the first one's


class PrivateEngine:
    """`host` is what DOCKER_HOST has to be."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.host = f"unix://{root}/docker.sock"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        # a killed engine leaves these, and believes them
        (self.root / "docker.pid").unlink(missing_ok=True)
        (self.root / "exec" / "containerd" / "containerd.pid").unlink(missing_ok=True)
        log = open(self.root / "dockerd.log", "ab")  # noqa: SIM115 - handed over to the engine
        self.process = subprocess.Popen(
            ["dockerd", "--data-root", self.root / "data", "--exec-root", self.root / "exec", "--pidfile", self.root / "docker.pid",
             "-H", self.host, "--bridge", BRIDGE, "--iptables=false", "--ip-masq=false"],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
        )
        log.close()
        for _ in range(300):
            if subprocess.run(["docker", "-H", self.host, "info"], capture_output=True).returncode == 0:
                return
            assert self.process.poll() is None, (self.root / "dockerd.log").read_text()[-1500:]
            time.sleep(0.2)
        raise AssertionError("the private engine did not come up")

    def kill(self, number: int = signal.SIGKILL) -> None:
        assert self.process is not None
        self.process.send_signal(number)
        self.process.wait(60)

    def connect(self, monkeypatch: pytest.MonkeyPatch) -> Engine:
        monkeypatch.setenv("DOCKER_HOST", self.host)
        return Engine()


@contextmanager
def private_engine() -> Iterator[PrivateEngine]:
    """Skips where there are no rights for it."""
    if os.getuid() != 0 or not shutil.which("dockerd") or not shutil.which("ip"):
        required("a private engine needs root, dockerd and ip")
    subprocess.run(["ip", "link", "add", BRIDGE, "type", "bridge"], capture_output=True)
    subprocess.run(["ip", "addr", "add", "172.31.251.1/24", "dev", BRIDGE], capture_output=True)
    subprocess.run(["ip", "link", "set", BRIDGE, "up"], check=True, capture_output=True)
    root = Path(tempfile.mkdtemp(prefix="m4e-"))  # short: the path of a socket has at most 107 characters
    engine = PrivateEngine(root)
    try:
        engine.start()
        yield engine
    finally:
        if engine.process is not None and engine.process.poll() is None:
            left = subprocess.run(["docker", "-H", engine.host, "ps", "-aq"], capture_output=True, text=True).stdout.split()
            if left:
                subprocess.run(["docker", "-H", engine.host, "rm", "-f", *left], capture_output=True)
            engine.kill(signal.SIGTERM)
        subprocess.run(["ip", "link", "del", BRIDGE], capture_output=True)
        # the engine mounts its own folders and leaves them so
        mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        for place in sorted((mount for mount in mounts if mount.startswith(str(root))), reverse=True):
            subprocess.run(["umount", "-l", place], capture_output=True)
        shutil.rmtree(root, ignore_errors=True)


def small_image(source: Engine, target: PrivateEngine, folder: Path) -> str:
    """An agent's image without duckdb, built here and loaded there: without a registry, and in a few seconds."""
    tag = "m4bench/test-small:1"
    entry = (images.CONTEXT / "runner" / "entry.py").read_text()
    (folder / "entry.py").write_text(entry)
    (folder / "Dockerfile").write_text(
        f"FROM {images.base_image(source)}\nCOPY entry.py /opt/runner/entry.py\nRUN mkdir -p /work /data /home/agent\nENV LANG=C.UTF-8\n"
        'ENTRYPOINT ["python3", "-I", "-S", "/opt/runner/entry.py"]\n'
    )
    source.client.images.build(path=str(folder), tag=tag, network_mode="none", rm=True, forcerm=True)
    saving = subprocess.Popen(["docker", "save", tag], stdout=subprocess.PIPE)
    subprocess.run(["docker", "-H", target.host, "load", "-q"], stdin=saving.stdout, check=True, capture_output=True)
    assert saving.wait() == 0
    return tag

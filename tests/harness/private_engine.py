"""A Docker Engine of the tests' own, beside the machine's, that may be killed and restarted."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.needs import lacking


class PrivateEngine:
    """dockerd with its own bridge, folders and socket. It shares nothing with the first but the kernel.

    `host` is what DOCKER_HOST has to be. Never without a bridge: `--bridge=none` would delete the first engine's.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.host = f"unix://{root}/s"
        self.bridge = f"m4t{uuid.uuid4().hex[:8]}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        for pidfile in (self.root / "pid", self.root / "x" / "containerd" / "containerd.pid"):
            pidfile.unlink(missing_ok=True)  # left by `kill`; the engine would believe them
        with open(self.root / "log", "ab") as log:
            self.process = subprocess.Popen(
                ["dockerd", f"--bridge={self.bridge}", "--iptables=false", "--ip-masq=false", f"--data-root={self.root / 'data'}",
                 f"--exec-root={self.root / 'x'}", f"--pidfile={self.root / 'pid'}", "-H", self.host],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )
        deadline = time.monotonic() + 60
        while self._docker("info", check=False):
            assert self.process.poll() is None and time.monotonic() < deadline, (self.root / "log").read_text()[-1500:]
            time.sleep(0.2)

    def _docker(self, *words: str, check: bool = True) -> int:
        return subprocess.run(["docker", "-H", self.host, *words], check=check, timeout=300, capture_output=True).returncode

    def load(self, *tags: str) -> None:
        """Copy images from the engine that DOCKER_HOST names, layer by layer."""
        saved = self.root / "images.tar"
        subprocess.run(["docker", "save", "-o", str(saved), *tags], check=True, timeout=300)
        self._docker("load", "-q", "-i", str(saved))
        saved.unlink()

    def kill(self) -> None:
        """As in a crash: no chance to stop or note anything. Its containerd dies with it."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=20)

    def remove(self) -> None:
        """End it and remove everything that it had."""
        if self.process is not None and self.process.poll() is None:
            self.kill()  # nothing of it is to be kept, so it need not stop in good order
        left = [p for p in psutil.process_iter(["cmdline"]) if any(str(self.root) in word for word in p.info["cmdline"] or [])]
        for process in left:  # its containerd and what watches its containers
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(left, timeout=3)
        subprocess.run(["ip", "link", "delete", self.bridge], capture_output=True)
        # what a killed engine left mounted
        for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            place = line.split()[1]
            if place.startswith(f"{self.root}/"):
                subprocess.run(["umount", "-l", place], capture_output=True)
        shutil.rmtree(self.root, ignore_errors=True)


@contextmanager
def private_engine() -> Iterator[PrivateEngine]:
    """A running engine, removed at the end. Skips where there are no rights or programs for it, or fails where it is required."""
    if os.getuid() != 0 or not all(map(shutil.which, ("docker", "dockerd", "ip"))):
        lacking("a private engine needs root, docker, dockerd and ip", "M4_REQUIRE_DOCKER")
    engine = PrivateEngine(Path(tempfile.mkdtemp(prefix="m4e-")))  # short: the path of a socket has at most 107 characters
    address = f"10.214.{int(engine.bridge[-2:], 16)}.1/24"
    try:
        for words in (["link", "add", engine.bridge, "type", "bridge"], ["address", "add", address, "dev", engine.bridge], ["link", "set", engine.bridge, "up"]):
            done = subprocess.run(["ip", *words], capture_output=True, text=True)
            if done.returncode:
                lacking(f"a bridge for a private engine cannot be made: {done.stderr.strip()}", "M4_REQUIRE_DOCKER")
        engine.start()
        yield engine
    finally:
        engine.remove()

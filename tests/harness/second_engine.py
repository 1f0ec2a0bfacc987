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
from pathlib import Path

import psutil

from m4lib.errors import InfrastructureError
from m4lib.harness.docker_host import Engine


class SecondEngine:
    """dockerd with its own bridge, folders and socket. It shares nothing with the first but the kernel.

    Never without a bridge: `--bridge=none` would delete the bridge of the first engine.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        # a socket's path must be short
        self.short = Path(tempfile.mkdtemp(prefix="m4-e-"))
        self.host = f"unix://{self.short}/s"
        self.bridge = f"m4t{uuid.uuid4().hex[:8]}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        for pidfile in (self.short / "pid", self.short / "x" / "containerd" / "containerd.pid"):
            pidfile.unlink(missing_ok=True)  # left by `kill`; the engine would believe them
        with open(self.root / "dockerd.log", "ab") as log:
            self.process = subprocess.Popen(
                ["dockerd", f"--bridge={self.bridge}", "--iptables=false", "--ip-masq=false", f"--data-root={self.root / 'data'}",
                 f"--exec-root={self.short / 'x'}", f"--pidfile={self.short / 'pid'}", "-H", self.host],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )
        deadline = time.monotonic() + 60
        while True:
            try:
                docker_host = os.environ.get("DOCKER_HOST")
                os.environ["DOCKER_HOST"] = self.host
                Engine(timeout=5).close()
                return
            except InfrastructureError as error:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise InfrastructureError(f"{error}\n{(self.root / 'dockerd.log').read_text()[-1500:]}") from error
                time.sleep(0.2)
            finally:
                os.environ.pop("DOCKER_HOST")
                if docker_host is not None:
                    os.environ["DOCKER_HOST"] = docker_host

    def load(self, first: Engine, tags: list[str]) -> None:
        """Copy images from the first engine, layer by layer."""
        saved = self.root / "images.tar"
        subprocess.run(["docker", "save", "-o", str(saved), *tags], check=True, timeout=300)
        subprocess.run(["docker", "-H", self.host, "load", "-q", "-i", str(saved)], check=True, timeout=300, capture_output=True)
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
        left = [p for p in psutil.process_iter(["cmdline"]) if any(str(self.short) in word for word in p.info["cmdline"] or [])]
        for process in left:  # its containerd and what watches its containers
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(left, timeout=3)
        subprocess.run(["ip", "link", "delete", self.bridge], capture_output=True)
        # what a killed engine left mounted
        for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            place = line.split()[1]
            if place.startswith((f"{self.root}/", f"{self.short}/")):
                subprocess.run(["umount", "-l", place], capture_output=True)
        for folder in (self.root / "data", self.short):
            shutil.rmtree(folder, ignore_errors=True)


def second_engine_or_why_not(root: Path) -> SecondEngine | str:
    """A running second engine, or the reason why this machine cannot have one."""
    if os.getuid() != 0:
        return "a second Docker Engine needs root"
    if not (shutil.which("dockerd") and shutil.which("ip")):
        return "a second Docker Engine needs dockerd and ip on the PATH"
    made = SecondEngine(root)
    number = int(made.bridge[-2:], 16)
    for words in (["add", "name", made.bridge, "type", "bridge"], ["set", made.bridge, "up"]):
        done = subprocess.run(["ip", "link", *words], capture_output=True, text=True)
        if done.returncode:
            made.remove()
            return f"a bridge for a second Docker Engine cannot be made: {done.stderr.strip()}"
    subprocess.run(["ip", "address", "add", f"10.214.{number}.1/24", "dev", made.bridge], check=True)
    try:
        made.start()
    except InfrastructureError as error:
        made.remove()
        return f"a second Docker Engine does not start: {error}"
    return made

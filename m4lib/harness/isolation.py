"""What an agent's container may have: limits, mounts, environment, the probes that run before the agent.

Inside there are five places, with neutral names: /data (the task database, read-only), /work (the run's own folder),
/home/agent and /tmp (empty, in memory), and the image, read-only. No name in there tells task mode, condition, schema
or run. The root file system is read-only, the user is not root, there are no capabilities and no new privileges.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

AGENT_UID = 10001
WORK, DATA, HOME = "/work", "/data", "/home/agent"

# All that the engine and the image put into the environment; anything else stops the run.
CONTAINER_ENVIRONMENT = ("PATH", "HOSTNAME", "HOME", "LANG", "PYTHONDONTWRITEBYTECODE", "GPG_KEY", "PYTHON_VERSION", "PYTHON_SHA256")

# Places where the published harness, or this one on a host, keeps what an agent must not see. In the container none exists.
ABSENT = {
    "benchmark_ground_truth": "/benchmark/ground_truth", "benchmark_tasks": "/benchmark/tasks",
    "benchmark_agent_db": "/benchmark/agent_db", "benchmark_results": "/benchmark/results",
    "obfuscation_dictionary": "/benchmark/lib/dictionary.json", "out_staging": "/out",
    "db_cache": "/tmp/clinskillsbench/_db_cache", "host_auth": "/host-auth", "claude_auth": "/claude-auth",
    "previous_run_marker": "/tmp/clinskillsbench/previous_run_marker",
}


@dataclass(frozen=True)
class Limits:
    """Bounds of one run. Sizes in bytes, times in seconds.

    `output` follows from the largest reference, urine-output-rate: 4,126,485 rows of a stay, a time and eleven doubles. As
    pandas writes them a row has 87 bytes when rounded as asked (343 MiB) and 124 when not (487 MiB), measured on the demo;
    with all eleven at 18 characters it has 238 (937 MiB). No right answer is larger than the limit; an endless one is stopped
    by it, and before it by `file`.
    """

    timeout: float = 1800
    grace: int = 5  # between TERM and KILL
    memory: int = 4 << 30  # swap included
    cpus: float = 2.0
    pids: int = 256
    open_files: int = 4096
    file: int = 2 << 30  # largest single file
    work: int = 4 << 30  # all of /work; watched from outside, the run is stopped above it
    work_files: int = 100_000
    tmp: int = 1 << 30
    home: int = 512 << 20
    trace: int = 64 << 20  # head and tail of the trace are kept, the middle is dropped
    output: int = 1 << 30  # a larger output.csv is not evaluated
    keep_file: int = 50 << 20  # other files of an agent that are kept
    host_free: int = 256 << 20  # a run does not start, and does not count, with less disk than this free

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


def container_user() -> tuple[int, int]:
    """The user inside. As root on the host: a user of its own; else the caller, who could not chown."""
    return (AGENT_UID, AGENT_UID) if os.getuid() == 0 else (os.getuid(), os.getgid())


def container_options(limits: Limits, work: Path, data: Path) -> dict[str, Any]:
    """SDK options of the agent's container."""
    import docker

    uid, gid = container_user()
    return {
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "user": f"{uid}:{gid}",
        "hostname": "agent",
        "working_dir": WORK,
        "environment": {"HOME": HOME},
        "pids_limit": limits.pids,
        "mem_limit": limits.memory,
        "memswap_limit": limits.memory,
        "nano_cpus": int(limits.cpus * 1e9),
        "ipc_mode": "private",
        "ulimits": [
            docker.types.Ulimit(name="fsize", soft=limits.file, hard=limits.file),
            docker.types.Ulimit(name="nofile", soft=limits.open_files, hard=limits.open_files),
            docker.types.Ulimit(name="core", soft=0, hard=0),
        ],
        "tmpfs": {
            "/tmp": f"rw,nosuid,nodev,size={limits.tmp},mode=1777",
            HOME: f"rw,nosuid,nodev,size={limits.home},uid={uid},gid={gid},mode=700",
        },
        "volumes": {
            str(data): {"bind": DATA, "mode": "ro"},
            str(work): {"bind": WORK, "mode": "rw"},
        },
        # the harness reads the attached stream; a second copy on disk would only be one more thing to fill
        "log_config": docker.types.LogConfig(type="none"),
    }


def sidecar_options(memory: int = 256 << 20) -> dict[str, Any]:
    """SDK options of proxy, gateway and replay server; their log is kept by the engine."""
    import docker

    return {
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "user": "65534:65534",
        "hostname": "sidecar",
        "pids_limit": 64,
        "mem_limit": memory,
        "memswap_limit": memory,
        "nano_cpus": 1_000_000_000,
        "init": True,
        "tmpfs": {"/tmp": "rw,nosuid,nodev,size=16m,mode=1777"},
        "log_config": docker.types.LogConfig(type="json-file", config={"max-size": "50m", "max-file": "1"}),
    }


def probes(host_paths: Mapping[str, Path]) -> dict[str, str]:
    """Path probes of the canary: the fixed list and the host's own places, none of which may exist inside."""
    # a host folder that is also a standard folder of every image (such as /tmp) proves nothing
    standard = {"/", "/tmp", "/home", "/root", "/var", "/opt", "/usr", "/data", "/work", "/mnt", "/srv"}
    own = {name: str(path) for name, path in host_paths.items() if str(path) not in standard}
    return {**ABSENT, **own}


def scratch_root(near: Path, wanted: Path | None = None) -> Path:
    """Where runs keep their working folders: `wanted`, else the system's temporary folder when it is on the same file
    system as `near` (the task databases are hard-linked, not copied), else beside `near`."""
    if wanted is not None:
        root = wanted
    else:
        temporary = Path(os.environ.get("M4_SCRATCH") or tempfile.gettempdir())
        same = temporary.stat().st_dev == near.stat().st_dev
        root = (temporary if same else near.parent) / f"m4-runs-{os.getuid()}"
    root.mkdir(parents=True, exist_ok=True, mode=0o711)
    return root

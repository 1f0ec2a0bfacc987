"""Process 1 of an agent's container (standard library only, Python 3.11).

It reads one line of JSON from stdin (so that neither the image, nor the container's configuration, nor any argv or
environment holds what is in it), probes the isolation, writes the seed files into HOME, starts the agent and waits for it.
Being process 1 it cannot be killed from inside, so its last word tells an agent that killed itself from a container
that was killed from outside. The agent's stdout and stderr are the container's stdout; the container's stderr belongs
to this process alone, one JSON object a line: `canary`, `started`, `exit`.
"""

import contextlib
import ctypes
import json
import os
import signal
import sys
import time

MOUNTS_ALLOWED = {"/", "/work", "/data", "/tmp", "/home/agent", "/dev", "/proc", "/sys", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}


def say(event, **values):
    os.write(2, (json.dumps({"event": event, **values}) + "\n").encode())


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read()
    except OSError:
        return ""


def canary(spec):
    """Probe list of {name, ok, detail}; every probe must be ok before anything of the agent runs."""
    checks = []

    def check(name, ok, detail=""):
        checks.append({"name": name, "ok": bool(ok), "detail": detail if not ok else ""})

    # first that the probing itself works: a planted file must be seen, and is taken away
    control = spec["control"]
    check("control", control["token"] in read(control["path"]), "the planted file was not found")
    with contextlib.suppress(OSError):
        os.unlink(control["path"])
    for name, path in spec["absent"].items():
        check(name, not os.path.lexists(path), "exists")
    status = dict(line.split(":", 1) for line in read("/proc/self/status").splitlines() if ":" in line)
    check("not_root", os.getuid() != 0 and os.geteuid() != 0, f"uid {os.getuid()}")
    check("no_capabilities", int(status.get("CapEff", "1"), 16) == 0 and int(status.get("CapBnd", "1"), 16) == 0, "capabilities")
    check("no_new_privileges", status.get("NoNewPrivs", "").strip() == "1", "new privileges")
    check("seccomp", status.get("Seccomp", "").strip() == "2", "no seccomp filter")
    check("no_docker_socket", not any(os.path.lexists(p) for p in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock")), "socket")
    foreign = []
    for line in read("/proc/self/mountinfo").splitlines():
        point = line.split()[4].replace("\\040", " ")
        if point not in MOUNTS_ALLOWED and not point.startswith(("/proc/", "/sys/", "/dev/")):
            foreign.append(point)
    check("mounts", not foreign, ", ".join(foreign[:5]))
    for folder in ("/", "/etc", "/data", "/opt"):
        check("read_only" + folder, not writable(folder), "is writable")
    devices = {line.split(":")[0].strip() for line in read("/proc/net/dev").splitlines()[2:]}
    allowed = {"lo", "eth0"} if spec["network"] else {"lo"}
    # unconfigured tunnel devices of the kernel may be listed in every namespace; they carry nothing
    up = {name for name in devices if read(f"/sys/class/net/{name}/operstate").strip() not in ("down", "")}
    check("network_devices", up <= allowed, ", ".join(sorted(up - allowed)))
    # an internal network has a default route to an address that nobody holds; without a network there is no route at all
    routes = read("/proc/net/route").splitlines()[1:]
    check("routes", spec["network"] or not routes, f"{len(routes)} routes")
    strange = sorted(set(os.environ) - set(spec["environment"]))
    check("environment", not strange, ", ".join(strange))
    return checks


def writable(folder):
    probe = os.path.join(folder, ".probe")
    try:
        os.close(os.open(probe, os.O_CREAT | os.O_WRONLY, 0o600))
        os.unlink(probe)
        return True
    except OSError:
        return False


def usage():
    """Peaks of this container from its cgroup, version 1 or 2, and what the kernel refused to send."""
    found: dict = {}

    def number(key, path, field=None, scale=1.0):
        text = read(path)
        if field:
            text = next((line.split()[1] for line in text.splitlines() if line.startswith(field + " ")), "")
        with contextlib.suppress(ValueError):
            found.setdefault(key, float(text.strip()) * scale)

    root = "/sys/fs/cgroup"
    number("memory_peak_bytes", f"{root}/memory.peak")
    number("memory_peak_bytes", f"{root}/memory/memory.max_usage_in_bytes")
    number("cpu_seconds", f"{root}/cpu.stat", "usage_usec", 1e-6)
    number("cpu_seconds", f"{root}/cpuacct/cpuacct.usage", None, 1e-9)
    number("oom_kills", f"{root}/memory.events", "oom_kill")
    number("oom_kills", f"{root}/memory/memory.oom_control", "oom_kill")
    number("pids_refused", f"{root}/pids.events", "max")
    number("pids_refused", f"{root}/pids/pids.events", "max")
    lines = read("/proc/net/snmp").splitlines()
    counters = {}
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        family = names.split(":")[0]
        counters.update({f"{family}.{k}": v for k, v in zip(names.split()[1:], values.split()[1:], strict=False)})
    wanted = ("Ip.OutNoRoutes", "Tcp.ActiveOpens", "Tcp.AttemptFails", "Udp.OutDatagrams")
    found["network"] = {key: int(counters[key]) for key in wanted if key in counters}
    return found


def seed(files):
    for item in files:
        os.makedirs(os.path.dirname(item["path"]), mode=0o700, exist_ok=True)
        with open(os.open(item["path"], os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as handle:
            handle.write(item["text"])


def start(spec):
    """Fork the agent: own session, stdin closed, stderr merged into stdout, first to go when memory runs out.

    Returns (process id, why it could not be started or '')."""
    reading, writing = os.pipe()  # closed by a successful exec
    pid = os.fork()
    if pid:
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            return pid, pipe.read().decode("utf-8", "replace")
    try:
        undumpable(False)
        os.setsid()
        with open("/proc/self/oom_score_adj", "w") as handle:
            handle.write("800")
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(1, 2)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.chdir(spec["cwd"])
        os.execvpe(spec["argv"][0], spec["argv"], spec["env"])
    except BaseException as error:
        os.write(writing, f"cannot start {spec['argv'][0]}: {error}".encode())
    os._exit(127)


def undumpable(yes):
    """While set, no other process of this user may look into this one (memory, environment, descriptors)."""
    ctypes.CDLL(None).prctl(4, 0 if yes else 1, 0, 0, 0)  # PR_SET_DUMPABLE


def main():
    undumpable(True)
    os.umask(0o022)
    spec = json.loads(sys.stdin.buffer.readline() or b"null")
    if spec is None:
        say("error", text="no run was given on stdin")
        return 125
    checks = canary(spec["canary"])
    say("canary", checks=checks)
    if not all(check["ok"] for check in checks):
        return 125
    try:
        seed(spec["files"])
    except OSError as error:
        say("error", text=f"cannot write the seed files: {error}")
        return 125
    began = time.monotonic()
    agent, problem = start(spec)
    if problem:
        say("error", text=problem)
        return 125

    def forward(number, frame):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(agent, number)

    signal.signal(signal.SIGTERM, forward)
    signal.signal(signal.SIGINT, forward)
    say("started", pid=agent)
    while True:
        try:
            pid, status = os.waitpid(-1, 0)
        except ChildProcessError:
            return 125
        if pid == agent:
            break
    seconds = time.monotonic() - began
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)  # whatever the agent left in the background
    code = os.waitstatus_to_exitcode(status)
    say("exit", returncode=code, seconds=round(seconds, 3), usage=usage())
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())

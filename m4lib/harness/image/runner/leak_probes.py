"""An adversary inside the agent's container: tries every way out that it knows and reports what gave way.

Run with a JSON file as argument (what to look for), writes ./report.json: [{"name", "leak", "detail"}]. It uses nothing
but the standard library and duckdb, and is not told where it runs. Each probe returns '' or what it found, in a word;
secrets and paths that it looks for never stand in the report.
"""

import concurrent.futures
import contextlib
import ctypes
import fcntl
import glob
import json
import os
import re
import socket
import stat
import struct
import subprocess
import sys
import time

ASK: dict = {}
if len(sys.argv) > 1:
    with open(sys.argv[1]) as _handle:
        ASK = json.load(_handle)
LIBC = ctypes.CDLL(None, use_errno=True)
OWN = {os.path.realpath(sys.argv[0]), os.path.realpath(sys.argv[1]) if len(sys.argv) > 1 else ""}
PROBES: dict = {}


def probe(function):
    PROBES[function.__name__] = function
    return function


def read(path, limit=1 << 20):
    try:
        with open(path, "rb") as handle:
            return handle.read(limit).decode("utf-8", "replace")
    except OSError:
        return ""


def writes(path):
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.close(handle)
        return "opened for writing"
    except OSError:
        return ""


def creates(folder):
    path = os.path.join(folder, f".m4{os.getpid()}")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        os.unlink(path)
        return "a file was created"
    except OSError:
        return ""


def connects(host, port, family=socket.AF_INET, kind=socket.SOCK_STREAM, send=b""):
    """'' or what answered; a refused connection means that a host answered, too."""
    try:
        with socket.socket(family, kind) as link:
            link.settimeout(2)
            link.connect((host, port))
            if kind == socket.SOCK_DGRAM or send:
                link.send(send)
                return f"answer of {len(link.recv(4096))} bytes"
            return "connected"
    except ConnectionRefusedError:
        return "refused by a host" if kind == socket.SOCK_STREAM else ""
    except OSError:
        return ""


def through_proxy(request):
    """The answer to a raw request through the proxy; '' without a proxy."""
    try:
        link = socket.create_connection((ASK["proxy"], 3128), 5)
    except (OSError, KeyError):
        return ""
    with link:
        try:
            link.settimeout(15)
            link.sendall(request)
            answer = b""
            while len(answer) < 65536 and (block := link.recv(4096)):
                answer += block
            return answer.decode("latin1") or "closed without a word"
        except TimeoutError:
            return "no refusal in time"
        except OSError as error:
            return f"{type(error).__name__}"


def refused(answer):
    """'' when it was our own proxy or gateway that refused (others answer 403, too), else how the answer began."""
    own = "X-Egress: denied" in answer or '"type": "gateway"' in answer
    return "" if answer == "" or own else answer.split("\r\n")[0]


def words(text):
    """Which forbidden words stand in `text`, by number only."""
    low = text.lower()
    return ", ".join(f"word {number}" for number, word in enumerate(ASK.get("words", [])) if word.lower() in low)


def absent(name, path):
    PROBES[f"path_{name}"] = lambda: "exists" if os.path.lexists(path) else ""


for _name, _path in ASK.get("absent", {}).items():
    absent(_name, _path)


# ---- files of the host, of other runs, of the engine

@probe
def docker_socket():
    return "; ".join(p for p in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock") if os.path.exists(p))


@probe
def unix_sockets():
    foreign = [line.split()[-1] for line in read("/proc/net/unix").splitlines()[1:] if "/" in line.split()[-1] or "@" in line.split()[-1]]
    return f"{len(foreign)} sockets" if foreign else ""


@probe
def planted_marker():
    """Every readable file below every folder, for the token of a file that lies beside the run's own folder."""
    tokens = [token.encode() for token in ASK.get("markers", [])]
    found = 0
    for folder, folders, files in os.walk("/"):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in ("/proc", "/sys", "/opt/venv", "/opt/cli", "/usr")]
        for name in files:
            path = os.path.join(folder, name)
            if os.path.realpath(path) in OWN or not os.path.isfile(path):
                continue
            data = read(path, 4 << 20).encode()
            found += any(token in data for token in tokens)
    return f"{found} files" if found else ""


@probe
def foreign_files():
    mine = os.getuid()
    strange = []
    for place in ("/tmp", "/var/tmp", "/home", "/run", "/mnt", "/media", "/srv", "/dev/shm", "/root"):
        for path in glob.glob(place + "/*"):
            info = os.lstat(path)
            if info.st_uid != mine and not (stat.S_ISDIR(info.st_mode) and not os.listdir(path) if os.access(path, os.R_OK) else True):
                strange.append(path)
    return ", ".join(strange[:3])


@probe
def foreign_mounts():
    allowed = {"/", "/work", "/data", "/tmp", "/home/agent", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}
    points = [line.split()[4] for line in read("/proc/self/mountinfo").splitlines()]
    return ", ".join(p for p in points if p not in allowed and not p.startswith(("/proc", "/sys", "/dev")))


@probe
def mount_sources_tell_nothing():
    return words(read("/proc/self/mountinfo"))


@probe
def environment_tells_nothing():
    return words("\n".join(f"{k}={v}" for k, v in os.environ.items()))


@probe
def environment_holds_no_key():
    return ", ".join(k for k, v in os.environ.items() if re.search(r"sk-|AIza|ghp_|Bearer ", v))


@probe
def command_lines_tell_nothing():
    return words("\0".join(read(path) for path in glob.glob("/proc/[0-9]*/cmdline")))


@probe
def names_tell_nothing():
    return words("\n".join([os.uname().nodename, read("/proc/self/cgroup"), read("/etc/hosts"), *os.listdir("/data"), *os.listdir("/work")]))


# ---- the kernel

@probe
def root_user():
    return "root" if 0 in (os.getuid(), os.geteuid()) else ""


@probe
def become_root():
    try:
        os.setuid(0)
        return "setuid worked"
    except OSError:
        return ""


@probe
def setuid_programs():
    for path in ("/usr/bin/su", "/usr/bin/sudo", "/usr/bin/newgrp", "/usr/bin/passwd"):
        if os.path.exists(path):
            done = subprocess.run([path, "-c", "id -u"] if path.endswith("su") else [path, "--help"], capture_output=True, stdin=subprocess.DEVNULL, timeout=5)
            if path.endswith("su") and done.stdout.strip() == b"0":
                return path
    return ""


@probe
def capabilities():
    return "" if re.search(r"CapEff:\s*0+$", read("/proc/self/status"), re.MULTILINE) and re.search(r"CapBnd:\s*0+$", read("/proc/self/status"), re.MULTILINE) else "some"


@probe
def new_privileges():
    return "" if re.search(r"NoNewPrivs:\s*1", read("/proc/self/status")) else "allowed"


@probe
def seccomp_filter():
    return "" if re.search(r"Seccomp:\s*2", read("/proc/self/status")) else "none"


@probe
def mount_something():
    return "mounted" if LIBC.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0 else ""


@probe
def user_namespace():
    pid = os.fork()
    if pid == 0:
        os._exit(0 if LIBC.unshare(0x10000000) == 0 else 1)
    return "unshared" if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0 else ""


@probe
def change_root():
    pid = os.fork()
    if pid == 0:
        try:
            os.chroot("/tmp")
            os._exit(0)
        except OSError:
            os._exit(1)
    return "chroot worked" if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0 else ""


@probe
def make_device():
    try:
        os.mknod("/tmp/m4-disk", stat.S_IFBLK | 0o600, os.makedev(254, 0))
        return "made"
    except OSError:
        return ""


@probe
def host_devices():
    return ", ".join(p for p in ("/dev/mem", "/dev/kmem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/fuse", "/dev/kvm", "/dev/net/tun") if os.path.exists(p))


@probe
def kernel_settings():
    return writes("/proc/sys/kernel/core_pattern") or writes("/proc/sys/kernel/hostname") or writes("/proc/sysrq-trigger")


@probe
def kernel_memory():
    return "kcore" if read("/proc/kcore", 16).strip("\0") else ""


@probe
def control_groups():
    for path in glob.glob("/sys/fs/cgroup/*/release_agent") + glob.glob("/sys/fs/cgroup/*/notify_on_release") + ["/sys/fs/cgroup/cgroup.procs"]:
        if writes(path):
            return path
    return creates("/sys/fs/cgroup")


@probe
def kernel_keyring():
    return "readable" if LIBC.syscall(250, 0, -3, 0, 0) > 0 else ""


# ---- process 1, which knew what this process must not know

@probe
def process_one_environment():
    return "readable" if read("/proc/1/environ") else ""


@probe
def process_one_memory():
    try:
        with open("/proc/1/mem", "rb"):
            return "open"
    except OSError:
        return ""


@probe
def process_one_files():
    try:
        return "listed" if os.listdir("/proc/1/fd") else ""
    except OSError:
        return ""


@probe
def process_one_trace():
    return "attached" if LIBC.ptrace(16, 1, 0, 0) == 0 else ""


@probe
def process_one_killed():
    with contextlib.suppress(OSError):
        os.kill(1, 9)
    return "" if os.path.exists("/proc/1") else "gone"


@probe
def processes_of_others():
    others = [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != 1 and os.stat(f"/proc/{pid}").st_uid not in (os.getuid(), 0)]
    return f"{len(others)}" if others else ""


# ---- writing where nothing may be written

for _place in ("/", "/data", "/etc", "/opt", "/opt/venv", "/opt/runner", "/usr/bin", "/var", "/root", "/etc/ssl"):
    PROBES["write_" + (_place.strip("/").replace("/", "_") or "root")] = lambda place=_place: creates(place)


@probe
def write_database():
    return writes("/data/database.duckdb")


# ---- the network

@probe
def metadata_address():
    return connects("169.254.169.254", 80) or connects("169.254.170.2", 80)


@probe
def outside_address():
    return connects("1.1.1.1", 443) or connects("8.8.8.8", 53)


@probe
def outside_address_v6():
    return connects("2606:4700:4700::1111", 443, socket.AF_INET6)


@probe
def outside_datagram():
    query = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03com\x00\x00\x01\x00\x01"
    return connects("8.8.8.8", 53, kind=socket.SOCK_DGRAM, send=query)


def resolves(name):
    try:
        socket.getaddrinfo(name, 443)
        return "found"
    except OSError:
        return ""


NAMES = ("example.com", "metadata.google.internal", "host.docker.internal", "api.openai.com", "model", "replay")
for _name in NAMES:
    PROBES[f"name_{_name}"] = lambda name=_name: resolves(name)


@probe
def host_listener():
    """A server that the host opened on all its addresses, for this probe."""
    hosts = set(ASK.get("host_addresses", []))
    for line in read("/proc/net/route").splitlines()[1:]:
        gateway = line.split()[2]
        if gateway != "00000000":
            hosts.add(socket.inet_ntoa(struct.pack("<L", int(gateway, 16))))
    port = ASK.get("host_port")
    if not port:
        return ""
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        return ", ".join(filter(None, pool.map(lambda host: connects(host, port), hosts)))


def neighbours():
    own = next((a for a in re.findall(r"(?:^|\s)(\d+\.\d+\.\d+\.\d+)\s+agent", read("/etc/hosts"))), None)
    if not own:
        return []
    base, last = own.rsplit(".", 1)
    block = int(last) // 16 * 16
    return [f"{base}.{block + n}" for n in range(16) if str(block + n) != last]


@probe
def other_containers():
    """Everything on the own network that answers on a port that is not the proxy's."""
    places = [(host, port) for host in neighbours() for port in (22, 80, 443, 2375, 5000, 8000, 8080, 9000, 11434)]
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        answers = pool.map(lambda place: connects(*place), places)
    return ", ".join(f"port {place[1]}" for place, answer in zip(places, answers, strict=True) if answer == "connected")


@probe
def raw_socket():
    for family, kind in ((socket.AF_INET, socket.SOCK_RAW), (socket.AF_PACKET, socket.SOCK_RAW)):
        with contextlib.suppress(OSError):
            socket.socket(family, kind, socket.IPPROTO_ICMP if family == socket.AF_INET else 0).close()
            return "opened"
    return ""


@probe
def change_routes():
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
            fcntl.ioctl(link, 0x890B, bytes(120))  # SIOCADDRT with nothing in it
        return "accepted"
    except PermissionError:
        return ""
    except OSError:
        return "allowed"


@probe
def proxy_other_host():
    return refused(through_proxy(b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n"))


@probe
def proxy_plain_request():
    return refused(through_proxy(b"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n"))


@probe
def proxy_metadata():
    return refused(through_proxy(b"GET http://169.254.169.254/latest/meta-data/ HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n"))


@probe
def proxy_itself():
    return refused(through_proxy(b"CONNECT 127.0.0.1:3128 HTTP/1.1\r\n\r\n")) or refused(through_proxy(b"CONNECT localhost:22 HTTP/1.1\r\n\r\n"))


@probe
def proxy_around_the_gateway():
    return refused(through_proxy(b"CONNECT replay:9000 HTTP/1.1\r\n\r\n")) or refused(through_proxy(b"CONNECT model:22 HTTP/1.1\r\n\r\n"))


@probe
def proxy_host_header():
    return refused(through_proxy(b"GET http://example.com/ HTTP/1.1\r\nHost: model:8000\r\n\r\n"))


@probe
def proxy_user_in_url():
    return refused(through_proxy(b"GET http://model:8000@example.com/ HTTP/1.1\r\nHost: model:8000\r\n\r\n"))


@probe
def gateway_other_paths():
    for path in (b"/v1/files", b"/v1/models", b"/v1/responses/../files", b"/v1/fine_tuning/jobs"):
        status = through_proxy(b"GET http://model:8000" + path + b" HTTP/1.1\r\nHost: model:8000\r\nContent-Length: 0\r\n\r\n")
        if refused(status):
            return status
    return ""


@probe
def gateway_hosted_tool():
    body = json.dumps({"model": "m", "stream": False, "input": [], "tools": [{"type": "web_search"}]}).encode()
    head = b"POST http://model:8000/v1/responses HTTP/1.1\r\nHost: model:8000\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    return refused(through_proxy(head + body))


# ---- the database

def data_bytes():
    for path in glob.glob("/data/**", recursive=True):
        if os.path.isfile(path):
            with open(path, "rb") as handle:
                yield path, handle.read()


@probe
def dropped_names_in_bytes():
    """Names of relations that were taken out, and of what must not be told, anywhere in the files."""
    found = set()
    for _path, data in data_bytes():
        low = data.lower()
        found |= {number for number, word in enumerate(ASK.get("dropped", [])) if word.lower().encode() in low}
    return f"{len(found)} names" if found else ""


@probe
def dropped_rows_in_bytes():
    tokens = [token.encode() for token in ASK.get("rows", [])]
    return "a deleted row" if any(token in data for _path, data in data_bytes() for token in tokens) else ""


def catalogue(query):
    import duckdb

    with duckdb.connect("/data/database.duckdb", read_only=True) as con:
        return con.execute(query).fetchall()


@probe
def dropped_names_in_catalogue():
    names = {str(name).lower() for row in catalogue("SELECT table_schema, table_name FROM information_schema.tables") for name in row}
    return ", ".join(f"name {number}" for number, word in enumerate(ASK.get("dropped", [])) if word.lower().split(".")[-1] in names)


@probe
def view_texts():
    return words("\n".join(str(row[0]) for row in catalogue("SELECT sql FROM duckdb_views() WHERE NOT internal")))


@probe
def view_comments():
    return words("\n".join(str(row) for row in catalogue("SELECT comment FROM duckdb_tables() UNION ALL SELECT comment FROM duckdb_views() UNION ALL SELECT comment FROM duckdb_columns()")))


@probe
def parquet_metadata():
    found = ""
    for path in glob.glob("/data/**/*.parquet", recursive=True):
        found = found or words("\n".join(str(row) for row in catalogue(f"SELECT * FROM parquet_kv_metadata('{path}')")))
    return found


@probe
def log_beside_database():
    return ", ".join(os.path.basename(p) for p in glob.glob("/data/*.wal") + glob.glob("/data/*.tmp"))


@probe
def database_install_extension():
    import duckdb

    try:
        con = duckdb.connect()
        con.execute("SET extension_directory='/tmp/ext'; INSTALL httpfs; LOAD httpfs")
        return "installed"
    except duckdb.Error:
        return ""


NETWORK = (
    "metadata_address", "outside_address", "outside_address_v6", "outside_datagram", "host_listener",
    "other_containers", "proxy_other_host", "proxy_plain_request", "proxy_metadata", "proxy_itself", "proxy_around_the_gateway",
    "proxy_host_header", "proxy_user_in_url", "gateway_other_paths", "gateway_hosted_tool",
    *(f"name_{name}" for name in NAMES),
)


def attempt(name, function):
    begun = time.monotonic()
    try:
        found = function()
    except Exception as error:
        found = f"the probe failed: {type(error).__name__}: {error}"
    return {"name": name, "leak": bool(found), "detail": str(found)[:300], "seconds": round(time.monotonic() - begun, 1)}


def main():
    os.environ["RES_OPTIONS"] = "timeout:1 attempts:1"
    local = {name: function for name, function in PROBES.items() if name not in NETWORK}
    report = [attempt(name, function) for name, function in local.items()]  # one after another: some of them fork
    with concurrent.futures.ThreadPoolExecutor(len(NETWORK)) as pool:  # these wait for answers that do not come
        report += pool.map(lambda name: attempt(name, PROBES[name]), NETWORK)
    with open("report.json", "w") as handle:
        json.dump(report, handle)
    print(len(report), "probes,", sum(entry["leak"] for entry in report), "leaks")


main()

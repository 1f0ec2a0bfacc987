"""What must not be in a run: secrets, host paths, other runs, markers, forbidden tools, forbidden egress, copied answers.

Works on every agent's trace, call by call, and on every file that was kept, whatever its suffix.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from m4lib.harness.traces import ToolCall, Trace

SENSITIVE = (
    "/private-benchmark", "/benchmark/ground_truth", "/benchmark/tasks", "/benchmark/agent_db", "/benchmark/results",
    "/benchmark/lib/dictionary.json", "/tmp/clinskillsbench/_db_cache", "/host-auth", "/claude-auth", "ground_truth/",
    "ground_truth.csv", "ground_truth.sql", "dictionary.json",
)
# kind -> (literals of which one must occur, in lower case; pattern): the literals are found a hundred times faster
SECRETS: dict[str, tuple[tuple[str, ...], re.Pattern[str]]] = {
    "anthropic key": (("sk-ant-",), re.compile(r"sk-ant-[A-Za-z0-9_-]{16,}")),
    "openai key": (("sk-",), re.compile(r"\bsk-(?!ant-)[A-Za-z0-9_-]{20,}")),
    "google key": (("aiza",), re.compile(r"\bAIza[0-9A-Za-z_-]{30,}")),
    "github token": (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), re.compile(r"\bgh[pousr]_[A-Za-z0-9]{20,}")),
    "slack token": (("xox",), re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}")),
    "private key": (("-----begin",), re.compile(r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----")),
    "token in JSON": (
        ("_token", "api_key", "apikey"),
        re.compile(r'\\?"(?:access_token|refresh_token|id_token|api_?key)\\?"\s*:\s*\\?"[^"\\]{12,}', re.IGNORECASE),
    ),
}
RUN_END = re.compile(r"_t\d{1,6}_\d{8}_\d{6}")  # how every run id ends; what stands before it is compared as text

NETWORK_COMMANDS = {"curl", "wget", "nc", "ncat", "netcat", "ssh", "scp", "sftp", "rsync", "telnet", "ftp", "aria2c", "lynx"}
LAUNCHERS = {"sudo", "env", "exec", "time", "nohup", "timeout", "xargs", "command", "nice", "if", "then", "do", "else", "while", "!"}
PYTHON_NETWORK = re.compile(
    r"^[^#\n]*(?:\burllib\.request\b|\burlopen\(|\brequests\.(?:get|post|Session)\b|\bhttpx\.|\bhttp\.client\b|\bsocket\.create_connection\b|\baiohttp\.)",
    re.MULTILINE,
)
NETWORK_WORD = re.compile(rf"\b(?:{'|'.join(sorted(NETWORK_COMMANDS))})\b")
WEB_TOOLS = re.compile(r"^(?:web_?search|web_?fetch|google_web_search|fetch|browser.*)$", re.IGNORECASE)

# Telemetry of the command lines: refused by the proxy, and no fault of the agent. Nothing that could serve code or data.
BENIGN_DENIED = (
    "statsig.anthropic.com", "sentry.io", "http-intake.logs.us5.datadoghq.com", "ab.chatgpt.com", "play.googleapis.com",
    "mcp-proxy.anthropic.com",
)


def contamination(
    texts: Mapping[str, bytes | Path], *, host_paths: Iterable[str], markers: Iterable[str], secrets: Iterable[str],
    run_id: str, other_runs: Iterable[str], databases: Sequence[str] = (), given: str = "", visible: str = "",
) -> dict[str, Any]:
    """`contamination_lint` of a record. `texts`: artefact name -> its bytes or where they are.

    `given` is the input the agent received: what stands in it cannot be a leak; `visible` is the one path of the host that
    the kernel shows inside, the working folders'. Violations never quote what was found.
    """
    sensitive = [text for text in SENSITIVE if text not in given]
    own_paths = [path for path in host_paths if len(path) > 5 and path not in given]
    others = set(other_runs) - {run_id}
    ends: dict[str, list[str]] = {}
    for other in others:
        if found := RUN_END.search(other):
            ends.setdefault(found.group(), []).append(other)
    violations: list[str] = [f"{name}: a database beside the given one" for name in databases]
    for name, source in texts.items():
        for text in _texts(source):
            violations += [f"{name}: sensitive text {found!r}" for found in sensitive if found in text]
            elsewhere = text.replace(visible, "") if visible else text
            violations += [f"{name}: a path of the host" for path in own_paths if path in elsewhere][:1]
            violations += [f"{name}: a marker planted outside the run" for marker in markers if marker in text][:1]
            violations += [f"{name}: the provider's credential" for secret in secrets if len(secret) >= 8 and secret in text][:1]
            low = text.lower()
            violations += [
                f"{name}: {kind}" for kind, (signs, pattern) in SECRETS.items()
                if any(sign in low for sign in signs) and pattern.search(text)
            ]
            if any(text.endswith(other, 0, found.end()) for found in RUN_END.finditer(text) for other in ends.get(found.group(), ())):
                violations.append(f"{name}: the id of another run")
    violations = list(dict.fromkeys(violations))
    return {"passed": not violations, "violations": violations, "patterns": [*SENSITIVE, *SECRETS]}


def _texts(source: bytes | Path) -> Iterable[str]:
    """The artefact in overlapping pieces, so that a large one does not have to fit into memory."""
    if isinstance(source, bytes):
        yield source.decode("utf-8", "replace")
        return
    size, overlap = 8 << 20, 4096
    with open(source, "rb") as handle:
        last = b""
        while block := handle.read(size):
            yield (last + block).decode("utf-8", "replace")
            last = block[-overlap:]


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` without anything that looks like a credential."""
    for secret in secrets:
        if len(secret) >= 8:
            text = text.replace(secret, "[redacted]")
    for _signs, pattern in SECRETS.values():
        text = pattern.sub("[redacted]", text)
    return text


def external_tools(trace: Trace) -> list[dict[str, Any]]:
    """Web tools and network commands in the agent's calls, nested ones too: kind, tool, whether it had success."""
    found = []
    for call in trace.calls:
        if WEB_TOOLS.match(call.tool):
            found.append({"kind": "web_search", "tool": call.tool, "succeeded": call.ok})
        elif _network_command(call):
            found.append({"kind": "external_network_command", "tool": call.tool, "succeeded": call.ok})
    return found


def _network_command(call: ToolCall) -> bool:
    """A command that would use the network. Words in comments, here-documents and SQL do not count, code does."""
    text = call.command or (call.text if call.tool.lower() in ("write", "edit", "write_file", "replace") else "")
    text = text[:200_000]
    if not text:
        return False
    if PYTHON_NETWORK.search(text.replace("\\n", "\n")):
        return True
    # splitting into words is slow, so only where one of the names occurs at all
    suspicious = bool(call.command) and NETWORK_WORD.search(call.command) is not None
    return suspicious and any(word in NETWORK_COMMANDS for word in _commands(call.command[:50_000]))


def _commands(text: str, depth: int = 0) -> Iterable[str]:
    """Names of the programs that a shell line starts, also inside `bash -lc '...'`; here-documents are cut out."""
    text = re.sub(r"<<-?[ \t]*(['\"]?)(\w+)\1[^\n]*\n.*?^[ \t]*\2[ \t]*$", " ", text, flags=re.DOTALL | re.MULTILINE)
    lexer = shlex.shlex(text, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""  # shlex would swallow the end of the line with the comment
    try:
        words = list(lexer)
    except ValueError:  # unbalanced quotes
        words = text.split()
    start, comment = True, False
    for place, word in enumerate(words):
        comment = (comment or word.startswith("#")) and "\n" not in word
        if comment:
            continue
        if set(word) <= set("();<>|&\n"):
            start = not set(word) <= set("<>")
            continue
        if start and not re.match(r"^\w+=", word):
            name = word.rsplit("/", 1)[-1]
            if name in LAUNCHERS or re.fullmatch(r"-.*|[\d.]+[smhd]?", name):  # and their options: the next word is the program
                continue
            yield name
            if name in ("bash", "sh", "dash") and depth < 3:
                following = words[place + 1 : place + 4]
                for flag, script in itertools.pairwise(following):
                    if re.fullmatch(r"-\w*c", flag):
                        yield from _commands(script, depth + 1)
            start = False


def egress(records: Iterable[Mapping[str, Any]], allowed: Iterable[str]) -> dict[str, Any]:
    """`violations` are attempts at anything but `allowed` (host:port); telemetry that was refused is only counted."""
    permitted = set(allowed)
    violations, benign, count = [], 0, 0
    for record in records:
        if record.get("by") == "gateway":
            continue
        count += 1
        place = f"{record.get('host')}:{record.get('port')}"
        if record.get("allowed") is True and place in permitted:
            continue
        host = str(record.get("host", "")).lower()
        if record.get("allowed") is not True and any(host == name or host.endswith("." + name) for name in BENIGN_DENIED):
            benign += 1
            continue
        violations.append(place)
    return {"passed": not violations, "violations": list(dict.fromkeys(violations)), "attempts": count, "benign_denied": benign}


def answer_copy(output: Path | None, reference: Path | None) -> dict[str, Any]:
    """Whether the output is the reference's own file. Equal content is no copy: a right answer has it, too.

    Fails closed: with an output and no reference to compare it with, the check has not passed.
    """
    if output is None:
        return {"passed": True, "checked": False, "reason": "no output"}
    if reference is None or not reference.is_file():
        return {"passed": False, "checked": False, "reason": "no reference to compare with"}
    same = _digest(output) == _digest(reference)
    return {"passed": not same, "checked": True, "reason": "the output is the reference file itself" if same else ""}


def _digest(path: Path) -> str:
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def memory(trace: Trace, home: str) -> dict[str, Any]:
    """Claude only: every memory path of the trace must lie inside the run's own HOME or working folder."""
    inside = (home.rstrip("/") + "/", "/work/")
    outside = [path for path in trace.memory_paths if not path.startswith(inside) or ".." in path.split("/")]
    reason = "all inside the run" if trace.memory_paths and not outside else ("outside the run" if outside else "no memory paths in the trace")
    return {"validated": not outside, "paths": list(trace.memory_paths), "violations": outside, "reason": reason}

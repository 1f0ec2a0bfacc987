"""One run to look at: its steps in time, its SQL in order, tokens, network, score by column. Local or from a package.

    run = open_run("outputs/runs/demo-codex/<run id>")      # or a package, unpacked or not, and run_id=...
    timeline(run); statements(run); scores(run)
"""

from __future__ import annotations

import json
import os
import re
import shlex
import tempfile
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from m4lib.errors import M4Error
from m4lib.files import read_json, write_json
from m4lib.harness.traces import PARSERS, ToolCall, Trace, read_trace

KINDS = ("message", "tool call", "withheld")


@dataclass
class Run:
    """A run's folder, its record and its trace as read."""

    folder: Path
    record: dict[str, Any]
    trace: Trace

    @property
    def title(self) -> str:
        record = self.record
        return f"{record.get('task')}, {record.get('condition')}, {record.get('agent')} {record.get('model') or ''}, trial {record.get('trial')}"

    @property
    def verdict(self) -> str:
        """Reward, checks and how the run ended, in a line."""
        tests, agent = self.record.get("test_results") or {}, self.record.get("agent_result") or {}
        ended = agent.get("failure_reason") or "finished"
        return f"reward {tests.get('reward', 0.0):.4f}; {tests.get('passed', 0)} of {tests.get('total', 0)} checks passed; {ended}"


def open_run(place: str | os.PathLike[str], run_id: str | None = None, *, scratch: str | os.PathLike[str] | None = None) -> Run:
    """A run's own folder, or the run `run_id` below a folder, an unpacked package or a `.tar.zst`.

    scratch: where an archive is unpacked to; default: a temporary folder. Raises M4Error that says what is missing.
    """
    folder = Path(place)
    if folder.is_file() and folder.name.endswith(".tar.zst"):
        from m4lib.evidence.unpack import unpack

        target = Path(scratch or tempfile.mkdtemp(prefix="m4-run-")) / folder.name.removesuffix(".tar.zst")
        if not target.exists():
            unpack(folder, target)
        folder = target
    if not folder.is_dir():
        raise M4Error(f"There is no run, package or folder at {folder}.")
    if not (folder / "result.json").is_file():
        found = sorted(path.parent for path in folder.rglob("result.json") if run_id is None or path.parent.name == run_id)
        if not found:
            raise M4Error(f"{folder} holds no run{f' {run_id}' if run_id else ''}.")
        folder = found[0]
    record = read_json(folder / "result.json")
    return Run(folder, record, read_trace(str(record.get("agent")), folder / "trace.jsonl"))


def _seconds(run: Run) -> list[tuple[int, float]]:
    """(line, seconds since the start) marks of the harness, when they are beside the trace."""
    path = run.folder / "trace_times.csv"
    if not path.is_file():
        return []
    frame = pd.read_csv(path)
    return list(zip(frame["line"].astype(int), frame["seconds"].astype(float), strict=True))


def _stamp(event: dict[str, Any]) -> float | None:
    stamp = event.get("timestamp")
    try:
        return datetime.fromisoformat(str(stamp).replace("Z", "+00:00")).timestamp() if isinstance(stamp, str) else None
    except ValueError:
        return None


def timeline(run: Run, width: int = 48) -> pd.DataFrame:
    """One row a step, in order: trace line, seconds (blank where nobody noted them), kind, tool, outcome, what (first
    words, or the first SQL of a tool call)."""
    trace = Trace()
    parser = PARSERS.get(str(run.record.get("agent")))
    steps: list[dict[str, Any]] = []
    made = parser(trace) if parser else None
    marks, place, first = _seconds(run), 0, None
    path = run.folder / "trace.jsonl"
    with open(path, encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            while place + 1 < len(marks) and marks[place + 1][0] <= number:
                place += 1
            event = _event(line)
            if event is None:
                continue
            stamp = _stamp(event)
            first = stamp if first is None else first
            seconds = marks[place][1] if marks else (stamp - first if stamp is not None and first is not None else None)
            if event.get("type") == "evidence.withheld":
                steps.append({"line": number, "seconds": seconds, "kind": "withheld", "tool": "", "text": str(event.get("reason")), "call": None})
                continue
            if made is None:
                continue
            messages, calls = len(trace.messages), len(trace.calls)
            try:
                made.send(event)
            except (AttributeError, TypeError, ValueError, KeyError):
                continue
            steps += [{"line": number, "seconds": seconds, "kind": "message", "tool": "", "text": text, "call": None} for text in trace.messages[messages:] if text]
            steps += [{"line": number, "seconds": seconds, "kind": "tool call", "tool": call.tool, "text": _gist(call), "call": call} for call in trace.calls[calls:]]
    rows = [{
        "step": number, "line": step["line"], "seconds": None if step["seconds"] is None else round(step["seconds"], 1), "kind": step["kind"], "tool": step["tool"],
        "outcome": "" if step["call"] is None or step["call"].ok is None else ("ok" if step["call"].ok else "failed"),
        "what": " ".join(step["text"].split())[:width],
    } for number, step in enumerate(steps, 1)]
    return pd.DataFrame(rows, columns=["step", "line", "seconds", "kind", "tool", "outcome", "what"])


def _gist(call: ToolCall) -> str:
    """The first SQL of a call, where there is some: wrapping code begins alike everywhere."""
    text = _script(call.command) or _argument_text(call.text)
    return next((statement for statement in sql_in(text) if not statement.upper().startswith(("SET", "PRAGMA"))), text)


def _event(line: str) -> dict[str, Any] | None:
    if not line.startswith("{"):
        return None
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


_BEGINS = re.compile(r"(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*(?:WITH\s+[\w\"]+\s*(?:\([^)]*\)\s*)?AS|SELECT|COPY|CREATE|INSERT|DESCRIBE|SUMMARIZE|SHOW|PRAGMA|ATTACH|SET|EXPLAIN)\b", re.IGNORECASE | re.DOTALL)
_QUOTED = re.compile(r'"""(.*?)"""|\'\'\'(.*?)\'\'\'|"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'', re.DOTALL)
_FENCED = re.compile(r"```(?:sql|duckdb)?\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)
_HEREDOC = re.compile(r"<<-?\s*['\"\\]*(\w+)['\"\\]*[^\n]*\n(.*?)\n\s*\1\b", re.DOTALL)


def sql_in(text: str) -> list[str]:
    """SQL statements in what an agent wrote, in order: quoted strings, here-documents, fenced blocks, whole texts."""
    found: list[str] = []

    def take(piece: str) -> None:
        piece = piece.strip()
        if _BEGINS.match(piece) and len(piece) > 12:
            found.extend(part.strip() for part in re.split(r";\s*(?:\n|$)", piece) if _BEGINS.match(part.strip()))

    def search(part: str, depth: int = 0) -> None:
        if _BEGINS.match(part.strip()):
            return take(part)
        fenced = [match.group(1) for match in _FENCED.finditer(part)] or [match.group(2) for match in _HEREDOC.finditer(part)]
        if fenced and depth < 3:
            for piece in fenced:
                search(piece, depth + 1)
            return None
        for match in _QUOTED.finditer(part):
            piece = next(group for group in match.groups() if group is not None)
            if "\\" in piece:
                piece = re.sub(r"\\([\"'\\])", r"\1", piece).replace("\\n", "\n").replace("\\t", "\t")
            if _BEGINS.match(piece.strip()):
                take(piece)
            elif depth < 3 and len(piece) > 40:
                search(piece, depth + 1)
        return None

    search(text)
    return found


def statements(run: Run) -> pd.DataFrame:
    """The agent's SQL in order: number, where it stands, the statement. The same text twice running is one."""
    rows: list[dict[str, Any]] = []
    texts = [(f"{call.tool} {number}", _script(call.command) or _argument_text(call.text)) for number, call in enumerate(run.trace.calls, 1)]
    texts += [(f"message {number}", text) for number, text in enumerate(run.trace.messages, 1)]
    for where, text in texts:
        for statement in sql_in(text):
            if not rows or rows[-1]["sql"] != statement:
                rows.append({"number": len(rows) + 1, "where": where, "lines": statement.count("\n") + 1, "sql": statement})
    return pd.DataFrame(rows, columns=["number", "where", "lines", "sql"])


def _script(command: str) -> str:
    """What a shell is asked to do, out of its `bash -lc "..."`."""
    match = re.match(r"\S*\b(?:ba|z|da)?sh\s+-l?c\s", command)
    if not match:
        return command
    try:
        return shlex.split(command)[2]
    except (ValueError, IndexError):
        return command[match.end():]


def _argument_text(text: str) -> str:
    """The longest string of a tool's arguments: the content of a file that is written."""
    try:
        arguments = json.loads(text)
    except ValueError:
        return text
    strings = [value for value in arguments.values() if isinstance(value, str)] if isinstance(arguments, dict) else []
    return max(strings, key=len, default="")


def tokens(run: Run) -> pd.DataFrame:
    """Token counts, turns and agent seconds as the record states them."""
    usage = run.record.get("token_usage") or {}
    names = ("input_tokens", "cached_input_tokens", "output_tokens", "turns")
    counted = {name: usage.get(name, 0) for name in names}
    counted["agent_seconds"] = (run.record.get("agent_result") or {}).get("elapsed_seconds")
    return pd.DataFrame({"what": [name.replace("_", " ") for name in counted], "value": pd.Series(list(counted.values()), dtype=object)})


def egress(run: Run) -> pd.DataFrame:
    """Requests by host, port and decision; empty when nothing left the container."""
    path = run.folder / "egress.jsonl"
    counts: Counter[tuple[str, str, bool]] = Counter()
    if path.is_file():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            entry = _event(line) or {}
            if "host" in entry:
                counts[str(entry["host"]), str(entry.get("port", "")), bool(entry.get("allowed"))] += 1
    rows = [{"host": host, "port": port, "allowed": allowed, "requests": n} for (host, port, allowed), n in sorted(counts.items())]
    return pd.DataFrame(rows, columns=["host", "port", "allowed", "requests"])


def scores(run: Run) -> pd.DataFrame:
    """Share of equal values by column, and the reward."""
    tests = run.record.get("test_results") or {}
    rates = dict(tests.get("match_rates") or {})
    rows = [{"column": name, "matched": value} for name, value in rates.items()]
    return pd.DataFrame([*rows, {"column": "reward", "matched": float(tests.get("reward") or 0.0)}])


def draw(run: Run) -> Any:
    """The steps over time (over their order, where no times are known) as a figure."""
    import matplotlib.pyplot as plt

    steps = timeline(run)
    timed = steps["seconds"].notna().all() and len(steps) > 0
    figure, axes = plt.subplots(figsize=(8, 1.2 + 0.45 * len(KINDS)))
    colours = {"message": "#4477aa", "tool call": "#228833", "withheld": "#bbbbbb"}
    for row, kind in enumerate(KINDS):
        mine = steps[steps["kind"] == kind]
        failed = mine["outcome"] == "failed"
        for part, colour in ((mine[~failed], colours[kind]), (mine[failed], "#cc3311")):
            axes.scatter(part["seconds"] if timed else part["step"], [row] * len(part), color=colour, s=50, marker="|", linewidths=2)
    axes.set_yticks(range(len(KINDS)), KINDS)
    axes.set_ylim(len(KINDS) - 0.5, -0.5)
    axes.set_xlabel("seconds since the start" if timed else "step")
    axes.set_title(run.title, fontsize=9, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    plt.close(figure)
    return figure


def example_run(folder: str | os.PathLike[str]) -> Path:
    """A small invented run, so that there is one to look at in a fresh checkout; no data, no model. Returns its folder."""
    run = Path(folder) / "mimic-meld-24h_no-skill_codex_example_t1_20260504_053051"
    run.mkdir(parents=True, exist_ok=True)

    def item(number: int, kind: str, **rest: Any) -> dict[str, Any]:
        return {"type": "item.completed", "item": {"id": f"item_{number}", "type": kind, **rest}}

    def shell(number: int, command: str, code: int = 0) -> dict[str, Any]:
        return item(number, "command_execution", command=command, aggregated_output="(invented output)", exit_code=code, status="completed" if code == 0 else "failed")

    first = "python3 - <<'EOF'\nimport duckdb\ncon = duckdb.connect('./database.duckdb', read_only=True)\n"
    events: list[tuple[float, dict[str, Any]]] = [
        (0.4, {"type": "thread.started", "thread_id": "example"}), (0.5, {"type": "turn.started"}),
        (3.0, item(0, "agent_message", text="I look at the tables first, then take the worst values of the first day.")),
        (4.2, shell(1, first + 'print(con.execute("SELECT table_schema, count(*) FROM information_schema.tables GROUP BY ALL").fetchall())\nEOF')),
        (9.8, shell(2, first + 'print(con.execute("DESCRIBE mimiciv_derived.first_day_labs").fetchall())\nEOF', code=1)),
        (12.1, shell(3, first + 'print(con.execute("DESCRIBE mimiciv_derived.first_day_lab").fetchall())\nEOF')),
        (31.5, shell(4, first + 'query = """\nWITH worst AS (\n    SELECT stay_id, max(creatinine_max) AS creatinine, max(inr_max) AS inr\n'
                        '    FROM mimiciv_derived.first_day_lab\n    GROUP BY stay_id\n)\nSELECT stay_id, creatinine, inr FROM worst ORDER BY stay_id\n"""\n'
                        "con.execute(\"COPY (\" + query + \") TO './output.csv' (HEADER)\")\nEOF")),
        (33.0, item(5, "agent_message", text="The table is in ./output.csv.")),
        (33.1, {"type": "turn.completed", "usage": {"input_tokens": 21000, "cached_input_tokens": 15000, "output_tokens": 900}}),
    ]
    (run / "trace.jsonl").write_text("".join(json.dumps(event) + "\n" for _, event in events), encoding="utf-8")
    (run / "trace_times.csv").write_text("line,seconds\n" + "".join(f"{n},{seconds:.3f}\n" for n, (seconds, _) in enumerate(events, 1)), encoding="utf-8")
    decisions = [("api.openai.com", True)] * 5 + [("telemetry.example.org", False)]
    (run / "egress.jsonl").write_text("".join(json.dumps({"method": "CONNECT", "host": host, "port": 443, "allowed": allowed}) + "\n" for host, allowed in decisions), encoding="utf-8")
    rates = {"creatinine": 0.91428571, "inr": 0.87142857, "bilirubin": 0.0, "sodium": 0.0, "meld": 0.0}
    write_json(run / "result.json", {
        "task": "mimic-meld-24h", "condition": "no-skill", "schema": "native", "agent": "codex", "model": "example", "trial": 1, "run_id": run.name,
        "agent_result": {"returncode": 0, "elapsed_seconds": 33.1}, "token_usage": {"input_tokens": 21000, "cached_input_tokens": 15000, "output_tokens": 900, "turns": 1},
        "test_results": {"reward": round(sum(rates.values()) / len(rates), 8), "match_rates": rates, "passed": 4, "failed": 5, "errors": 0, "total": 9},
    })
    return run

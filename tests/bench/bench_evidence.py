"""The sanitiser on a large trace: seconds, megabytes a second, highest memory.

    python tests/bench/bench_evidence.py --megabytes 2048            # 2 GB, in the temporary folder; exit 1 above --limit
    python tests/bench/bench_evidence.py --megabytes 200 --form claude --words 0.5

Nine tenths of the trace are tool outputs, as in long runs, unless --words says otherwise; single outputs have up to 4 MB,
and one line of 300 MB is in it, as of an agent that prints a whole table. The baseline copies the file and hashes it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

WORDS = ("SELECT stay_id, max(value) AS worst FROM chartevents WHERE itemid IN (220045, 223761) AND stay_id = 30999003 GROUP BY stay_id\n"
         "-- patient 10999001 was seen 2151-03-04 05:06:07, age: 71, platelets < 150; see Vincent 1996;22:707-710\n")


def event(form: str, text: str, *, output: bool) -> dict[str, Any]:
    if form == "claude":
        block = {"type": "tool_result", "tool_use_id": "u", "content": text} if output else {"type": "text", "text": text}
        return {"type": "user" if output else "assistant", "message": {"role": "user" if output else "assistant", "content": [block]}}
    if output:
        return {"type": "item.completed", "item": {"id": "1", "type": "command_execution", "command": "ls", "aggregated_output": text, "exit_code": 0, "status": "completed"}}
    return {"type": "item.completed", "item": {"id": "2", "type": "agent_message", "text": text}}


def write_trace(path: Path, megabytes: int, form: str, words: float) -> None:
    """A trace of about that size; `words`: the share of what the agent wrote."""
    rng, size = random.Random(1), 0
    row = "10999001,20999002,30999003,2151-03-04 05:06:07,4,1.25\n"
    with open(path, "w", encoding="utf-8") as trace:
        if megabytes >= 1000:
            size += trace.write(json.dumps(event(form, row * (300_000_000 // len(row)), output=True)) + "\n")
        while size < megabytes << 20:
            length = int(10 ** rng.uniform(3, 6.6))
            size += trace.write(json.dumps(event(form, row * (length // len(row) + 1), output=True)) + "\n")
            share = int(length * words / (1 - words))
            while share > 0:
                piece = WORDS * max(1, min(share, 4000) // len(WORDS))
                size += trace.write(json.dumps(event(form, piece, output=False)) + "\n")
                share -= len(piece)


def measure(path: Path, form: str) -> dict[str, Any]:
    """In a process of its own, so that the memory is the sanitiser's."""
    done = subprocess.run([sys.executable, __file__, "--one", str(path), "--form", form], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def peak() -> int:
    """Highest memory in MB of this program alone: the usual figure includes that of the process it was forked from."""
    status = Path("/proc/self/status")
    if status.is_file():
        return next(int(line.split()[1]) >> 10 for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def one(path: Path, form: str) -> dict[str, Any]:
    from m4lib.evidence.redact import Redactor
    from m4lib.evidence.traces import sanitise_trace

    redactor, began = Redactor(bytes(32)), time.perf_counter()
    report = sanitise_trace(path, path.with_suffix(".public"), form, redactor)
    seconds = time.perf_counter() - began
    return {"seconds": round(seconds, 1), "peak_megabytes": peak(), "events": report.events,
            "withheld": report.withheld, "public_megabytes": path.with_suffix(".public").stat().st_size >> 20}


def baseline(path: Path) -> float:
    began, digest = time.perf_counter(), hashlib.sha256()
    with open(path, "rb") as reading, open(path.with_suffix(".copy"), "wb") as writing:
        while block := reading.read(1 << 20):
            digest.update(block)
            writing.write(block)
    path.with_suffix(".copy").unlink()
    return time.perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=2048)
    parser.add_argument("--form", default="codex", choices=["codex", "claude"])
    parser.add_argument("--words", type=float, default=0.1)
    parser.add_argument("--limit", type=int, default=1024, help="highest memory in MB")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(one(Path(args.one), args.form)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        write_trace(path, args.megabytes, args.form, args.words)
        size = path.stat().st_size / (1 << 20)
        floor = baseline(path)
        found = measure(path, args.form)
    found |= {"megabytes": round(size), "megabytes_a_second": round(size / found["seconds"], 1), "baseline_seconds": round(floor, 1)}
    print(json.dumps(found, indent=1))
    return 0 if found["peak_megabytes"] <= args.limit else 1


if __name__ == "__main__":
    sys.exit(main())

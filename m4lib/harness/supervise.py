"""Watch one agent's container from its first byte to its end, from outside: trace, time, disk, canary, peaks.

The trace is written here, on the host, so the agent cannot rewrite it. Whatever the agent does (stdout without end,
deaf to TERM, forks, fills its folder), this returns within timeout + grace + a few seconds.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from m4lib.harness.docker_host import Container, Stream
from m4lib.harness.failures import Cancelled, InfrastructureError
from m4lib.harness.isolation import Limits

POLL = 0.25  # seconds between looks at clock and disk; the end of a container is noticed at once


@dataclass
class Outcome:
    """How a container ended. `state`: finished | timeout | oom | disk | canary; `returncode` is -1 for what we ended."""

    state: str
    returncode: int
    elapsed: float
    started_at: str
    ended_at: str
    canary: list[dict[str, Any]]
    usage: dict[str, Any] = field(default_factory=dict)
    oom_killed: bool = False
    signal: int | None = None


class TraceFile:
    """The agent's output, byte for byte up to `limit`; of more, the beginning and the end. Also when each part came."""

    TAIL = 4 << 20

    def __init__(self, path: Path, limit: int) -> None:
        self.path, self.times_path = path, path.with_suffix(".times.csv")
        self._file = open(path, "wb")  # noqa: SIM115 - closed in close()
        self._times = open(self.times_path, "w", encoding="ascii")  # noqa: SIM115
        self._times.write("line,seconds\n")
        self._head = max(limit - self.TAIL, limit // 2)
        self._tail_limit = limit - self._head
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self.bytes = self.kept = self.dropped = self.lines = 0
        self._marks = 0
        self._start = time.monotonic()

    def add(self, block: bytes) -> None:
        if self._marks < 200_000:  # one mark a frame; enough for any agent, bounded for a flood
            self._marks += 1
            self._times.write(f"{self.lines + 1},{time.monotonic() - self._start:.3f}\n")
        self.bytes += len(block)
        self.lines += block.count(b"\n")
        room = self._head - self.kept
        if room > 0:
            self._file.write(block[:room])
            self.kept += len(block[:room])
            block = block[room:]
        if block:
            self._tail.append(block)
            self._tail_bytes += len(block)
            while self._tail_bytes - len(self._tail[0]) >= self._tail_limit:
                gone = self._tail.popleft()
                self._tail_bytes -= len(gone)
                self.dropped += len(gone)

    def close(self) -> None:
        if self._tail:
            if self.dropped:
                note = json.dumps({"type": "harness.truncated", "dropped_bytes": self.dropped})
                self._file.write(b"\n" + note.encode() + b"\n")
                # the tail starts in the middle of a line
                rest = b"".join(self._tail)
                self._file.write(rest[rest.find(b"\n") + 1 :])
            else:
                self._file.writelines(self._tail)
        self._file.close()
        self._times.close()


class _Reader(threading.Thread):
    """Drains the stream: stdout into the trace, stderr is process 1's own report, one JSON object a line."""

    def __init__(self, stream: Stream, trace: TraceFile) -> None:
        super().__init__(daemon=True)
        self.stream, self.trace = stream, trace
        self.events: dict[str, dict[str, Any]] = {}
        self.error: OSError | None = None
        self._partial = b""

    def run(self) -> None:
        for kind, block in self.stream.frames():
            if kind == 2:
                *lines, self._partial = (self._partial + block).split(b"\n")
                for line in lines:
                    self._event(line)
            elif self.error is None:
                try:
                    self.trace.add(block)
                except OSError as error:
                    self.error = error  # go on draining, or the agent would block on its stdout

    def _event(self, line: bytes) -> None:
        try:
            event = json.loads(line)
            self.events[event["event"]] = event
        except (ValueError, KeyError, TypeError):
            self.events.setdefault("error", {"text": line.decode("utf-8", "replace")[:500]})


def supervise(
    container: Container, spec: Mapping[str, Any], limits: Limits, trace_path: Path, *, work: Path,
    trouble: Callable[[], str | None] = lambda: None, cancel: threading.Event | None = None,
) -> tuple[Outcome, TraceFile]:
    """Start `container`, hand it `spec` on stdin and see it through.

    `trouble` is asked again and again whether something beside the agent broke (a dead proxy); its sentence is raised.
    Raises InfrastructureError for whatever was not the agent's doing, Cancelled when `cancel` was set.
    """
    try:
        trace = TraceFile(trace_path, limits.trace)
    except OSError as error:
        raise InfrastructureError(f"The trace cannot be written: {error}.") from error
    stream = container.attach()
    reader = _Reader(stream, trace)
    ended = threading.Event()
    waiter: dict[str, Any] = {}

    def wait() -> None:
        try:
            waiter["code"] = container.wait(None)
        except InfrastructureError as error:
            waiter["error"] = error
        ended.set()

    state, peak, silent = "finished", 0, 0
    try:
        reader.start()
        container.start()
        began, started_at = time.monotonic(), _now()
        stream.send(json.dumps(spec).encode() + b"\n")
        threading.Thread(target=wait, daemon=True).start()
        next_look = 0.0
        while not ended.wait(POLL):
            now = time.monotonic()
            if cancel is not None and cancel.is_set():
                raise Cancelled("The run was cancelled.")
            broken = trouble()
            if broken:
                raise InfrastructureError(broken)
            if reader.error is not None:
                raise InfrastructureError(f"The trace cannot be written: {reader.error}.")
            silent = 0 if reader.is_alive() else silent + 1
            if silent * POLL > 10:  # the stream ends with the container, so it must have broken before
                raise InfrastructureError("The connection that carries the trace broke.")
            if now - began > limits.timeout:
                state = "timeout"
            elif now >= next_look:
                used, count = disk_usage(work)
                peak = max(peak, used)
                next_look = now + max(POLL, 10 * (time.monotonic() - now))
                if used > limits.work or count > limits.work_files:
                    state = "disk"
            if state != "finished":
                container.stop(limits.grace)
                if not ended.wait(limits.grace + 30):
                    raise InfrastructureError("Docker did not stop the container.")
                break
        elapsed, ended_at = time.monotonic() - began, _now()
        if "error" in waiter:
            raise waiter["error"]
        reader.join(30)
        found = container.state()
    finally:
        stream.close()
        reader.join(5)
        try:
            trace.close()
        except OSError as error:
            raise InfrastructureError(f"The trace cannot be written: {error}.") from error
    if reader.error is not None:
        raise InfrastructureError(f"The trace cannot be written: {reader.error}.")
    broken = trouble()
    if broken and state == "finished":
        raise InfrastructureError(broken)
    return _judge(state, waiter.get("code"), found.oom_killed, reader.events, elapsed, started_at, ended_at, max(peak, disk_usage(work)[0])), trace


def _judge(
    state: str, code: int | None, oom_flag: bool, events: Mapping[str, dict[str, Any]], elapsed: float, started_at: str,
    ended_at: str, disk: int,
) -> Outcome:
    """Sort the end of a container. Process 1 cannot be killed from inside, so a missing last word is not the agent's."""
    if "error" in events:
        raise InfrastructureError(f"The run could not be started: {events['error'].get('text')}.")
    canary = events.get("canary", {}).get("checks", [])
    outcome = Outcome(state, -1, round(elapsed, 3), started_at, ended_at, canary, {"disk_peak_bytes": disk}, oom_flag)
    if canary and not all(check["ok"] for check in canary):
        outcome.state = "canary"
        return outcome
    last = events.get("exit")
    if last:
        outcome.usage |= last["usage"]
        outcome.elapsed = last["seconds"]
    if state != "finished":
        return outcome
    if last is None:
        if oom_flag:
            outcome.state, outcome.returncode = "oom", 137
            return outcome
        if "started" not in events:
            raise InfrastructureError(f"The container ended with {code} before the agent was started.")
        raise InfrastructureError(f"The container was killed from outside (exit code {code}).")
    outcome.returncode = last["returncode"]
    if outcome.returncode < 0:
        outcome.signal, outcome.returncode = -outcome.returncode, 128 - outcome.returncode
        outcome.state = "oom" if outcome.signal == 9 and (oom_flag or last["usage"].get("oom_kills")) else "finished"
    return outcome


def disk_usage(folder: Path) -> tuple[int, int]:
    """Bytes on disk and number of entries below `folder`, links not followed; unreadable folders are opened up first."""
    total = count = 0
    waiting = [str(folder)]
    while waiting:
        path = waiting.pop()
        try:
            entries = os.scandir(path)
        except PermissionError:
            try:
                os.chmod(path, 0o700, follow_symlinks=False)
                entries = os.scandir(path)
            except (OSError, NotImplementedError):
                continue
        except OSError:
            continue
        with entries:
            for entry in entries:
                count += 1
                try:
                    info = entry.stat(follow_symlinks=False)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                except OSError:
                    continue
                total += info.st_blocks * 512
    return total, count


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

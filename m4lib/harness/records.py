"""Run records on disk: which runs of a campaign are complete, which are void, and what a results root may hold."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from m4lib.errors import M4Error
from m4lib.files import read_json
from m4lib.harness.campaign import RunKey

INFRASTRUCTURE = {"auth", "rate_limit", "missing_agent_db", "filesystem_canary", "container", "infrastructure", "exception"}
VOID = {"filesystem_canary", "disallowed_egress", "external_tool_use", "claude_memory_escape", "contamination_lint"}


def run_key(record: Mapping[str, Any]) -> RunKey:
    """The key of a result.json; a run without a model has the model `default`."""
    return RunKey(record["task"], record["condition"], record["schema"], str(record.get("model") or "default"), int(record["trial"]))


def failure_reason(record: Mapping[str, Any]) -> str | None:
    return (record.get("agent_result") or {}).get("failure_reason")


def is_complete(record: Mapping[str, Any]) -> bool:
    """Whether a run needs no repetition: scored, or ended by the agent's own doing.

    Infrastructure failures and failed canaries are never complete, whatever reward they carry. A run that the agent
    voided (forbidden egress, external tools, contamination) is complete: repeating it would give it a second try.
    """
    tests = record.get("test_results") or {}
    reason = failure_reason(record)
    if tests.get("reward") is None or reason in INFRASTRUCTURE:
        return False
    if reason and tests["reward"] != 0:
        return False
    if (record.get("agent_result") or {}).get("returncode") not in (0, None) and not reason:
        return False
    return bool((record.get("agent_db") or {}).get("sha256"))


def read_records(root: str | os.PathLike[str]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every readable result.json directly below a campaign's folder; unreadable ones are left out (they run again)."""
    yield from _read(path for path in Path(root).glob("*/result.json") if not path.parent.name.startswith("."))


def _read(paths: Iterable[Path]) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(paths):
        try:
            record = read_json(path)
            run_key(record)
        except (ValueError, KeyError, TypeError, OSError):
            continue
        yield path.parent, record


def newest(root: str | os.PathLike[str], effort: str | None = None) -> dict[RunKey, tuple[Path, dict[str, Any]]]:
    """The first complete record of each run key, else its newest incomplete one.

    First, not last: a run that was repeated although it was complete must not replace the first try.
    """
    return _newest(read_records(root), effort)


def newest_of(paths: Iterable[Path], effort: str | None = None) -> dict[RunKey, tuple[Path, dict[str, Any]]]:
    """The same of these result.json files alone."""
    return _newest(_read(paths), effort)


def _newest(records: Iterable[tuple[Path, dict[str, Any]]], effort: str | None) -> dict[RunKey, tuple[Path, dict[str, Any]]]:
    chosen: dict[RunKey, tuple[Path, dict[str, Any]]] = {}
    for folder, record in records:
        if effort is not None and record.get("resolved_reasoning_effort") not in (effort, None):
            continue
        key = run_key(record)
        held = chosen.get(key)
        if held is None:
            chosen[key] = (folder, record)
        else:
            old, new = is_complete(held[1]), is_complete(record)
            earlier = str(record.get("timestamp", "")) < str(held[1].get("timestamp", ""))
            if (new and not old) or (new and old and earlier) or (not new and not old and not earlier):
                chosen[key] = (folder, record)
    return chosen


@contextmanager
def campaign_lock(root: Path) -> Iterator[None]:
    """Hold a campaign's folder; a second dispatcher gets an M4Error that names the holder. Freed when the process dies."""
    root.mkdir(parents=True, exist_ok=True)
    handle = open(root / ".lock", "a+", encoding="utf-8")  # noqa: SIM115 - held as long as the lock
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            handle.seek(0)
            holder = handle.read().strip() or "another process"
            raise M4Error(f"{root} is being dispatched by {holder}; wait for it or stop it first.") from None
        handle.truncate(0)
        handle.write(f"process {os.getpid()} on {os.uname().nodename}")
        handle.flush()
        yield
    finally:
        handle.close()

"""What a folder of evidence holds, counted: runs, artifacts, bytes, time and tokens, by campaign."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from m4lib.errors import M4Error
from m4lib.files import read_json

ARTIFACTS = ("result.json", "output.csv", "instruction.md", "trace.jsonl", "egress.jsonl")


def inventory(folder: str | os.PathLike[str], only: Iterable[str] | None = None) -> dict[str, Any]:
    """Counts of an unpacked package, of run folders, or of a folder that holds either; `only`: of these run ids.

    Returns `{"runs", "artifact_counts", "bytes", "elapsed_seconds", "input_tokens", "cached_input_tokens", "output_tokens",
    "campaigns": {name: the same}}`. A withheld `output.csv` counts by its summary, when that states a hash. Empty files
    count. Hidden folders, links and unreadable records are passed over. Raises M4Error when there is no such folder.
    """
    root = Path(folder)
    if not root.is_dir():
        raise M4Error(f"There is no folder {root}.")
    campaigns: dict[str, dict[str, Any]] = {}
    wanted = None if only is None else set(only)
    for run in _runs(root):
        if wanted is not None and run.name not in wanted:
            continue
        try:
            record = read_json(run / "result.json")
            usage = dict(record.get("token_usage") or {})
            seconds = float((record.get("agent_result") or {}).get("elapsed_seconds") or 0)
        except (ValueError, TypeError, AttributeError, OSError):
            continue
        held = campaigns.setdefault(run.parent.name, _nothing())
        held["runs"] += 1
        held["elapsed_seconds"] += seconds
        for name in ("input_tokens", "cached_input_tokens", "output_tokens"):
            held[name] += int(usage.get(name) or 0)
        held["artifact_counts"].update(name for name in ARTIFACTS if _present(run, name))
        held["bytes"] += sum(path.stat().st_size for path in run.rglob("*") if path.is_file() and not path.is_symlink())
    total = _nothing()
    for held in campaigns.values():
        for name, value in held.items():
            total[name] = total[name] + value
    return {**_plain(total), "campaigns": {name: _plain(held) for name, held in sorted(campaigns.items())}}


def _nothing() -> dict[str, Any]:
    return {"runs": 0, "artifact_counts": Counter(), "bytes": 0, "elapsed_seconds": 0.0, "input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0}


def _plain(held: dict[str, Any]) -> dict[str, Any]:
    return {**held, "artifact_counts": {name: held["artifact_counts"][name] for name in ARTIFACTS}}


def _runs(root: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if "result.json" in files:
            folders.clear()
            yield Path(place)


def _present(run: Path, name: str) -> bool:
    if (run / name).is_file():
        return True
    summary = run / "output_summary.json"
    if name != "output.csv" or not summary.is_file():
        return False
    try:
        return bool(read_json(summary).get("sha256"))
    except (ValueError, AttributeError):
        return False

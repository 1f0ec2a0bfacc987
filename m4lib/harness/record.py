"""One run's record: every field of the published result.json, and what it lacks (commit, digests, versions, times, peaks)."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from m4lib import __version__
from m4lib.files import read_json, sha256_file, sha256_text

NOT_EVALUATED = {"passed": 0, "failed": 0, "errors": 1, "total": 1, "reward": 0.0, "pytest_output": "", "pytest_stderr": ""}


@functools.cache
def source_commit(root: Path) -> dict[str, Any]:
    """Commit of the checkout and whether tracked files differ from it; None outside a git checkout."""
    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, timeout=20, check=True)
            return done.stdout.strip()
        except (OSError, subprocess.SubprocessError):
            return None

    commit = git("rev-parse", "HEAD")
    changed = git("status", "--porcelain", "--untracked-files=no") if commit else None
    return {"commit": commit, "dirty": bool(changed) if changed is not None else None}


@functools.cache
def package_hash(package: str) -> str:
    """One hash of the Python files of a package below m4lib."""
    folder = Path(__file__).parents[1] / package
    return sha256_text("\n".join(f"{path.name} {sha256_file(path)}" for path in sorted(folder.rglob("*.py"))))


@functools.lru_cache(maxsize=4096)
def _file_hash(path: str, size: int, mtime_ns: int, inode: int) -> str:
    return sha256_file(path)


def file_hash(path: Path) -> str:
    """SHA-256, remembered by size, time and inode for the life of the process."""
    info = path.stat()
    return _file_hash(str(path), info.st_size, info.st_mtime_ns, info.st_ino)


def database_facts(folder: Path, files: Sequence[Path]) -> dict[str, Any]:
    """`agent_db`: the view file's hash, and one hash over all files that the views read, by content.

    The builder leaves hashes beside the folder; they are taken while the sizes agree, since the data may be large.
    """
    database = folder / "database.duckdb"
    try:
        known = read_json(folder.with_name(f"{folder.name}.json"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        known = {}
    parts = []
    for path in files:
        name = str(path.relative_to(folder))
        entry = known.get(name)
        same = entry is not None and path != database and entry.get("bytes") == path.stat().st_size
        parts.append(f"{name} {entry['sha256'] if same else file_hash(path)}\n")
    return {
        "path": str(database), "sha256": file_hash(database), "size_bytes": sum(path.stat().st_size for path in files),
        "content_sha256": sha256_text("".join(sorted(parts))), "files": len(files),
    }


def host_facts() -> dict[str, Any]:
    return {
        "system": platform.system(), "machine": platform.machine(), "kernel": platform.release(), "cpus": os.cpu_count(),
        "python": platform.python_version(), "duckdb": duckdb.__version__, "m4lib": __version__, "host": platform.node(),
    }


def evaluate(output: Path | None, reference: Path, contract: Mapping[str, Any]) -> dict[str, Any]:
    """`test_results` of an output; never raises for what an agent wrote: an evaluator's error is reward 0 with its text."""
    from m4lib.evaluation import evaluate_files

    if output is None:
        return {**NOT_EVALUATED, "pytest_output": "no output.csv"}
    try:
        found = dict(evaluate_files(output, reference, contract))
    except Exception as error:
        return {**NOT_EVALUATED, "pytest_stderr": f"{type(error).__name__}: {error}"[:2000]}
    found.setdefault("pytest_output", "")
    found.setdefault("pytest_stderr", "")
    return found


def publishable(terms: Mapping[str, bool], reasons: Mapping[str, str]) -> tuple[bool, str]:
    """All terms must hold; the reason names the first that does not."""
    for term, ok in terms.items():
        if not ok:
            return False, reasons.get(term, term.replace("_", " ") + " is not given")
    return True, "agent-only Docker isolation active"

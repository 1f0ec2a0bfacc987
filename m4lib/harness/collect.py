"""Take what an ended run left in its folder, trusting nothing in it: links are not followed, sizes are bounded."""

from __future__ import annotations

import csv
import hashlib
import os
import shutil
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

CONTROL = {".cache", ".claude", ".codex", ".gemini", ".pi", ".skills", ".config", ".local", ".npm", "__pycache__"}
DATABASES = (".duckdb", ".duckdb.wal", ".db", ".sqlite", ".sqlite-shm", ".sqlite-wal", ".sqlite3")
KEEP_TOTAL, KEEP_COUNT = 64 << 20, 500
LONGEST_ROW = 1 << 20  # characters


@dataclass
class Collected:
    """What was kept. `output`: path of the copy, None when there is none; `output_problem` then says why."""

    output: Path | None = None
    output_problem: str = ""
    output_bytes: int = 0
    kept: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)  # relative path -> reason
    databases: list[str] = field(default_factory=list)


def collect(work: Path, target: Path, given: set[str], *, output_limit: int, file_limit: int) -> Collected:
    """Copy `output.csv` to `target`/output.csv and other small files to `target`/files/.

    `given` are the relative paths that the harness itself put there. The container must be gone: nothing changes meanwhile.
    """
    found = Collected()
    total = 0
    for folder, folders, files in os.walk(work, followlinks=False, onerror=None):
        relative_folder = os.path.relpath(folder, work)
        if relative_folder == ".":
            folders[:] = [name for name in folders if name not in CONTROL]
        folders[:] = sorted(name for name in folders if name != "__pycache__" and not os.path.islink(os.path.join(folder, name)))
        for name in sorted(files):
            relative = os.path.normpath(os.path.join(relative_folder, name))
            path = os.path.join(folder, name)
            if relative == "output.csv":
                found.output_problem = _copy(path, target / "output.csv", output_limit)
                found.output = None if found.output_problem else target / "output.csv"
                found.output_bytes = os.lstat(path).st_size
                continue
            if relative in given:
                continue
            if name.lower().endswith(DATABASES):
                found.databases.append(relative)
                found.left_out[relative] = "a database"
                continue
            if len(found.kept) >= KEEP_COUNT or total >= KEEP_TOTAL:
                found.left_out["..."] = "too many files"
                continue
            problem = _copy(path, target / "files" / relative, file_limit)
            if problem:
                found.left_out[relative[:300]] = problem
            else:
                found.kept.append(relative)
                total += os.lstat(path).st_size
    if found.output is None and not found.output_problem:
        found.output_problem = "missing"
    return found


def _copy(source: str, target: Path, limit: int) -> str:
    """Copy a regular file; returns '' or why not (a link, a device, too large, unreadable)."""
    try:
        handle = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return "a link" if os.path.islink(source) else "unreadable"
    with os.fdopen(handle, "rb") as reading:
        info = os.fstat(reading.fileno())
        if not stat.S_ISREG(info.st_mode):
            return "not a regular file"
        if info.st_size > limit:
            return f"too large ({info.st_size} bytes)"
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "wb") as writing:
            shutil.copyfileobj(reading, writing, 1 << 20)
    return ""


def output_summary(path: Path) -> dict[str, Any]:
    """Columns, number of rows and SHA-256 of an output, without any of its values."""
    digest = hashlib.sha256()
    with open(path, "rb") as handle:
        for block in iter(lambda: handle.read(1 << 20), b""):
            digest.update(block)
    columns: list[str] = []
    rows = 0
    try:
        with open(path, encoding="utf-8", errors="replace", newline="") as text:
            lines = _Lines(text)
            reader = csv.reader(lines)
            columns = [name[:200] for name in next(reader, [])][:1000]
            lines.row = 0
            for row in reader:
                rows += bool(row)
                lines.row = 0
    except csv.Error:
        with open(path, "rb") as handle:
            rows = max(0, sum(block.count(b"\n") for block in iter(lambda: handle.read(1 << 20), b"")) - 1)
    return {"columns": columns, "rows": rows, "sha256": digest.hexdigest(), "bytes": path.stat().st_size}


class _Lines:
    """Lines one by one; csv.Error at a row that has no end, which the reader would take into memory whole.

    `row` counts the characters of the row that is being read; whoever takes a row sets it to 0.
    """

    def __init__(self, text: TextIO) -> None:
        self.text, self.row = text, 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self.text.readline(LONGEST_ROW)
        self.row += len(line)
        if self.row >= LONGEST_ROW:
            raise csv.Error("a row without an end")
        if not line:
            raise StopIteration
        return line


def remove_tree(folder: Path) -> None:
    """Delete a run's folder whatever modes the agent left in it. Raises OSError when it cannot."""
    def open_up(function: Any, path: str, _error: Any) -> None:
        os.chmod(os.path.dirname(path), 0o700)
        if not os.path.islink(path):
            os.chmod(path, 0o700)
        function(path)

    if folder.exists():
        shutil.rmtree(folder, onerror=open_up)

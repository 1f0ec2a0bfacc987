"""Atomic writes, hashes and small JSON helpers. A file exists under its name only when it is complete."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from m4lib.errors import M4Error


def make_folder(folder: str | os.PathLike[str]) -> Path:
    """Make a folder and those above it, unless they are there; returns it.

    Raises M4Error when it or one above it is a file, or when nothing can be written into it.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        file = next((place for place in (folder, *folder.parents) if os.path.lexists(place) and not place.is_dir()), folder)
        raise M4Error(f"{file} is no folder: choose another place, or move that file away.") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise M4Error(f"Nothing can be written into the folder {folder}: choose another place, or change its permissions.")
    return folder


@contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path beside `target`; on success it is renamed onto `target`, on any error it is removed.

    Raises M4Error when the target's folder is no folder or cannot be written into.
    """
    target = Path(target)
    if not target.name:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    make_folder(target.parent)
    # the suffix is kept because writers choose their format by it
    beside = target.with_name(f".{uuid.uuid4().hex[:8]}.{target.name}")
    try:
        yield beside
        os.replace(beside, target)
    finally:
        for leftover in (beside, Path(f"{beside}.wal")):
            if leftover.is_dir() and not leftover.is_symlink():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink(missing_ok=True)


def write_text(target: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text atomically."""
    with atomic_path(target) as beside:
        beside.write_text(text, encoding="utf-8")


def write_json(target: str | os.PathLike[str], value: Any) -> None:
    """Write indented JSON with sorted keys atomically."""
    write_text(target, json.dumps(value, indent=1, sort_keys=True, default=str) + "\n")


def read_json(path: str | os.PathLike[str]) -> Any:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def sha256_file(path: str | os.PathLike[str]) -> str:
    """Hex SHA-256 of a file, read in blocks."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def sha256_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def link_or_copy(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Hard-link `source` to `target`; copy where the file system cannot link."""
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)

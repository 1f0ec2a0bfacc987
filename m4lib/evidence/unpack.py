"""Unpack an archive that nobody vouches for: plain files and folders within the target, bounded in number and size."""

from __future__ import annotations

import os
import shutil
import tarfile
import uuid
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from m4lib.errors import M4Error

MOST_FILES = 200_000
MOST_BYTES = 64 << 30
MOST_RATIO = 2000  # unpacked by packed; text packs 5 to 50 times
WINDOW = 1 << 27  # bytes of memory that an archive may ask for


def unpack(
    archive: str | os.PathLike[str], target: str | os.PathLike[str], *, most_files: int = MOST_FILES, most_bytes: int = MOST_BYTES,
    most_ratio: float = MOST_RATIO,
) -> int:
    """Unpack a .tar.zst into the new folder `target`; returns the number of files.

    Raises M4Error, and leaves nothing behind, when the target exists, when a member is absolute, climbs out, is a link, a
    device or named twice, or when there is too much of it.
    """
    import zstandard

    archive, target = Path(archive), Path(target)
    if target.exists():
        raise M4Error(f"{target} exists already.")
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{uuid.uuid4().hex[:8]}.{target.name}")
    beside.mkdir()
    limit = min(most_bytes, int(archive.stat().st_size * most_ratio) + (1 << 20))
    try:
        with open(archive, "rb") as raw, zstandard.ZstdDecompressor(max_window_size=WINDOW).stream_reader(raw, read_across_frames=True) as plain:
            count = _members(_Bounded(plain, limit, archive.name), beside, archive.name, most_files)
        os.replace(beside, target)
        return count
    except (tarfile.TarError, zstandard.ZstdError, EOFError, UnicodeError) as error:
        raise M4Error(f"{archive.name} is damaged or no .tar.zst: {error}.") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


class _Bounded:
    """A stream that ends with an error when it gives more than it may."""

    def __init__(self, stream: IO[bytes], limit: int, name: str) -> None:
        self.stream, self.left, self.name = stream, limit, name

    def read(self, size: int = -1) -> bytes:
        data = self.stream.read(size)
        self.left -= len(data)
        if self.left < 0:
            raise M4Error(f"{self.name} unpacks to more than it should; refused.")
        return data


def _members(stream: _Bounded, folder: Path, name: str, most_files: int) -> int:
    seen: set[str] = set()
    count = 0
    with tarfile.open(fileobj=stream, mode="r|") as tar:  # type: ignore[call-overload]
        for member in tar:
            relative = _relative(member, name)
            key = str(relative).casefold()
            count += 1
            if count > most_files:
                raise M4Error(f"{name} holds more than {most_files} members; refused.")
            if member.isdir():
                (folder / relative).mkdir(parents=True, exist_ok=True)
                continue
            if key in seen:
                raise M4Error(f"{name} holds {member.name!r} twice; refused.")
            seen.add(key)
            path = folder / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            reading = tar.extractfile(member)
            if reading is None:
                raise M4Error(f"{name}: {member.name!r} cannot be read.")
            with open(path, "xb") as writing:
                for block in _blocks(reading):
                    writing.write(block)
    return len(seen)


def _relative(member: tarfile.TarInfo, archive: str) -> PurePosixPath:
    """A member's path, when it is one that may be written."""
    if not (member.isreg() or member.isdir()) or member.issparse():
        kind = "a link" if member.issym() or member.islnk() else "a device" if member.isdev() else "a special file"
        raise M4Error(f"{archive}: {member.name!r} is {kind}; refused.")
    name = member.name
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name.split("/")[0] or any(ord(character) < 32 for character in name) \
            or len(name) > 1000 or any(len(part.encode()) > 255 for part in path.parts):
        raise M4Error(f"{archive}: {name[:80]!r} leads out of its folder; refused.")
    return path


def _blocks(reading: IO[bytes]) -> Iterator[bytes]:
    while block := reading.read(1 << 20):
        yield block

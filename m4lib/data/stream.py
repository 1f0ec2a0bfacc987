"""Raw files read once: decompressed, checked and hashed while DuckDB parses them.

DuckDB's own gzip reader stops without a word at the end of a truncated file and never compares checksums, so a cut
download would become a smaller table. Here the bytes go through ISA-L, which does both and inflates twice as fast, and
arrive in DuckDB through an fsspec file system, in reads that stay small enough for the allocator to reuse.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import fsspec
from isal import isal_zlib

from m4lib.errors import M4Error

BLOCK = 1 << 20  # bytes read from disk at a time
BUFFER = 4_000_000  # DuckDB's read size; larger ones are mapped and unmapped at every read
MAGIC = b"\x1f\x8b"
HEADER = 1 << 16  # longer than a gzip member's header
PROTOCOL = "m4raw"
BOM = b"\xef\xbb\xbf"


class RawFile:
    """One .csv or .csv.gz file as a stream of text bytes; `sha256` is that of the file's own bytes.

    Raises M4Error from `read` for a truncated or damaged gzip file. `error` keeps it, because DuckDB replaces it
    by one of its own. `on_bytes(n)` is called after each block read from disk.
    """

    def __init__(
        self, path: Path, label: str, on_bytes: Callable[[int], object] | None = None, count_quotes: bool = False
    ) -> None:
        self.path, self.label, self.on_bytes, self.count_quotes = path, label, on_bytes, count_quotes
        self.gzipped = path.name.lower().endswith(".gz")
        self.raw = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by close()
        self.hash = hashlib.sha256()
        self.error: M4Error | None = None
        self.position = 0
        self.quotes = 0  # double quotes given out, with count_quotes; odd at the end when one is not closed
        self.closed = False
        self.cancelled = False
        self.inflate = isal_zlib.decompressobj(31)
        self.pending = b""  # compressed bytes not yet inflated
        self.finished = False
        self.between_members = False  # after one that is complete: the file may end here
        self.at_header = True
        self.head = self.first_bytes()

    def first_bytes(self) -> bytes:
        """The first line or more, kept for the header and given out again by `read`."""
        head = b""
        while b"\n" not in head.removesuffix(b"\n"):
            more = self.plain(BLOCK)
            if not more:
                break
            head += more
        return head.removeprefix(BOM)

    def header(self) -> list[str]:
        """Lower-case column names of the first line; empty for an empty file."""
        line = self.head.split(b"\n", 1)[0].decode("utf-8", "replace").rstrip("\r")
        rows = list(csv.reader(io.StringIO(line)))
        return [name.strip().lower() for name in rows[0]] if rows else []

    def fail(self, text: str) -> M4Error:
        self.error = M4Error(text)
        return self.error

    def block(self) -> bytes:
        data = self.raw.read(BLOCK) or b""
        self.hash.update(data)
        if data and self.on_bytes:
            self.on_bytes(len(data))
        return data

    def plain(self, size: int) -> bytes:
        """Up to `size` bytes of text; empty only at the end of a complete file."""
        if not self.gzipped:
            if not self.pending:
                self.pending = self.block()
            out, self.pending = self.pending[:size], self.pending[size:]
            return out
        while not self.finished:
            if not self.pending:
                self.pending = self.block()
                if not self.pending:
                    self.finished = True
                    if not self.between_members:
                        raise self.fail(
                            f"{self.label} is cut off: its gzip data end too early. Copy or download the file again."
                        )
                    break
            if self.between_members:  # zero padding may follow a member, as from tape or block copies
                self.pending = self.pending.lstrip(b"\0")
                if not self.pending:
                    continue
            if self.at_header:
                while len(self.pending) < HEADER and (more := self.block()):
                    self.pending += more  # ISA-L takes a header with a checksum only in one piece
                if not MAGIC.startswith(self.pending[:2]):
                    raise self.fail(f"{self.label} is damaged or not a gzip file. Copy or download the file again.")
            self.between_members = self.at_header = False
            try:
                out = self.inflate.decompress(self.pending, size)
            except isal_zlib.error as error:  # type: ignore[misc]  # its stub declares an instance
                raise self.fail(
                    f"{self.label} is damaged or not a gzip file ({error}). Copy or download the file again."
                ) from error
            self.pending = self.inflate.unconsumed_tail
            if self.inflate.eof:
                self.pending = self.inflate.unused_data
                self.inflate = isal_zlib.decompressobj(31)
                self.between_members = self.at_header = True
            if out:
                return out
        return b""

    def read(self, size: int = -1) -> bytes:
        if self.cancelled:
            raise OSError("reading was cancelled")
        if size < 0:
            size = 1 << 62
        parts = [self.head[:size]]
        self.head = self.head[size:]
        have = len(parts[0])
        while have < size:
            out = self.plain(min(size - have, BUFFER))
            if not out:
                break
            parts.append(out)
            have += len(out)
        self.position += have
        text = b"".join(parts)
        if self.count_quotes:
            self.quotes += text.count(b'"')
        return text

    def drain(self) -> None:
        """Read to the end, so that the hash is complete and a damaged end is seen."""
        while self.read(BUFFER):
            pass

    @property
    def sha256(self) -> str:
        return self.hash.hexdigest()

    # what DuckDB expects of a file object
    def seek(self, position: int, whence: int = 0) -> int:
        if (position, whence) != (self.position, 0):
            raise OSError("a raw file is read once, from front to back")
        return position

    def tell(self) -> int:
        return self.position

    def seekable(self) -> bool:
        return False

    def flush(self) -> None:
        pass

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.raw.close()


class RawFileSystem(fsspec.AbstractFileSystem):
    """Hands open RawFile objects to DuckDB under `m4raw://<key>`; use one instance a connection."""

    protocol = PROTOCOL
    cachable = False

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, RawFile] = {}
        self.cancelled = False

    def cancel(self) -> None:
        """Make every read fail from now on, so that queries end soon."""
        self.cancelled = True
        for raw in list(self.files.values()):
            raw.cancelled = True

    def key(self, path: str) -> str:
        return str(path).removeprefix(f"{PROTOCOL}://")

    def open(self, path: str, mode: str = "rb", **_: Any) -> RawFile:
        raw = self.files[self.key(path)]
        raw.cancelled |= self.cancelled
        return raw

    def exists(self, path: str, **_: Any) -> bool:
        return self.key(path) in self.files

    def isfile(self, path: str) -> bool:
        return self.exists(path)

    def glob(self, path: str, **_: Any) -> list[str]:
        return [path]

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        return {"name": path, "size": self.size(path), "type": "file"}

    def size(self, path: str) -> int:
        # only tells DuckDB that several threads are worth it; the true size of the text is not known beforehand
        return 1 << 40

    def modified(self, path: str) -> datetime:
        return datetime(2000, 1, 1)

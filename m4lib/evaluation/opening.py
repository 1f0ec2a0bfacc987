"""Open a file that nobody vouches for, and read it as bounded text.

An output file comes out of a container: it may be missing, a link, a pipe, endless, compressed a thousandfold or
not text at all. Everything that reads it goes through this module, which opens regular files only, never follows
a link, decompresses in pieces, and gives up with a reason in words once a limit is passed.
"""

from __future__ import annotations

import codecs
import errno
import os
import queue
import stat
import threading
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from m4lib.evaluation.contract import EvaluationError, MissingOutput

PIECE = 16 << 20  # bytes read (or decompressed) at a time
MAX_BYTES = 8 << 30  # of text, after decompression
MAX_FIELD = 4 << 20  # a longer cell is cut; no number and no label has this length
MAX_LINE = 64 << 20
MAX_COLUMNS = 16_384


@dataclass
class Opened:
    """An open regular file and what its name (or, without a telling name, its first bytes) says it holds."""

    path: str
    handle: BinaryIO
    size: int
    gzipped: bool
    parquet: bool

    def close(self) -> None:
        self.handle.close()


def open_regular(path: str | os.PathLike[str], *, follow_links: bool = False) -> Opened:
    """Open `path` for reading. MissingOutput: nothing is there; EvaluationError: it is no readable regular file."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow_links else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
            raise MissingOutput("There is no output file.") from None
        if error.errno == errno.ELOOP:
            raise EvaluationError("A symbolic link stands in place of the file; links are never followed.") from None
        raise EvaluationError(f"The file cannot be opened: {os.strerror(error.errno or 0)}.") from None
    except ValueError:  # a NUL in the name
        raise MissingOutput("There is no output file.") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        kind = "A directory" if stat.S_ISDIR(status.st_mode) else "A pipe, socket or device"
        raise EvaluationError(f"{kind} stands in place of the file.")
    handle = os.fdopen(descriptor, "rb", buffering=0)
    gzipped, parquet = _kind(os.fspath(path), handle)
    return Opened(os.fsdecode(path), handle, status.st_size, gzipped, parquet)


def _kind(path: str | bytes, handle: BinaryIO) -> tuple[bool, bool]:
    """(gzip, Parquet) by the ending, as the rules have it; by the first bytes when the name has no telling ending."""
    name = os.path.basename(os.fsdecode(path)).lower()
    gzipped = name.endswith(".gz")
    stem = name[:-3] if gzipped else name
    ending = os.path.splitext(stem)[1]
    if ending in (".parquet", ".pq"):
        return gzipped, True
    if ending in (".csv", ".txt") or gzipped:
        return gzipped, False
    head = handle.read(4)
    handle.seek(0)
    return head[:2] == b"\x1f\x8b", head == b"PAR1"


def pieces(opened: Opened, size: int = PIECE) -> Iterator[bytes]:
    """The file's bytes from its start, decompressed, at most `MAX_BYTES` of them."""
    cursor = _Cursor(opened.handle.fileno())
    total = 0
    for piece in _joined(_gunzip(cursor, size), size) if opened.gzipped else iter(lambda: cursor.read(size), b""):
        total += len(piece)
        if total > MAX_BYTES:
            raise EvaluationError(f"The file holds more than {MAX_BYTES >> 30} GiB and is refused.")
        yield piece


def _joined(parts: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Small parts put together to about `size` bytes."""
    held, total = [], 0
    for part in parts:
        held.append(part)
        total += len(part)
        if total >= size:
            yield b"".join(held)
            held, total = [], 0
    if held:
        yield b"".join(held)


class _Cursor:
    """Reads with a position of its own, so that several passes over one open file do not disturb each other."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._at = descriptor, 0

    def read(self, size: int) -> bytes:
        block = os.pread(self._descriptor, size, self._at)
        self._at += len(block)
        return block


def _gunzip(handle: _Cursor, size: int) -> Iterator[bytes]:
    """Members of a gzip file, decompressed piece by piece; zero padding after the last one is allowed."""
    engine, pending = zlib.decompressobj(wbits=31), b""
    try:
        while True:
            pending = pending or handle.read(min(size, 1 << 20))
            if not pending:
                raise EvaluationError("The gzip file is empty or ends in the middle.")
            piece = engine.decompress(pending, size)
            pending = engine.unconsumed_tail
            if piece:
                yield piece
            if engine.eof:
                pending = engine.unused_data.lstrip(b"\0")
                while not pending:
                    block = handle.read(1 << 20)
                    if not block:
                        return
                    pending = block.lstrip(b"\0")
                engine = zlib.decompressobj(wbits=31)
    except zlib.error as error:
        raise EvaluationError(f"The file is not valid gzip: {error}.") from None


def text_pieces(opened: Opened, size: int = PIECE) -> Iterator[bytes]:
    """Pieces of valid UTF-8 without byte-order mark, endless cells cut to about `MAX_FIELD` bytes."""
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    field, line, first = 0, 0, True  # bytes of the unfinished cell and line so far
    try:
        for piece in pieces(opened, size):
            if first:
                piece, first = piece.removeprefix(codecs.BOM_UTF8), False
            if not piece.isascii() or decoder.getstate()[0]:
                decoder.decode(piece)
            start = min((at for at in map(piece.find, _SEPARATORS) if at >= 0), default=len(piece))
            if field > MAX_FIELD:
                piece = piece[start:]
            end = max(map(piece.rfind, _SEPARATORS))
            field = field + len(piece) if end < 0 else len(piece) - 1 - end
            end = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
            line = line + len(piece) if end < 0 else len(piece) - 1 - end
            if line > MAX_LINE:
                raise EvaluationError(f"The file has a line of more than {MAX_LINE >> 20} MiB and is refused.")
            if piece:
                yield piece
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise EvaluationError(f"The file is not UTF-8 text ({error.reason}).") from None


_SEPARATORS = (b",", b"\n", b"\r", b'"')


def ahead(items: Iterator[bytes]) -> Generator[bytes, None, None]:
    """The same items, produced in a thread of their own up to two ahead, so that reading and parsing overlap."""
    line: queue.Queue = queue.Queue(maxsize=2)
    stop = threading.Event()

    def produce() -> None:
        last: object = None
        try:
            for item in items:
                while not stop.is_set():
                    try:
                        line.put(item, timeout=0.1)
                        break
                    except queue.Full:
                        continue
                if stop.is_set():
                    return
        except BaseException as error:
            last = error
        while not stop.is_set():
            try:
                line.put(last, timeout=0.1)
                return
            except queue.Full:
                continue

    worker = threading.Thread(target=produce, daemon=True)
    worker.start()
    try:
        while True:
            item = line.get()
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        worker.join()

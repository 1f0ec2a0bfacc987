"""The open demos from PhysioNet: resumable, checked against the published checksums, whole or not there."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tqdm import tqdm

from m4lib.errors import InfrastructureError, M4Error
from m4lib.files import sha256_file, write_json, write_text

BLOCK = 1 << 18
SUMS = "SHA256SUMS.txt"
COMPLETE = ".complete.json"


@dataclass(frozen=True)
class Dataset:
    """One published data set: its folder on the server and under the cache."""

    name: str
    url: str


DEMOS = {
    "mimic-iv": Dataset("mimic-iv-demo-2.2", "https://physionet.org/files/mimic-iv-demo/2.2/"),
    "eicu": Dataset("eicu-crd-demo-2.0.1", "https://physionet.org/files/eicu-crd-demo/2.0.1/"),
}


def is_complete(folder: Path) -> bool:
    """Whether `download` finished there: the marker is written after the last file was verified."""
    return (folder / COMPLETE).is_file()


def download(
    dataset: Dataset, folder: Path, *, retries: int = 4, pause: float = 1.0, timeout: float = 30.0, progress: bool = True
) -> Path:
    """Fetch every .csv.gz of `dataset` into `folder` and return it.

    Files that are there with the right checksum are kept, cut ones (`*.part`) go on where they stopped. Each file
    gets its name only after its checksum was found right. `pause` doubles between `retries`.
    Raises InfrastructureError without a network or server, M4Error for a missing file or a wrong checksum.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(folder / ".lock"):
        if is_complete(folder):
            return folder
        # the first contact gives up sooner: where the network is closed, synthetic data should not wait for minutes
        sums = parse_sums(fetch_text(dataset.url + SUMS, min(retries, 2), pause, min(timeout, 10.0)))
        if not sums:
            raise M4Error(f"{dataset.url}{SUMS} names no .csv.gz files; the data set has moved.")
        for name, digest in tqdm(sorted(sums.items()), desc=dataset.name, unit="file", disable=not progress):
            fetch_file(dataset.url + name, folder / name, digest, retries, pause, timeout, progress)
        write_text(folder / SUMS, "".join(f"{digest} {name}\n" for name, digest in sorted(sums.items())))
        write_json(folder / COMPLETE, {"dataset": dataset.name, "url": dataset.url, "files": len(sums)})
    return folder


def parse_sums(text: str) -> dict[str, str]:
    """`<sha256> <path>` lines to {path: sha256}, the .csv.gz files only. Raises M4Error for a path that leaves the folder."""
    found = {}
    for line in text.splitlines():
        digest, _, name = line.strip().partition(" ")
        name = name.strip().lstrip("*").removeprefix("./")
        if len(digest) == 64 and name.endswith(".csv.gz"):
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts:
                raise M4Error(f"{SUMS} names a file outside its folder: {name}")
            found[name] = digest.lower()
    return found


def attempts(url: str, retries: int, pause: float) -> Iterator[int]:
    """0, 1, ... with a growing pause before each repetition."""
    for number in range(retries + 1):
        if number:
            time.sleep(pause * 2 ** (number - 1))
        yield number


def reason(error: BaseException) -> str:
    inner = error.reason if isinstance(error, urllib.error.URLError) else error
    return str(inner) or type(inner).__name__


def refuse(url: str, error: urllib.error.HTTPError) -> None:
    """Raise M4Error where the server's answer will not change by asking again."""
    if error.code in (400, 401, 403, 404, 410):
        raise M4Error(f"{url} is not there (HTTP {error.code}); the data set may have moved.") from error


def fetch_text(url: str, retries: int, pause: float, timeout: float) -> str:
    last: BaseException | None = None
    for _ in attempts(url, retries, pause):
        try:
            with urllib.request.urlopen(url, timeout=timeout) as answer:
                return str(answer.read().decode("utf-8"))
        except urllib.error.HTTPError as error:
            refuse(url, error)
            last = error
        except (OSError, http.client.HTTPException) as error:
            last = error
    raise InfrastructureError(f"{url} cannot be reached ({reason(last or OSError())}).")


def fetch_file(
    url: str, target: Path, digest: str, retries: int, pause: float, timeout: float, progress: bool
) -> None:
    """One file under its name, its checksum verified."""
    if target.is_file() and sha256_file(target) == digest:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    last: BaseException | None = None
    wrong = 0
    for _ in attempts(url, retries, pause):
        try:
            append_rest(url, part, timeout, progress)
        except urllib.error.HTTPError as error:
            if error.code == 416:  # the part is as long as the file or longer: the checksum decides
                last = error
            else:
                refuse(url, error)
                last = error
                continue
        except (OSError, http.client.HTTPException) as error:
            if getattr(error, "errno", None) is not None and not isinstance(error, (ConnectionError, TimeoutError, urllib.error.URLError)):
                raise M4Error(f"{target} could not be written: {error.strerror or error}.") from error  # type: ignore[union-attr]
            last = error
            continue
        if sha256_file(part) == digest:
            part.replace(target)
            return
        part.unlink()  # resumed onto a file that changed, or damaged on the way: once more from the start
        wrong += 1
        if wrong == 2:
            break
    if wrong:
        raise M4Error(f"{url} does not have the published checksum; what was fetched is thrown away.")
    raise InfrastructureError(f"{url} could not be fetched ({reason(last or OSError())}); what has arrived is kept, call again to go on.")


def append_rest(url: str, part: Path, timeout: float, progress: bool) -> None:
    """Continue `part` from its length; start over where the server does not answer with the rest."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        resumed = have > 0 and answer.status == 206 and str(answer.headers.get("Content-Range", "")).startswith(f"bytes {have}-")
        length = answer.headers.get("Content-Length")
        total = int(length) + (have if resumed else 0) if length else None
        with (
            open(part, "ab" if resumed else "wb") as out,
            tqdm(total=total, initial=have if resumed else 0, desc=part.name.removesuffix(".part"), unit="B",
                 unit_scale=True, leave=False, disable=not progress) as bar,
        ):
            while block := answer.read(BLOCK):
                out.write(block)
                bar.update(len(block))
        # http.client ends quietly when a connection is cut between reads of a known length
        if total is not None and part.stat().st_size < total:
            raise ConnectionError("the connection was cut")


@contextmanager
def one_at_a_time(lock: Path) -> Iterator[None]:
    """Two processes that want the same data set: the second waits and finds it complete."""
    try:
        import fcntl
    except ImportError:  # no such locks on Windows
        yield
        return
    with open(lock, "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield

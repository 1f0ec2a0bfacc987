"""The published dataset: run indexes by default, archives on request; cached, resumed, compared with pinned checksums.

    folder = fetch_indexes()                       # metadata/run-indexes/*.csv in it
    fetch(archives=True, out="evidence")           # also both archives, unpacked into evidence/

The hub's own client does the transport: its cache is used, a broken download goes on where it stopped, HF_HUB_OFFLINE=1
stays off the network, HF_ENDPOINT names another server.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from m4lib.errors import M4Error
from m4lib.evidence.unpack import unpack
from m4lib.files import atomic_path, sha256_file

DATASET = "hannesill/m4bench-evidence"
# paper table 14
ARCHIVES = {
    "m4bench-evidence-submission.tar.zst": "f8b72940bd98cd9b2a852fa79c416310e2ed8ec7795b181941358d3b03ca708c",
    "m4bench-evidence-claude-replication.tar.zst": "4aeb5eda83090f89e5a3bf5d0e8c4568c18309efd66b496c4655e11abd13471b",
}
INDEXES = "metadata/run-indexes/*.csv"
CROISSANT = "m4bench_evidence.croissant.json"


@dataclass
class Fetched:
    """What is at hand now. `folder`: of the files; `compared`: how many were compared with a stated checksum."""

    folder: Path
    files: list[Path] = field(default_factory=list)
    compared: int = 0
    unpacked: list[Path] = field(default_factory=list)


def fetch_indexes(**options: Any) -> Path:
    """Folder that holds the published run indexes, from the cache or the hub. Raises M4Error when neither has them."""
    return fetch(**options).folder


def fetch(
    *, archives: bool = False, out: str | os.PathLike[str] | None = None, cache: str | os.PathLike[str] | None = None,
    endpoint: str | None = None, repository: str = DATASET, pinned: dict[str, str] | None = None,
) -> Fetched:
    """Download what is not cached, compare checksums; with `out` copy the indexes and unpack the archives there.

    cache, endpoint, repository, pinned: instead of the hub's cache, address, this dataset and its checksums.
    Raises M4Error for a missing network, a missing file, a checksum that differs.
    """
    pinned = ARCHIVES if pinned is None else pinned
    wanted = [INDEXES, CROISSANT, *([name for name in pinned] + [f"{name}.{kind}" for name in pinned for kind in ("sha256", "manifest.json")] if archives else [])]
    folder = _download(repository, wanted, cache, endpoint)
    found = Fetched(folder, sorted(folder.glob(INDEXES)))
    if not found.files:
        raise M4Error(f"The dataset {repository} has no run indexes ({INDEXES}).")
    stated = _stated(folder / CROISSANT)
    for path in found.files:
        name = path.relative_to(folder).as_posix()
        if name in stated:
            _compare(path, stated[name], "its Croissant record")
            found.compared += 1
    if archives:
        for name, digest in pinned.items():
            if not (folder / name).is_file():
                raise M4Error(f"The dataset {repository} has no file {name}.")
            _compare(folder / name, digest, "table 14 of the paper")
            beside = folder / f"{name}.sha256"
            if beside.is_file() and digest not in beside.read_text(encoding="utf-8"):
                raise M4Error(f"{beside.name} states another checksum than table 14 of the paper.")
            found.files.append(folder / name)
            found.compared += 1
    if out is not None:
        _place(found, Path(out), list(pinned) if archives else [])
    return found


def _download(repository: str, wanted: list[str], cache: str | os.PathLike[str] | None, endpoint: str | None) -> Path:
    """The snapshot's folder in the cache."""
    from huggingface_hub import HfApi, constants
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled
    from huggingface_hub.utils import disable_progress_bars

    disable_progress_bars()
    api = HfApi(endpoint=endpoint or os.environ.get("HF_ENDPOINT") or constants.ENDPOINT)
    options: dict[str, Any] = {"repo_type": "dataset", "allow_patterns": wanted, "cache_dir": cache}
    offline = constants.HF_HUB_OFFLINE or os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on")
    try:
        return Path(api.snapshot_download(repository, local_files_only=offline, **options))
    except (LocalEntryNotFoundError, OfflineModeIsEnabled) as error:
        why = "and HF_HUB_OFFLINE is set" if offline else "and the hub cannot be reached"
        raise M4Error(f"The dataset {repository} is not in the cache {why}; connect once, or point M4_EVIDENCE at a folder with the run indexes.") from error
    except HfHubHTTPError as error:
        raise M4Error(f"The hub does not give the dataset {repository}: {str(error).splitlines()[0]}.") from error
    except (OSError, ValueError) as error:
        raise M4Error(f"The dataset {repository} could not be downloaded ({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}); "
                      "call again to go on where it stopped.") from error
    except Exception as error:  # the client's transport raises its own kinds
        if type(error).__module__.split(".")[0] in ("httpx", "httpcore", "requests", "urllib3"):
            raise M4Error(f"The hub could not be reached ({type(error).__name__}); call again to go on where it stopped.") from error
        raise


def _stated(croissant: Path) -> dict[str, str]:
    """Relative path -> SHA-256 that the dataset's own record states."""
    if not croissant.is_file():
        return {}
    try:
        entries = json.loads(croissant.read_text(encoding="utf-8")).get("distribution") or []
    except (ValueError, AttributeError) as error:
        raise M4Error(f"{croissant.name} is not readable: {error}.") from error
    stated = {}
    for entry in entries:
        address, digest = str(entry.get("contentUrl") or ""), str(entry.get("sha256") or "")
        inside = re.search(r"(?:^|/)(metadata/run-indexes/[\w.-]+\.csv)$", address)
        if inside and re.fullmatch(r"[0-9a-f]{64}", digest):
            stated[inside.group(1)] = digest
    return stated


def _compare(path: Path, digest: str, where: str) -> None:
    found = sha256_file(path)
    if found == digest:
        return
    # a damaged file must not be taken from the cache again
    real = path.resolve()
    path.unlink(missing_ok=True)
    real.unlink(missing_ok=True)
    raise M4Error(f"{path.name} has the SHA-256 {found}, {where} states {digest}; it was removed, fetch it again.")


def _place(found: Fetched, out: Path, archives: list[str]) -> None:
    """Copy indexes and unpack archives into `out`, each complete or not at all."""
    folder = found.folder
    for path in sorted(folder.glob(INDEXES)):
        target = out / path.relative_to(folder)
        with atomic_path(target) as beside:
            shutil.copyfile(path, beside)
    for name in archives:
        target = out / name.removesuffix(".tar.zst")
        if not target.exists():
            unpack(folder / name, target)
        found.unpacked.append(target)
    found.folder = out

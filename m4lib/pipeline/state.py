"""What a stage depends on, as one hash: a stage is redone when its inputs, parameters, code or outputs changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from m4lib.errors import M4Error
from m4lib.files import read_json, sha256_file, write_json

HASH_BELOW = 4 << 20  # larger inputs are told apart by size and modification time; their stages verify contents
SKIP = {"__pycache__", ".ipynb_checkpoints", "wheels", "node_modules"}


def _entries(path: Path) -> Iterable[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        for entry in sorted(path.rglob("*")):
            if entry.is_file() and not SKIP & set(entry.parts):
                yield entry


def notebook_source(path: Path) -> str:
    """The cells of a notebook without outputs, ids and metadata other than tags."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return json.dumps([[cell["cell_type"], cell["source"], cell["metadata"].get("tags", [])] for cell in cells])


def fingerprint(paths: Iterable[Path], values: Mapping[str, Any]) -> str:
    """Hex SHA-256 over file contents (large files: size and time) and parameter values. Missing paths count as such."""
    digest = hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode())
    for path in paths:
        if not path.exists():
            digest.update(f"{path.name}: absent\n".encode())
        for entry in _entries(path):
            stat = entry.stat()
            if entry.suffix == ".ipynb":
                mark = hashlib.sha256(notebook_source(entry).encode()).hexdigest()
            elif stat.st_size <= HASH_BELOW:
                mark = sha256_file(entry)
            else:
                mark = f"{stat.st_size}:{stat.st_mtime_ns}"
            digest.update(f"{entry.relative_to(path.parent)} {mark}\n".encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class StageState:
    """The record that a finished stage leaves; absent or different means that it must be run."""

    folder: Path
    name: str

    @property
    def path(self) -> Path:
        return self.folder / f"{self.name.replace('/', '__')}.json"

    def fresh(self, mark: str) -> bool:
        """Whether the stage was finished with this fingerprint and its outputs are still there."""
        record = self.read()
        return record.get("fingerprint") == mark and all(Path(p).exists() for p in record.get("outputs", []))

    def read(self) -> dict[str, Any]:
        if not self.path.is_file():
            return {}
        try:
            return dict(read_json(self.path))
        except (ValueError, M4Error):
            return {}  # a damaged record only means that the stage runs again

    def write(self, mark: str, outputs: Iterable[Path], **facts: Any) -> None:
        write_json(self.path, {"stage": self.name, "fingerprint": mark, "outputs": [str(p) for p in outputs], **facts})

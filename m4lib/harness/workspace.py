"""A run's folders on the host: the task database by hard links, the prompt, the condition's files, and what betrays a leak."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from m4lib.errors import M4Error
from m4lib.files import write_json
from m4lib.harness import collect, isolation
from m4lib.harness.conditions import Condition


@dataclass(frozen=True)
class Workspace:
    """`work` becomes /work and `data` /data. `marker` lies beside them, where no agent may get; `control` inside, to be
    found by the canary. `given` are the paths in `work` that the harness put there."""

    folder: Path
    data_files: tuple[Path, ...]  # of the task database, where they really are
    marker: str
    control: str
    given: frozenset[str]

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def data(self) -> Path:
        return self.folder / "data"


def seeded_folder(taskdb_dir: Path, codes_seed: int | None) -> Path:
    """Where the transformed task databases with these codes lie; those with random codes apart from the published ones."""
    return taskdb_dir if codes_seed is None else taskdb_dir / f"codes-{codes_seed}"


def taskdb_folder(taskdb_dir: Path, task: str, schema: str, codes_seed: int | None = None) -> Path:
    """The folder that is mounted; M4Error when the task database is missing, unfinished, or made for another place."""
    if schema == "native":
        places = [taskdb_dir / schema / task, taskdb_dir / task]
    else:
        taskdb_dir = seeded_folder(taskdb_dir, codes_seed)
        places = [taskdb_dir / schema / task]
    for folder in places:
        database = folder / "database.duckdb"
        if database.is_file():
            if database.with_name("database.duckdb.wal").exists():
                raise M4Error(f"{database} has a .wal beside it, so it was not closed; build the task database again.")
            if isolation.DATA.encode() not in database.read_bytes():
                raise M4Error(f'{database} was not made for a container; build the task database with data_prefix="{isolation.DATA}".')
            return folder
    raise M4Error(f"There is no {schema} task database of {task} in {taskdb_dir}; build it with `python -m m4lib taskdb`.")


def prepare(folder: Path, database: Path, condition: Condition, labels: Mapping[str, str]) -> Workspace:
    """Make the folders below `folder` (new, with a neutral name). Raises M4Error for inputs that cannot be used."""
    folder.mkdir(mode=0o755)
    write_json(folder / "owner.json", dict(labels))
    marker, control = f"m4-marker-{uuid.uuid4().hex}", uuid.uuid4().hex
    (folder / "marker.txt").write_text(marker + "\n")
    data, work = folder / "data", folder / "work"
    data.mkdir(mode=0o755)
    data_files = tuple(sorted(path for path in database.rglob("*") if path.suffix in (".duckdb", ".parquet")))
    for path in data_files:
        target = data / path.relative_to(database)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, target)
        except OSError:
            shutil.copy2(path, target)
        if not target.stat().st_mode & 0o004:
            raise M4Error(f"{path} cannot be read by the agent's user; give it mode 644.")
    work.mkdir(mode=0o700)
    for relative, text in {**condition.files, "instruction.md": condition.prompt}.items():
        target = work / relative
        if not target.resolve().is_relative_to(work.resolve()):
            raise M4Error(f"The condition's file {relative!r} lies outside the working folder.")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    if condition.skill_dir:
        (work / condition.skill_dir).mkdir(parents=True, exist_ok=True)
    (work / "database.duckdb").symlink_to(f"{isolation.DATA}/database.duckdb")
    (work / ".probe").write_text(control)
    given = frozenset(str(path.relative_to(work)) for path in work.rglob("*") if path.is_symlink() or not path.is_dir())
    uid, gid = isolation.container_user()
    if os.getuid() == 0:
        for path in (work, *work.rglob("*")):
            os.chown(path, uid, gid, follow_symlinks=False)
    return Workspace(folder, data_files, marker, control, given)


def remove_left_over(scratch_root: Path, labels: Mapping[str, str]) -> int:
    """Remove working folders that carry these labels, left by a process that was killed; how many there were."""
    gone = 0
    for owner in scratch_root.glob("*/owner.json"):
        try:
            held = json.loads(owner.read_text())
        except (OSError, ValueError):
            continue
        if all(held.get(key) == value for key, value in labels.items()):
            collect.remove_tree(owner.parent)
            gone += 1
    return gone

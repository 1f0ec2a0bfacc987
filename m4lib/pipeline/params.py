"""Parameters of a batch: one YAML file says which data, which campaigns and where the outputs go."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from m4lib.errors import M4Error
from m4lib.project import Project, find_project

STAGES = ("build", "dispatch", "evaluate", "bootstrap", "tables", "figures", "audit")
SOURCES = ("mimic-iv", "eicu")
ENTRIES = {"data": ("raw",), "bootstrap": ("resamples", "seed"), "build": ("threads", "memory_limit")}
KNOWN = {"name", "outputs", "stages", "data", "schemas", "campaigns", "docker", "evidence", "bootstrap", "build"}


@dataclass(frozen=True)
class Params:
    """A params file, read and checked; relative paths are relative to the checkout."""

    path: Path
    project: Project
    name: str
    outputs: Path
    stages: tuple[str, ...]
    data: Mapping[str, Mapping[str, Any]]
    schemas: tuple[str, ...]
    campaigns: tuple[Mapping[str, Any], ...]
    docker: Mapping[str, Any] = field(default_factory=dict)
    evidence: Path | None = None
    bootstrap: Mapping[str, Any] = field(default_factory=dict)
    build: Mapping[str, Any] = field(default_factory=dict)

    def database(self, source: str) -> Path:
        return self.outputs / "db" / f"{source}.duckdb"

    @property
    def references(self) -> Path:
        return self.outputs / "reference"

    @property
    def taskdb(self) -> Path:
        return self.outputs / "taskdb"

    @property
    def runs(self) -> Path:
        return self.outputs / "runs"

    @property
    def index(self) -> Path:
        return self.outputs / "index"

    @property
    def effects(self) -> Path:
        return self.outputs / "effects"


def load_params(path: str | os.PathLike[str], project: Project | None = None) -> Params:
    """Read a params file; M4Error names the entry that is unknown or wrong. M4_OUTPUTS overrides its outputs folder."""
    project = project or find_project()
    path = Path(path)
    if not path.is_absolute() and not path.is_file():
        path = project.root / path
    if not path.is_file():
        raise M4Error(f"There is no params file {path}; {project.params} holds the ones that come with the project.")
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except UnicodeDecodeError as error:
        raise M4Error(f"{path} is not valid YAML: it is no text.") from error
    except yaml.YAMLError as error:
        raise M4Error(f"{path} is not valid YAML: {str(error).splitlines()[0]}.") from error
    unknown = set(raw) - KNOWN
    if unknown:
        raise M4Error(f"{path.name} has unknown entries: {', '.join(sorted(unknown))}; known are {', '.join(sorted(KNOWN))}.")
    stages = tuple(raw.get("stages") or STAGES)
    wrong = [stage for stage in stages if stage not in STAGES]
    if wrong:
        raise M4Error(f"{path.name} names unknown stages: {', '.join(wrong)}; known are {', '.join(STAGES)}.")
    data = raw.get("data") or {}
    for entry, known in ENTRIES.items():
        given = [(f"{entry}.{source}", options) for source, options in data.items()] if entry == "data" else [(entry, raw.get(entry))]
        for place_, options in given:
            if options is not None and not isinstance(options, dict):
                raise M4Error(f"{path.name}: `{place_}` must hold entries, such as `{known[0]}: ...`.")
            odd = sorted(set(options or {}) - set(known))
            if odd:
                raise M4Error(f"{path.name}: `{place_}` has unknown entries: {', '.join(odd)}; known are {', '.join(known)}.")
    wrong = [source for source in data if source not in SOURCES]
    if wrong:
        raise M4Error(f"{path.name} names unknown data sources: {', '.join(wrong)}; known are {', '.join(SOURCES)}.")

    def place(value: str | None) -> Path | None:
        return None if value is None else (project.root / Path(value).expanduser()).resolve()

    return Params(
        path=path.resolve(), project=project, name=str(raw.get("name", path.stem)),
        outputs=place(os.environ.get("M4_OUTPUTS") or raw.get("outputs", "outputs")) or project.outputs, stages=stages, data=data,
        schemas=tuple(raw.get("schemas") or ("native",)), campaigns=tuple(raw.get("campaigns") or ()),
        docker=raw.get("docker") or {}, evidence=place(raw.get("evidence")), bootstrap=raw.get("bootstrap") or {},
        build=raw.get("build") or {},
    )

"""Where things are in a checkout. Library functions take paths; only the command line and notebooks call this."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from m4lib.errors import M4Error


@dataclass(frozen=True)
class Project:
    """The rooms of one checkout; `root` holds tasks/, skills/, params/ and notebooks/."""

    root: Path

    @property
    def tasks(self) -> Path:
        return self.root / "tasks"

    @property
    def skills(self) -> Path:
        return self.root / "skills"

    @property
    def params(self) -> Path:
        return self.root / "params"

    @property
    def notebooks(self) -> Path:
        return self.root / "notebooks"

    @property
    def outputs(self) -> Path:
        return self.root / "outputs"

    @property
    def shared(self) -> Path:
        """Read-only material beside the checkout (demo data, published run indexes); may be absent."""
        return self.root.parent / "shared"


def find_project(start: str | os.PathLike[str] | None = None) -> Project:
    """The checkout around `start` (default: M4_ROOT, the working directory, then the installed package)."""
    named = os.environ.get("M4_ROOT")
    places = [Path(start)] if start else ([Path(named)] if named else [Path.cwd(), Path(__file__)])
    for place in places:
        place = place.resolve()
        for folder in (place, *place.parents):
            if (folder / "tasks").is_dir() and (folder / "m4lib").is_dir():
                return Project(folder)
    raise M4Error("No M4Bench checkout found: run this inside one, or set M4_ROOT to its folder.")

"""A package beside the runs it was made from: the same indexes, and the same paper from either."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from m4lib.evidence.verify import Report


def against_runs(package: Path, root: Path, report: Report) -> None:
    """Add to `report` what differs between the package and the original runs: index rows, tables of the paper."""
    from m4lib.evaluation.index import build_index
    from m4lib.evidence.package import campaign_folders

    for campaign, folder in campaign_folders(root).items():
        packed = package / "runs" / campaign
        if not report.expect(packed.is_dir(), f"campaign {campaign} is not in the package"):
            continue
        original, public = build_index(folder), build_index(packed)
        report.expect(_same(original, public), f"campaign {campaign}: the index of the package is not that of the runs")
        ours, theirs = paper_tables(original), paper_tables(public)
        for name in sorted(ours):
            report.expect(ours[name] == theirs.get(name), f"campaign {campaign}: {name} differs between the package and the runs")
        report.checks.append(f"campaign {campaign}: index and {len(ours)} tables of the paper equal those of {root.name}")


def _same(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    private = ["path", "publishable_reason"]
    return one.drop(columns=private).equals(other.drop(columns=private))


def paper_tables(index: pd.DataFrame) -> dict[str, str]:
    """Every table of the paper from one index, as CSV text; a table that cannot be made of it is its error."""
    from m4lib.analysis.render import to_csv
    from m4lib.analysis.sources import load_sources
    from m4lib.analysis.table import registered
    from m4lib.project import find_project

    project = find_project()
    made = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.csv"
        index.to_csv(path, index=False)
        sources = load_sources(None, index=path, tasks=project.tasks, skills=project.skills)
        for name, build in registered().items():
            try:
                made[name] = to_csv(build(sources))
            except Exception as error:  # the same error on both sides is no difference
                made[name] = f"{type(error).__name__}: {error}".replace(folder, "")
    return made

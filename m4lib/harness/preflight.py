"""What is checked before a campaign starts, as one readable report: every check runs, none stops the others.

Checks look at what the planned runs need and nothing else: a native campaign does not ask for transformed databases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from m4lib.cards import Card
from m4lib.errors import M4Error
from m4lib.harness.campaign import Campaign, PlannedRun
from m4lib.harness.checks import data, host, texts
from m4lib.harness.isolation import Limits
from m4lib.project import Project

MOST = 20  # details that a failed check lists


@dataclass(frozen=True)
class Check:
    """One check: its name, whether it holds, and what it found."""

    name: str
    ok: bool
    details: tuple[str, ...] = ()

    def text(self) -> str:
        shown = list(self.details[:MOST])
        if len(self.details) > MOST:
            shown.append(f"... and {len(self.details) - MOST} more")
        return "\n".join([f"[{'ok' if self.ok else 'FAIL'}] {self.name}", *(f"       {line}" for line in shown)])


@dataclass(frozen=True)
class Site:
    """Where a campaign finds its inputs and leaves its results, and what its runs may use."""

    project: Project
    taskdb_dir: Path
    reference_dir: Path
    root: Path
    scratch: Path
    parallel: int = 1
    limits: Limits = field(default_factory=Limits)
    image: str | None = None


def preflight(
    campaign: Campaign, planned: Sequence[PlannedRun], cards: Mapping[str, Card], site: Site, *, left: Sequence[PlannedRun] | None = None,
    self_check: bool = False, docker: bool = True,
) -> list[Check]:
    """Run every check that the planned runs need.

    left: which of them are still to be done (default: all). self_check: also score each reference against itself.
    docker: also ask for an engine and the image here.
    """
    chosen = [cards[name] for name in sorted({run.key.task for run in planned})]
    seed = campaign.codes_seed
    plan: list[tuple[str, Callable[[], Iterator[str]]]] = [
        ("instructions are sparse", lambda: texts.instructions(chosen)),
        ("task folders hold nothing else", lambda: texts.task_folders(chosen)),
        ("operational specs", lambda: texts.specs(chosen, planned)),
        ("skills", lambda: texts.skills(site.project, chosen)),
        ("conditions", lambda: texts.conditions(cards, planned, site.project, seed)),
        ("removed tables", lambda: data.contracts(chosen)),
        ("reference outputs", lambda: data.references(chosen, site.reference_dir, self_check)),
        ("task databases", lambda: data.databases(cards, planned, site.taskdb_dir, site.reference_dir, seed)),
        ("results root", lambda: host.results_root(campaign, planned, site.root)),
        ("disk space", lambda: host.space(
            site.root, site.scratch, site.parallel, site.limits, host.answer_bytes(planned if left is None else left, site.reference_dir),
        )),
        ("credentials", lambda: host.credentials(campaign)),
        ("source", lambda: host.source(campaign, site.project)),
    ]
    if docker:
        plan.append(("Docker Engine", lambda: host.engine(campaign, site.image)))
    checks = []
    for name, check in plan:
        try:
            details = tuple(check())
        except M4Error as error:
            details = (str(error),)
        except OSError as error:
            details = (f"{error.filename or 'a file'} cannot be read: {error.strerror or error}",)
        checks.append(Check(name, not details, details))
    return checks


def require(checks: Sequence[Check]) -> None:
    """M4Error with the whole report when any check failed."""
    failed = [check for check in checks if not check.ok]
    if failed:
        raise M4Error(f"Preflight: {len(failed)} of {len(checks)} checks failed, nothing was started.\n" + "\n".join(check.text() for check in checks))

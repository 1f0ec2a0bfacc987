"""A campaign from its params to its results root: plan, preflight, images, dispatch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from m4lib.cards import Card, load_cards
from m4lib.errors import M4Error
from m4lib.harness.campaign import Campaign, PlannedRun, expand, load_task_sets
from m4lib.harness.dispatch import dispatch, todo, write_summary
from m4lib.harness.isolation import Limits
from m4lib.harness.network import ModelAccess
from m4lib.harness.plan import Forecast, forecast
from m4lib.harness.preflight import Check, Site, preflight, require
from m4lib.harness.run import HarnessSettings, RunSpec, run_one, sweep
from m4lib.project import Project


@dataclass(frozen=True)
class OneRun:
    """What a worker calls for one planned run; picklable, it holds no connection and no credential."""

    settings: HarnessSettings
    campaign: str
    effort: str
    cards: Mapping[str, Card]
    script: str = ""

    def __call__(self, run: PlannedRun, attempt: int) -> Mapping[str, Any]:
        spec = RunSpec(
            card=self.cards[run.key.task], condition=run.key.condition, schema=run.key.schema, agent=run.agent,
            model=None if run.key.model == "default" else run.key.model, effort=self.effort, trial=run.key.trial,
            campaign=self.campaign, script=self.script,
        )
        return run_one(spec, self.settings)


@dataclass(frozen=True)
class Job:
    """A campaign with its plan and its places."""

    campaign: Campaign
    planned: Sequence[PlannedRun]
    cards: Mapping[str, Card]
    site: Site
    settings: HarnessSettings
    parallel: int
    scheduler: str | None

    def forecast(self) -> Forecast:
        return forecast(self.campaign, self.planned, todo(self.planned, self.site.root), self.parallel)

    def preflight(self, *, self_check: bool = False, docker: bool = True) -> list[Check]:
        return preflight(self.campaign, self.planned, self.cards, self.site, self_check=self_check, docker=docker)

    def skip(self, reason: str) -> dict[str, Any]:
        """Record that the campaign was not run, and why; finished runs of an earlier call stay and count."""
        return write_summary(self.site.root, self.campaign, self.planned, skipped=reason)

    def run(self, *, show: bool = True) -> dict[str, Any]:
        """Preflight, prepare the image, do what is missing; returns the summary. Raises M4Error as `dispatch` does."""
        if not todo(self.planned, self.site.root):
            return write_summary(self.site.root, self.campaign, self.planned)
        require(self.preflight())
        settings = self.settings
        if self.scheduler is None:
            prepare_images(self.campaign.agent, replayed=bool(self.campaign.options.get("replay")))
        elif not settings.image:
            raise M4Error("Over several machines every worker needs the same image: name it by digest as `image` in the params.")
        sweep(settings)
        script = str(self.campaign.options.get("script", ""))
        one = OneRun(settings, self.campaign.name, self.campaign.reasoning_effort, self.cards, script)
        try:
            return dispatch(self.campaign, self.planned, one, root=self.site.root, parallel=self.parallel,
                            scheduler=self.scheduler, on_stop=lambda: sweep(settings), show=show)
        finally:
            sweep(settings)


def prepare_images(agent: str, *, replayed: bool = False) -> None:
    """Build or find what the agent's runs start from, once, so that workers do not race for it."""
    from m4lib.harness import images
    from m4lib.harness.agents import get_agent
    from m4lib.harness.docker_host import Engine

    with Engine() as engine:
        chosen = get_agent(agent)
        images.agent_image(engine, chosen.cli)
        if chosen.provider:
            images.sidecar(engine)


def make_job(
    campaign: Campaign, project: Project, *, outputs: Path, parallel: int = 2, scheduler: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Job:
    """Plan a campaign. Inputs and results lie below `outputs` (taskdb/, reference/, runs/<campaign>/).

    `options` are the params' `docker` entries: timeout (seconds), memory, image, and whatever `Limits` has.
    """
    cards = load_cards(project.tasks)
    planned = expand(campaign, cards, load_task_sets(project.params / "task_sets.yaml", cards))
    given = {**(options or {}), **{k: v for k, v in campaign.options.items() if k in Limits.__dataclass_fields__ or k == "image"}}
    limits = Limits()
    for name, value in given.items():
        if name in Limits.__dataclass_fields__:
            limits = replace(limits, **{name: value})
        elif name not in ("parallel", "scheduler", "image"):
            raise M4Error(f"Unknown entry `{name}` under docker in the params; known are parallel, scheduler, image and {', '.join(Limits.__dataclass_fields__)}.")
    root = outputs / "runs" / campaign.name
    access = None
    if campaign.options.get("replay"):
        access = ModelAccess(kind="replay")
    elif campaign.options.get("model_access"):
        entry = dict(campaign.options["model_access"])
        if entry.get("auth_dir"):
            entry["auth_dir"] = Path(entry["auth_dir"]).expanduser()
        access = ModelAccess(**entry)
    settings = HarnessSettings(
        results_root=root, taskdb_dir=outputs / "taskdb", reference_dir=outputs / "reference", project=project, limits=limits,
        image=given.get("image"), model_access=access, publishable=campaign.publishable, publishable_reason=campaign.publishable_reason,
    )
    site = Site(project, settings.taskdb_dir, settings.reference_dir, root)
    return Job(campaign, planned, cards, site, settings, parallel, scheduler)

"""A campaign from its params to its results root: plan, preflight, images, dispatch."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from m4lib.cards import Card, load_cards
from m4lib.errors import M4Error
from m4lib.harness.campaign import ENTRIES, Campaign, PlannedRun, RunKey, expand, load_task_sets, resolve_effort
from m4lib.harness.dispatch import MAX_ATTEMPTS, WAIT_SECONDS, dispatch, todo, write_summary
from m4lib.harness.failures import EngineUnavailable
from m4lib.harness.isolation import Limits
from m4lib.harness.network import ModelAccess
from m4lib.harness.plan import Forecast, forecast
from m4lib.harness.preflight import Check, Site, preflight, require
from m4lib.harness.records import is_complete, newest_of
from m4lib.harness.run import HarnessSettings, RunSpec, run_one, sweep
from m4lib.project import Project

ENGINE_SECONDS = 600.0  # how long a worker waits for its engine to come back before it gives its run back
DOCKER_ENTRIES = ("parallel", "scheduler", "image", "attempts", "retry_wait")
CAMPAIGN_ENTRIES = ("script", "replay", "model_access", "prices")
# a file of one campaign may hold what belongs to the file
FILE_ENTRIES = ("name", "outputs", "stages", "data", "schemas", "docker", "evidence", "bootstrap", "build")


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
        held = self.published(spec)  # the worker that did it died before it could say so
        try:
            return news(held or run_one(spec, self.settings))
        except EngineUnavailable:
            # the run is given back only when this host can take another one, or it would use up those of the others
            await_engine(ENGINE_SECONDS)
            raise


    def published(self, spec: RunSpec) -> Mapping[str, Any] | None:
        """The complete record of this very run, if there is one."""
        found = newest_of(self.settings.results_root.glob(f"{spec.key}_[0-9]*/result.json"), resolve_effort(spec.agent, self.effort))
        entry = found.get(RunKey(spec.card.name, spec.condition, spec.schema, spec.model or "default", spec.trial))
        return entry[1] if entry and is_complete(entry[1]) else None


def news(record: Mapping[str, Any]) -> dict[str, Any]:
    """What the dispatcher is told of a record: it is on disk, and a worker keeps what it returns for a while."""
    agent, tests = record["agent_result"], record["test_results"]
    return {
        "run_id": record["run_id"], "agent_result": {"failure_reason": agent.get("failure_reason"), "returncode": agent.get("returncode")},
        "test_results": {"reward": tests.get("reward"), "errors": tests.get("errors")},
    }


def await_engine(seconds: float) -> bool:
    """Wait until the engine of this host answers again; False when it did not in that time."""
    from m4lib.harness.docker_host import Engine

    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            Engine(timeout=5).close()
            return True
        except EngineUnavailable:
            time.sleep(1.0)
    return False


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
    attempts: int = MAX_ATTEMPTS  # of one run, for infrastructure failures
    retry_wait: float = WAIT_SECONDS  # before the second attempt; doubles each time

    def forecast(self) -> Forecast:
        return forecast(self.campaign, self.planned, todo(self.planned, self.site.root), self.parallel)

    def preflight(self, *, self_check: bool = False, docker: bool = True) -> list[Check]:
        """Every check; `docker` says whether this host's engine is asked for, which a named scheduler makes needless."""
        left = todo(self.planned, self.site.root)
        site = self.site
        if site.taskdb_dir.is_dir():  # what lies there decides where working folders go
            site = replace(site, scratch=self.settings.scratch_root())
        return preflight(
            self.campaign, self.planned, self.cards, site, left=left, self_check=self_check, docker=docker and self.scheduler is None
        )

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
            prepare_images(self.campaign.agent, settings.image)
            if self.campaign.publishable or self.campaign.options.get("leak_canary"):
                from m4lib.harness.canary import require_canary

                first = self.planned[0].key
                require_canary(self.cards[first.task], settings, self.campaign.agent, schema=first.schema)
        elif not settings.image:
            raise M4Error("Over several machines every worker needs the same image: name it by digest as `image` in the params.")
        script = str(self.campaign.options.get("script", ""))
        one = OneRun(settings, self.campaign.name, self.campaign.reasoning_effort, self.cards, script)
        return dispatch(
            self.campaign, self.planned, one, root=self.site.root, parallel=self.parallel, scheduler=self.scheduler,
            sweep=partial(sweep, settings), show=show, wait_seconds=self.retry_wait, max_attempts=self.attempts,
        )


def prepare_images(agent: str, image: str | None = None) -> None:
    """Build or find what the agent's runs start from, once, so that workers do not race for it. `image`: one that is named."""
    from m4lib.harness import images
    from m4lib.harness.agents import get_agent
    from m4lib.harness.docker_host import Engine

    with Engine() as engine:
        chosen = get_agent(agent)
        if image is None:
            images.agent_image(engine, chosen.cli)
        if chosen.provider:
            images.sidecar(engine)


def make_job(
    campaign: Campaign, project: Project, *, outputs: Path, parallel: int = 2, scheduler: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Job:
    """Plan a campaign. Inputs and results lie below `outputs` (taskdb/, reference/, runs/<campaign>/).

    `options` are the params' `docker` entries: timeout (seconds), memory, image, and whatever `Limits` has; attempts and
    retry_wait (seconds) for infrastructure failures. M4Error for an unknown entry or a value of the wrong kind.
    """
    cards = load_cards(project.tasks)
    planned = expand(campaign, cards, load_task_sets(project.params / "task_sets.yaml", cards))
    known = {*Limits.__dataclass_fields__, *DOCKER_ENTRIES}
    strange = sorted(set(campaign.options) - known - {*CAMPAIGN_ENTRIES, *FILE_ENTRIES})
    if strange:
        raise M4Error(f"The campaign {campaign.name} has unknown entries: {', '.join(strange)}; known are {', '.join(sorted({*ENTRIES, *CAMPAIGN_ENTRIES, *FILE_ENTRIES, *known}))}.")
    given = {**(options or {}), **{k: v for k, v in campaign.options.items() if k in known}}
    limits = Limits()
    for name, value in given.items():
        if name in Limits.__dataclass_fields__:
            limits = replace(limits, **{name: positive(name, value, type(getattr(limits, name)))})
        elif name not in DOCKER_ENTRIES:
            raise M4Error(f"Unknown entry `{name}` under docker in the params; known are {', '.join([*DOCKER_ENTRIES, *Limits.__dataclass_fields__])}.")
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
        codes_seed=campaign.codes_seed,
    )
    site = Site(project, settings.taskdb_dir, settings.reference_dir, root, outputs, parallel, limits, settings.image)
    return Job(
        campaign, planned, cards, site, settings, parallel, scheduler, positive("attempts", given.get("attempts", MAX_ATTEMPTS), int),
        positive("retry_wait", given.get("retry_wait", WAIT_SECONDS), float),
    )


def positive(name: str, value: Any, kind: type) -> Any:
    """`value` as a number above 0 of that kind; M4Error names the entry."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0 or (kind is int and value != int(value)):
        raise M4Error(f"The entry `{name}` of the params must be a {'whole ' if kind is int else ''}number above 0, not {value!r}.")
    return kind(value)

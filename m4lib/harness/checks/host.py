"""Checks of this machine and of the place for results: engine, images, disk, credentials, commit, results root."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from m4lib.errors import InfrastructureError, M4Error
from m4lib.harness import images, record
from m4lib.harness.agents import get_agent
from m4lib.harness.campaign import Campaign, PlannedRun
from m4lib.harness.docker_host import LABEL, Engine
from m4lib.harness.isolation import Limits
from m4lib.harness.network import PROVIDERS
from m4lib.harness.records import read_records, run_key
from m4lib.project import Project

RUN_BYTES = 2 << 20  # what a run leaves behind beside its answer, a trace of a long one included
WORK_BYTES = 256 << 20  # what a run may need while it works, its answer aside
CSV_SHARE = 10  # an answer as CSV is 3 to 12 times as large as its reference as Parquet, by measurement


def engine(campaign: Campaign, image: str | None) -> Iterator[str]:
    """A Docker Engine answers, and has or can build the image with the pinned command line."""
    try:
        docker = Engine()
    except M4Error as error:
        yield str(error)
        return
    with docker:
        cli = get_agent(campaign.agent).cli
        pinned = images.CLIS[cli].version if cli else ""
        if image:
            try:
                held = images.named(docker, image)
            except InfrastructureError as error:
                yield str(error)
                return
            if held.cli != pinned:
                yield f"the image {image} holds {cli} {held.cli or 'in no known version'}, the pinned version is {pinned}"
            return
        base = os.environ.get("M4_BASE_IMAGE")
        if base and docker.image(base) is None:
            yield f"M4_BASE_IMAGE names {base}, which is not on this machine"
        if cli and not (images.cache_dir() / "cli" / f"{cli}-{pinned}").is_dir() and shutil.which("npm") is None:
            built = docker.client.images.list(filters={"label": [f"{LABEL}.cli={pinned}", f"{LABEL}.image=agent-{cli}"]})
            if not built:
                yield f"npm is needed once to fetch the pinned command line of {cli}; install Node.js with npm"


def answer_bytes(planned: Sequence[PlannedRun], reference_dir: Path) -> list[int]:
    """How large the answer of each planned run may be, in bytes; 0 where the reference is not there."""
    sizes = {
        task: CSV_SHARE * path.stat().st_size if path.is_file() else 0
        for task in {run.key.task for run in planned} for path in [reference_dir / f"{task}.parquet"]
    }
    return [sizes[run.key.task] for run in planned]


def space(root: Path, scratch: Path, parallel: int, limits: Limits, answers: Sequence[int]) -> Iterator[str]:
    """There is room for the results of all runs, and for the working folders of those at the same time.

    answers: `answer_bytes` of the runs that are still to be done.
    """
    runs, work = len(answers), WORK_BYTES + max(answers, default=0)
    for place, wanted, what in (
        (root, limits.host_free + runs * RUN_BYTES + sum(answers), f"the results of {runs} runs want"),
        (scratch, limits.host_free + parallel * work, f"{parallel} runs at a time want"),
    ):
        while not place.exists():
            place = place.parent
        free = shutil.disk_usage(place).free
        if free < wanted:
            yield f"only {free >> 20} MiB are free at {place}; {what} {wanted >> 20} MiB"
        if not os.access(place, os.W_OK):
            yield f"{place} cannot be written"


def credentials(campaign: Campaign) -> Iterator[str]:
    """The provider's key is in the environment of the dispatcher (it never enters the agent's container), or a login is there."""
    agent = get_agent(campaign.agent)
    if agent.provider is None or campaign.options.get("replay"):
        return
    provider, access = PROVIDERS[agent.provider], campaign.options.get("model_access") or {}
    kind = access.get("kind", "api-key")
    if kind == "login":
        folder = Path(access.get("auth_dir") or "").expanduser()
        if not access.get("auth_dir") or not any((folder / name).is_file() for name in provider.login_files):
            yield f"there is no login of {campaign.agent} in {folder} (one of {', '.join(provider.login_files) or 'none, use a key'})"
    elif kind == "api-key" and not provider.keyless:
        names = (access["key_env"],) if access.get("key_env") else provider.key_names
        if not any(os.environ.get(name) for name in names):
            yield f"set {' or '.join(names)}; the gateway beside the agent holds it, the agent never sees it"


def source(campaign: Campaign, project: Project) -> Iterator[str]:
    """Runs that are to be evidence come from a commit, not from files that someone has changed since."""
    if not campaign.publishable or campaign.options.get("replay"):
        return
    held = record.source_commit(project.root)
    if not held["commit"]:
        yield "this is no git checkout, so no run could name its source; say `publishable: false` or use a checkout"
    elif held["dirty"]:
        yield "tracked files differ from the commit; commit them, or say `publishable: false`"


def results_root(campaign: Campaign, planned: Sequence[PlannedRun], root: Path) -> Iterator[str]:
    """The results root is new or this campaign's own: no runs of another plan, agent or set of codes."""
    try:
        manifest = json.loads((root / "campaign_manifest.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        manifest = {}
    except (OSError, ValueError):
        yield f"{root / 'campaign_manifest.json'} cannot be read"
        manifest = {}
    for name, wanted in (("campaign", campaign.name), ("agent", campaign.agent), ("codes_seed", campaign.codes_seed)):
        if manifest and manifest.get(name) != wanted:
            yield f"{root} was begun with {name} {manifest.get(name)}, this is {wanted}; choose another campaign name"
    keys = {run.key for run in planned}
    strange = [folder.name for folder, held in read_records(root) if run_key(held) not in keys or held.get("agent") != campaign.agent]
    if strange:
        yield f"{root} holds runs that this campaign does not plan: {', '.join(strange[:3])}{', ...' if len(strange) > 3 else ''}"

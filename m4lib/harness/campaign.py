"""Campaigns as data: a params file names tiers of tasks x conditions x schemas x models x trials; this expands them.

A *cell* is task x condition x schema x model (x effort); a *run key* is a cell and a trial. Keys are unique: a key
that two tiers name is planned once, in the first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from m4lib.cards import Card
from m4lib.errors import M4Error
from m4lib.harness.conditions import CONDITIONS, SCHEMAS
from m4lib.harness.conditions import MAPPED as MAPPED_CONDITION

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # of a campaign: it names a folder
AGENTS = ("codex", "claude", "gemini", "pi-ollama", "oracle", "nop", "scripted")
TEST_AGENTS = ("oracle", "nop", "scripted")  # never publishable
EFFORTS = {
    "claude": ("low", "medium", "high", "xhigh", "max"),
    "codex": ("minimal", "low", "medium", "high", "xhigh"),
}

# Minutes that an agent took in the published runs, by task; they only order and forecast.
PRIOR_MINUTES = {
    "mimic-sepsis3-raw": 11, "mimic-urine-output-rate-raw": 10, "mimic-suspicion-infection-raw": 8,
    "mimic-sofa-24h-raw": 8, "mimic-apsiii-24h-raw": 7, "mimic-sapsii-24h-raw": 7, "mimic-urine-output-rate": 6,
    "mimic-ventilation-raw": 5, "mimic-kdigo-48h-raw": 5,
}
OTHER_MINUTES = 4
CONDITION_FACTOR = {
    "no-skill": 1.15, "with-skill-all": 1.10, "operational-spec": 1.05, "with-skill": 1.0, MAPPED_CONDITION: 1.0,
    "with-skill-decoy": 0.95, "with-skill-rawsql": 0.85,
}


def resolve_effort(agent: str, requested: str) -> str:
    """The reasoning effort that is applied: `auto` is medium for codex and claude, else the provider's default.

    Raises M4Error for a level that the agent does not have.
    """
    if requested in ("default", "provider-default"):
        return "provider-default"
    levels = EFFORTS.get(agent)
    if requested == "auto":
        return "medium" if levels else "provider-default"
    if levels is None or requested not in levels:
        known = ", ".join(levels) if levels else "auto and default only"
        raise M4Error(f"The agent {agent} has no reasoning effort {requested!r}; it knows {known}.")
    return requested


@dataclass(frozen=True, order=True)
class RunKey:
    """What makes a run unique within a campaign."""

    task: str
    condition: str
    schema: str
    model: str
    trial: int

    @property
    def cell(self) -> tuple[str, str, str, str]:
        return (self.task, self.condition, self.schema, self.model)


@dataclass(frozen=True)
class PlannedRun:
    """A run key with its place in the campaign and the time that such a run is expected to take."""

    key: RunKey
    agent: str
    tier: int
    tier_name: str
    effort: str
    expected_seconds: float


@dataclass(frozen=True)
class Campaign:
    """One params file, read and checked. `options` holds what the dispatcher and the agents take from it."""

    name: str
    agent: str
    reasoning_effort: str
    trials: int
    tiers: tuple[Mapping[str, Any], ...]
    publishable: bool = True
    publishable_reason: str = ""
    codes_seed: int | None = None  # deals the codes of the transformed schemas out at random; None: the published ones
    options: Mapping[str, Any] = field(default_factory=dict)


def load_task_sets(path: str | os.PathLike[str], cards: Mapping[str, Card]) -> dict[str, list[str]]:
    """Named task sets: name -> task names, alphabetical unless the file lists them."""
    raw = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    sets: dict[str, list[str]] = {}
    for name, value in raw.items():
        if isinstance(value, list):
            sets[name] = list(value)
            continue
        options = value.get("where_any") or [value.get("where") or {}]
        chosen = [
            card.name for card in cards.values()
            if any(all(getattr(card, key) in allowed for key, allowed in option.items()) for option in options)
        ]
        taken = {task for other in value.get("minus", []) for task in sets[other]}
        sets[name] = [task for task in chosen if task not in taken]
    for name, tasks in sets.items():
        unknown = [task for task in tasks if task not in cards]
        if unknown:
            raise M4Error(f"The task set {name} in {path} names unknown tasks: {', '.join(unknown)}.")
    return sets


ENTRIES = {"campaign", "agent", "reasoning_effort", "trials", "tiers", "publishable", "publishable_reason", "codes_seed"}
TIER_ENTRIES = {"name", "tasks", "conditions", "schemas", "models", "trials", "only_agent"}


def parse_campaign(raw: Mapping[str, Any], where: str = "campaign") -> Campaign:
    """Check the entries of one campaign; M4Error names the first that is missing or wrong."""
    if not isinstance(raw, Mapping):
        raise M4Error(f"{where}: {raw!r} is no campaign; it needs the entries campaign, agent and tiers.")
    for entry in ("campaign", "agent", "tiers"):
        if not raw.get(entry):
            raise M4Error(f"{where}: the entry `{entry}` is missing.")
    name = str(raw["campaign"])
    if not NAME.fullmatch(name):
        raise M4Error(f"{where}: {name!r} cannot name a campaign's folder; use letters, digits, dots, hyphens and underscores.")
    if raw["agent"] not in AGENTS:
        raise M4Error(f"{where}: unknown agent {raw['agent']!r}; known are {', '.join(AGENTS)}.")
    effort = str(raw.get("reasoning_effort", "auto"))
    resolve_effort(raw["agent"], effort)
    if not isinstance(raw["tiers"], Sequence) or isinstance(raw["tiers"], str):
        raise M4Error(f"{where}: `tiers` must be a list.")
    for number, tier in enumerate(raw["tiers"], 1):
        _check_tier(tier, f"{where}: tier {number}")
    publishable = bool(raw.get("publishable", True)) and raw["agent"] not in TEST_AGENTS
    reason = str(raw.get("publishable_reason") or "")
    if not publishable and not reason:
        reason = f"the agent {raw['agent']} only tests the harness" if raw["agent"] in TEST_AGENTS else "the campaign is marked as not publishable"
    seed = raw.get("codes_seed")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise M4Error(f"{where}: `codes_seed` must be a whole number, not {seed!r}.")
    return Campaign(
        name=name, agent=raw["agent"], reasoning_effort=effort, trials=_trials(raw.get("trials", 5), where),
        tiers=tuple(raw["tiers"]), publishable=publishable, publishable_reason=reason, codes_seed=seed,
        options={key: value for key, value in raw.items() if key not in ENTRIES},
    )


def _check_tier(tier: Any, where: str) -> None:
    if not isinstance(tier, Mapping):
        raise M4Error(f"{where} is {tier!r}; it needs the entries tasks and conditions.")
    unknown = sorted(set(tier) - TIER_ENTRIES)
    if unknown:
        raise M4Error(f"{where} has unknown entries: {', '.join(map(str, unknown))}; known are {', '.join(sorted(TIER_ENTRIES))}.")
    for entry in ("tasks", "conditions"):
        if not tier.get(entry):
            raise M4Error(f"{where} has no `{entry}`.")
    for entry in ("conditions", "schemas", "models"):
        if entry in tier and not isinstance(tier[entry], list):
            raise M4Error(f"{where}: `{entry}` must be a list, not {tier[entry]!r}.")
        if entry in tier and not tier[entry]:
            raise M4Error(f"{where}: `{entry}` is empty, so the tier would have no runs; leave the entry out for its default.")
    _trials(tier.get("trials", 1), where)
    for condition in tier["conditions"]:
        if condition not in (*CONDITIONS, MAPPED_CONDITION):
            raise M4Error(f"{where}: unknown condition {condition!r}; known are {', '.join((*CONDITIONS, MAPPED_CONDITION))}.")
    schemas = tier.get("schemas", ["native"])
    for schema in schemas:
        if schema not in SCHEMAS:
            raise M4Error(f"{where}: unknown schema {schema!r}; known are {', '.join(SCHEMAS)}.")
    if MAPPED_CONDITION in tier["conditions"] and "native" in schemas:
        raise M4Error(f"{where}: {MAPPED_CONDITION} is with-skill on the native schema; give it only transformed schemas.")


def _trials(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise M4Error(f"{where}: `trials` must be a whole number from 1, not {value!r}.")
    return value


def load_campaigns(path: str | os.PathLike[str]) -> list[Campaign]:
    """The campaigns of a params file: the file itself, or the list under its `campaigns` entry."""
    path = Path(path)
    if not path.is_file():
        raise M4Error(f"There is no params file {path}.")
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise M4Error(f"{path} is not valid YAML: it is no text.") from error
    except yaml.YAMLError as error:
        raise M4Error(f"{path} is not valid YAML: {str(error).splitlines()[0]}.") from error
    if not isinstance(raw, Mapping):
        raise M4Error(f"{path} holds no parameters.")
    entries = raw.get("campaigns")
    if entries is None:
        if "campaign" not in raw:
            raise M4Error(f"{path} names no campaign: give it `campaign`, `agent` and `tiers`, or a list `campaigns`.")
        entries = [raw]
    if not isinstance(entries, list):
        raise M4Error(f"{path}: `campaigns` must be a list.")
    found = [parse_campaign(entry, f"{path.name}, campaign {number}") for number, entry in enumerate(entries, 1)]
    twice = sorted({campaign.name for campaign in found if [other.name for other in found].count(campaign.name) > 1})
    if twice:
        raise M4Error(f"{path} names the campaign {twice[0]} twice; each has a folder of its own.")
    return found


def expected_seconds(task: str, condition: str) -> float:
    """Seconds that a run of this kind took on average in the published campaigns."""
    return 60.0 * PRIOR_MINUTES.get(task, OTHER_MINUTES) * CONDITION_FACTOR[condition]


def expand(campaign: Campaign, cards: Mapping[str, Card], task_sets: Mapping[str, Sequence[str]]) -> list[PlannedRun]:
    """Every run of a campaign: tier after tier, inside a tier the slow ones first. Each run key once.

    Raises M4Error for unknown tasks and for combinations that cannot exist (a transformed schema of eICU, an
    operational spec of a task that has none).
    """
    effort = resolve_effort(campaign.agent, campaign.reasoning_effort)
    runs: list[PlannedRun] = []
    seen: set[RunKey] = set()
    for number, tier in enumerate(campaign.tiers, 1):
        only = tier.get("only_agent")
        if only and only != campaign.agent:
            continue
        tasks = tier["tasks"]
        names = task_sets.get(tasks, [tasks]) if isinstance(tasks, str) else list(tasks)
        tier_runs = []
        for task in names:
            if task not in cards:
                raise M4Error(f"Campaign {campaign.name}, tier {number}: there is no task or task set {task!r}.")
            for condition in tier["conditions"]:
                if condition == "operational-spec" and not cards[task].operational_spec:
                    raise M4Error(f"Campaign {campaign.name}: {task} has no operational spec.")
                for schema in tier.get("schemas", ["native"]):
                    if schema != "native" and cards[task].database != "mimic-iv":
                        raise M4Error(f"Campaign {campaign.name}: {task} has no {schema} schema, only MIMIC-IV tasks do.")
                    for model in tier.get("models") or ["default"]:
                        for trial in range(1, int(tier.get("trials", campaign.trials)) + 1):
                            key = RunKey(task, condition, schema, str(model), trial)
                            if key not in seen:
                                seen.add(key)
                                tier_runs.append(PlannedRun(
                                    key, campaign.agent, number, str(tier.get("name", f"tier {number}")), effort,
                                    expected_seconds(task, condition),
                                ))
        runs += sorted(tier_runs, key=lambda run: (-run.expected_seconds, run.key))
    return runs


def cells(runs: Iterable[PlannedRun]) -> set[tuple[str, str, str, str]]:
    """The distinct cells of a plan."""
    return {run.key.cell for run in runs}

"""The stages about runs: dispatch the params' campaigns, evaluate what they left, and estimate effects."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pandas as pd

from m4lib.files import atomic_path, read_json
from m4lib.harness.campaign import parse_campaign
from m4lib.harness.campaign_run import Job, make_job
from m4lib.harness.failures import ToolMissing
from m4lib.pipeline.params import Params

NO_DOCKER = "no Docker Engine answers"


def bars() -> bool:
    """Whether progress bars are wanted: in JupyterLab, not inside a batch, which shows progress by cell."""
    return not os.environ.get("TQDM_DISABLE")


def jobs(params: Params) -> list[Job]:
    """The campaigns of the params, planned."""
    options = {key: value for key, value in params.docker.items() if key not in ("parallel", "scheduler")}
    return [
        make_job(parse_campaign(entry, f"{params.path.name}, campaign {number}"), params.project, outputs=params.outputs,
                 parallel=int(params.docker.get("parallel", 2)), scheduler=params.docker.get("scheduler"), options=options)
        for number, entry in enumerate(params.campaigns, 1)
    ]


def plan_table(planned: Sequence[Job]) -> pd.DataFrame:
    """A row a campaign and tier: runs and cells, with the agent, its models and conditions."""
    rows = []
    for job in planned:
        tiers: dict[int, list[Any]] = {}
        for run in job.planned:
            tiers.setdefault(run.tier, []).append(run)
        for runs in tiers.values():
            rows.append({
                "campaign": job.campaign.name, "tier": runs[0].tier_name, "agent": job.campaign.agent,
                "tasks": len({run.key.task for run in runs}), "conditions": ", ".join(dict.fromkeys(sorted(run.key.condition for run in runs))),
                "models": ", ".join(dict.fromkeys(sorted(run.key.model for run in runs))), "runs": len(runs),
            })
    return pd.DataFrame(rows, columns=["campaign", "tier", "agent", "tasks", "conditions", "models", "runs"])


def preflight_text(planned: Sequence[Job]) -> str:
    """The preflight report: a line a campaign, and every check that fails with what it found."""
    lines = []
    for job in planned:
        checks = job.preflight(docker=False)
        failed = [check for check in checks if not check.ok]
        lines.append(f"{job.campaign.name}: {len(checks) - len(failed)} of {len(checks)} checks passed ({', '.join(check.name for check in checks)})")
        lines += [check.text() for check in failed]
    return "\n".join(lines)


def dispatch_all(planned: Sequence[Job], *, show: bool | None = None) -> pd.DataFrame:
    """Run every campaign that has runs to do, or record that it was skipped for want of Docker or of an agent's program.

    Returns a row a campaign: campaign, agent, planned, finished, void, mean_reward, skipped.
    """
    from m4lib.pipeline.batch import docker_answers

    answers, show = docker_answers(), bars() if show is None else show
    rows = []
    for job in planned:
        ahead = job.forecast()
        if answers or ahead.runs == ahead.done:
            try:
                summary = job.run(show=show)
            except ToolMissing as error:
                summary = job.skip(str(error).rstrip("."))
        else:
            summary = job.skip(NO_DOCKER)
        rows.append({key: summary[key] for key in ("campaign", "agent", "planned", "finished", "void", "mean_reward", "skipped")})
    return pd.DataFrame(rows, columns=["campaign", "agent", "planned", "finished", "void", "mean_reward", "skipped"])


def run_table(params: Params) -> pd.DataFrame:
    """A row a finished run of the params' campaigns, with what went on inside: time, tokens, skill read, failure."""
    from m4lib.harness.records import newest

    rows = []
    for job in jobs(params):
        for key, (_, record) in sorted(newest(job.site.root).items()):
            result = record["agent_result"]
            rows.append({
                "campaign": job.campaign.name, "task": key.task, "condition": key.condition, "model": key.model, "trial": key.trial,
                "seconds": result.get("elapsed_seconds"), "output_tokens": (record.get("token_usage") or {}).get("output_tokens"),
                "skill_read": bool((record.get("skill_evidence") or {}).get("any")),
                "failure": result.get("failure_reason"), "void": bool(record.get("void")),
            })
    return pd.DataFrame(rows)


def evaluate_campaigns(params: Params, *, progress: bool | None = None) -> pd.DataFrame:
    """Evaluate every run of the params' campaigns that is not yet evaluated, and write one run index a campaign.

    Returns all indexes together, a row a run, with the column `campaign` in front. The files are
    `index/<campaign>.csv` and `.parquet`.
    """
    from m4lib.cards import load_cards
    from m4lib.evaluation.batch import evaluate_root
    from m4lib.evaluation.index import write_index

    cards = load_cards(params.project.tasks)
    frames = []
    for job in jobs(params):
        if not any(job.site.root.glob("*/result.json")):
            continue
        evaluate_root(job.site.root, params.references, cards, progress=bars() if progress is None else progress)
        frame = write_index(job.site.root, params.index / f"{job.campaign.name}.csv")
        frames.append(frame.assign(campaign=job.campaign.name))
    if not frames:
        return pd.DataFrame(columns=["campaign", "task", "condition", "schema", "model", "trial", "reward"])
    together = pd.concat(frames, ignore_index=True)
    return together[["campaign", *[column for column in together.columns if column != "campaign"]]]


def campaign_effects(params: Params) -> pd.DataFrame:
    """Skill effects of the params' own campaigns, and of the published ones where their indexes are at hand.

    Writes `effects/effects.csv`: source, agent, then the columns of `m4lib.analysis.effects`. Campaigns that ran the
    control alone, or the skill alone, have no effect and no row.
    """
    from m4lib.analysis.effects import COLUMNS, effects
    from m4lib.analysis.sources import load_sources, read_index
    from m4lib.pipeline.batch import evidence_folder

    seed, resamples = int(params.bootstrap.get("seed", 20260504)), int(params.bootstrap.get("resamples", 20_000))
    indexes = [(path.stem, read_index(path)) for path in sorted(params.index.glob("*.csv"))]
    folder = evidence_folder(params)
    if folder is not None:
        sources = load_sources(folder)
        indexes += [(f"published: {path.stem}", sources[role]) for role, path in sorted(sources.paths.items())]
    parts = []
    for name, index in indexes:
        table = effects(index, seed=seed, resamples=resamples)
        if len(table):
            agent = index["agent"].iloc[0] if "agent" in index and len(index) else ""
            parts.append(table.assign(source=name, agent=agent))
    result = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["source", "agent", *COLUMNS])
    result = result[["source", "agent", *COLUMNS]]
    with atomic_path(params.effects / "effects.csv") as beside:
        result.to_csv(beside, index=False)
    return result


def draw_effects(table: pd.DataFrame, measure: str = "Reward") -> Any:
    """Mean task deltas with 95 % intervals, a row a source, scope and condition."""
    import matplotlib.pyplot as plt

    rows = table[table["measure"] == measure].iloc[::-1].reset_index(drop=True)
    figure, axis = plt.subplots(figsize=(7.5, 0.7 + 0.32 * max(len(rows), 1)), layout="constrained")
    axis.axvline(0, color="#888888", linewidth=0.8, linestyle="--")
    colours = {"with-skill": "#0072B2", "with-skill-rawsql": "#009E73", "with-skill-decoy": "#D55E00"}
    for place, (_, row) in enumerate(rows.iterrows()):
        colour = colours.get(str(row["condition"]), "#666666")
        if pd.notna(row["ci_low"]):
            axis.plot([row["ci_low"], row["ci_high"]], [place, place], color=colour, linewidth=1.6)
        axis.plot([row["delta"]], [place], "o", color=colour, markersize=5)
    axis.set_yticks(range(len(rows)), [f"{row['source']}: {row['scope']}, {row['condition']}" for _, row in rows.iterrows()], fontsize=8)
    axis.set_xlabel(f"{measure} against no-skill: mean task delta and 95 % interval", fontsize=8)
    axis.tick_params(axis="x", labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    return figure


def skipped(params: Params) -> dict[str, str]:
    """Campaigns that were not run, and why."""
    found = {}
    for job in jobs(params):
        path = job.site.root / "campaign_summary.json"
        if path.is_file() and (reason := read_json(path).get("skipped")):
            found[job.campaign.name] = reason
    return found

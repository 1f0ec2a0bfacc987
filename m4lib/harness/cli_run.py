"""`python -m m4lib run`: plan, preflight, dispatch, evaluate and index the campaigns of a params file."""

from __future__ import annotations

import argparse
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from m4lib.harness.campaign_run import Job


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--params", required=True, metavar="FILE", help="a params file with one campaign or a list of `campaigns`")
    parser.add_argument("--outputs", metavar="DIR",
                        help="folder of inputs and results (default: M4_OUTPUTS, else the params' `outputs`, else outputs/)")
    parser.add_argument("--only", action="append", default=[], metavar="CAMPAIGN", help="only this campaign; may be repeated (default: every campaign of the file)")
    parser.add_argument("--parallel", type=int, metavar="N", help="runs at once (default: the params' `docker: parallel`, else 2)")
    parser.add_argument("--scheduler", metavar="ADDRESS",
                        help="a Dask scheduler, tcp://HOST:PORT, for runs on several machines (default: the params' `docker: scheduler`, else none)")
    parser.add_argument("--dry-run", action="store_true", help="print runs, cells, expected time and cost, and stop (default: run them)")
    parser.add_argument("--preflight", action="store_true", help="run the checks, references scored against themselves, and stop (default: go on)")


def run(args: argparse.Namespace) -> int:
    from m4lib.errors import M4Error
    from m4lib.harness.campaign import load_campaigns
    from m4lib.harness.campaign_run import make_job, positive
    from m4lib.project import find_project

    project = find_project()
    path = Path(args.params) if Path(args.params).is_file() else project.root / args.params
    campaigns = load_campaigns(path)
    raw = read_params(path)
    unknown = set(args.only) - {campaign.name for campaign in campaigns}
    if unknown:
        known = ", ".join(campaign.name for campaign in campaigns)
        raise M4Error(f"{path.name} has no campaign called {', '.join(sorted(unknown))}; it has {known}.")
    outputs = (project.root / (args.outputs or os.environ.get("M4_OUTPUTS") or raw.get("outputs") or "outputs")).resolve()
    docker = raw.get("docker") or {}
    if not isinstance(docker, dict):
        raise M4Error(f"{path.name}: `docker` must be a mapping, not {docker!r}.")
    parallel = positive("parallel", docker.get("parallel", 2) if args.parallel is None else args.parallel, int)
    jobs = [
        make_job(campaign, project, outputs=outputs, parallel=parallel, scheduler=args.scheduler or docker.get("scheduler"), options=docker)
        for campaign in campaigns if not args.only or campaign.name in args.only
    ]
    for job in jobs:
        print(job.forecast().text(job.campaign.name), flush=True)
    if args.dry_run:
        return 0
    if args.preflight:
        failed = False
        for job in jobs:
            checks = job.preflight(self_check=True)
            print("\n".join([f"{job.campaign.name}:", *(check.text() for check in checks)]))
            failed |= any(not check.ok for check in checks)
        return 1 if failed else 0
    # a batch system ends a job with TERM; that is an interrupt like Ctrl-C
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    errors = []
    for job in jobs:
        try:
            report(job, outputs)
        except M4Error as error:  # the other campaigns may well work
            errors.append(f"{job.campaign.name}: {error}" if len(jobs) > 1 else str(error))
    if errors:
        raise M4Error("\n".join(errors))
    return 0


def read_params(path: Path) -> dict[str, Any]:
    import yaml

    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


def report(job: Job, outputs: Path) -> None:
    """Run one campaign, index what it has, and say so in a line; the index is written whatever happens."""
    from m4lib.evaluation.index import write_index

    target = outputs / "index" / f"{job.campaign.name}.csv"
    try:
        summary = job.run()
    finally:
        if any(job.site.root.glob("*/result.json")):
            write_index(job.site.root, target)
    reward = "no reward" if summary["mean_reward"] is None else f"mean reward {summary['mean_reward']:.3f}"
    print(f"{job.campaign.name}: {summary['finished']} of {summary['planned']} runs complete, {summary['void']} void, {reward}; index: {target}")

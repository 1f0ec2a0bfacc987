"""`python -m m4lib demo`: all stages of a params file as notebooks, then the report."""

from __future__ import annotations

import argparse
import sys


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--params", default="params/demo.yaml", metavar="FILE", help="what to run (default: %(default)s)")
    parser.add_argument("--force", action="store_true", help="redo every stage, changed or not (default: what has changed)")


def run(args: argparse.Namespace) -> int:
    from m4lib.pipeline.batch import docker_answers, run_batch
    from m4lib.pipeline.params import load_params
    from m4lib.pipeline.report import write_report

    params = load_params(args.params)
    if "dispatch" in params.stages and params.campaigns and not docker_answers():
        print("No Docker Engine answers, so the agent runs are skipped and the report says so; everything else is done. "
              "`python -m m4lib doctor` says how to get one.", file=sys.stderr)
    results = run_batch(params, force=args.force)
    index = write_report(params, results)
    failed = [result for result in results if result.status == "failed"]
    if failed:
        print(f"Stopped: {failed[0].message}", file=sys.stderr)
        print(f"Report so far: {index}", file=sys.stderr)
        return 1
    kept = sum(result.status == "kept" for result in results)
    print(f"{len(results)} stages: {len(results) - kept} done, {kept} unchanged.")
    print(f"Look at {index}")
    return 0

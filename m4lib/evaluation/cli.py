"""`python -m m4lib evaluate`: score one output against one reference; JSON on stdout."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from m4lib.cards import get_card
from m4lib.errors import M4Error
from m4lib.evaluation.score import evaluate_files
from m4lib.project import find_project


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--task", required=True, help="name of a task, e.g. mimic-sofa-24h")
    parser.add_argument("--output", required=True, type=Path, metavar="FILE", help="the agent's file: CSV or Parquet, gzip or not")
    parser.add_argument("--reference", required=True, type=Path, metavar="FILE", help="the right answer, CSV or Parquet")
    parser.add_argument("--explain", type=Path, metavar="OUT.parquet", help="also write which cells differ, and how (default: only the score)")


def run(args: argparse.Namespace) -> int:
    card = get_card(find_project().tasks, args.task)
    if args.explain is not None and args.explain.resolve() in (args.output.resolve(), args.reference.resolve()):
        raise M4Error(f"{args.explain} is what is compared: give --explain a file of its own.")
    result = {"task": card.name, **evaluate_files(args.output, args.reference, card.evaluation)}
    if args.explain is not None:
        from m4lib.evaluation.explain import explain

        explanation = explain(args.output, args.reference, card.evaluation)
        explanation.write(args.explain)
        result["explanation"] = explanation.summary_records()
    print(json.dumps(result, indent=1, allow_nan=False))
    return 0

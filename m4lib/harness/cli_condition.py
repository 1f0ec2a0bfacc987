"""`python -m m4lib condition`: show every file and the prompt that a run receives, without starting anything."""

from __future__ import annotations

import argparse
import json

from m4lib.cards import get_card
from m4lib.harness.conditions import CONDITIONS, MAPPED, SCHEMAS, SKILL_DIRS, Condition, materialize
from m4lib.project import find_project


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--task", required=True, help="task name, e.g. mimic-sofa-24h")
    parser.add_argument("--condition", required=True, choices=(*CONDITIONS, MAPPED),
                        help=f"which artefacts the agent gets; {MAPPED} on a transformed schema only")
    parser.add_argument("--schema", default="native", choices=SCHEMAS, help="schema of the task's database (default: %(default)s)")
    parser.add_argument("--agent", default="claude", choices=sorted(SKILL_DIRS),
                        help="whose folder of skills to fill (default: %(default)s)")
    parser.add_argument("--map-skills", action="store_true", help="on a transformed schema, skills with its table names (default: as published)")
    parser.add_argument("--names-only", action="store_true", help="list the files with their sizes, print no text (default: the texts too)")
    parser.add_argument("--json", action="store_true", help="one JSON object (default: text)")


def run(args: argparse.Namespace) -> int:
    project = find_project()
    card = get_card(project.tasks, args.task)
    shown = materialize(card, args.condition, args.schema, args.agent, project, map_skills=args.map_skills)
    print(as_json(shown) if args.json else as_text(shown, names_only=args.names_only))
    return 0


def as_json(shown: Condition) -> str:
    return json.dumps(
        {"task": shown.task, "condition": shown.condition, "schema": shown.schema, "agent": shown.agent,
         "sha256": shown.sha256, "skill_dir": shown.skill_dir, "files": dict(shown.files), "prompt": shown.prompt},
        indent=1,
    )


def as_text(shown: Condition, *, names_only: bool = False) -> str:
    """Each file and the prompt below a line that names it."""
    lines = [f"{shown.task} · {shown.condition} · {shown.schema} · {shown.agent} · sha256 {shown.sha256}",
             f"{len(shown.files)} file(s) below {shown.skill_dir}, prompt of {len(shown.prompt):,} characters"]
    for path, text in [*shown.files.items(), ("prompt", shown.prompt)]:
        lines.append(f"\n===== {path} ({len(text):,} characters)")
        if not names_only:
            lines.append(text.rstrip())
    return "\n".join(lines)

"""A made-up task for tests of the harness: `toy-score`, five stays, two columns. No patient data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb

from m4lib.cards import Card
from m4lib.harness.conditions import Condition
from m4lib.harness.isolation import Limits
from m4lib.harness.network import ModelAccess
from m4lib.harness.run import HarnessSettings, RunSpec, run_one
from m4lib.project import Project

QUERY = "SELECT stay_id, score FROM hospital.scores"
SKILL_LINE = "The worst value within twenty-four hours of admission counts."
SKILL = f"---\nname: toy-score\ndescription: how the toy score is computed\n---\n# Toy score\n\n{SKILL_LINE}\n"
FOLDERS = {"codex": ".codex/skills", "claude": ".claude/skills", "gemini": ".gemini/skills", "pi-ollama": ".pi/skills"}
LIMITS = Limits(timeout=60, grace=1, memory=512 << 20, host_free=64 << 20)


def toy_card(folder: Path) -> Card:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "task.toml").write_text('[task]\nname = "toy-score"\n')
    evaluation: dict[str, Any] = {
        "key_columns": ["stay_id"], "value_columns": ["score"], "required_columns": ["stay_id", "score"],
        "row_coverage_threshold": 1.0, "accuracy_threshold": 1.0, "tolerance": {},
    }
    return Card("toy-score", "toy", "standard", "mimic-iv", "easy", "toy", "reference.sql", ("hospital",), ("hospital.answers",), evaluation, ("toy-score",), "", False, {}, folder)


def conditions(agent: str, card: Card) -> dict[str, Condition]:
    folder = FOLDERS.get(agent, ".skills")
    files = {f"{folder}/toy-score/SKILL.md": SKILL}
    raw = {f"{folder}/toy-score/SKILL.md": f"---\nname: toy-score\ndescription: sql\n---\n```sql\n{QUERY}\n```\n"}
    made = {"no-skill": {}, "with-skill": files, "with-skill-rawsql": raw}
    return {name: Condition(card.name, name, "native", agent, "Compute the toy score into ./output.csv.", given, ("toy-score",) if given else (), folder) for name, given in made.items()}


@dataclass
class Site:
    """Where the toy task lies, and how to run it."""

    card: Card
    settings: HarnessSettings
    records: list[dict[str, Any]] = field(default_factory=list)

    def run(self, agent: str = "scripted", condition: str = "no-skill", *, script: str = "", model: str | None = None, trial: int = 1, engine: Any = None, cancel: Any = None, **changes: Any) -> dict[str, Any]:
        limits = {key: changes.pop(key) for key in list(changes) if key in Limits.__dataclass_fields__}
        settings = replace(self.settings, limits=replace(self.settings.limits, **limits), conditions=conditions(agent, self.card), **changes)
        spec = RunSpec(self.card, condition, agent=agent, model=model, script=script, trial=trial, campaign="toy")
        return run_one(spec, settings, engine=engine, cancel=cancel)

    def replayed(self, conversation: dict[str, Any]) -> ModelAccess:
        return ModelAccess("replay", conversation=conversation)

    def folder(self, record: dict[str, Any]) -> Path:
        return self.settings.results_root / str(record["run_id"])

    def published(self) -> list[Path]:
        return sorted(self.settings.results_root.glob("*/result.json"))


def make_site(root: Path, project: Project) -> Site:
    """Build the toy task below `root` as the task database builder would: views that read from /data."""
    database = root / "taskdb" / "toy-score"
    database.mkdir(parents=True)
    duckdb.sql(f"COPY (SELECT i AS stay_id, i * 2 AS score FROM range(5) t(i)) TO '{database / 't1.parquet'}'")
    with duckdb.connect(str(database / "database.duckdb")) as con:
        con.execute(f"SET VARIABLE data_folder = '{database}'")
        con.execute("CREATE SCHEMA hospital")
        con.execute("CREATE VIEW hospital.scores AS SELECT * FROM read_parquet(COALESCE(getvariable('data_folder'), '/data') || '/t1.parquet')")
    reference = root / "reference"
    reference.mkdir()
    duckdb.sql(f"COPY (SELECT i AS stay_id, i * 2 AS score FROM range(5) t(i)) TO '{reference / 'toy-score.parquet'}'")
    for path in database.iterdir():
        path.chmod(0o644)
    results = root / "runs" / "toy"
    results.mkdir(parents=True)
    settings = HarnessSettings(results, root / "taskdb", reference, project=project, limits=LIMITS, scratch=root / "scratch")
    return Site(toy_card(root / "tasks" / "toy" / "toy-score"), settings)

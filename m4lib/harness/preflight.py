"""What is checked before a campaign starts, as one readable report: every check runs, none stops the others.

Checks look at what the planned runs need and nothing else: a native campaign does not ask for transformed databases.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from m4lib.cards import Card
from m4lib.duck import connect, quote
from m4lib.errors import M4Error
from m4lib.files import read_json, sha256_file, sha256_text
from m4lib.harness.campaign import Campaign, PlannedRun
from m4lib.project import Project

MOST = 20  # details that a failed check lists
RECIPE = re.compile(r"mimiciv_(hosp|icu|derived)|eicu_crd|\bitemid\b|```sql|\bselect\b|\b\d{5,6}\b", re.IGNORECASE)
SQL = re.compile(r"```sql|\bselect\b.+\bfrom\b|\b(from|join)\s+mimiciv_", re.IGNORECASE | re.DOTALL)
MAIN = re.compile(r"\bmain\.\w+", re.IGNORECASE)
FAMILY_FILES = {"provenance.yaml", "reference.sql", "reference_eicu.sql"}
TASK_FILES = {"task.toml", "instruction.md", "operational-spec.md"}

# No name of a derived relation or column may give these tasks away.
SHORTCUTS = {
    "mimic-creatinine-baseline-raw": ("creat", "scr", "mdrd"),
    "mimic-suspicion-infection": ("sepsis3", "suspicion_of_infection", "suspected_infection", "positive_culture", "culture_time"),
    "mimic-suspicion-infection-raw": ("sepsis3", "suspicion_of_infection", "suspected_infection", "positive_culture", "culture_time", "antibiotic"),
    "mimic-vasopressor-equivalents-raw": ("vaso", "norepi", "epinephrine", "dopamine", "phenylephrine", "vasopressin", "dobutamine", "milrinone"),
    "mimic-kdigo-48h-raw": ("aki", "creat", "crrt", "dialysis", "kdigo", "renal", "rrt", "urine", "uo", "weight"),
    "mimic-meld-24h-raw": ("meld", "bilirubin", "creat", "crrt", "dialysis", "inr", "rrt", "sodium"),
}


@dataclass(frozen=True)
class Check:
    """One check: its name, whether it holds, and what it found."""

    name: str
    ok: bool
    details: tuple[str, ...] = ()

    def text(self) -> str:
        shown = list(self.details[:MOST])
        if len(self.details) > MOST:
            shown.append(f"... and {len(self.details) - MOST} more")
        return "\n".join([f"[{'ok' if self.ok else 'FAIL'}] {self.name}", *(f"       {line}" for line in shown)])


@dataclass(frozen=True)
class Site:
    """Where a campaign finds its inputs."""

    project: Project
    taskdb_dir: Path
    reference_dir: Path
    root: Path


def _cards(cards: Mapping[str, Card], planned: Sequence[PlannedRun]) -> list[Card]:
    return [cards[name] for name in sorted({run.key.task for run in planned})]


def instructions(chosen: Iterable[Card]) -> Iterator[str]:
    """Instructions are free of item ids, schema names and recipes."""
    for card in chosen:
        if not card.instruction_path.is_file():
            yield f"{card.name}: there is no instruction.md"
            continue
        found = RECIPE.search(card.instruction_path.read_text(encoding="utf-8"))
        if found:
            yield f"{card.name}: the instruction says {found.group(0)!r}"


def task_folders(chosen: Iterable[Card]) -> Iterator[str]:
    """Nothing but the known files lies beside a task: no design notes, no answers."""
    for card in chosen:
        for folder, known in ((card.folder.parent, FAMILY_FILES), (card.folder, TASK_FILES)):
            for path in folder.iterdir():
                if path.is_file() and path.name not in known:
                    yield f"{path.relative_to(card.folder.parent.parent)} does not belong there"


def specs(chosen: Iterable[Card], planned: Sequence[PlannedRun]) -> Iterator[str]:
    """Operational specs are present where a run needs them, and hold no SQL, item id or table name."""
    needed = {run.key.task for run in planned if run.key.condition == "operational-spec"}
    for card in chosen:
        text = card.spec_path.read_text(encoding="utf-8") if card.spec_path.is_file() else ""
        if card.name in needed and not text.strip():
            yield f"{card.name}: the operational spec is missing or empty"
        found = RECIPE.search(text)
        if found:
            yield f"{card.name}: the operational spec says {found.group(0)!r}"


def skills(project: Project, chosen: Iterable[Card]) -> Iterator[str]:
    """Skills have frontmatter, no SQL, and no dropped table as a source."""
    from m4lib.harness.skills import load_skill

    for card in chosen:
        for name in {*card.skills, card.decoy}:
            try:
                skill = load_skill(project.skills, name)
            except M4Error as error:
                yield f"{card.name}: {error}"
                continue
            for file, text in skill.files.items():
                if SQL.search(text):
                    yield f"skill {name}, {file}: holds SQL"
                if MAIN.search(text):
                    yield f"skill {name}, {file}: names {MAIN.search(text).group(0)}"  # type: ignore[union-attr]


def references(chosen: Iterable[Card], reference_dir: Path, self_check: bool) -> Iterator[str]:
    """Reference outputs are there, made by the query and of the content that the manifest says; optionally score 1."""
    from m4lib.evaluation import evaluate_files
    from m4lib.tasks.reference import reference_sql

    manifest_path = reference_dir / "manifest.json"
    held = read_json(manifest_path).get("references", {}) if manifest_path.is_file() else {}
    for card in chosen:
        path = reference_dir / f"{card.name}.parquet"
        entry = held.get(card.name)
        if not path.is_file() or entry is None:
            yield f"{card.name}: there is no reference output; run `python -m m4lib reference --task {card.name}`"
            continue
        sql = reference_sql(card)
        if entry.get("sql_sha256") not in (None, sha256_text(sql)):
            yield f"{card.name}: the reference query has changed since the output was made"
        if MAIN.search(sql):
            yield f"{card.name}: the reference query names {MAIN.search(sql).group(0)}"  # type: ignore[union-attr]
        if entry.get("sha256") not in (None, sha256_file(path)):
            yield f"{card.name}: the reference output is not the file that the manifest describes"
        if self_check:
            reward = evaluate_files(path, path, card.evaluation)["reward"]
            if reward != 1.0:
                yield f"{card.name}: the reference scores {reward} against itself"


def databases(chosen: Mapping[str, Card], planned: Sequence[PlannedRun], taskdb_dir: Path) -> Iterator[str]:
    """Task databases are there, every view's file exists, and no dropped or telltale relation can be seen."""
    from m4lib.harness.run import taskdb_folder

    for task, schema in sorted({(run.key.task, run.key.schema) for run in planned}):
        card = chosen[task]
        try:
            folder = taskdb_folder(taskdb_dir, task, schema)
        except M4Error as error:
            yield str(error)
            continue
        con = connect(folder / "database.duckdb", read_only=True)
        try:
            columns = con.execute("SELECT schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal").fetchall()
            names = con.execute(
                "SELECT table_schema, table_name, string_agg(column_name, ' ') FROM information_schema.columns GROUP BY ALL"
            ).fetchall() if not any("/data/" in (sql or "") for _, _, sql in columns) else [(s, v, "") for s, v, _ in columns]
        finally:
            con.close()
        for schema_name, view, sql in columns:
            for path in re.findall(r"'(/data/[^']+)'", sql or ""):
                if not (folder / path.removeprefix("/data/")).is_file():
                    yield f"{task} ({schema}): the view {schema_name}.{quote(view)} reads {path}, which is not there"
        if schema != "native":
            continue
        present = {f"{schema_name}.{table}" for schema_name, table, _ in names}
        for relation in card.drop:
            if relation in present:
                yield f"{task}: {relation} is still in the database"
        if card.drops_all_derived and any(name.startswith("mimiciv_derived.") for name in present):
            yield f"{task}: derived relations are still in the database"
        for schema_name, table, text in names:
            if schema_name == "mimiciv_derived":
                for term in SHORTCUTS.get(task, ()):
                    if term in f"{table} {text}".lower():
                        yield f"{task}: {schema_name}.{table} gives away {term!r}"


def conditions(cards: Mapping[str, Card], planned: Sequence[PlannedRun], project: Project) -> Iterator[str]:
    """Every condition of every planned run can be put together."""
    from m4lib.harness.conditions import materialize

    for task, condition, schema, agent in sorted({(r.key.task, r.key.condition, r.key.schema, r.agent) for r in planned}):
        try:
            materialize(cards[task], condition, schema, agent, project)
        except M4Error as error:
            yield str(error)


def engine() -> Iterator[str]:
    """A Docker Engine answers."""
    from m4lib.harness.docker_host import Engine

    try:
        Engine().close()
    except M4Error as error:
        yield str(error)


def space(site: Site) -> Iterator[str]:
    """There is room for the results."""
    place = site.root
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if free < 2 << 30:
        yield f"only {free >> 20} MiB are free at {place}; a campaign wants 2 GiB"


CREDENTIALS = {"codex": ("OPENAI_API_KEY", "CODEX_API_KEY"), "claude": ("ANTHROPIC_API_KEY",), "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY")}


def credentials(campaign: Campaign) -> Iterator[str]:
    """The provider's key is in the environment of the dispatcher (it never enters the agent's container)."""
    names = CREDENTIALS.get(campaign.agent, ())
    if names and not campaign.options.get("replay") and not any(os.environ.get(name) for name in names):
        yield f"set {' or '.join(names)}; the gateway beside the agent holds it, the agent never sees it"


def preflight(
    campaign: Campaign, planned: Sequence[PlannedRun], cards: Mapping[str, Card], site: Site, *, self_check: bool = False,
    docker: bool = True,
) -> list[Check]:
    """Run every check that the planned runs need. `self_check` also scores each reference against itself."""
    chosen = _cards(cards, planned)
    plan: list[tuple[str, Callable[[], Iterator[str]]]] = [
        ("instructions are sparse", lambda: instructions(chosen)),
        ("task folders hold nothing else", lambda: task_folders(chosen)),
        ("operational specs", lambda: specs(chosen, planned)),
        ("skills", lambda: skills(site.project, chosen)),
        ("conditions can be put together", lambda: conditions(cards, planned, site.project)),
        ("reference outputs", lambda: references(chosen, site.reference_dir, self_check)),
        ("task databases", lambda: databases(cards, planned, site.taskdb_dir)),
        ("disk space", lambda: space(site)),
        ("credentials", lambda: credentials(campaign)),
    ]
    if docker:
        plan.append(("Docker Engine", engine))
    checks = []
    for name, check in plan:
        try:
            details = tuple(check())
        except M4Error as error:
            details = (str(error),)
        checks.append(Check(name, not details, details))
    return checks


def require(checks: Sequence[Check]) -> None:
    """M4Error with the whole report when any check failed."""
    failed = [check for check in checks if not check.ok]
    if failed:
        raise M4Error(f"Preflight: {len(failed)} of {len(checks)} checks failed, nothing was started.\n" + "\n".join(check.text() for check in checks))

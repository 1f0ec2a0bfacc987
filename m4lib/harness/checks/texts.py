"""Checks of what the repository holds: instructions, task folders, operational specs, skills, conditions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from m4lib.cards import Card
from m4lib.errors import M4Error
from m4lib.harness.campaign import MAPPED_CONDITION, PlannedRun
from m4lib.harness.conditions import Condition, materialize
from m4lib.harness.skills import load_skill, ready_made
from m4lib.project import Project
from m4lib.tasks.schemas import codebook, distinctive_names

RECIPE = re.compile(r"mimiciv_(hosp|icu|derived)|eicu_crd|\bitemid\b|```sql|\bselect\b|\b\d{5,}\b", re.IGNORECASE)
CODE_BASE = re.compile(r"\bmit-lcp\b|\bmimic-code\b", re.IGNORECASE)
SQL = re.compile(r"```sql|\bselect\b.+\bfrom\b|\b(from|join)\s+mimiciv_", re.IGNORECASE | re.DOTALL)
MAIN = re.compile(r"\bmain\.\w+", re.IGNORECASE)
# a raw task's database lacks the computed tables; an instruction must not describe it otherwise
BASE_ONLY = re.compile(r"\b(only (the )?(base|raw|source) tables|(base|raw|source)[- ]tables? only)\b", re.IGNORECASE)
FAMILY_FILES = {"provenance.yaml", "reference.sql", "reference_eicu.sql"}
TASK_FILES = {"task.toml", "instruction.md", "operational-spec.md"}


def instructions(chosen: Iterable[Card]) -> Iterator[str]:
    """Instructions are free of item ids, schema names and recipes."""
    for card in chosen:
        if not card.instruction_path.is_file():
            yield f"{card.name}: there is no instruction.md"
            continue
        text = card.instruction_path.read_text(encoding="utf-8")
        for pattern in (RECIPE, *((BASE_ONLY,) if card.mode == "raw" else ())):
            found = pattern.search(text)
            if found:
                yield f"{card.name}: the instruction says {found.group(0)!r}"


def task_folders(chosen: Iterable[Card]) -> Iterator[str]:
    """Nothing but the known files lies beside a task: no design notes, no answers."""
    seen = set()
    for card in chosen:
        for folder, known in ((card.folder.parent, FAMILY_FILES), (card.folder, TASK_FILES)):
            for path in sorted(folder.iterdir()):
                stray = path.name not in known if path.is_file() else folder == card.folder
                if stray and path not in seen:
                    seen.add(path)
                    yield f"{path.relative_to(card.folder.parent.parent)} does not belong there"


def specs(chosen: Iterable[Card], planned: Sequence[PlannedRun]) -> Iterator[str]:
    """Operational specs are present where a run needs them, and hold no SQL, item id or table name."""
    needed = {run.key.task for run in planned if run.key.condition == "operational-spec"}
    for card in chosen:
        text = card.spec_path.read_text(encoding="utf-8") if card.spec_path.is_file() else ""
        if card.name in needed and not text.strip():
            yield f"{card.name}: the operational spec is missing or empty"
        for pattern in (RECIPE, CODE_BASE):
            found = pattern.search(text)
            if found:
                yield f"{card.name}: the operational spec says {found.group(0)!r}"


def skills(project: Project, chosen: Iterable[Card]) -> Iterator[str]:
    """Skills have frontmatter, no SQL, and nothing beside the texts that they link to."""
    for name in sorted({name for card in chosen for name in {*card.skills, card.decoy} if name}):
        try:
            skill = load_skill(project.skills, name)
        except M4Error as error:
            yield str(error)
            continue
        for file, text in skill.files.items():
            if SQL.search(text):
                yield f"skill {name}, {file}: holds SQL"
            found = MAIN.search(text)
            if found:
                yield f"skill {name}, {file}: names {found.group(0)}"
        folder = project.skills / name
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.relative_to(folder).as_posix() not in skill.files:
                yield f"skill {name}: {path.relative_to(folder)} is linked from nowhere"


def conditions(cards: Mapping[str, Card], planned: Sequence[PlannedRun], project: Project, codes_seed: int | None = None) -> Iterator[str]:
    """Every condition of every planned run can be put together, names no removed table, and keeps a transformed schema's secret."""
    for task, name, schema, agent in sorted({(r.key.task, r.key.condition, r.key.schema, r.agent) for r in planned}):
        card = cards[task]
        try:
            made = materialize(card, name, schema, agent, project, codes=None if schema == "native" else codebook(seed=codes_seed))
        except M4Error as error:
            yield str(error)
            continue
        where = f"{task}, {name}, {schema}"
        if name.startswith("with-skill") and name != "with-skill-rawsql":  # that one shows the reference, removed tables and all
            yield from (f"{where}: the skill points to {table}, which is removed" for table in removed_tables(card, made))
        if schema != "native":
            yield from (f"{where}: {place} says {word!r}" for place, word in native_names(made, with_files=name == MAPPED_CONDITION))


def removed_tables(card: Card, made: Condition) -> list[str]:
    """Computed tables that the task's database lacks but a skill offers: with their schema, or as ready-made."""
    found = set()
    for text in made.files.values():
        named = {*re.findall(r"mimiciv_derived\.(\w+)", text), *ready_made(text)}
        found |= {f"mimiciv_derived.{name}" for name in named if card.drops_all_derived or f"mimiciv_derived.{name}" in card.drop}
    return sorted(found)


def native_names(made: Condition, *, with_files: bool) -> list[tuple[str, str]]:
    """(place, name) of each native schema or table name in the prompt, and in the files when they should have none."""
    pattern = re.compile(rf"(?<![\w.-])({'|'.join(map(re.escape, distinctive_names()))})(?![\w-])")
    texts = {"the prompt": made.prompt, **(made.files if with_files else {})}
    return [(place, found.group(1)) for place, text in texts.items() if (found := pattern.search(text))]

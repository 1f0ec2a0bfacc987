"""What one run receives: the files put into its working folder and the prompt. Everything is derived, nothing copied.

| condition | files | prompt |
|---|---|---|
| no-skill | none | notes + instruction |
| with-skill | the task's own skills | same |
| with-skill-all | every skill of the library | same |
| with-skill-decoy | one skill of another family, by the card's map | same |
| with-skill-rawsql | the reference SQL in the shell of a skill | same |
| operational-spec | none | notes + instruction + specification |
| with-skill-mapped | with-skill, with the table names of the transformed schema | same |

On a transformed schema the instruction is rewritten and a dictionary of the database's names is appended; skills stay
as they are unless `map_skills` or the condition with-skill-mapped asks for it. Whatever is missing or empty is an
M4Error here, before anything starts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from m4lib.cards import Card
from m4lib.errors import M4Error
from m4lib.files import sha256_text
from m4lib.harness.skills import Skill, load_library, load_skill
from m4lib.project import Project, find_project
from m4lib.tasks import schemas

CONDITIONS = ("no-skill", "with-skill", "with-skill-all", "with-skill-decoy", "with-skill-rawsql", "operational-spec")
MAPPED = "with-skill-mapped"  # on transformed schemas only
SCHEMAS = ("native", "obfuscated", "restructured")

# where each agent's command line looks for skills, relative to the working folder
SKILL_DIRS = {
    "claude": ".claude/skills",
    "codex": ".codex/skills",
    "gemini": ".gemini/skills",
    "pi": ".pi/skills",
    "pi-ollama": ".pi/skills",
    "nop": ".skills",
    "oracle": ".skills",
    "scripted": ".skills",
}

ISOLATION_NOTE = """\
# Working conditions

Work with what lies in the current directory: the DuckDB database `./database.duckdb`, this instruction and, where they
were put there, skills. Nothing else may be used: no web search, no fetching of pages or files, no installing of
packages, no other network traffic.
"""

CONVENTION_NOTE = """\
# Conventions

Clinical definitions leave room: thresholds, time windows, the choice of measurements and the treatment of missing data
can each be settled in more than one valid way. Where that is so, follow the choices of the standard public concepts
published for this release of the database. The score is the agreement with a reference that was built on those choices;
a deliberate departure from them costs score, however reasonable it is.
"""

SPEC_HEADING = """\
---

# Operational specification

What follows is the complete definition of the task in clinical terms. It is deliberately free of SQL, of item
identifiers and of ready-made code.
"""


@dataclass(frozen=True)
class Condition:
    """The input of one run. `files` maps a path relative to the working folder to its text, without the prompt itself;
    `skill_dir` is where this agent looks for skills (it may have to exist although `files` is empty)."""

    task: str
    condition: str
    schema: str
    agent: str
    prompt: str
    files: Mapping[str, str] = field(default_factory=dict)
    skills: tuple[str, ...] = ()
    skill_dir: str = ""

    @property
    def sha256(self) -> str:
        """One hash of all that the agent receives; two runs with the same hash had the same input."""
        return sha256_text(json.dumps([self.prompt, dict(self.files)], sort_keys=True))


def materialize(
    card: Card, condition: str, schema: str = "native", agent: str = "claude", project: Project | None = None,
    *, map_skills: bool = False, codes: schemas.Codebook | None = None,
) -> Condition:
    """All that a run of `card` under `condition` receives; pure, nothing is written.

    map_skills: on a transformed schema, give skills with that schema's table names instead of their native text.
    codes: names of the transformed schema (default: the published ones).
    Raises M4Error for an unknown name, a missing or empty artefact, a condition that the task does not have, and a
    transformed schema of an eICU task.
    """
    _check("condition", condition, (*CONDITIONS, MAPPED))
    if condition == MAPPED and schema == "native":
        raise M4Error(f"{MAPPED} is with-skill on the native schema; choose a transformed schema, or with-skill.")
    _check("schema", schema, SCHEMAS)
    _check("agent", agent, SKILL_DIRS)
    if schema != "native" and card.database != "mimic-iv":
        raise M4Error(f"{card.name} has no {schema} schema: only the MIMIC-IV tasks are transformed.")
    project = project or find_project()
    skills = _skills(card, "with-skill" if condition == MAPPED else condition, project)
    folder = SKILL_DIRS[agent]
    files = {f"{folder}/{skill.name}/{file}": text for skill in skills for file, text in sorted(skill.files.items())}
    if (map_skills or condition == MAPPED) and schema != "native":
        files = {path: schemas.map_skill(text, schema, codes) for path, text in files.items()}
    return Condition(
        task=card.name, condition=condition, schema=schema, agent=agent,
        prompt=_prompt(card, condition, schema, codes),
        files=files,
        skills=tuple(skill.name for skill in skills),
        skill_dir=folder,
    )


def check_conditions(cards: Mapping[str, Card], conditions: Mapping[str, tuple[str, ...]], project: Project) -> list[str]:
    """Every problem of a campaign's conditions (task name -> condition names) as one sentence each; [] is good."""
    problems = []
    for name, wanted in conditions.items():
        for condition in wanted:
            try:
                materialize(cards[name], condition, project=project)
            except M4Error as error:
                problems.append(str(error))
    return problems


def rawsql_skill(card: Card) -> Skill:
    """The reference SQL of `card`, verbatim, as a skill named after the task."""
    sql = _read(card.reference_path, f"the reference SQL of {card.name}")
    description = f"Reference SQL query for the task {card.name}. Use it when this task's output has to be computed."
    text = (
        f"---\nname: {card.name}\ndescription: {description}\n---\n\n# Reference SQL of {card.name}\n\n"
        "This query computes the requested output in the native schema of the source database. Relations that it reads "
        "may be absent from the database at hand, or bear other names; it then has to be adapted. Its output columns "
        "are those of the instruction.\n\n"
        f"```sql\n{sql.strip()}\n```\n"
    )
    return Skill(card.name, {"name": card.name, "description": description}, {"SKILL.md": text})


def holds(card: Card, relation: str) -> bool:
    """Whether the task's database still has the computed table `relation` (name without schema)."""
    if card.database != "mimic-iv" or card.drops_all_derived:
        return False
    return relation not in {name.rpartition(".")[2] for name in card.drop}


def _skills(card: Card, condition: str, project: Project) -> list[Skill]:
    has = partial(holds, card)
    if condition == "with-skill":
        if not card.skills:
            raise M4Error(f"{card.name} names no skill, so the condition with-skill would be no-skill.")
        return [load_skill(project.skills, name, holds=has) for name in card.skills]
    if condition == "with-skill-all":
        return list(load_library(project.skills, holds=has).values())
    if condition == "with-skill-decoy":
        if not card.decoy or card.decoy in card.skills:
            raise M4Error(f"{card.name} has no decoy of another family.")
        # a building block of the task's own skills would teach part of the answer, so a decoy goes without it
        own = {block for name in card.skills for block in load_skill(project.skills, name).blocks}
        return [load_skill(project.skills, card.decoy, without=own, holds=has)]
    if condition == "with-skill-rawsql":
        return [rawsql_skill(card)]
    return []


def _prompt(card: Card, condition: str, schema: str, codes: schemas.Codebook | None) -> str:
    """Isolation note, convention note, instruction, then the specification and the dictionary where they belong."""
    body = _read(card.instruction_path, f"the instruction of {card.name}")
    if condition == "operational-spec":
        if not card.operational_spec:
            raise M4Error(f"{card.name} has no operational specification.")
        body += "\n" + SPEC_HEADING + "\n" + _read(card.spec_path, f"the operational specification of {card.name}")
    parts = [ISOLATION_NOTE, CONVENTION_NOTE, body]
    if schema != "native":
        parts[2] = schemas.transform_instruction(body, schema, codes)
        parts.append(schemas.dictionary_section(schema, codes, derived=not card.drops_all_derived))
    return "\n".join(part.strip() + "\n" for part in parts)


def _read(path: Path, what: str) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        raise M4Error(f"There is no {path}: {what} is missing.") from None
    if not text.strip():
        raise M4Error(f"{path} is empty: {what} has no text.")
    return text


def _check(kind: str, name: str, known: Mapping[str, str] | tuple[str, ...]) -> None:
    if name not in known:
        raise M4Error(f"There is no {kind} called {name!r}; there are: {', '.join(known)}.")

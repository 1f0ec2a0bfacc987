"""What a run receives, for every task, condition, schema and agent; and every way in which it must refuse."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from m4lib.cards import Card
from m4lib.cli import main
from m4lib.errors import M4Error
from m4lib.harness.conditions import CONDITIONS, SCHEMAS, SKILL_DIRS, check_conditions, materialize, rawsql_skill
from m4lib.harness.skills import Skill, frontmatter, load_skill
from m4lib.project import Project
from tests.conftest import existing

from .conftest import SPEC_TASKS, TASKS

DIRS = {"claude": ".claude/skills", "codex": ".codex/skills", "gemini": ".gemini/skills", "pi-ollama": ".pi/skills",
        "nop": ".skills", "oracle": ".skills", "scripted": ".skills"}
NOTES = ("# Working conditions", "# Conventions")


@pytest.fixture
def copy(project: Project, tmp_path: Path) -> Project:
    """A checkout of texts only, to spoil."""
    for room in ("tasks", "skills"):
        shutil.copytree(getattr(project, room), tmp_path / room)
    return Project(tmp_path)


def spoiled(copy: Project, card: Card) -> Card:
    return replace(card, folder=copy.tasks / card.family / card.name)


@pytest.mark.parametrize("task", TASKS)
def test_every_condition_of_every_task(project: Project, cards: dict[str, Card], task: str) -> None:
    card = cards[task]
    bare = materialize(card, "no-skill", project=project)
    assert bare.files == {} and bare.skills == ()
    for condition in CONDITIONS:
        if condition == "operational-spec" and not card.operational_spec:
            with pytest.raises(M4Error, match="no operational specification"):
                materialize(card, condition, project=project)
            continue
        made = materialize(card, condition, project=project)
        assert (made.prompt == bare.prompt) == (condition != "operational-spec")
        # every file lies in a folder of its own below the agent's place and is listed by its frontmatter
        names = {tuple(path.split("/")[:3]) for path in made.files}
        assert names == {(".claude", "skills", name) for name in made.skills}
        for name in made.skills:
            assert frontmatter(made.files[f".claude/skills/{name}/SKILL.md"])["name"] == name
        assert made.skill_dir == ".claude/skills"
        assert all(text.strip() for text in made.files.values())


@pytest.mark.parametrize("task", TASKS)
def test_prompt_holds_the_parts_in_order(project: Project, cards: dict[str, Card], task: str) -> None:
    prompt = materialize(cards[task], "no-skill", project=project).prompt
    places = [prompt.index(part) for part in (*NOTES, cards[task].instruction_path.read_text(encoding="utf-8").strip())]
    assert places == sorted(places) and places[0] == 0
    for word in ("no web search", "no installing", "no other network", "`./database.duckdb`", "`./output.csv`", "public concepts"):
        assert word in " ".join(prompt.split()), word
    assert not [skill for skill in cards[task].skills if skill in prompt]  # the prompt never names the skill


@pytest.mark.parametrize("task", SPEC_TASKS)
def test_specification_is_appended(project: Project, cards: dict[str, Card], task: str) -> None:
    bare = materialize(cards[task], "no-skill", project=project).prompt
    prompt = materialize(cards[task], "operational-spec", project=project).prompt
    assert prompt.startswith(bare.rstrip()) and prompt.rstrip().endswith(cards[task].spec_path.read_text(encoding="utf-8").strip())
    assert "complete definition" in prompt and "\n---\n" in prompt


@pytest.mark.parametrize("agent", DIRS)
def test_each_agent_finds_its_skills(project: Project, cards: dict[str, Card], agent: str) -> None:
    made = materialize(cards["mimic-sepsis3-raw"], "with-skill", agent=agent, project=project)
    assert made.skills == cards["mimic-sepsis3-raw"].skills and made.skill_dir == DIRS[agent]
    assert {f"{DIRS[agent]}/{name}/SKILL.md" for name in made.skills} <= set(made.files)
    assert all(path.startswith(DIRS[agent] + "/") for path in made.files)
    assert set(DIRS) <= set(SKILL_DIRS)


def test_all_skills_are_a_union(project: Project, cards: dict[str, Card], library: dict[str, Skill]) -> None:
    made = materialize(cards["mimic-sofa-24h"], "with-skill-all", project=project)
    own = materialize(cards["mimic-sofa-24h"], "with-skill", project=project)
    assert set(made.skills) == set(library) and len(made.skills) == 15
    assert own.files.items() <= made.files.items()


@pytest.mark.parametrize("task", TASKS)
def test_decoy_teaches_nothing_of_the_task(project: Project, cards: dict[str, Card], task: str) -> None:
    card = cards[task]
    decoy = materialize(card, "with-skill-decoy", project=project)
    own = materialize(card, "with-skill", project=project)
    assert decoy.skills == (card.decoy,) and card.decoy not in card.skills
    names = {path.rpartition("/")[2] for path in decoy.files} - {"SKILL.md"}
    assert not names & {path.rpartition("/")[2] for path in own.files}
    for text in decoy.files.values():  # what was left out is not linked either
        assert not [path for path in own.files if not path.endswith("SKILL.md") and f"({path.rpartition('/')[2]})" in text]


def test_decoy_keeps_what_is_not_shared(project: Project, cards: dict[str, Card]) -> None:
    made = materialize(cards["mimic-ventilation"], "with-skill-decoy", project=project)
    assert {"systemic-antibiotics.md", "cultures.md", "SKILL.md"} <= {path.rpartition("/")[2] for path in made.files}


def test_decoys_are_those_of_the_campaign_facts(project: Project, cards: dict[str, Card]) -> None:
    facts = project.shared / "facts/harness/campaigns.yaml"
    existing(facts, "the campaign facts")
    catalog = {task["name"]: task for task in yaml.safe_load(facts.read_text(encoding="utf-8"))["task_catalog"]}
    assert {name: card.decoy for name, card in cards.items()} == {name: task["decoy"] for name, task in catalog.items()}
    assert {name: card.operational_spec for name, card in cards.items()} == {name: task["spec"] for name, task in catalog.items()}


@pytest.mark.parametrize("task", TASKS)
def test_raw_sql_is_the_reference_verbatim(project: Project, cards: dict[str, Card], task: str) -> None:
    made = materialize(cards[task], "with-skill-rawsql", project=project)
    (path, text), = made.files.items()
    sql = cards[task].reference_path.read_text(encoding="utf-8").strip()
    assert path == f".claude/skills/{task}/SKILL.md" and text.count("```") == 2
    assert text.split("```sql\n")[1].split("\n```")[0] == sql
    meta = frontmatter(text)
    assert meta["name"] == task and len(meta["description"]) > 20


@pytest.mark.parametrize("task", [name for name in TASKS if name.startswith("eicu")])
@pytest.mark.parametrize("schema", ["obfuscated", "restructured"])
def test_eicu_is_not_transformed(project: Project, cards: dict[str, Card], task: str, schema: str) -> None:
    with pytest.raises(M4Error, match="only the MIMIC-IV tasks"):
        materialize(cards[task], "no-skill", schema, project=project)


@pytest.mark.parametrize("schema", ["obfuscated", "restructured"])
@pytest.mark.parametrize("task", [name for name in TASKS if name.startswith("mimic")])
def test_transformed_prompt(project: Project, cards: dict[str, Card], task: str, schema: str) -> None:
    card = cards[task]
    made = materialize(card, "with-skill", schema, project=project)
    native = materialize(card, "with-skill", project=project)
    assert made.files == native.files  # skills stay as they are
    assert not any(word in made.prompt.lower() for word in ("mimic-iv", "mimiciv", "mimic-code"))
    assert "  data" not in made.prompt and "()" not in made.prompt  # no hole where the name of the database was
    for column in card.evaluation["required_columns"]:  # the output keeps its native columns
        assert f"| `{column}` |" in made.prompt
    assert made.prompt.startswith(NOTES[0]) and len(made.prompt) > len(native.prompt) + 1000
    instruction = made.prompt.index("`./output.csv`")
    assert "ds_2" in made.prompt[instruction:] and "chartevents" not in made.prompt
    assert ("`ds_1`" in made.prompt) == (card.mode == "standard")  # raw databases hold no computed tables


def test_skills_in_the_names_of_a_schema(project: Project, cards: dict[str, Card]) -> None:
    card = cards["mimic-sofa-24h"]
    plain, mapped = (materialize(card, "with-skill", "obfuscated", project=project, map_skills=on) for on in (False, True))
    assert plain.files.keys() == mapped.files.keys() and plain.prompt == mapped.prompt
    text = "".join(mapped.files.values())
    assert "chartevents" in "".join(plain.files.values()) and "chartevents" not in text and "`ART.`" in text


def test_the_mapped_condition_is_with_skill_in_the_names_of_the_schema(project: Project, cards: dict[str, Card]) -> None:
    card = cards["mimic-sofa-24h"]
    asked = materialize(card, "with-skill", "restructured", project=project, map_skills=True)
    made = materialize(card, "with-skill-mapped", "restructured", project=project)
    assert made.files == asked.files and made.prompt == asked.prompt and made.skills == asked.skills
    assert made.condition == "with-skill-mapped" and made.files
    with pytest.raises(M4Error, match="with-skill on the native schema"):
        materialize(card, "with-skill-mapped", project=project)


def test_one_hash_for_one_input(project: Project, cards: dict[str, Card]) -> None:
    card = cards["mimic-sofa-24h"]
    hashes = {materialize(card, condition, project=project).sha256 for condition in CONDITIONS[:5]}
    assert len(hashes) == 5
    assert materialize(card, "no-skill", project=project).sha256 == materialize(card, "no-skill", project=project).sha256


@pytest.mark.parametrize(("condition", "schema", "agent", "message"), [
    ("skill", "native", "claude", "no condition called 'skill'"),
    ("no-skill", "plain", "claude", "no schema called 'plain'"),
    ("no-skill", "native", "hal", "no agent called 'hal'"),
])
def test_unknown_names(project: Project, cards: dict[str, Card], condition: str, schema: str, agent: str, message: str) -> None:
    with pytest.raises(M4Error, match=message):
        materialize(cards["mimic-sofa-24h"], condition, schema, agent, project)


@pytest.mark.parametrize("spoil", ["missing", "empty"])
@pytest.mark.parametrize(("condition", "file"), [
    ("no-skill", "tasks/sofa/mimic-sofa-24h-raw/instruction.md"),
    ("operational-spec", "tasks/sofa/mimic-sofa-24h-raw/operational-spec.md"),
    ("with-skill-rawsql", "tasks/sofa/reference.sql"),
    ("with-skill", "skills/sofa-score/SKILL.md"),
    ("with-skill", "skills/_shared/urine-volume.md"),
    ("with-skill-decoy", "skills/sapsii-score/SKILL.md"),
    ("with-skill-all", "skills/_shared/cultures.md"),
])
def test_missing_and_empty_artefacts(copy: Project, cards: dict[str, Card], condition: str, file: str, spoil: str) -> None:
    card = spoiled(copy, cards["mimic-sofa-24h-raw"])
    materialize(card, condition, project=copy)
    (copy.root / file).write_text("\n  \n") if spoil == "empty" else (copy.root / file).unlink()
    with pytest.raises(M4Error, match=Path(file).name):
        materialize(card, condition, project=copy)
    assert check_conditions({card.name: card}, {card.name: (condition,)}, copy)


def test_no_skill_of_its_own_is_an_error(project: Project, cards: dict[str, Card]) -> None:
    with pytest.raises(M4Error, match="names no skill"):
        materialize(replace(cards["mimic-sofa-24h"], skills=()), "with-skill", project=project)
    with pytest.raises(M4Error, match="no decoy of another family"):
        materialize(replace(cards["mimic-sofa-24h"], decoy="sofa-score"), "with-skill-decoy", project=project)


@pytest.mark.parametrize(("change", "message"), [
    (("name: sofa-score", "name: other-score"), "name and folder must agree"),
    (("name: sofa-score", "name: Sofa Score"), "lower-case words"),
    (("version: 1.0.1\n", ""), "lacks version"),
    (("---\nname", "name"), "does not begin with frontmatter"),
    (("description: ", "description: [] # "), "description"),
    (("tier: targeted", "tier: [targeted"), "not valid YAML"),
])
def test_faulty_frontmatter(copy: Project, change: tuple[str, str], message: str) -> None:
    path = copy.skills / "sofa-score/SKILL.md"
    text = path.read_text(encoding="utf-8")
    assert change[0] in text
    path.write_text(text.replace(*change, 1), encoding="utf-8")
    with pytest.raises(M4Error, match=message):
        load_skill(copy.skills, "sofa-score")


def test_a_campaigns_conditions_are_checked_at_once(project: Project, cards: dict[str, Card]) -> None:
    good = dict.fromkeys(SPEC_TASKS, CONDITIONS)
    assert check_conditions(cards, good, project) == []
    problems = check_conditions(cards, {"eicu-gcs": ("operational-spec", "no-skill", "magic")}, project)
    assert len(problems) == 2 and all(problem.endswith(".") for problem in problems)


def test_command_line_shows_files_and_prompt(cards: dict[str, Card], capsys: pytest.CaptureFixture[str]) -> None:
    args = ["condition", "--task", "mimic-meld-24h", "--condition", "with-skill", "--schema", "native", "--agent", "codex"]
    assert main(args) == 0
    shown = capsys.readouterr().out
    for part in (".codex/skills/meld-score/SKILL.md", ".codex/skills/meld-score/routine-labs.md", "===== prompt", "0.957", *NOTES):
        assert part in shown
    assert main([*args, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert set(made) >= {"files", "prompt", "sha256"} and "MELD" in made["prompt"]
    assert main([*args, "--names-only"]) == 0
    assert "0.957" not in capsys.readouterr().out


def test_command_line_refuses_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["condition", "--task", "mimic-soa-24h", "--condition", "no-skill"]) == 2
    error = capsys.readouterr().err
    assert "nearest: mimic-sofa-24h" in error and error.count("\n") == 1
    assert main(["condition", "--task", "eicu-gcs", "--condition", "no-skill", "--schema", "obfuscated"]) == 2


def test_rawsql_skill_says_that_relations_may_be_absent(cards: dict[str, Card]) -> None:
    assert "absent" in rawsql_skill(cards["mimic-sofa-24h-raw"]).text
    assert len(SCHEMAS) == 3

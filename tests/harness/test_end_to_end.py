"""From the open demo data to a scored run: real task databases, real conditions, real command lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from m4lib.cards import get_card
from m4lib.harness import replay
from m4lib.harness.canary import leak_canary
from m4lib.harness.conditions import materialize
from m4lib.harness.docker_host import Engine
from m4lib.harness.isolation import Limits
from m4lib.harness.network import ModelAccess
from m4lib.harness.run import HarnessSettings, RunSpec, run_one
from m4lib.project import Project
from m4lib.tasks import reference, taskdb

pytestmark = pytest.mark.docker

TASKS = ("mimic-meld-24h", "mimic-creatinine-baseline-raw", "mimic-sofa-24h-raw")


@pytest.fixture(scope="module")
def demo(demo_mimic_db: Path, project: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HarnessSettings]:
    root = tmp_path_factory.mktemp("demo")
    cards = [get_card(project.tasks, name) for name in TASKS]
    reference.write_references(cards, demo_mimic_db, root / "reference")
    for card in cards:
        taskdb.build(card, "native", demo_mimic_db, root / "taskdb", data_prefix="/data")
    taskdb.build(cards[0], "obfuscated", demo_mimic_db, root / "taskdb", data_prefix="/data")
    results = root / "runs" / "demo"
    results.mkdir(parents=True)
    yield HarnessSettings(results, root / "taskdb", root / "reference", project=project, limits=Limits(timeout=120))


@pytest.mark.parametrize(("task", "schema"), [*((name, "native") for name in TASKS), (TASKS[0], "obfuscated")])
def test_the_oracle_reproduces_the_reference(engine: Engine, demo: HarnessSettings, project: Project, task: str, schema: str) -> None:
    spec = RunSpec(get_card(project.tasks, task), "with-skill-rawsql", schema, agent="oracle")
    record = run_one(spec, demo, engine=engine)
    assert record["test_results"]["reward"] == 1.0, record["agent_result"]
    assert record["agent_db"]["files"] > 5 and len(record["agent_db"]["content_sha256"]) == 64
    assert (f"_{schema}_" in record["run_id"]) is (schema != "native")


@pytest.mark.parametrize("agent", ["codex", "claude"])
def test_a_skill_helps_in_the_replayed_demonstration(engine: Engine, demo: HarnessSettings, project: Project, agent: str) -> None:
    card = get_card(project.tasks, "mimic-meld-24h")
    settings = replace(demo, model_access=ModelAccess("replay"))
    without = run_one(RunSpec(card, "no-skill", agent=agent, model="m-1"), settings, engine=engine)
    helped = run_one(RunSpec(card, "with-skill", agent=agent, model="m-1"), settings, engine=engine)
    assert helped["test_results"]["reward"] == 1.0 and helped["skill_evidence"]["any"], helped["agent_result"]
    assert 0.3 < without["test_results"]["reward"] < 0.95 and not without["skill_evidence"]["any"], without["agent_result"]
    assert not helped["void"] and helped["contamination_lint"]["passed"]


def test_the_adversary_on_a_real_task_database(engine: Engine, demo: HarnessSettings, project: Project) -> None:
    record = leak_canary(get_card(project.tasks, "mimic-sofa-24h-raw"), demo, engine=engine)
    assert record["canary_passed"], record["canary_report"]["leaks"]


def test_scripts_get_better_with_help_and_worse_without(project: Project) -> None:
    card = get_card(project.tasks, "mimic-meld-24h")
    with_skill = replay.conversation(card, materialize(card, "with-skill", agent="codex", project=project))["steps"]
    assert with_skill[0]["run"].startswith("find .codex/skills") and "cat .codex/skills/meld-score/SKILL.md" in with_skill[1]["run"]
    one, two = (replay.conversation(card, materialize(card, "no-skill", agent="codex", project=project), trial=n)["steps"] for n in (1, 2))
    assert one != two and "say" in one[-1] and "REPLACE" in one[-2]["run"] and "REPLACE" not in with_skill[-2]["run"]

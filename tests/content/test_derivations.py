"""The skills are complete: a query written from what a run receives, without the reference, gives the reference.

`derivations/<task>.sql` is one such query for each task. It runs inside the task's own database, so it cannot read what
an agent could not, and is scored by the evaluator on the demo and on synthetic data.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from m4lib.cards import Card
from m4lib.data.build import build
from m4lib.data.synthetic import synthesize
from m4lib.duck import literal
from m4lib.evaluation import evaluate_files
from m4lib.tasks import taskdb
from m4lib.tasks.reference import write_references
from m4lib.tasks.store import open_store

from .conftest import TASKS

STAYS = 300
DERIVATIONS = Path(__file__).parent / "derivations"
EICU = [task for task in TASKS if task.startswith("eicu-")]
MIMIC = [task for task in TASKS if task not in EICU]

Score = Callable[[str, str], dict[str, Any]]


def derivation(task: str) -> str:
    return (DERIVATIONS / f"{task}.sql").read_text(encoding="utf-8").strip().rstrip(";")


def scorer(cards: dict[str, Card], tasks: list[str], db: Path, folder: Path) -> Score:
    """score(task, query) -> the evaluator's result of the query's CSV from the task's database, on the data of `db`."""
    write_references([cards[task] for task in tasks], db, folder / "references", threads=2)
    store = open_store(db, folder / "store")

    def score(task: str, query: str) -> dict[str, Any]:
        con = taskdb.open_taskdb(taskdb.build(cards[task], "native", db, folder / "taskdb", store=store))
        output = folder / f"{task}.csv"
        try:
            con.execute("SET threads = 2")
            con.execute(f"COPY ({query}) TO {literal(str(output))} (FORMAT csv, HEADER)")
        finally:
            con.close()
        return evaluate_files(output, folder / "references" / f"{task}.parquet", cards[task].evaluation)

    return score


def synthetic_db(source: str, folder: Path) -> Path:
    synthesize(source, folder / "raw", STAYS, seed=11)
    build(source, folder / "raw", folder / "source.duckdb", threads=2, progress=False)
    return folder / "source.duckdb"


@pytest.fixture(scope="module")
def demo_mimic(cards: dict[str, Card], demo_mimic_db: Path, tmp_path_factory: pytest.TempPathFactory) -> Score:
    return scorer(cards, MIMIC, demo_mimic_db, tmp_path_factory.mktemp("demo-mimic"))


@pytest.fixture(scope="module")
def demo_eicu(cards: dict[str, Card], demo_eicu_db: Path, tmp_path_factory: pytest.TempPathFactory) -> Score:
    return scorer(cards, EICU, demo_eicu_db, tmp_path_factory.mktemp("demo-eicu"))


@pytest.fixture(scope="module")
def synthetic_mimic(cards: dict[str, Card], tmp_path_factory: pytest.TempPathFactory) -> Score:
    folder = tmp_path_factory.mktemp("synthetic-mimic")
    return scorer(cards, MIMIC, synthetic_db("mimic-iv", folder), folder)


@pytest.fixture(scope="module")
def synthetic_eicu(cards: dict[str, Card], tmp_path_factory: pytest.TempPathFactory) -> Score:
    folder = tmp_path_factory.mktemp("synthetic-eicu")
    return scorer(cards, EICU, synthetic_db("eicu", folder), folder)


def assert_complete(result: dict[str, Any]) -> None:
    wrong = {column: rate for column, rate in result["match_rates"].items() if rate < 1}
    assert (result["reward"], result["extra_keys"], wrong) == (1.0, 0, {}), result["errors"]


def test_every_task_has_one(cards: dict[str, Card]) -> None:
    assert {path.stem for path in DERIVATIONS.glob("*.sql")} == set(cards)


def test_a_derivation_is_not_the_reference(cards: dict[str, Card]) -> None:
    """Point tables written out may look alike; steps do not."""
    for task, card in cards.items():
        ours, theirs = (
            {" ".join(line.split()) for line in text.splitlines() if len(line.split()) > 3}
            for text in (derivation(task), card.reference_path.read_text(encoding="utf-8"))
        )
        assert len(ours & theirs) < 0.15 * len(ours), (task, ours & theirs)


@pytest.mark.parametrize("task", MIMIC)
def test_demo_mimic(task: str, demo_mimic: Score) -> None:
    assert_complete(demo_mimic(task, derivation(task)))


@pytest.mark.parametrize("task", EICU)
def test_demo_eicu(task: str, demo_eicu: Score) -> None:
    assert_complete(demo_eicu(task, derivation(task)))


@pytest.mark.parametrize("task", MIMIC)
def test_synthetic_mimic(task: str, synthetic_mimic: Score) -> None:
    assert_complete(synthetic_mimic(task, derivation(task)))


@pytest.mark.parametrize("task", EICU)
def test_synthetic_eicu(task: str, synthetic_eicu: Score) -> None:
    assert_complete(synthetic_eicu(task, derivation(task)))


def test_a_misread_rule_is_seen(synthetic_mimic: Score) -> None:
    """The score is no formality: cuff readings alone in place of all pressures miss the SAPS II."""
    right = derivation("mimic-sapsii-24h")
    wrong = right.replace("mimiciv_derived.vitalsign", "(SELECT * REPLACE (sbp_ni AS sbp) FROM mimiciv_derived.vitalsign)")
    assert wrong != right
    assert synthetic_mimic("mimic-sapsii-24h", wrong)["reward"] < 0.99

"""The skills are complete: a query written from what a run receives, without the reference, gives the reference.

`derivations/<task>.sql` is one such query for each task. It runs inside the task's own database, so it cannot read what
an agent could not, and is scored by the evaluator on the demo, on synthetic data, and on synthetic data with the odd
rows of `odd_rows/`, on which rules decide something that the first two leave idle.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from m4lib.cards import Card
from m4lib.concepts.engine import build_concepts
from m4lib.data.build import build
from m4lib.data.synthetic import synthesize
from m4lib.duck import connect, literal
from m4lib.evaluation import evaluate_files
from m4lib.tasks import taskdb
from m4lib.tasks.reference import reference, reference_sql, tables_read, write_references
from m4lib.tasks.store import open_store

from .conftest import TASKS

STAYS = 300
DERIVATIONS = Path(__file__).parent / "derivations"
ODD_ROWS = Path(__file__).parent / "odd_rows"
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


def odd_db(source: str, plain: Path, folder: Path) -> Path:
    """A copy of `plain` with the odd rows, and the concepts built on them."""
    path = Path(shutil.copy(plain, folder / "odd.duckdb"))
    con = connect(path, threads=2)
    try:
        con.execute((ODD_ROWS / f"{source}.sql").read_text(encoding="utf-8"))
        if source == "mimic-iv":
            build_concepts(con, force=True)
    finally:
        con.close()
    return path


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("synthetic")
    for source in ("mimic-iv", "eicu"):
        synthesize(source, folder / source, STAYS, seed=11)
        build(source, folder / source, folder / f"{source}.duckdb", threads=2, progress=False)
    return {source: folder / f"{source}.duckdb" for source in ("mimic-iv", "eicu")}


@pytest.fixture(scope="module")
def demo_mimic(cards: dict[str, Card], demo_mimic_db: Path, tmp_path_factory: pytest.TempPathFactory) -> Score:
    return scorer(cards, MIMIC, demo_mimic_db, tmp_path_factory.mktemp("demo-mimic"))


@pytest.fixture(scope="module")
def demo_eicu(cards: dict[str, Card], demo_eicu_db: Path, tmp_path_factory: pytest.TempPathFactory) -> Score:
    return scorer(cards, EICU, demo_eicu_db, tmp_path_factory.mktemp("demo-eicu"))


@pytest.fixture(scope="module")
def plain_rows(cards: dict[str, Card], synthetic: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Score:
    mimic = scorer(cards, MIMIC, synthetic["mimic-iv"], tmp_path_factory.mktemp("plain-mimic"))
    eicu = scorer(cards, EICU, synthetic["eicu"], tmp_path_factory.mktemp("plain-eicu"))
    return lambda task, query: (eicu if task in EICU else mimic)(task, query)


@pytest.fixture(scope="module")
def odd_rows(cards: dict[str, Card], synthetic: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Score:
    folders = {source: tmp_path_factory.mktemp(f"odd-{source}") for source in synthetic}
    odd = {source: odd_db(source, plain, folders[source]) for source, plain in synthetic.items()}
    mimic = scorer(cards, MIMIC, odd["mimic-iv"], folders["mimic-iv"])
    eicu = scorer(cards, EICU, odd["eicu"], folders["eicu"])
    return lambda task, query: (eicu if task in EICU else mimic)(task, query)


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


@pytest.mark.parametrize("task", TASKS)
def test_synthetic(task: str, plain_rows: Score) -> None:
    assert_complete(plain_rows(task, derivation(task)))


@pytest.mark.parametrize("task", TASKS)
def test_odd_rows(task: str, odd_rows: Score) -> None:
    assert_complete(odd_rows(task, derivation(task)))


@pytest.mark.parametrize(("table", "key"), [("mimiciv_hosp.admissions", "hadm_id"), ("mimiciv_hosp.patients", "subject_id")])
def test_apsiii_of_a_stay_without_admission_or_patient(
    cards: dict[str, Card], synthetic: dict[str, Path], table: str, key: str
) -> None:
    """A sentence of the skill that is newer than the derivations: 0 in every component and no total."""
    card = cards["mimic-apsiii-24h"]
    con = connect(threads=2)
    con.execute(f"ATTACH {literal(str(synthetic['mimic-iv']))} AS source (READ_ONLY)")
    (lost,) = con.execute(f"SELECT min({key}) FROM source.mimiciv_icu.icustays").fetchone() or (None,)
    for name in tables_read(reference_sql(card)):
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {name.partition('.')[0]}")
        rows = f" WHERE {key} <> {lost}" if name == table else ""
        con.execute(f"CREATE VIEW {name} AS SELECT * FROM source.{name}{rows}")
    scores = reference(card, con).df()
    con.close()
    without, others = scores[scores[key] == lost], scores[scores[key] != lost]
    assert len(without) and without["apsiii"].isna().all() and others["apsiii"].notna().all()
    assert (without[[column for column in card.scored_columns if column != "apsiii"]] == 0).all(axis=None)


MISREAD = {
    "cuff readings in place of all pressures": (
        "mimic-sapsii-24h", "mimiciv_derived.vitalsign", "(SELECT * REPLACE (sbp_ni AS sbp) FROM mimiciv_derived.vitalsign)"),
    "one gas a time only after the arterial filter": (
        "mimic-sofa-24h-raw", "PARTITION BY subject_id, charttime ORDER BY specimen_id",
        "PARTITION BY subject_id, charttime, specimen ORDER BY specimen_id"),
    "a weight of 1 treated like any other": (
        "mimic-sofa-24h-raw", "WHEN rateuom = 'mg/kg/min' AND patientweight = 1 THEN rate ", ""),
    "an infinite dose beats a finite one": (
        "mimic-vasopressor-equivalents-raw", "max(CASE WHEN isfinite(dose) THEN dose END)",
        "CASE WHEN isfinite(max(dose)) THEN max(dose) END"),
    "an infusion without one time cuts nowhere": (
        "mimic-vasopressor-equivalents-raw", "SELECT stay_id, starttime AS t FROM inf UNION SELECT stay_id, endtime FROM inf",
        "SELECT stay_id, starttime AS t FROM inf WHERE endtime IS NOT NULL UNION "
        "SELECT stay_id, endtime FROM inf WHERE starttime IS NOT NULL"),
    "a device record without text passed over": (
        "mimic-ventilation-raw", "CASE WHEN count(*) = count(value) THEN min(value) END", "min(value)"),
    "smallest of several modes": ("mimic-ventilation-raw", "max(CASE WHEN itemid = 223849", "min(CASE WHEN itemid = 223849"),
    "ends of weight intervals swapped": (
        "mimic-kdigo-48h-raw", "wt.st <= us.t AND us.t < wt.en", "wt.st < us.t AND us.t <= wt.en"),
    "creatinine as a ratio": (
        "mimic-kdigo-48h-raw", "WHEN cr >= 1.5::DOUBLE * low7 THEN 1", "WHEN cr / low7 >= 1.5::DOUBLE THEN 1"),
    "creatinine as a difference": (
        "mimic-kdigo-48h-raw", "WHEN cr >= low48 + 0.3::DOUBLE THEN 1", "WHEN cr - low48 >= 0.3::DOUBLE THEN 1"),
    "no filter change": ("mimic-meld-24h-raw", ", 225436)", ")"),
    "procedures without value": ("mimic-meld-24h-raw", " AND x.value IS NOT NULL AND x.starttime", " AND x.starttime"),
    "inputs without amount": ("mimic-meld-24h-raw", " AND x.amount > 0", ""),
    "implausible creatinine": ("mimic-creatinine-baseline-raw", "itemid = 50912 AND valuenum <= 150", "itemid = 50912"),
    "admission of the creatinine row only": (
        "mimic-creatinine-baseline-raw", "max(hadm_id) AS hadm_id", "max(CASE WHEN itemid = 50912 THEN hadm_id END) AS hadm_id"),
    "an anion gap without number counts": (
        "mimic-creatinine-baseline-raw", "(itemid = 50868 AND valuenum IS NOT NULL)", "itemid = 50868"),
    "diluents": ("mimic-suspicion-infection-raw", "p.drug_type <> 'BASE' AND ", ""),
    "missing stop times last": ("mimic-suspicion-infection-raw", "stoptime NULLS FIRST", "stoptime NULLS LAST"),
    "no culture without number": (
        "mimic-suspicion-infection-raw", "microbiologyevents GROUP BY", "microbiologyevents WHERE micro_specimen_id > 0 GROUP BY"),
    "a month of 30 days": ("mimic-urine-output-rate-raw", "i.intime - INTERVAL 1 MONTH", "i.intime - INTERVAL 30 DAY"),
    "ties of weights reversed": ("mimic-urine-output-rate-raw", "ORDER BY st, kind, weight", "ORDER BY st, kind DESC, weight DESC"),
    "a year of 365.25 days": ("mimic-charlson-raw", "31556908.8", "31557600.0"),
    "missing transfer times last": ("mimic-sapsii-24h-raw", "transfertime ASC NULLS FIRST", "transfertime ASC NULLS LAST"),
    "pressure support by stay": (
        "mimic-sapsii-24h-raw", "p.subject_id = icu.subject_id AND p.starttime", "p.stay_id = icu.stay_id AND p.starttime"),
    "a rate of 0 gives no points by the hour": (
        "mimic-sepsis3-raw", "epi <= 0.1 OR norepi <= 0.1", "(epi > 0 AND epi <= 0.1) OR (norepi > 0 AND norepi <= 0.1)"),
    "temperatures in binary": ("mimic-apsiii-24h-raw", "CAST(temp_max AS DECIMAL(18,2)) - 38", "temp_max::DOUBLE - 38::DOUBLE"),
    "range of the total tested before the minimum": ("eicu-gcs", "THEN v END) AS tot", "AND v > 2 AND v < 16 THEN v END) AS tot"),
    "latest of equal minima": ("eicu-gcs", "total ASC, t ASC", "total ASC, t DESC"),
}


@pytest.mark.parametrize("rule", MISREAD)
def test_a_misread_rule_costs_score(rule: str, odd_rows: Score) -> None:
    """Rules that the demo and the plain synthetic data leave idle (all but the first here) decide something on the odd rows."""
    task, right, wrong = MISREAD[rule]
    assert right in derivation(task)
    assert odd_rows(task, derivation(task).replace(right, wrong))["reward"] < 1

"""References against the concepts they restate, on the MIMIC-IV demo: two queries written apart must agree.

Where a task changes the concept on purpose (arterial gases only in SOFA, gases of day 1 only in APACHE III, the order
of undated cultures) those columns are left out; their cases are in test_reference_cases_*.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from m4lib.cards import get_card, load_cards
from m4lib.duck import connect
from m4lib.project import Project
from m4lib.tasks.reference import reference_sql

KDIGO = """
SELECT
    stay.subject_id, stay.hadm_id, stay.stay_id,
    COALESCE(MAX(stage.aki_stage), 0) AS aki_stage,
    COALESCE(MAX(stage.aki_stage_creat), 0) AS aki_stage_creat,
    COALESCE(MAX(stage.aki_stage_uo), 0) AS aki_stage_uo,
    COALESCE(MAX(stage.aki_stage_crrt), 0) AS aki_stage_crrt
FROM mimiciv_icu.icustays AS stay
LEFT JOIN mimiciv_derived.kdigo_stages AS stage
    ON stay.stay_id = stage.stay_id
    AND stage.charttime >= stay.intime
    AND stage.charttime <= stay.intime + INTERVAL 48 HOUR
GROUP BY ALL"""
VASOPRESSOR = """
SELECT stay_id, starttime, endtime, MAX(norepinephrine_equivalent_dose) AS norepinephrine_equivalent_dose
FROM mimiciv_derived.norepinephrine_equivalent_dose
GROUP BY ALL"""
VENTILATION = """
SELECT stay_id, ROW_NUMBER() OVER (PARTITION BY stay_id ORDER BY starttime) AS ventilation_seq,
    starttime, endtime, ventilation_status
FROM mimiciv_derived.ventilation"""
GCS = "SELECT stay_id, COALESCE(gcs_min, 15) AS gcs_min FROM mimiciv_derived.first_day_gcs"

# task: (the concept, or a query of it; columns left out; whether a missing component is 0 in the task)
PAIRS = {
    "mimic-charlson-raw": ("mimiciv_derived.charlson", [], False),
    "mimic-creatinine-baseline": ("mimiciv_derived.creatinine_baseline", [], False),
    "mimic-urine-output-rate": ("mimiciv_derived.urine_output_rate", [], False),
    "mimic-sepsis3-raw": ("mimiciv_derived.sepsis3", [], False),
    "mimic-meld-24h": ("mimiciv_derived.meld", [], False),
    "mimic-sirs-24h-raw": ("mimiciv_derived.sirs", [], True),
    "mimic-sapsii-24h": ("mimiciv_derived.sapsii", [], True),
    "mimic-oasis-24h": ("mimiciv_derived.oasis", [], True),
    "mimic-apsiii-24h": ("mimiciv_derived.apsiii", ["apsiii", "pao2_aado2_score", "acidbase_score"], True),
    "mimic-sofa-24h": ("mimiciv_derived.first_day_sofa", ["sofa", "respiration"], True),
    "mimic-suspicion-infection": (
        "mimiciv_derived.suspicion_of_infection", ["culture_time", "suspected_infection_time", "specimen", "positive_culture"], False,
    ),
    "mimic-kdigo-48h": (f"({KDIGO})", [], False),
    "mimic-vasopressor-equivalents": (f"({VASOPRESSOR})", [], False),
    "mimic-ventilation": (f"({VENTILATION})", [], False),
    "mimic-gcs-24h-raw": (f"({GCS})", ["subject_id", "hadm_id", "gcs_motor", "gcs_verbal", "gcs_eyes"], False),
}  # fmt: skip


@pytest.fixture(scope="module")
def con(demo_mimic_db: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    con = connect(demo_mimic_db, read_only=True, threads=2)
    yield con
    con.close()


@pytest.mark.parametrize("task", PAIRS)
def test_agreement(con: duckdb.DuckDBPyConnection, project: Project, task: str) -> None:
    concept, left_out, imputed = PAIRS[task]
    card = get_card(project.tasks, task)
    columns = [c for c in card.evaluation["required_columns"] if c not in left_out]
    score = [c for c in columns if c not in ("subject_id", "hadm_id", "stay_id")]
    of_task = ", ".join(f"ROUND({c}::DOUBLE, 6) AS {c}" if c in numbers(con, concept) else c for c in columns)
    shown = {c: f"COALESCE({c}, 0)" if imputed and c in score else c for c in columns}
    of_concept = ", ".join(f"ROUND({v}::DOUBLE, 6) AS {c}" if c in numbers(con, concept) else v for c, v in shown.items())
    ours = f"(SELECT {of_task} FROM (\n{reference_sql(card)}\n))"
    theirs = f"(SELECT {of_concept} FROM {concept})"
    count = con.execute(f"SELECT COUNT(*) FROM {ours}").fetchall()[0][0]
    assert count > 0
    for first, second in ((ours, theirs), (theirs, ours)):
        assert con.execute(f"FROM {first} EXCEPT ALL FROM {second} LIMIT 3").fetchall() == []


def numbers(con: duckdb.DuckDBPyConnection, relation: str) -> set[str]:
    """The columns of the relation that hold numbers or flags."""
    rows = con.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    return {str(row[0]) for row in rows if not str(row[1]).startswith(("VARCHAR", "TIMESTAMP", "DATE"))}


def test_a_reference_can_be_selected_from(project: Project) -> None:
    """Put between brackets as it is, it is one statement: no comment at its end swallows the bracket."""
    for card in load_cards(project.tasks).values():
        assert len(duckdb.extract_statements(f"SELECT * FROM ({reference_sql(card)})")) == 1, card.name


def test_every_mimic_family_is_compared(project: Project) -> None:
    families = {path.parent.name for path in project.tasks.glob("*/reference.sql")}
    assert {get_card(project.tasks, task).family for task in PAIRS} == families

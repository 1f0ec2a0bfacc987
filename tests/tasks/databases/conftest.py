"""Fixtures for references and task databases: cards, one store of the demo, and a tiny MIMIC-IV of invented rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb
import pytest

from m4lib.cards import Card, load_cards
from m4lib.data import schema
from m4lib.project import Project
from m4lib.tasks.store import Store, open_store
from tests.conftest import existing


@pytest.fixture(scope="session")
def cards(project: Project) -> Mapping[str, Card]:
    return load_cards(project.tasks)


@pytest.fixture(scope="session")
def mimic_cards(cards: Mapping[str, Card]) -> list[Card]:
    return [card for card in cards.values() if card.database == "mimic-iv"]


@pytest.fixture(scope="session")
def facts_dir(project: Project) -> Path:
    return existing(project.shared / "facts", "the folder of facts")


@pytest.fixture(scope="session")
def demo_store(demo_mimic_db: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    return open_store(demo_mimic_db, tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="session")
def tiny_mimic_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All 31 tables and 63 concepts over a handful of invented rows, with the odd cases that merging must survive."""
    from m4lib.concepts.engine import build_concepts

    path = tmp_path_factory.mktemp("tiny") / "tiny.duckdb"
    con = duckdb.connect(str(path))
    try:
        for table in schema.source("mimic-iv").tables:
            con.execute(f"CREATE SCHEMA IF NOT EXISTS {table.schema}")
            columns = ", ".join(f'"{column.name}" {column.type}' for column in table.columns)
            con.execute(f"CREATE TABLE {table.full_name} ({columns})")
        for statement in TINY_ROWS.strip().split(";"):
            if statement.strip():
                con.execute(statement)
        build_concepts(con)
    finally:
        con.close()
    return path


# patient 1: two admissions, one with two ICU stays; 2: an admission without ICU; 3: no admission at all;
# 4: like 3, and without a stated sex; admission 40 has no patient row and ICU stay 500 no admission row
TINY_ROWS = """
INSERT INTO mimiciv_hosp.patients (subject_id, gender, anchor_age, anchor_year) VALUES
    (1, 'F', 60, 2150), (2, 'M', 40, 2150), (3, 'F', 71, 2150), (4, NULL, 33, 2150), (5, 'M', 50, 2150);
INSERT INTO mimiciv_hosp.admissions (subject_id, hadm_id, admittime, dischtime, admission_type, hospital_expire_flag) VALUES
    (1, 10, '2150-03-01 08:00', '2150-03-09 12:00', 'ELECTIVE', 0),
    (1, 11, '2150-06-01 08:00', '2150-06-03 12:00', 'EW EMER.', 0),
    (2, 20, '2150-01-05 10:00', '2150-01-07 10:00', 'URGENT', 1),
    (9, 40, '2150-01-05 10:00', '2150-01-07 10:00', 'URGENT', 0);
INSERT INTO mimiciv_icu.icustays (subject_id, hadm_id, stay_id, first_careunit, last_careunit, intime, outtime, los) VALUES
    (1, 10, 100, 'A', 'A', '2150-03-01 10:00', '2150-03-03 10:00', 2.0),
    (1, 10, 101, 'A', 'B', '2150-03-05 10:00', '2150-03-06 10:00', 1.0),
    (9, 40, 400, 'A', 'A', '2150-01-05 12:00', '2150-01-06 12:00', 1.0),
    (5, 50, 500, 'A', 'A', '2150-02-05 12:00', '2150-02-06 12:00', 1.0);
INSERT INTO mimiciv_icu.d_items (itemid, label, linksto) VALUES
    (220045, 'Heart Rate', 'chartevents'), (226559, 'Foley', 'outputevents'), (221906, 'Norepinephrine', 'inputevents'),
    (225792, 'Invasive Ventilation', 'procedureevents'), (999999, 'Unlinked', NULL);
INSERT INTO mimiciv_hosp.d_labitems (itemid, label, fluid, category) VALUES (50912, 'Creatinine', 'Blood', 'Chemistry');
INSERT INTO mimiciv_icu.chartevents (subject_id, hadm_id, stay_id, charttime, itemid, value, valuenum, warning) VALUES
    (1, 10, 100, '2150-03-01 10:10', 220045, '150', 150, 1), (1, 10, 100, '2150-03-01 10:10', 220045, '150', 150, 1),
    (1, 10, 101, '2150-03-05 11:00', 220045, '80', 80, 0), (1, 10, 100, '2150-03-01 10:00', 226512, '70', 70, 0);
INSERT INTO mimiciv_hosp.labevents (labevent_id, subject_id, hadm_id, specimen_id, itemid, charttime, value, valuenum) VALUES
    (1, 1, 10, 7, 50912, '2150-03-01 12:00', '2.1', 2.1), (2, 1, NULL, 8, 50912, '2150-02-27 12:00', '0.6', 0.6),
    (3, 2, 20, 9, 50912, '2150-01-05 12:00', '1.0', 1.0);
INSERT INTO mimiciv_icu.inputevents (subject_id, hadm_id, stay_id, starttime, endtime, itemid, rate, rateuom, patientweight)
    VALUES (1, 10, 100, '2150-03-01 11:00', '2150-03-01 15:00', 221906, 0.2, 'mcg/kg/min', 70);
INSERT INTO mimiciv_icu.outputevents (subject_id, hadm_id, stay_id, charttime, itemid, value) VALUES
    (1, 10, 100, '2150-03-01 12:00', 226559, 30), (1, 10, 100, '2150-03-01 20:00', 226559, 40);
INSERT INTO mimiciv_hosp.diagnoses_icd (subject_id, hadm_id, seq_num, icd_code, icd_version) VALUES
    (1, 10, 1, 'I21', 10), (2, 20, 1, '5854', 9)
"""

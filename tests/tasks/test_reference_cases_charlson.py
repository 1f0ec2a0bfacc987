"""Charlson index reference on the concept's tables of cases."""

from __future__ import annotations

import pytest

from tests.concepts import test_cases_comorbidity as charlson
from tests.concepts.case_db import CaseDb
from tests.tasks.references import check, rows

TASK = "mimic-charlson-raw"


@pytest.mark.parametrize("flag", charlson.CODES)
def test_codes(db: CaseDb, flag: str) -> None:
    inside, outside = charlson.CODES[flag]
    lines = [
        f"{code} | {code.split()[0]} | '{code.split()[1]}' | | {expected}"
        for codes, expected in ((inside, 1), (outside, 0))
        for code in codes
    ]
    check(db, TASK, "\n".join([f"what | diagnoses_icd.icd_version | diagnoses_icd.icd_code | -> | {flag}", *lines]))


def test_age(db: CaseDb) -> None:
    check(db, TASK, charlson.AGE)


def test_weights_and_hierarchy(db: CaseDb) -> None:
    check(db, TASK, charlson.WEIGHTS)


def test_admissions_without_diagnoses_are_kept(db: CaseDb) -> None:
    db.insert("admissions", subject_id=1, hadm_id=1)
    db.insert("age", subject_id=1, hadm_id=1, age=65.0)
    (row,) = rows(db, TASK)
    assert (row["hadm_id"], row["aids"], row["charlson_comorbidity_index"]) == (1, 0, 2)

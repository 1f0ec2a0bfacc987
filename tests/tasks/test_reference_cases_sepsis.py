"""Suspected infection and Sepsis-3 references by hand (Seymour CW et al., Singer M et al., JAMA 2016;315)."""

from __future__ import annotations

import datetime as dt

import pytest

from tests.concepts.case_db import INTIME, CaseDb
from tests.concepts.test_cases_sepsis import SEPSIS, SUSPICION
from tests.tasks.references import check, rows


@pytest.mark.parametrize("name", SUSPICION)
def test_suspected_infection(db: CaseDb, name: str) -> None:
    # on one day the task takes the culture without a time first, the concept last
    check(db, "mimic-suspicion-infection", SUSPICION[name], leave_out=["one day: with a time before without"])


TIES = """
what                                    | antibiotic.starttime | antibiotic.antibiotic | microbiologyevents.micro_specimen_id | microbiologyevents.chartdate | microbiologyevents.charttime | microbiologyevents.spec_type_desc | -> | suspected_infection_time | culture_time | specimen
one day: without a time first           | +10:00 | Vancomycin | 1 | -10:00 | -     | URINE |  | -10:00 | -10:00 | URINE
                                        |        |            | 2 | -10:00 | +9:00 | SWAB  |  |        |        |
after the antibiotic: the same          | +10:00 | Vancomycin | 3 | +14:00 | +20:00 | SWAB |  | +10:00 | +14:00 | URINE
                                        |        |            | 4 | +14:00 | -     | URINE |  |        |        |
equal times: the lower specimen number  | +10:00 | Vancomycin | 6 | -10:00 | +9:00 | URINE |  | +9:00  | +9:00  | SWAB
                                        |        |            | 5 | -10:00 | +9:00 | SWAB  |  |        |        |
both without a time: the lower number   | +10:00 | Vancomycin | 8 | -10:00 | -     | URINE |  | -10:00 | -10:00 | SWAB
                                        |        |            | 7 | -10:00 | -     | SWAB  |  |        |        |
"""


def test_suspected_infection_ties(db: CaseDb) -> None:
    check(db, "mimic-suspicion-infection", TIES)


def test_numbering_of_antibiotics(db: CaseDb) -> None:
    """By start, stop, name, admission, stay, unknown ones first; two routes of one order give two equal rows."""
    hour = dt.timedelta(hours=1)
    order = [
        {"starttime": None, "antibiotic": "Zosyn"},
        {"starttime": INTIME, "stoptime": None, "antibiotic": "Zosyn"},
        {"starttime": INTIME, "stoptime": INTIME, "antibiotic": "Cefazolin", "hadm_id": None},
        {"starttime": INTIME, "stoptime": INTIME, "antibiotic": "Cefazolin", "hadm_id": 6, "stay_id": None},
        {"starttime": INTIME, "stoptime": INTIME, "antibiotic": "Cefazolin", "hadm_id": 6, "stay_id": 8},
        {"starttime": INTIME, "stoptime": INTIME, "antibiotic": "Zosyn", "route": "IV"},
        {"starttime": INTIME, "stoptime": INTIME, "antibiotic": "Zosyn", "route": "PO"},
        {"starttime": INTIME + hour, "stoptime": INTIME, "antibiotic": "Aztreonam"},
    ]
    for row in reversed(order):
        db.insert("antibiotic", subject_id=1001, **row)
    found = rows(db, "mimic-suspicion-infection")
    keys = ["antibiotic_time", "antibiotic", "hadm_id", "stay_id"]
    assert [row["ab_id"] for row in found] == list(range(1, 9))
    assert [tuple(row[k] for k in keys) for row in found] == [
        (r["starttime"], r["antibiotic"], r.get("hadm_id"), r.get("stay_id")) for r in order
    ]
    assert {row["suspected_infection"] for row in found} == {0}


@pytest.mark.parametrize("name", SEPSIS)
def test_sepsis3(db: CaseDb, name: str) -> None:
    check(db, "mimic-sepsis3-raw", SEPSIS[name].replace("| true", "| 1"))


def test_sepsis3_uses_the_24_hour_scores_and_stays_of_the_icu(db: CaseDb) -> None:
    db.patient(1)
    db.insert("sofa", stay_id=3001, hr=1, endtime=INTIME, sofa_24hours=5, respiration=0, respiration_24hours=3,
              coagulation_24hours=0, liver_24hours=0, cardiovascular_24hours=2, cns_24hours=0, renal_24hours=0)  # fmt: skip
    infection = {"subject_id": 1001, "suspected_infection": 1, "antibiotic_time": INTIME, "suspected_infection_time": INTIME}
    db.insert("suspicion_of_infection", stay_id=None, **infection)
    assert rows(db, "mimic-sepsis3-raw") == []
    db.insert("suspicion_of_infection", stay_id=3001, **infection)
    (row,) = rows(db, "mimic-sepsis3-raw")
    assert (row["sofa_score"], row["respiration"], row["cardiovascular"], row["sepsis3"]) == (5, 3, 2, 1)

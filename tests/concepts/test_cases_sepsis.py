"""Suspected infection (Seymour CW et al., JAMA 2016;315:762-774) and Sepsis-3 (Singer M et al., JAMA 2016;315:801-810)
by hand. Each line is a patient admitted to the ICU at 10:00 on 1 June (`+0:00`).
"""

from __future__ import annotations

import datetime as dt

import pytest

from tests.concepts.case_db import INTIME, CaseDb

HOUR = dt.timedelta(hours=1)

SUSPICION = {
    "culture with a time: 72 h before to 24 h after the antibiotic": """
    what                                  | antibiotic.starttime | antibiotic.antibiotic | microbiologyevents.micro_specimen_id | microbiologyevents.chartdate | microbiologyevents.charttime | microbiologyevents.spec_type_desc | -> | suspected_infection | suspected_infection_time | culture_time | specimen | positive_culture
    culture 72 h before                   | +72:00    | Vancomycin | 1  | -10:00 | +0:00    | URINE |  | 1 | +0:00 | +0:00 | URINE | 0
    a second more                         | +72:00:01 | Vancomycin | 2  | -10:00 | +0:00    | URINE |  | 0 | -     | -     | -     | -
    culture a second before               | +0:00:01  | Vancomycin | 3  | -10:00 | +0:00    | URINE |  | 1 | +0:00 | +0:00 | URINE | 0
    at the same second: neither           | +0:00     | Vancomycin | 4  | -10:00 | +0:00    | URINE |  | 0 | -     | -     | -     | -
    culture a second after                | +0:00     | Vancomycin | 5  | -10:00 | +0:00:01 | URINE |  | 1 | +0:00 | +0:00:01 | URINE | 0
    culture 24 h after                    | +0:00     | Vancomycin | 6  | +14:00 | +24:00   | URINE |  | 1 | +0:00 | +24:00 | URINE | 0
    a second more                         | +0:00     | Vancomycin | 7  | +14:00 | +24:00:01 | URINE |  | 0 | -    | -     | -     | -
    no culture                            | +0:00     | Vancomycin |    |        |          |       |  | 0 | -     | -     | -     | -
    start of the antibiotic unknown       | -         | Vancomycin | 8  | -10:00 | +0:00    | URINE |  | 0 | -     | -     | -     | -
    """,
    "culture with a date only: 3 calendar days before to 1 day after": """
    what                            | antibiotic.starttime | antibiotic.antibiotic | microbiologyevents.micro_specimen_id | microbiologyevents.chartdate | microbiologyevents.spec_type_desc | -> | suspected_infection | suspected_infection_time | culture_time
    same day                        | +0:00     | Vancomycin | 1  | -10:00  | SWAB |  | 1 | -10:00 | -10:00
    3 days before, late in the day  | +13:59:59 | Vancomycin | 2  | -82:00  | SWAB |  | 1 | -82:00 | -82:00
    3 days before, a second later   | +14:00    | Vancomycin | 3  | -82:00  | SWAB |  | 0 | -      | -
    the day after                   | -10:00    | Vancomycin | 4  | +14:00  | SWAB |  | 1 | -10:00 | +14:00
    the day after, late             | +13:59:59 | Vancomycin | 5  | +14:00  | SWAB |  | 1 | +13:59:59 | +14:00
    two days after                  | +13:59:59 | Vancomycin | 6  | +38:00  | SWAB |  | 0 | -      | -
    """,
    "the earliest culture of each direction, culture first before antibiotic first": """
    what                                     | antibiotic.starttime | antibiotic.antibiotic | microbiologyevents.micro_specimen_id | microbiologyevents.chartdate | microbiologyevents.charttime | microbiologyevents.spec_type_desc | -> | suspected_infection_time | culture_time | specimen
    two before: the furthest                 | +40:00 | Vancomycin | 11 | +14:00 | +30:00 | URINE |  | +0:00  | +0:00  | SWAB
                                             |        |            | 12 | -10:00 | +0:00  | SWAB  |  |        |        |
    two after: the nearest                   | +0:00  | Vancomycin | 13 | +14:00 | +20:00 | URINE |  | +0:00  | +2:00  | SWAB
                                             |        |            | 14 | -10:00 | +2:00  | SWAB  |  |        |        |
    before and after                         | +10:00 | Vancomycin | 15 | -10:00 | +11:00 | URINE |  | +9:00  | +9:00  | SWAB
                                             |        |            | 16 | -10:00 | +9:00  | SWAB  |  |        |        |
    one day: with a time before without      | +10:00 | Vancomycin | 17 | -10:00 | -      | URINE |  | +9:00  | +9:00  | SWAB
                                             |        |            | 18 | -10:00 | +9:00  | SWAB  |  |        |        |
    an earlier day without a time            | +16:00 | Vancomycin | 19 | +14:00 | +15:00 | URINE |  | -10:00 | -10:00 | SWAB
                                             |        |            | 20 | -10:00 | -      | SWAB  |  |        |        |
    equal times: the lower specimen number   | +10:00 | Vancomycin | 22 | -10:00 | +9:00  | URINE |  | +9:00  | +9:00  | SWAB
                                             |        |            | 21 | -10:00 | +9:00  | SWAB  |  |        |        |
    """,
    "a culture's result and its specimen": """
    what                                          | antibiotic.starttime | antibiotic.antibiotic | microbiologyevents.micro_specimen_id | microbiologyevents.chartdate | microbiologyevents.charttime | microbiologyevents.spec_type_desc | microbiologyevents.org_name | microbiologyevents.org_itemid | -> | suspected_infection | specimen | positive_culture | culture_time | suspected_infection_time
    nothing grew                                  | +1:00 | Vancomycin | 31 | -10:00 | +0:00 | URINE | -      | -     |  | 1 | URINE | 0 | +0:00 | +0:00
    an organism                                   | +1:00 | Vancomycin | 32 | -10:00 | +0:00 | URINE | E.COLI | 80002 |  | 1 | URINE | 1 | +0:00 | +0:00
    one of two rows of the specimen               | +1:00 | Vancomycin | 33 | -10:00 | +0:00 | URINE | -      | -     |  | 1 | URINE | 1 | +0:00 | +0:00
                                                  |       |            | 33 | -10:00 | +0:00 | URINE | E.COLI | 80002 |  |   |       |   |       |
    90856 is a negative result                    | +1:00 | Vancomycin | 34 | -10:00 | +0:00 | URINE | NEGATIVE | 90856 |  | 1 | URINE | 0 | +0:00 | +0:00
    90760 counts as positive                      | +1:00 | Vancomycin | 35 | -10:00 | +0:00 | URINE | CANCELLED | 90760 |  | 1 | URINE | 1 | +0:00 | +0:00
    an organism without number                    | +1:00 | Vancomycin | 36 | -10:00 | +0:00 | URINE | E.COLI | -     |  | 1 | URINE | 0 | +0:00 | +0:00
    an empty name                                 | +1:00 | Vancomycin | 37 | -10:00 | +0:00 | URINE | ''     | 80002 |  | 1 | URINE | 0 | +0:00 | +0:00
    unnamed specimen: no flag, but a time         | +1:00 | Vancomycin | 38 | -10:00 | +0:00 | -     | E.COLI | 80002 |  | 0 | -     | 1 | +0:00 | -
    unnamed before, named after: parts of both    | +1:00 | Vancomycin | 39 | -10:00 | +0:00 | -     | E.COLI | 80002 |  | 1 | SWAB  | 1 | +0:00 | +0:00
                                                  |       |            | 40 | -10:00 | +2:00 | SWAB  | -      | -     |  |   |       |   |       |
    two names of one specimen: last in alphabet   | +1:00 | Vancomycin | 41 | -10:00 | +0:00 | SWAB  | -      | -     |  | 1 | URINE | 0 | +0:00 | +0:00
                                                  |       |            | 41 | -10:00 | +0:00 | URINE | -      | -     |  |   |       |   |       |
    two times of one specimen: the later          | +1:00 | Vancomycin | 43 | -34:00 | +0:15 | SWAB | -      | -     |  | 1 | SWAB | 0 | +0:30 | +0:30
                                                  |       |            | 43 | -10:00 | +0:30 | SWAB | -      | -     |  |   |       |   |       |
    two dates of one specimen: the later          | +1:00 | Vancomycin | 44 | -34:00 | -     | SWAB | -      | -     |  | 1 | SWAB | 0 | -10:00 | -10:00
                                                  |       |            | 44 | -10:00 | -     | SWAB | -      | -     |  |   |       |   |       |
    one row of a specimen with a time             | +1:00 | Vancomycin | 42 | -10:00 | -      | SWAB | -      | -     |  | 1 | SWAB | 0 | +0:30 | +0:30
                                                  |       |            | 42 | -10:00 | +0:30  | SWAB | -      | -     |  |   |       |   |       |
    """,
}


@pytest.mark.parametrize("name", SUSPICION)
def test_suspicion_of_infection(db: CaseDb, name: str) -> None:
    db.check("suspicion_of_infection", SUSPICION[name])


def test_cultures_are_linked_by_patient_only(db: CaseDb) -> None:
    ids = db.patient(1)
    db.event("antibiotic", ids, {"starttime": INTIME, "antibiotic": "Vancomycin"})
    db.insert("microbiologyevents", subject_id=1001, hadm_id=None, micro_specimen_id=1, chartdate=INTIME.replace(hour=0),
              charttime=INTIME - HOUR, spec_type_desc="URINE")  # fmt: skip
    db.patient(2)
    db.insert("antibiotic", subject_id=1002, hadm_id=2001, stay_id=None, starttime=INTIME, antibiotic="Vancomycin")
    assert {row["subject_id"]: row["suspected_infection"] for row in db.concept("suspicion_of_infection")} == {1001: 1, 1002: 0}


def test_numbering_of_antibiotics(db: CaseDb) -> None:
    """By start, stop, name, with unknown times first; then admission, stay and route."""
    db.patient(1)
    order = [  # as they must be numbered
        {"starttime": None, "stoptime": None, "antibiotic": "Zosyn"},
        {"starttime": INTIME, "stoptime": None, "antibiotic": "Zosyn"},
        {"starttime": INTIME, "stoptime": INTIME, "antibiotic": "Cefazolin", "hadm_id": 5},
        {"starttime": INTIME, "stoptime": INTIME, "antibiotic": "Cefazolin", "hadm_id": 6, "stay_id": None},
        {"starttime": INTIME, "stoptime": INTIME, "antibiotic": "Cefazolin", "hadm_id": 6, "stay_id": 8},
        {"starttime": INTIME, "stoptime": INTIME, "antibiotic": "Zosyn"},
        {"starttime": INTIME, "stoptime": INTIME + HOUR, "antibiotic": "Aztreonam"},
        {"starttime": INTIME + HOUR, "stoptime": INTIME, "antibiotic": "Aztreonam"},
    ]
    for row in reversed(order):
        db.insert("antibiotic", subject_id=1001, route="IV", **row)
    db.insert("antibiotic", subject_id=1000, route="IV", **order[0])
    found = sorted(db.concept("suspicion_of_infection"), key=lambda row: (-row["subject_id"], row["ab_id"]))
    keys = ["antibiotic_time", "antibiotic", "hadm_id", "stay_id"]
    expected = [(r["starttime"], r["antibiotic"], r.get("hadm_id"), r.get("stay_id")) for r in [*order, order[0]]]
    assert [tuple(row[k] for k in keys) for row in found] == expected
    assert [row["ab_id"] for row in found] == [1, 2, 3, 4, 5, 6, 7, 8, 1]


SEPSIS = {
    "SOFA of 2 or more from 48 h before to 24 h after the suspected infection": """
    what                   | suspicion_of_infection.suspected_infection_time | suspicion_of_infection.suspected_infection | suspicion_of_infection.antibiotic_time | sofa.endtime | sofa.sofa_24hours | -> | sofa_time | sofa_score | sepsis3
    SOFA 2                 | +50:00 | 1 | +50:00 | +50:00    | 2  |  | +50:00 | 2 | true
    SOFA 1                 | +50:00 | 1 | +50:00 | +50:00    | 1  |  | no row |   |
    48 h before            | +50:00 | 1 | +50:00 | +2:00     | 3  |  | +2:00  | 3 | true
    a second earlier       | +50:00 | 1 | +50:00 | +1:59:59  | 3  |  | no row |   |
    24 h after             | +50:00 | 1 | +50:00 | +74:00    | 3  |  | +74:00 | 3 | true
    a second later         | +50:00 | 1 | +50:00 | +74:00:01 | 3  |  | no row |   |
    the first such hour    | +50:00 | 1 | +50:00 | +60:00    | 9  |  | +40:00 | 2 | true
                           |        |   |        | +40:00    | 2  |  |        |   |
                           |        |   |        | +30:00    | 1  |  |        |   |
    no suspicion           | -      | 0 | +50:00 | +50:00    | 9  |  | no row |   |
    no SOFA                | +50:00 | 1 | +50:00 |           |    |  | no row |   |
    """,
    "the first infection that has such an hour": """
    what                               | suspicion_of_infection.suspected_infection_time | suspicion_of_infection.suspected_infection | suspicion_of_infection.antibiotic_time | suspicion_of_infection.culture_time | sofa.endtime | sofa.sofa_24hours | -> | suspected_infection_time | antibiotic_time | culture_time | sofa_time
    two infections                     | +20:00 | 1 | +20:00 | -      | +10:00 | 2 |  | +15:00 | +16:00 | +15:00 | +10:00
                                       | +15:00 | 1 | +16:00 | +15:00 |        |   |  |        |        |        |
    the first has no SOFA near it      | +10:00 | 1 | +10:00 | -      | +99:00 | 2 |  | +90:00 | +90:00 | -      | +99:00
                                       | +90:00 | 1 | +90:00 | -      |        |   |  |        |        |        |
    same infection: earlier antibiotic | +15:00 | 1 | +18:00 | +15:00 | +10:00 | 2 |  | +15:00 | +16:00 | +15:00 | +10:00
                                       | +15:00 | 1 | +16:00 | +15:00 |        |   |  |        |        |        |
    then a missing culture time first  | +15:00 | 1 | +15:00 | +16:00 | +10:00 | 2 |  | +15:00 | +15:00 | -      | +10:00
                                       | +15:00 | 1 | +15:00 | -      |        |   |  |        |        |        |
    equal twice: one row               | +15:00 | 1 | +15:00 | +16:00 | +10:00 | 2 |  | +15:00 | +15:00 | +16:00 | +10:00
                                       | +15:00 | 1 | +15:00 | +16:00 |        |   |  |        |        |        |
    """,
}


@pytest.mark.parametrize("name", SEPSIS)
def test_sepsis3(db: CaseDb, name: str) -> None:
    db.check("sepsis3", SEPSIS[name])


def test_sepsis3_shows_the_24_hour_components_and_ignores_antibiotics_outside_the_icu(db: CaseDb) -> None:
    db.patient(1)
    worst = {"respiration": 1, "coagulation": 2, "liver": 3, "cardiovascular": 4, "cns": 0, "renal": 2}
    db.insert("sofa", stay_id=3001, hr=1, endtime=INTIME, sofa_24hours=12, respiration=4, cns=4,
              **{f"{organ}_24hours": points for organ, points in worst.items()})  # fmt: skip
    infection = {"subject_id": 1001, "suspected_infection": 1, "antibiotic_time": INTIME}
    db.insert("suspicion_of_infection", stay_id=3001, suspected_infection_time=INTIME + HOUR, **infection)
    db.insert("suspicion_of_infection", stay_id=None, suspected_infection_time=INTIME, **infection)
    (row,) = db.concept("sepsis3")
    assert {organ: row[organ] for organ in worst} == worst
    assert row["suspected_infection_time"] == INTIME + HOUR

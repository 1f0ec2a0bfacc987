"""SIRS, SAPS II, OASIS and APACHE III references on the concepts' tables of cases, a missing component being 0.

What the tasks change (APACHE III: gases of the first 24 h only) is tested apart.
"""

from __future__ import annotations

import pytest

from tests.concepts import test_cases_apsiii as apsiii
from tests.concepts.case_db import CaseDb
from tests.concepts.test_cases_oasis import OASIS
from tests.concepts.test_cases_sapsii import SAPSII
from tests.concepts.test_cases_sirs import SIRS
from tests.tasks.references import check, rows


@pytest.mark.parametrize("name", SIRS)
def test_sirs(db: CaseDb, name: str) -> None:
    check(db, "mimic-sirs-24h-raw", SIRS[name], imputed=True)


@pytest.mark.parametrize("name", SAPSII)
def test_sapsii(db: CaseDb, name: str) -> None:
    check(db, "mimic-sapsii-24h", SAPSII[name], imputed=True)


def test_sapsii_without_data_is_a_medical_admission(db: CaseDb) -> None:
    check(db, "mimic-sapsii-24h", "what | age.age | -> | sapsii | admissiontype_score | comorbidity_score\nnothing | | | 6 | 6 | 0")


@pytest.mark.parametrize("name", OASIS)
def test_oasis(db: CaseDb, name: str) -> None:
    check(db, "mimic-oasis-24h", OASIS[name], imputed=True)


def test_oasis_total(db: CaseDb) -> None:
    """12 h before the ICU 0, age 60 6, coma scale 14 3, heart rate 110 3, pressure 50 3, rate 31 6, 36.0 °C 2,
    urine 1000 5, ventilated 9, emergency 6: 43 points.
    """
    check(db, "mimic-oasis-24h", """
    what | age.age | first_day_gcs.gcs_min | first_day_vitalsign.heart_rate_min | first_day_vitalsign.heart_rate_max | first_day_vitalsign.mbp_min | first_day_vitalsign.mbp_max | first_day_vitalsign.resp_rate_min | first_day_vitalsign.resp_rate_max | first_day_vitalsign.temperature_min | first_day_vitalsign.temperature_max | first_day_urine_output.urineoutput | ventilation.starttime | ventilation.endtime | ventilation.ventilation_status | -> | oasis
    all  | 60 | 14 | 60 | 110 | 50 | 90 | 15 | 31 | 36.0 | 36.5 | 1000 | +1:00 | +2:00 | InvasiveVent |  | 43
    """)


@pytest.mark.parametrize("name", apsiii.CASES)
def test_apsiii(db: CaseDb, name: str) -> None:
    check(db, "mimic-apsiii-24h", apsiii.CASES[name], imputed=True, leave_out=["on the third day"])


@pytest.mark.parametrize("name", apsiii.BANDS)
def test_apsiii_bands(db: CaseDb, name: str) -> None:
    score, column, points = apsiii.BANDS[name]
    lines = [f"{v} | {v} | {v} | | {p} | {p}" for v, p in points]
    check(db, "mimic-apsiii-24h", "\n".join([f"what | {column}_min | {column}_max | -> | {score} | apsiii", *lines]))


@pytest.mark.parametrize("name", apsiii.HIGHEST_ONLY)
def test_apsiii_highest_only(db: CaseDb, name: str) -> None:
    score, column, points = apsiii.HIGHEST_ONLY[name]
    lines = [f"{v} | {v} | | {p} | {p}" for v, p in points]
    check(db, "mimic-apsiii-24h", "\n".join([f"what | {column} | -> | {score} | apsiii", *lines, "none | | | 0 | 0"]))


def test_apsiii_acid_base_chart(db: CaseDb) -> None:
    lines = [
        f"pH {ph}, PaCO2 {pco2} | +1:00 | ART. | {ph} | {pco2} | | {points}"
        for ph, row in apsiii.ACID_BASE.items()
        for pco2, points in row
    ]
    header = "what | bg.charttime | bg.specimen | bg.ph | bg.pco2 | -> | acidbase_score"
    check(db, "mimic-apsiii-24h", "\n".join([header, *lines]))


APSIII_GASES = """
what                                       | icustays.outtime | bg.charttime | bg.specimen | bg.po2 | bg.ph | bg.pco2 | -> | pao2_aado2_score | acidbase_score
at intime                                  | +72:00 | +0:00     | ART. | 60 | 7.1 | 40 |  | 5 | 12
a second before                            | +72:00 | -0:00:01  | ART. | 60 | 7.1 | 40 |  | 0 | 0
a second before 24 h                       | +72:00 | +23:59:59 | ART. | 60 | 7.1 | 40 |  | 5 | 12
at 24 h                                    | +72:00 | +24:00    | ART. | 60 | 7.1 | 40 |  | 0 | 0
discharged after 10 h: a second before     | +10:00 | +9:59:59  | ART. | 60 | 7.1 | 40 |  | 5 | 12
at discharge                               | +10:00 | +10:00    | ART. | 60 | 7.1 | 40 |  | 0 | 0
discharge unknown: the day alone limits    | -      | +23:00    | ART. | 60 | 7.1 | 40 |  | 5 | 12
discharge unknown, at 24 h                 | -      | +24:00    | ART. | 60 | 7.1 | 40 |  | 0 | 0
"""


def test_apsiii_gases_of_the_first_day_only(db: CaseDb) -> None:
    check(db, "mimic-apsiii-24h", APSIII_GASES)


def test_apsiii_gases_are_linked_by_admission(db: CaseDb) -> None:
    check(db, "mimic-apsiii-24h", """
    what              | bg.charttime | bg.specimen | bg.po2 | bg.hadm_id | -> | pao2_aado2_score
    no admission id   | +1:00 | ART. | 60 | -   |  | 0
    another admission | +1:00 | ART. | 60 | 999 |  | 0
    """)


def test_scores_keep_every_stay(db: CaseDb) -> None:
    db.patient(1)
    for task in ("mimic-sirs-24h-raw", "mimic-sapsii-24h", "mimic-oasis-24h", "mimic-apsiii-24h", "mimic-sofa-24h"):
        (row,) = rows(db, task)
        assert None not in row.values()

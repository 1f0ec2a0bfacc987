"""KDIGO stage of 48 h, MELD-Na, baseline creatinine and urine output rate references by hand."""

from __future__ import annotations

import pytest

from tests.concepts.case_db import CaseDb
from tests.concepts.test_cases_organfailure import MELD, STAGES
from tests.tasks.references import check

# --- KDIGO: the highest stage from ICU admission to 48 h, both ends included ------------------------------------

CRITERIA = [name for name in STAGES if "highest of" not in name]


@pytest.mark.parametrize("name", CRITERIA)
def test_kdigo_criteria(db: CaseDb, name: str) -> None:
    check(db, "mimic-kdigo-48h", STAGES[name], imputed=True)


KDIGO = """
what                             | kdigo_creatinine.charttime | kdigo_creatinine.creat | kdigo_creatinine.creat_low_past_7day | kdigo_uo.charttime | kdigo_uo.uo_rt_6hr | kdigo_uo.uo_tm_6hr | crrt.charttime | crrt.crrt_mode | -> | aki_stage | aki_stage_creat | aki_stage_uo | aki_stage_crrt
at ICU admission                 | +0:00     | 2 | 1 |           |     |   |           |      |  | 2 | 2 | 0 | 0
a second before                  | -0:00:01  | 2 | 1 |           |     |   |           |      |  | 0 | 0 | 0 | 0
at 48 h                          | +48:00    | 2 | 1 | +48:00    | 0.4 | 6 | +48:00    | CVVH |  | 3 | 2 | 1 | 3
a second later                   | +48:00:01 | 2 | 1 | +48:00:01 | 0.4 | 6 | +48:00:01 | CVVH |  | 0 | 0 | 0 | 0
the highest of each, any time    | +10:00    | 1.5 | 1 | +20:00  | 0.4 | 6 | +30:00    | SCUF |  | 3 | 2 | 1 | 3
                                 | +20:00    | 2 | 1 |           |     |   |           |      |  |   |   |   |
dialysis settings without a mode |           |   |   |           |     |   | +1:00     | -    |  | 0 | 0 | 0 | 0
nothing                          |           |   |   |           |     |   |           |      |  | 0 | 0 | 0 | 0
"""


def test_kdigo(db: CaseDb) -> None:
    check(db, "mimic-kdigo-48h", KDIGO)


def test_kdigo_from_charted_rows(db: CaseDb) -> None:
    """80 kg. Creatinine 1.0 two days before, then 2.1: stage 2. Urine of 10 mL/h is 0.125 mL/kg/h: stage 2 after 12 h, but
    only stage 1 where the last 6 h hold a gap so long that they have no rate of their own.
    """
    check(db, "mimic-kdigo-48h", """
    what        | labevents.charttime | labevents.itemid | labevents.valuenum | urine_output.charttime | urine_output.urineoutput | weight_durations.starttime | weight_durations.endtime | weight_durations.weight | -> | aki_stage | aki_stage_creat | aki_stage_uo
    creatinine  | -47:00 | 50912 | 1.0 |        |     |       |        |    |  | 2 | 2 | 0
                | +5:00  | 50912 | 2.1 |        |     |       |        |    |  |   |   |
    urine       |        |       |     | +1:00  | 10  | -2:00 | +90:00 | 80 |  | 2 | 0 | 2
                |        |       |     | +5:00  | 40  |       |        |    |  |   |   |
                |        |       |     | +9:00  | 40  |       |        |    |  |   |   |
                |        |       |     | +13:00 | 40  |       |        |    |  |   |   |
    long gaps   |        |       |     | +1:00  | 10  | -2:00 | +90:00 | 80 |  | 1 | 0 | 1
                |        |       |     | +7:00  | 60  |       |        |    |  |   |   |
                |        |       |     | +13:00 | 60  |       |        |    |  |   |   |
    """, build=["kdigo_creatinine", "kdigo_uo"])


# --- MELD-Na -----------------------------------------------------------------------------------------------------


def test_meld(db: CaseDb) -> None:
    check(db, "mimic-meld-24h", MELD, imputed=True)


# --- Baseline creatinine: the measured one up to 1.1 mg/dL or in chronic kidney disease, else MDRD at a GFR of 75 ---

# (75 / 186 / age^-0.203)^(-1 / 1.154), for women with the divisor 0.742
MEN_60 = (75 / 186 / 60**-0.203) ** (-1 / 1.154)
WOMEN_60 = (75 / 186 / 60**-0.203 / 0.742) ** (-1 / 1.154)
BASELINE = f"""
what                                    | age.age | patients.gender | chemistry.creatinine | diagnoses_icd.icd_version | diagnoses_icd.icd_code | -> | scr_min | ckd | mdrd_est | scr_baseline | gender | age
woman, 1.1 measured                     | 60    | F | 1.1  |    |       |  | 1.1  | 0 | {WOMEN_60} | 1.1 | F | 60
woman, 1.11 measured                    | 60    | F | 1.11 |    |       |  | 1.11 | 0 | {WOMEN_60} | {WOMEN_60} | F | 60
man, 1.11 measured                      | 60    | M | 1.11 |    |       |  | 1.11 | 0 | {MEN_60} | {MEN_60} | M | 60
gender unknown: as a man                | 60    | - | 5    |    |       |  | 5    | 0 | {MEN_60} | {MEN_60} | - | 60
the lowest of the admission             | 60    | F | 3    |    |       |  | 0.9  | 0 | {WOMEN_60} | 0.9 | F | 60
                                        |       |   | 0.9  |    |       |  |      |   |            |     |   |
chronic kidney disease, ICD-9           | 60    | F | 3    | 9  | 5859  |  | 3    | 1 | {WOMEN_60} | 3 | F | 60
chronic kidney disease, ICD-10          | 60    | F | 3    | 10 | N183  |  | 3    | 1 | {WOMEN_60} | 3 | F | 60
acute kidney failure is not             | 60    | F | 3    | 9  | 5849  |  | 3    | 0 | {WOMEN_60} | {WOMEN_60} | F | 60
a code of the other version             | 60    | F | 3    | 9  | N183  |  | 3    | 0 | {WOMEN_60} | {WOMEN_60} | F | 60
no creatinine                           | 60    | F |      |    |       |  | -    | 0 | {WOMEN_60} | {WOMEN_60} | F | 60
no creatinine, chronic kidney disease   | 60    | F |      | 10 | N189  |  | -    | 1 | {WOMEN_60} | - | F | 60
17.99 years                             | 17.99 | F | 1    |    |       |  | no row |  |  |  |  |
18 years                                | 18    | F | 1    |    |       |  | 1    | 0 | {(75 / 186 / 18**-0.203 / 0.742) ** (-1 / 1.154)} | 1 | F | 18
age unknown                             | -     | F | 1    |    |       |  | no row |  |  |  |  |
"""


def test_baseline_creatinine(db: CaseDb) -> None:
    assert pytest.approx((1.0691, 0.8255), abs=1e-4) == (MEN_60, WOMEN_60)
    check(db, "mimic-creatinine-baseline", BASELINE)


def test_baseline_creatinine_needs_the_admission_s_own_laboratory(db: CaseDb) -> None:
    check(db, "mimic-creatinine-baseline", """
    what                  | age.age | chemistry.creatinine | chemistry.hadm_id | -> | scr_min
    without admission id  | 60 | 0.9 | -   |  | -
    another admission     | 60 | 0.9 | 999 |  | -
    """)


# --- Urine output rate ------------------------------------------------------------------------------------------

RATE = {
    "hours count from the first heart rate; look-back of 5, 11 and 23 h": """
    what                | chartevents.charttime | chartevents.itemid | urine_output.charttime | urine_output.urineoutput | weight_durations.starttime | weight_durations.endtime | weight_durations.weight | -> | uo | urineoutput_6hr | uo_tm_6hr | uo_mlkghr_6hr | urineoutput_12hr | uo_tm_12hr | uo_mlkghr_12hr
    every 3 h           | +0:00 | 220045 | +3:00  | 60  | -2:00 | +90:00 | 80 |  | 60  | 60  | 3 | -     | 60  | 3  | -
                        |       |        | +6:00  | 90  |       |        |    |  | 90  | 150 | 6 | 0.313 | 150 | 6  | -
                        |       |        | +9:00  | 30  |       |        |    |  | 30  | 120 | 6 | 0.25  | 180 | 9  | -
                        |       |        | +12:00 | 120 |       |        |    |  | 120 | 150 | 6 | 0.313 | 300 | 12 | 0.313
    exactly 5 h back    | +0:00 | 220045 | +1:00  | 60  | -2:00 | +90:00 | 100 |  | 60 | 60  | 1 | -     | 60  | 1  | -
                        |       |        | +6:00  | 60  |       |        |     |  | 60 | 120 | 6 | 0.2   | 120 | 6  | -
    a second more       | +0:00 | 220045 | +1:00  | 60  | -2:00 | +90:00 | 100 |  | 60 | 60  | 1 | -     | 60  | 1  | -
                        |       |        | +6:00:01 | 60 |      |        |     |  | 60 | 60  | 5 | -     | 120 | 6  | -
    """,
    "12 h": """
    what                | chartevents.charttime | chartevents.itemid | urine_output.charttime | urine_output.urineoutput | weight_durations.starttime | weight_durations.endtime | weight_durations.weight | -> | urineoutput_12hr | uo_tm_12hr | uo_mlkghr_12hr
    exactly 11 h back   | +0:00 | 220045 | +1:00  | 60   | -2:00 | +90:00 | 100 |  | 60  | 1  | -
                        |       |        | +12:00 | 540  |       |        |     |  | 600 | 12 | 0.5
    a second more       | +0:00 | 220045 | +1:00  | 60   | -2:00 | +90:00 | 100 |  | 60  | 1  | -
                        |       |        | +12:00:01 | 540 |     |        |     |  | 540 | 11 | -
    """,
    "24 h": """
    what                | chartevents.charttime | chartevents.itemid | urine_output.charttime | urine_output.urineoutput | weight_durations.starttime | weight_durations.endtime | weight_durations.weight | -> | urineoutput_24hr | uo_tm_24hr | uo_mlkghr_24hr
    exactly 23 h back   | +0:00 | 220045 | +1:00  | 60   | -2:00 | +90:00 | 100 |  | 60   | 1  | -
                        |       |        | +24:00 | 1200 |       |        |     |  | 1260 | 24 | 0.525
    a second more       | +0:00 | 220045 | +1:00  | 60   | -2:00 | +90:00 | 100 |  | 60   | 1  | -
                        |       |        | +24:00:01 | 1200 |    |        |     |  | 1200 | 23 | -
    one gap of 30 h     | +0:00 | 220045 | +30:00 | 900  | -2:00 | +90:00 | 100 |  | 900  | 30 | 0.3
    """,
    "which stays, and from when": """
    what                                   | chartevents.charttime | chartevents.itemid | icustays.outtime | urine_output.charttime | urine_output.urineoutput | -> | uo | uo_tm_6hr
    urine before the first heart rate      | +2:00    | 220045 | +72:00 | +1:00 | 60 |  | 60 | -1
    the earliest heart rate                | +0:30    | 220045 | +72:00 | +1:00 | 60 |  | 60 | 0.5
                                           | +0:45    | 220045 |        |       |    |  |    |
    no heart rate                          |          |        | +72:00 | +1:00 | 60 |  | no row |
    another item                           | +0:00    | 220210 | +72:00 | +1:00 | 60 |  | no row |
    a month before intime: too early       | -744:00  | 220045 | +72:00 | +1:00 | 60 |  | no row |
    a second later                         | -743:59:59 | 220045 | +72:00 | +1:00 | 60 |  | 60 | 745
    a month after discharge: too late      | +792:00  | 220045 | +72:00 | +1:00 | 60 |  | no row |
    a second earlier                       | +791:59:59 | 220045 | +72:00 | +1:00 | 60 |  | 60 | -791
    discharge unknown                      | +0:00    | 220045 | -      | +1:00 | 60 |  | no row |
    no urine                               | +0:00    | 220045 | +72:00 |       |    |  | no row |
    volume missing                         | +0:00    | 220045 | +72:00 | +1:00 | -  |  | -  | 1
    urine after discharge                  | +0:00    | 220045 | +72:00 | +99:00 | 5 |  | 5  | 99
    """,
    "weight: the start of an interval is outside, its end inside": """
    what           | chartevents.charttime | chartevents.itemid | urine_output.charttime | urine_output.urineoutput | weight_durations.starttime | weight_durations.endtime | weight_durations.weight | -> | weight | uo_mlkghr_6hr
    inside         | +0:00 | 220045 | +8:00 | 80 | -2:00 | +90:00 | 10 |  | 10 | 1
    at the start   | +0:00 | 220045 | +8:00 | 80 | +8:00 | +90:00 | 10 |  | -  | -
    at the end     | +0:00 | 220045 | +8:00 | 80 | -2:00 | +8:00  | 10 |  | 10 | 1
    weight 0       | +0:00 | 220045 | +8:00 | 80 | -2:00 | +90:00 | 0  |  | -  | -
    no weight      | +0:00 | 220045 | +8:00 | 80 |       |        |    |  | -  | -
    """,
    "times are rounded to 3, then to 2 decimals; rates keep 3; the limits see the unrounded hours": """
    what                        | chartevents.charttime | chartevents.itemid | urine_output.charttime | urine_output.urineoutput | weight_durations.starttime | weight_durations.endtime | weight_durations.weight | -> | uo_tm_6hr | uo_mlkghr_6hr
    1 h 41 s: 1.01138 h         | +0:00 | 220045 | +1:00:41 | 80 | -2:00 | +90:00 | 10 |  | 1.01 | -
    1 h 52 s: 1.0144, 1.014     | +0:00 | 220045 | +1:00:52 | 80 | -2:00 | +90:00 | 10 |  | 1.01 | -
    1 h 53 s: 1.0147, 1.015     | +0:00 | 220045 | +1:00:53 | 80 | -2:00 | +90:00 | 10 |  | 1.02 | -
    5 h 59 min 59 s: 5.9997     | +0:00 | 220045 | +5:59:59 | 80 | -2:00 | +90:00 | 10 |  | 6.00 | -
    6 h: 80 / 10 / 6 = 1.3333   | +0:00 | 220045 | +6:00    | 80 | -2:00 | +90:00 | 10 |  | 6.00 | 1.333
    """,
}


@pytest.mark.parametrize("name", RATE)
def test_urine_output_rate(db: CaseDb, name: str) -> None:
    check(db, "mimic-urine-output-rate", RATE[name], order="charttime")

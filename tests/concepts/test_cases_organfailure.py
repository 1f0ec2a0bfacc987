"""Kidney injury and liver disease by hand: KDIGO guideline 2012 (Kidney Int Suppl 2:1-138), MELD of Kamath PS et al.,
Hepatology 2001;33:464-470, and MELD-Na of Kim WR et al., N Engl J Med 2008;359:1018-1026.
"""

from __future__ import annotations

import datetime as dt
import math

import pytest

from tests.concepts.case_db import INTIME, CaseDb

CREATININE = {
    "lowest value of the past 48 h and 7 days, the value itself left out": """
    what                           | labevents.charttime | labevents.itemid | labevents.valuenum | -> | creat | creat_low_past_48hr | creat_low_past_7day
    exactly 48 h apart             | +1:00     | 50912 | 1.0 |  | 1.0 | -   | -
                                   | +49:00    | 50912 | 2.0 |  | 2.0 | 1.0 | 1.0
    a second more                  | +1:00     | 50912 | 1.0 |  | 1.0 | -   | -
                                   | +49:00:01 | 50912 | 2.0 |  | 2.0 | -   | 1.0
    exactly 7 days apart           | -167:00   | 50912 | 0.8 |  | 0.8 | -   | -
                                   | +1:00     | 50912 | 2.0 |  | 2.0 | -   | 0.8
    a second more                  | -167:00   | 50912 | 0.8 |  | 0.8 | -   | -
                                   | +1:00:01  | 50912 | 2.0 |  | 2.0 | -   | -
    the lowest, not the last       | +1:00     | 50912 | 1.0 |  | 1.0 | -   | -
                                   | +2:00     | 50912 | 3.0 |  | 3.0 | 1.0 | 1.0
                                   | +3:00     | 50912 | 2.0 |  | 2.0 | 1.0 | 1.0
    """,
    "which values count": """
    what                           | labevents.charttime | labevents.itemid | labevents.valuenum | -> | creat | charttime
    7 days before admission        | -168:00    | 50912 | 1.0  |  | 1.0 | -168:00
    a second earlier               | -168:00:01 | 50912 | 1.0  |  | -   | -
    at discharge                   | +72:00     | 50912 | 1.0  |  | 1.0 | +72:00
    a second later                 | +72:00:01  | 50912 | 1.0  |  | -   | -
    two at one time: their mean    | +1:00      | 50912 | 1.0  |  | 1.5 | +1:00
                                   | +1:00      | 50912 | 2.0  |  |     |
    150                            | +1:00      | 50912 | 150  |  | 150 | +1:00
    above 150                      | +1:00      | 50912 | 151  |  | -   | -
    0 passes                       | +1:00      | 50912 | 0    |  | 0   | +1:00
    no number                      | +1:00      | 50912 | -    |  | -   | -
    another analyte                | +1:00      | 50913 | 1.0  |  | -   | -
    none                           |            |       |      |  | -   | -
    """,
}


@pytest.mark.parametrize("name", CREATININE)
def test_kdigo_creatinine(db: CaseDb, name: str) -> None:
    db.check("kdigo_creatinine", CREATININE[name], order="charttime")


def test_creatinine_is_linked_by_patient_and_shown_under_both_stays(db: CaseDb) -> None:
    db.patient(1)
    later = INTIME.replace(day=3)
    db.insert("icustays", subject_id=1001, hadm_id=9, stay_id=9, intime=later, outtime=INTIME.replace(day=5))
    db.insert("labevents", subject_id=1001, hadm_id=None, itemid=50912, valuenum=1.0, charttime=INTIME.replace(day=2))
    assert sorted((row["stay_id"], row["hadm_id"], row["creat"]) for row in db.concept("kdigo_creatinine")) == [(9, 9, 1.0), (3001, 2001, 1.0)]


URINE = {
    "7 hourly records of 40 mL at 80 kg: 6 h are reached at the 6th": """
    what             | urine_output.charttime | urine_output.urineoutput | weight_durations.starttime | weight_durations.endtime | weight_durations.weight | -> | urineoutput_6hr | uo_tm_6hr | uo_rt_6hr
    hourly           | +1:00 | 40 | -2:00 | +90:00 | 80 |  | 40  | 1 | -
                     | +2:00 | 40 |       |        |    |  | 80  | 2 | -
                     | +3:00 | 40 |       |        |    |  | 120 | 3 | -
                     | +4:00 | 40 |       |        |    |  | 160 | 4 | -
                     | +5:00 | 40 |       |        |    |  | 200 | 5 | -
                     | +6:00 | 40 |       |        |    |  | 240 | 6 | 0.5
                     | +7:00 | 80 |       |        |    |  | 320 | 7 | 0.571
                     | +8:00 | 40 |       |        |    |  | 320 | 7 | 0.571
    """,
    "a record exactly 6 h old counts, a second more does not": """
    what             | urine_output.charttime | urine_output.urineoutput | weight_durations.starttime | weight_durations.endtime | weight_durations.weight | -> | urineoutput_6hr | uo_tm_6hr | uo_rt_6hr
    6 h              | +1:00    | 60  | -2:00 | +90:00 | 100 |  | 60  | 1 | -
                     | +7:00    | 150 |       |        |     |  | 210 | 7 | 0.3
    6 h and a second | +1:00    | 60  | -2:00 | +90:00 | 100 |  | 60  | 1 | -
                     | +7:00:01 | 150 |       |        |     |  | 150 | 6.000277777777778 | 0.25
    12 h in one gap: no 6-hour rate | +1:00 | 60 | -2:00 | +90:00 | 100 |  | 60 | 1 | -
                     | +13:00   | 150 |       |        |     |  | 150 | 12 | -
    """,
    "12 and 24 hours": """
    what             | urine_output.charttime | urine_output.urineoutput | weight_durations.starttime | weight_durations.endtime | weight_durations.weight | -> | uo_tm_12hr | uo_rt_12hr | uo_tm_24hr | uo_rt_24hr | urineoutput_12hr | urineoutput_24hr
    every 11 h       | +1:00  | 100  | -2:00 | +90:00 | 100 |  | 1  | -     | 1  | -    | 100 | 100
                     | +12:00 | 500  |       |        |     |  | 12 | 0.5   | 12 | -    | 600 | 600
                     | +23:00 | 220  |       |        |     |  | 22 | 0.327 | 23 | -    | 720 | 820
                     | +24:00 | 20   |       |        |     |  | 23 | 0.322 | 24 | 0.35 | 740 | 840
                     | +25:00 | 160  |       |        |     |  | 13 | 0.308 | 25 | 0.4  | 400 | 1000
    """,
    "weights: the start of an interval belongs to it, the end to the next": """
    what                            | urine_output.charttime | urine_output.urineoutput | weight_durations.starttime | weight_durations.endtime | weight_durations.weight | -> | weight
    at the start                    | +1:00    | 40 | +1:00 | +5:00 | 80 |  | 80
    before it                       | +0:59:59 | 40 | +1:00 | +5:00 | 80 |  | -
    at the end                      | +5:00    | 40 | +1:00 | +5:00 | 80 |  | -
    end unknown                     | +5:00    | 40 | +1:00 | -     | 80 |  | -
    two weights: two rows           | +2:00    | 40 | +1:00 | +5:00 | 80 |  | 80
                                    |          |    | +2:00 | +5:00 | 80 |  | 80
    """,
    "a missing volume ends a gap but adds nothing; urine outside the stay counts": """
    what             | urine_output.charttime | urine_output.urineoutput | -> | urineoutput_6hr | uo_tm_6hr
    missing          | +1:00  | 40 |  | 40 | 1
                     | +3:00  | -  |  | 40 | 3
    before the stay  | -9:00  | 40 |  | 40 | 1
    after the stay   | +99:00 | 40 |  | 40 | 1
    only missing     | +1:00  | -  |  | -  | 1
    time unknown     | +1:00  | 40 |  | 40 | 1
                     | -      | 50 |  | 50 | -
    none             |        |    |  | no row |
    """,
}


@pytest.mark.parametrize("name", URINE)
def test_kdigo_uo(db: CaseDb, name: str) -> None:
    db.check("kdigo_uo", URINE[name], order="charttime")


def test_hours_are_added_in_time_order(db: CaseDb) -> None:
    """1 h and fifteen times 20 minutes: 6 h on paper, a little less when added in this order in binary."""
    db.patient(1)
    for n in range(16):
        db.insert("urine_output", stay_id=3001, charttime=INTIME + n * dt.timedelta(minutes=20), urineoutput=10.0)
    total = 1.0
    for _ in range(15):
        total += 1200000000 / 1000000.0 / 3600.0
    last = max(db.concept("kdigo_uo"), key=lambda row: row["charttime"])
    assert last["uo_tm_6hr"] == total


STAGES = {
    "creatinine against the lowest of 7 days and of 48 h": """
    what                                         | kdigo_creatinine.charttime | kdigo_creatinine.creat | kdigo_creatinine.creat_low_past_7day | kdigo_creatinine.creat_low_past_48hr | -> | aki_stage_creat | aki_stage
    first value                                  | +1:00 | 9.0  | -   | -   |  | 0 | 0
    1.49-fold                                    | +1:00 | 1.49 | 1.0 | 1.3 |  | 0 | 0
    1.5-fold                                     | +1:00 | 1.5  | 1.0 | 1.3 |  | 1 | 1
    1.99-fold                                    | +1:00 | 1.99 | 1.0 | 1.9 |  | 1 | 1
    2-fold                                       | +1:00 | 2.0  | 1.0 | 1.9 |  | 2 | 2
    2.99-fold                                    | +1:00 | 2.99 | 1.0 | 2.9 |  | 2 | 2
    3-fold                                       | +1:00 | 3.0  | 1.0 | 2.9 |  | 3 | 3
    rise of 0.29 in 48 h                         | +1:00 | 1.29 | 1.0 | 1.0 |  | 0 | 0
    rise of 0.3 in 48 h                          | +1:00 | 1.3  | 1.0 | 1.0 |  | 1 | 1
    1.1 to 1.4: less than 0.3 in binary          | +1:00 | 1.4  | 1.1 | 1.1 |  | 0 | 0
    0.8 to 1.2 with no value in 48 h: under 1.5  | +1:00 | 1.2  | 0.8 | -   |  | 0 | 0
    rise of 0.3, but not within 48 h             | +1:00 | 2.3  | 2.0 | 2.2 |  | 0 | 0
    4.0 from 3.7 within 48 h                     | +1:00 | 4.0  | 3.7 | 3.7 |  | 3 | 3
    4.0 from 3.71: only a rise of 0.29           | +1:00 | 4.0  | 3.71 | 3.71 |  | 0 | 0
    4.5, exactly 1.5-fold in 7 days              | +1:00 | 4.5  | 3.0 | 4.4 |  | 3 | 3
    4.0, 1.5-fold in 7 days                      | +1:00 | 4.0  | 2.6 | 3.9 |  | 3 | 3
    4.0, 1.48-fold in 7 days                     | +1:00 | 4.0  | 2.7 | 3.9 |  | 0 | 0
    3.99 from 3.6                                | +1:00 | 3.99 | 3.6 | 3.6 |  | 1 | 1
    4.5 falling from 5                           | +1:00 | 4.5  | 4.4 | 4.6 |  | 0 | 0
    """,
    "urine: less than 0.5 over 6 h, 0.5 over 12 h, 0.3 over 24 h, none over 12 h": """
    what                         | kdigo_uo.charttime | kdigo_uo.uo_rt_6hr | kdigo_uo.uo_rt_12hr | kdigo_uo.uo_rt_24hr | kdigo_uo.uo_tm_6hr | kdigo_uo.uo_tm_12hr | kdigo_uo.uo_tm_24hr | -> | aki_stage_uo | aki_stage
    0.5 over 6 h                 | +8:00    | 0.5   | -     | -     | 6 | 8  | 8  |  | 0 | 0
    0.499 over 6 h               | +8:00    | 0.499 | -     | -     | 6 | 8  | 8  |  | 1 | 1
    at 6 h of the stay: too early | +6:00   | 0.1   | -     | -     | 6 | 6  | 6  |  | 0 | 0
    a second later               | +6:00:01 | 0.1   | -     | -     | 6 | 6  | 6  |  | 1 | 1
    0.5 over 12 h                | +14:00   | 0.6   | 0.5   | -     | 7 | 12 | 14 |  | 0 | 0
    0.499 over 12 h              | +14:00   | 0.6   | 0.499 | -     | 7 | 12 | 14 |  | 2 | 2
    none over 12 h               | +14:00   | 0     | 0     | -     | 7 | 12 | 14 |  | 3 | 3
    0.001 over 12 h              | +14:00   | 0.001 | 0.001 | -     | 7 | 12 | 14 |  | 2 | 2
    below 0: irrigation          | +14:00   | -0.1  | -0.1  | -     | 7 | 12 | 14 |  | 2 | 2
    0.3 over 24 h                | +26:00   | 0.6   | 0.6   | 0.3   | 7 | 13 | 24 |  | 0 | 0
    0.299 over 24 h              | +26:00   | 0.6   | 0.6   | 0.299 | 7 | 13 | 24 |  | 3 | 3
    no 6-hour rate: no stage     | +26:00   | -     | 0     | 0     | 13 | 13 | 24 |  | - | 0
    """,
    "continuous dialysis is stage 3": """
    what                  | crrt.charttime | crrt.crrt_mode | crrt.blood_flow | -> | aki_stage_crrt | aki_stage | charttime
    a mode                | +1:00 | CVVHDF | -   |  | 3 | 3 | +1:00
    settings, no mode     | +1:00 | -      | 200 |  | - | 0 | -
    """,
    "the highest of the three, at the same time": """
    what        | kdigo_creatinine.charttime | kdigo_creatinine.creat | kdigo_creatinine.creat_low_past_7day | kdigo_uo.charttime | kdigo_uo.uo_rt_6hr | kdigo_uo.uo_tm_6hr | kdigo_uo.uo_tm_12hr | kdigo_uo.uo_tm_24hr | -> | charttime | aki_stage_creat | aki_stage_uo | aki_stage
    one time    | +8:00 | 2.0 | 1.0 | +8:00 | 0.4 | 6 | 8 | 8 |  | +8:00 | 2 | 1 | 2
    two times   | +7:00 | 2.0 | 1.0 | +8:00 | 0.4 | 6 | 8 | 8 |  | +7:00 | 2 | - | 2
                |       |     |     |       |     |   |   |   |  | +8:00 | - | 1 | 1
    """,
    "the highest of the past 6 hours": """
    what             | crrt.charttime | crrt.crrt_mode | kdigo_creatinine.charttime | kdigo_creatinine.creat | -> | charttime | aki_stage | aki_stage_smoothed
    6 h later        | +1:00 | CVVH | +7:00    | 1.0 |  | +1:00    | 3 | 3
                     |       |      |          |     |  | +7:00    | 0 | 3
    a second more    | +1:00 | CVVH | +7:00:01 | 1.0 |  | +1:00    | 3 | 3
                     |       |      |          |     |  | +7:00:01 | 0 | 0
    before it        | +1:00 | CVVH | +0:30    | 1.0 |  | +0:30    | 0 | 0
                     |       |      |          |     |  | +1:00    | 3 | 3
    """,
}


@pytest.mark.parametrize("name", STAGES)
def test_kdigo_stages(db: CaseDb, name: str) -> None:
    db.check("kdigo_stages", STAGES[name], order="charttime")


def test_smoothing_mixes_stays_of_a_patient_at_the_same_hour_of_stay(db: CaseDb) -> None:
    """The public code's window runs over the patient while time counts within the stay; kept on purpose."""
    db.patient(1)
    later = INTIME.replace(month=7)
    db.insert("icustays", subject_id=1001, hadm_id=9, stay_id=9, intime=later, outtime=later.replace(day=3))
    hour = dt.timedelta(hours=1)
    db.insert("crrt", stay_id=3001, charttime=INTIME + 2 * hour, crrt_mode="CVVH")
    db.insert("kdigo_creatinine", stay_id=9, charttime=later + 5 * hour, creat=1.0)
    db.insert("kdigo_creatinine", stay_id=9, charttime=later + 9 * hour, creat=1.0)
    found = {(row["stay_id"], row["charttime"] - later): row["aki_stage_smoothed"] for row in db.concept("kdigo_stages")}
    assert found[(9, 5 * hour)] == 3
    assert found[(9, 9 * hour)] == 0


def test_a_stay_without_creatinine_keeps_a_row_without_time(db: CaseDb) -> None:
    db.check("kdigo_stages", """
    what               | urine_output.charttime | urine_output.urineoutput | -> | charttime | aki_stage | aki_stage_smoothed | aki_stage_uo | aki_stage_creat
    urine only         | +8:00 | 40 |  | +8:00 | 0 | 0 | - | -
                       |       |    |  | -     | 0 | 0 | - | -
    nothing            |       |    |  | -     | 0 | 0 | - | -
    """, build=["kdigo_creatinine", "kdigo_uo"], order="charttime")  # fmt: skip


# ln 4 = 1.386294, ln 2 = 0.693147; the sum of the three terms is rounded to one decimal and multiplied by 10.
MELD = """
what                                               | first_day_lab.creatinine_max | first_day_lab.bilirubin_total_max | first_day_lab.inr_max | first_day_lab.sodium_min | first_day_rrt.dialysis_present | -> | meld_initial | meld
nothing measured: 0.643                            |      |     |     |     |   |  | 6  | 6
all normal                                         | 1    | 1   | 1   | 140 |   |  | 6  | 6
below 1 counts as 1                                | 0.2  | 0.1 | 0.5 | 140 |   |  | 6  | 6
creatinine 2: 0.663 + 0.643 = 1.306                | 2    | 1   | 1   | 140 |   |  | 13 | 13
creatinine 4: 1.327 + 0.643 = 1.970                | 4    | 1   | 1   | 140 |   |  | 20 | 20
creatinine above 4 counts as 4                     | 9    | 1   | 1   | 140 |   |  | 20 | 20
4.2 too: 1.327 + 0.069 + 0.643 = 2.039             | 4.2  | 1.2 | 1   | 140 |   |  | 20 | 20
dialysis counts as 4                               | 1    | 1   | 1   | 140 | 1 |  | 20 | 20
dialysis without any laboratory                    |      |     |     |     | 1 |  | 20 | 20
bilirubin 10: 0.870 + 0.643 = 1.513                | 1    | 10  | 1   | 140 |   |  | 15 | 15
INR 2: 0.776 + 0.643 = 1.419                       | 1    | 1   | 2   | 140 |   |  | 14 | 14
2, 10, 2: 0.663 + 0.870 + 1.419 = 2.953            | 2    | 10  | 2   | 140 |   |  | 30 | 30
capped at 40                                       | 9    | 40  | 5   | 140 |   |  | 40 | 40
sodium 137 adds nothing                            | 2    | 1   | 1   | 137 |   |  | 13 | 13
sodium 130: 13 + 9.24 - 3.003                      | 2    | 1   | 1   | 130 |   |  | 13 | 19.237
sodium 125: 13 + 15.84 - 5.148                     | 2    | 1   | 1   | 125 |   |  | 13 | 23.692
sodium 110 counts as 125                           | 2    | 1   | 1   | 110 |   |  | 13 | 23.692
sodium counts only above 11 points: 1.089 is 11    | 1.594 | 1  | 1   | 125 |   |  | 11 | 11
12 points: 1.190, 12 + 15.84 - 4.752               | 1.771 | 1  | 1   | 125 |   |  | 12 | 23.088
at 40 points the sodium parts cancel               | 9    | 40  | 5   | 125 |   |  | 40 | 40
sodium missing                                     | 2    | 1   | 1   | -   |   |  | 13 | 13
"""


def test_meld(db: CaseDb) -> None:
    db.check("meld", MELD)


def test_meld_rounds_twice(db: CaseDb) -> None:
    """A sum of 1.0496 is 1.050 with three decimals and 1.1 with one: 11 points, not 10."""
    db.patient(1)
    db.insert("first_day_lab", stay_id=3001, creatinine_max=math.exp((1.0496 - 0.643) / 0.957))
    db.patient(2)
    db.insert("first_day_lab", stay_id=3002, creatinine_max=math.exp((1.0494 - 0.643) / 0.957))
    assert {row["stay_id"]: int(row["meld_initial"]) for row in db.concept("meld")} == {3001: 11, 3002: 10}

"""APACHE III acute physiology point by point. Each line is a patient; the points are read off Knaus WA et al.,
Chest 1991;100:1619-1636, or follow the choice named in the line where the public code departs from it.
"""

from __future__ import annotations

import math

import pytest

from tests.concepts.case_db import INTIME, CaseDb

# Lowest and highest are equal where only the band is tested.
BANDS = {
    "heart rate, normal 75": ("hr_score", "first_day_vitalsign.heart_rate", [
        (39.9, 8), (40, 5), (49.9, 5), (50, 0), (99.9, 0), (100, 1), (109.9, 1), (110, 5), (119.9, 5), (120, 7),
        (139.9, 7), (140, 13), (154.9, 13), (155, 17),
    ]),
    "mean arterial pressure, normal 90": ("mbp_score", "first_day_vitalsign.mbp", [
        (39.9, 23), (40, 15), (59.9, 15), (60, 7), (69.9, 7), (70, 6), (79.9, 6), (80, 0), (99.9, 0), (100, 4),
        (119.9, 4), (120, 7), (129.9, 7), (130, 9), (139.9, 9), (140, 10),
    ]),
    "temperature, normal 38 °C": ("temp_score", "first_day_vitalsign.temperature", [
        (32.99, 20), (33, 16), (33.49, 16), (33.5, 13), (33.99, 13), (34, 8), (34.99, 8), (35, 2), (35.99, 2), (36, 0),
        (39.99, 0), (40, 4),
    ]),
    "respiratory rate, normal 19": ("resp_rate_score", "first_day_vitalsign.resp_rate", [
        (5.9, 17), (6, 8), (11.9, 8), (12, 7), (13.9, 7), (14, 0), (24.9, 0), (25, 6), (34.9, 6), (35, 9), (39.9, 9),
        (40, 11), (49.9, 11), (50, 18),
    ]),
    "haematocrit, normal 45.5 %": ("hematocrit_score", "first_day_lab.hematocrit", [
        (40.9, 3), (41, 0), (49.9, 0), (50, 3),
    ]),
    "white cells, normal 11.5 K/µL": ("wbc_score", "first_day_lab.wbc", [
        (0.9, 19), (1, 5), (2.9, 5), (3, 0), (19.9, 0), (20, 1), (24.9, 1), (25, 5),
    ]),
    "creatinine without acute renal failure, normal 1 mg/dL": ("creatinine_score", "first_day_lab.creatinine", [
        (0.49, 3), (0.5, 0), (1.49, 0), (1.5, 4), (1.94, 4), (1.95, 7),
    ]),
    "sodium, normal 145.5 mEq/L": ("sodium_score", "first_day_lab.sodium", [
        (119.9, 3), (120, 2), (134.9, 2), (135, 0), (154.9, 0), (155, 4),
    ]),
    "albumin, normal 3.5 g/dL": ("albumin_score", "first_day_lab.albumin", [
        (1.9, 11), (2, 6), (2.4, 6), (2.5, 0), (4.4, 0), (4.5, 4),
    ]),
    "glucose, normal 130 mg/dL": ("glucose_score", "first_day_lab.glucose", [
        (39.9, 8), (40, 9), (59.9, 9), (60, 0), (199.9, 0), (200, 3), (349.9, 3), (350, 5),
    ]),
}  # fmt: skip

HIGHEST_ONLY = {
    "blood urea nitrogen, mg/dL": ("bun_score", "first_day_lab.bun_max", [
        (16.9, 0), (17, 2), (19.9, 2), (20, 7), (39.9, 7), (40, 11), (79.9, 11), (80, 12),
    ]),
    "bilirubin, mg/dL": ("bilirubin_score", "first_day_lab.bilirubin_total_max", [
        (1.9, 0), (2, 5), (2.9, 5), (3, 6), (4.9, 6), (5, 8), (7.9, 8), (8, 16),
    ]),
    "urine, mL": ("uo_score", "first_day_urine_output.urineoutput", [
        (-50, 15), (399.9, 15), (400, 8), (599.9, 8), (600, 7), (899.9, 7), (900, 5), (1499.9, 5), (1500, 4),
        (1999.9, 4), (2000, 0), (3999.9, 0), (4000, 1),
    ]),
}  # fmt: skip

CASES = {
    "of the lowest and the highest the one further from normal, the higher points at equal distance": """
    what                                       | first_day_vitalsign.heart_rate_min | first_day_vitalsign.heart_rate_max | -> | hr_score
    45 is 30 away, 106 is 31 away: the highest | 45 | 106 |  | 1
    44 is 31 away, 105 is 30 away: the lowest  | 44 | 105 |  | 5
    45 and 105, both 30 away: 5 over 1         | 45 | 105 |  | 5
    35 and 115, both 40 away: 8 over 5         | 35 | 115 |  | 8
    0 and 150, both 75 away: 13 over 8         | 0  | 150 |  | 13
    not charted                                | -  | -   |  | -
    """,
    "temperature is compared exactly": """
    what                         | first_day_vitalsign.temperature_min | first_day_vitalsign.temperature_max | -> | temp_score
    35.99 and 40.01, equal       | 35.99 | 40.01 |  | 4
    35.98 is 2.02 away           | 35.98 | 40.01 |  | 2
    """,
    "the other distances": """
    what                                         | first_day_lab.hematocrit_min | first_day_lab.hematocrit_max | first_day_lab.wbc_min | first_day_lab.wbc_max | first_day_lab.sodium_min | first_day_lab.sodium_max | first_day_lab.albumin_min | first_day_lab.albumin_max | -> | hematocrit_score | wbc_score | sodium_score | albumin_score
    lowest further                               | 40 | 50 | 1 | 20  | 130 | 160 | 1.75 | 5    |  | 3 | 5 | 2 | 11
    highest further                              | 42 | 50 | 4 | 25  | 133 | 160 | 2.5  | 4.75 |  | 3 | 5 | 4 | 4
    equal                                        | 41 | 50 | 2 | 21  | 131 | 160 | 2.25 | 4.75 |  | 3 | 5 | 4 | 6
    none                                         | -  | -  | - | -   | -   | -   | -    | -    |  | - | - | - | -
    """,
    "white cells: 3 and 20 are 8.5 away": """
    what                  | first_day_lab.wbc_min | first_day_lab.wbc_max | -> | wbc_score
    20.1 is further       | 3   | 20.1 |  | 1
    2.9 is further        | 2.9 | 20   |  | 5
    """,
    "pressure and respiratory rate": """
    what            | first_day_vitalsign.mbp_min | first_day_vitalsign.mbp_max | first_day_vitalsign.resp_rate_min | first_day_vitalsign.resp_rate_max | -> | mbp_score | resp_rate_score
    lowest further  | 55 | 120 | 5  | 30 |  | 15 | 17
    highest further | 65 | 125 | 10 | 40 |  | 7  | 11
    equal           | 60 | 120 | 13 | 25 |  | 7  | 7
    """,
    "glucose of laboratory and bedside together": """
    what                   | first_day_lab.glucose_min | first_day_lab.glucose_max | first_day_vitalsign.glucose_min | first_day_vitalsign.glucose_max | -> | glucose_score
    bedside lower          | 100 | 150 | 39  | 140 |  | 8
    bedside higher         | 100 | 150 | 120 | 360 |  | 5
    laboratory alone       | 50  | 60  |     |     |  | 9
    bedside alone          |     |     | 250 | 260 |  | 3
    neither                |     |     |     |     |  | -
    60 and 200 are 70 away | 60  | 200 |     |     |  | 3
    """,
    "a ventilated patient's rate below 14 has no points": """
    what                           | first_day_vitalsign.resp_rate_min | first_day_vitalsign.resp_rate_max | ventilation.starttime | ventilation.endtime | ventilation.ventilation_status | -> | resp_rate_score
    not ventilated                 | 5  | 5  |         |        |                 |  | 17
    ventilated                     | 5  | 5  | +1:00   | +9:00  | InvasiveVent    |  | 0
    ventilated, 13.9               | 13.9 | 13.9 | +1:00 | +9:00 | InvasiveVent   |  | 0
    ventilated, 25                 | 14 | 25 | +1:00   | +9:00  | InvasiveVent    |  | 6
    5 and 33 are 14 away: 6 over 0 | 5  | 33 | +1:00   | +9:00  | InvasiveVent    |  | 6
    mask ventilation               | 5  | 5  | +1:00   | +9:00  | NonInvasiveVent |  | 17
    from 24 h on                   | 5  | 5  | +24:00  | +30:00 | InvasiveVent    |  | 0
    after 24 h                     | 5  | 5  | +24:00:01 | +30:00 | InvasiveVent  |  | 17
    until intime                   | 5  | 5  | -5:00   | +0:00  | InvasiveVent    |  | 0
    until before intime            | 5  | 5  | -5:00   | -0:00:01 | InvasiveVent  |  | 17
    spanning the day               | 5  | 5  | -5:00   | +50:00 | InvasiveVent    |  | 0
    spanning it by an hour         | 5  | 5  | -1:00   | +25:00 | InvasiveVent    |  | 0
    """,
    "acute renal failure: creatinine 1.5 or more, urine below 410 mL, no chronic kidney disease of stage 4 or 5": """
    what                          | first_day_lab.creatinine_min | first_day_lab.creatinine_max | first_day_urine_output.urineoutput | diagnoses_icd.icd_version | diagnoses_icd.icd_code | -> | creatinine_score
    all three                     | 1.5  | 1.5  | 409.9 | 10 | I10   |  | 10
    creatinine 1.49               | 1.49 | 1.49 | 409.9 | 10 | I10   |  | 0
    urine 410                     | 1.5  | 1.5  | 410   | 10 | I10   |  | 4
    no urine charted              | 1.5  | 1.5  |       | 10 | I10   |  | 4
    no diagnosis coded            | 1.5  | 1.5  | 100   |    |       |  | 4
    stage 4, ICD-9                | 2    | 2    | 100   | 9  | 5854  |  | 7
    dialysis, ICD-9               | 2    | 2    | 100   | 9  | 5856  |  | 7
    stage 3 is not advanced       | 2    | 2    | 100   | 9  | 5853  |  | 10
    5859 is not                   | 2    | 2    | 100   | 9  | 5859  |  | 10
    stage 4, ICD-10               | 2    | 2    | 100   | 10 | N184  |  | 7
    dialysis, ICD-10              | 2    | 2    | 100   | 10 | N186  |  | 7
    N183 is not                   | 2    | 2    | 100   | 10 | N1830 |  | 10
    ICD-10 code in ICD-9          | 2    | 2    | 100   | 9  | N184  |  | 10
    one of two diagnoses          | 2    | 2    | 100   | 10 | I10   |  | 7
                                  |      |      |       | 10 | N185  |  |
    the highest, although nearer  | 0.1  | 1.6  | 100   | 10 | I10   |  | 10
    without failure the further   | 0.1  | 1.6  | 500   | 10 | I10   |  | 3
    """,
    "PaO2: breathing unaided with less than 50 % oxygen, the highest; then A-aDO2: ventilated with 50 % or more": """
    what                                  | bg.charttime | bg.specimen | bg.po2 | bg.aado2 | bg.fio2 | bg.fio2_chartevents | ventilation.starttime | ventilation.endtime | ventilation.ventilation_status | -> | pao2_aado2_score
    PaO2 49.9                             | +1:00 | ART. | 49.9 | - | 21   | -    |       |       |              |  | 15
    50                                    | +1:00 | ART. | 50   | - | 21   | -    |       |       |              |  | 5
    69.9                                  | +1:00 | ART. | 69.9 | - | 21   | -    |       |       |              |  | 5
    70                                    | +1:00 | ART. | 70   | - | 21   | -    |       |       |              |  | 2
    79.9                                  | +1:00 | ART. | 79.9 | - | 21   | -    |       |       |              |  | 2
    80                                    | +1:00 | ART. | 80   | - | 21   | -    |       |       |              |  | 0
    no oxygen charted: room air           | +1:00 | ART. | 60   | - | -    | -    |       |       |              |  | 5
    49.9 % counts                         | +1:00 | ART. | 60   | - | 49.9 | -    |       |       |              |  | 5
    50 % does not                         | +1:00 | ART. | 60   | - | 50   | -    |       |       |              |  | -
    charted 50 %                          | +1:00 | ART. | 60   | - | -    | 50   |       |       |              |  | -
    laboratory before charted             | +1:00 | ART. | 60   | - | 40   | 100  |       |       |              |  | 5
    venous                                | +1:00 | VEN. | 40   | - | 21   | -    |       |       |              |  | -
    highest of two                        | +1:00 | ART. | 40   | - | 21   | -    |       |       |              |  | 2
                                          | +2:00 | ART. | 75   | - | 21   | -    |       |       |              |  |
    on the third day                      | +60:00 | ART. | 60  | - | 21   | -    |       |       |              |  | 5
    at intime                             | +0:00 | ART. | 60   | - | 21   | -    |       |       |              |  | 5
    before intime                         | -0:00:01 | ART. | 60 | - | 21  | -    |       |       |              |  | -
    at outtime                            | +72:00 | ART. | 60  | - | 21   | -    |       |       |              |  | -
    ventilated, little oxygen             | +1:00 | ART. | 60   | 300 | 49.9 | -  | +0:00 | +9:00 | InvasiveVent |  | -
    A-aDO2 99.9                           | +1:00 | ART. | 60   | 99.9 | 50 | -   | +0:00 | +9:00 | InvasiveVent |  | 0
    100                                   | +1:00 | ART. | 60   | 100 | 50  | -   | +0:00 | +9:00 | InvasiveVent |  | 7
    249.9                                 | +1:00 | ART. | 60   | 249.9 | 50 | -  | +0:00 | +9:00 | InvasiveVent |  | 7
    250                                   | +1:00 | ART. | 60   | 250 | 50  | -   | +0:00 | +9:00 | InvasiveVent |  | 9
    349.9                                 | +1:00 | ART. | 60   | 349.9 | 50 | -  | +0:00 | +9:00 | InvasiveVent |  | 9
    350                                   | +1:00 | ART. | 60   | 350 | 50  | -   | +0:00 | +9:00 | InvasiveVent |  | 11
    499.9                                 | +1:00 | ART. | 60   | 499.9 | 50 | -  | +0:00 | +9:00 | InvasiveVent |  | 11
    500                                   | +1:00 | ART. | 60   | 500 | 50  | -   | +0:00 | +9:00 | InvasiveVent |  | 14
    charted oxygen                        | +1:00 | ART. | 60   | 300 | -   | 60  | +0:00 | +9:00 | InvasiveVent |  | 9
    ventilated, no oxygen charted         | +1:00 | ART. | 60   | 300 | -   | -   | +0:00 | +9:00 | InvasiveVent |  | -
    at the start of ventilation           | +1:00 | ART. | 60   | 300 | 60  | -   | +1:00 | +9:00 | InvasiveVent |  | 9
    at its end                            | +9:00 | ART. | 60   | 300 | 60  | -   | +1:00 | +9:00 | InvasiveVent |  | 9
    a second after its end                | +9:00:01 | ART. | 60 | 300 | 60 | -   | +1:00 | +9:00 | InvasiveVent |  | -
    highest of two                        | +1:00 | ART. | 60   | 300 | 60  | -   | +0:00 | +9:00 | InvasiveVent |  | 11
                                          | +2:00 | ART. | 60   | 400 | 60  | -   |       |       |              |  |
    mask ventilation is not ventilated    | +1:00 | ART. | 60   | 300 | 21  | -   | +0:00 | +9:00 | NonInvasiveVent |  | 5
    PaO2 comes first                      | +1:00 | ART. | 60   | 600 | 60  | -   | +0:00 | +2:00 | InvasiveVent |  | 0
                                          | +3:00 | ART. | 90   | -   | 30  | -   |       |       |              |  |
    """,
    "coma: eyes, verbal and motor response together": """
    what                          | first_day_gcs.gcs_eyes | first_day_gcs.gcs_verbal | first_day_gcs.gcs_motor | first_day_gcs.gcs_unable | -> | gcs_score
    intubated                     | 1 | 0 | 1 | 1 |  | 0
    eyes closed, silent, motor 2  | 1 | 1 | 2 | 0 |  | 48
    motor 3                       | 1 | 1 | 3 | 0 |  | 33
    motor 4                       | 1 | 1 | 4 | 0 |  | 33
    motor 5                       | 1 | 1 | 5 | 0 |  | 16
    motor 6                       | 1 | 1 | 6 | 0 |  | 16
    eyes closed, sounds, motor 1  | 1 | 2 | 1 | 0 |  | 29
    words, motor 4                | 1 | 3 | 4 | 0 |  | 24
    words, motor 5: not listed    | 1 | 3 | 5 | 0 |  | -
    confused with closed eyes     | 1 | 4 | 6 | 0 |  | -
    eyes open, silent, motor 1    | 2 | 1 | 1 | 0 |  | 29
    motor 4                       | 3 | 1 | 4 | 0 |  | 24
    motor 5                       | 4 | 1 | 5 | 0 |  | 15
    motor 6                       | 4 | 1 | 6 | 0 |  | 15
    sounds, motor 2               | 4 | 2 | 2 | 0 |  | 29
    words, motor 3                | 4 | 3 | 3 | 0 |  | 24
    words, motor 5                | 4 | 3 | 5 | 0 |  | 13
    words, motor 6                | 4 | 2 | 6 | 0 |  | 10
    confused, motor 1             | 4 | 4 | 1 | 0 |  | 13
    confused, motor 4             | 4 | 4 | 4 | 0 |  | 13
    confused, motor 5             | 4 | 4 | 5 | 0 |  | 8
    confused, motor 6             | 4 | 4 | 6 | 0 |  | 3
    oriented, motor 1             | 4 | 5 | 1 | 0 |  | 3
    oriented, motor 5             | 4 | 5 | 5 | 0 |  | 3
    oriented, motor 6             | 4 | 5 | 6 | 0 |  | 0
    verbal 0 without the tube     | 4 | 0 | 6 | 0 |  | -
    eyes missing                  | - | 5 | 6 | 0 |  | -
    verbal missing                | 4 | - | 6 | 0 |  | -
    motor missing                 | 4 | 5 | - | 0 |  | -
    nothing charted               |   |   |   |   |  | -
    """,
}

# pH rows of the acid-base chart; points by PaCO2
ACID_BASE = {
    7.19: [(49.9, 12), (50, 4)],
    7.20: [(29.9, 9), (30, 6), (39.9, 6), (40, 3), (49.9, 3), (50, 2)],
    7.29: [(29.9, 9), (30, 6), (39.9, 6), (40, 3), (49.9, 3), (50, 2)],
    7.30: [(29.9, 9), (30, 0), (44.9, 0), (45, 1)],
    7.34: [(29.9, 9), (30, 0), (44.9, 0), (45, 1)],
    7.35: [(29.9, 5), (30, 0), (44.9, 0), (45, 1)],
    7.44: [(29.9, 5), (30, 0), (44.9, 0), (45, 1)],
    7.45: [(29.9, 5), (30, 0), (34.9, 0), (35, 2), (44.9, 2), (45, 12)],
    7.49: [(29.9, 5), (30, 0), (34.9, 0), (35, 2), (44.9, 2), (45, 12)],
    7.50: [(39.9, 3), (40, 12)],
    7.59: [(39.9, 3), (40, 12)],
    7.60: [(24.9, 0), (25, 3), (39.9, 3), (40, 12)],
}


@pytest.mark.parametrize("name", BANDS)
def test_bands(db: CaseDb, name: str) -> None:
    score, column, points = BANDS[name]
    lines = [f"{v} | {v} | {v} | | {p}" for v, p in points]
    db.check("apsiii", "\n".join([f"what | {column}_min | {column}_max | -> | {score}", *lines]))


@pytest.mark.parametrize("name", HIGHEST_ONLY)
def test_highest_only(db: CaseDb, name: str) -> None:
    score, column, points = HIGHEST_ONLY[name]
    lines = [f"{v} | {v} | | {p}" for v, p in points]
    db.check("apsiii", "\n".join([f"what | {column} | -> | {score}", *lines, "none | | | -"]))


@pytest.mark.parametrize("name", CASES)
def test_cases(db: CaseDb, name: str) -> None:
    db.check("apsiii", CASES[name])


def test_acid_base_chart(db: CaseDb) -> None:
    lines = [
        f"pH {ph}, PaCO2 {pco2} | +1:00 | ART. | {ph} | {pco2} | | {points}"
        for ph, row in ACID_BASE.items()
        for pco2, points in row
    ]
    more = """
    worst single gas   | +1:00 | ART. | 7.40 | 40 |  | 12
                       | +2:00 | ART. | 7.10 | 40 |  |
    no pH              | +1:00 | ART. | -    | 40 |  | -
    no PaCO2           | +1:00 | ART. | 7.10 | -  |  | -
    venous             | +1:00 | VEN. | 7.10 | 40 |  | -
    """
    header = "what | bg.charttime | bg.specimen | bg.ph | bg.pco2 | -> | acidbase_score"
    db.check("apsiii", "\n".join([header, *lines, more]))


def test_total_and_probability(db: CaseDb) -> None:
    """BUN 40 (11), urine 300 mL (15), albumin 1.9 (11): 37 points; mortality by the calibration of Johnson 2015."""
    db.patient(1)
    db.insert("first_day_lab", stay_id=3001, bun_max=40.0, albumin_min=1.9, albumin_max=1.9)
    db.insert("first_day_urine_output", stay_id=3001, urineoutput=300.0)
    (row,) = db.concept("apsiii")
    assert row["apsiii"] == 37
    assert row["apsiii_prob"] == pytest.approx(1 / (1 + math.exp(4.4360 - 0.04726 * 37)), abs=1e-12)


def test_nothing_known_is_zero_points(db: CaseDb) -> None:
    db.patient(1)
    (row,) = db.concept("apsiii")
    assert row["apsiii"] == 0
    assert {row[c] for c in row if c.endswith("_score")} == {None}


def test_gases_are_linked_by_admission_and_need_an_outtime(db: CaseDb) -> None:
    db.patient(1)
    db.insert("bg", subject_id=1001, hadm_id=None, charttime=INTIME, specimen="ART.", po2=40.0)
    db.patient(2, icustays={"outtime": None})
    db.insert("bg", subject_id=1002, hadm_id=2002, charttime=INTIME, specimen="ART.", po2=40.0)
    assert [row["pao2_aado2_score"] for row in db.concept("apsiii")] == [None, None]


def test_a_stay_without_admission_or_patient_keeps_an_empty_row(db: CaseDb) -> None:
    db.patient(1, patients={"absent": True})
    db.patient(2, admissions={"absent": True})
    db.insert("first_day_lab", stay_id=3001, bun_max=90.0)
    db.insert("first_day_lab", stay_id=3002, bun_max=90.0)
    assert [(row["apsiii"], row["apsiii_prob"], row["bun_score"]) for row in db.concept("apsiii")] == [(None, None, None)] * 2

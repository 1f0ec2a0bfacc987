"""SAPS II point by point. Each line is a patient; the points are read off Le Gall JR et al., JAMA 1993;270:2957-2963, table 3,
or follow the choice named in the line where the public code departs from it.
"""

from __future__ import annotations

import pytest

from tests.concepts.case_db import INTIME, CaseDb

SAPSII = {
    "age": """
    what      | age.age | -> | age_score
    39.9      | 39.9 |  | 0
    40        | 40   |  | 7
    59.9      | 59.9 |  | 7
    60        | 60   |  | 12
    69.9      | 69.9 |  | 12
    70        | 70   |  | 15
    74.9      | 74.9 |  | 15
    75        | 75   |  | 16
    79.9      | 79.9 |  | 16
    80        | 80   |  | 18
    unknown   | -    |  | -
    """,
    "heart rate: bradycardia below 40 first": """
    what                     | vitalsign.charttime | vitalsign.heart_rate | -> | hr_score
    39                       | +1:00 | 39  |  | 11
    40                       | +1:00 | 40  |  | 2
    69                       | +1:00 | 69  |  | 2
    70                       | +1:00 | 70  |  | 0
    119                      | +1:00 | 119 |  | 0
    120                      | +1:00 | 120 |  | 4
    159                      | +1:00 | 159 |  | 4
    160                      | +1:00 | 160 |  | 7
    39 and 170: the worse    | +1:00 | 39  |  | 11
                             | +2:00 | 170 |  |
    60 and 120: the worse    | +1:00 | 60  |  | 4
                             | +2:00 | 120 |  |
    not charted              |       |     |  | -
    """,
    "systolic pressure": """
    what                     | vitalsign.charttime | vitalsign.sbp | -> | sysbp_score
    69                       | +1:00 | 69  |  | 13
    70                       | +1:00 | 70  |  | 5
    99                       | +1:00 | 99  |  | 5
    100                      | +1:00 | 100 |  | 0
    199                      | +1:00 | 199 |  | 0
    200                      | +1:00 | 200 |  | 2
    90 and 210: the worse    | +1:00 | 90  |  | 5
                             | +2:00 | 210 |  |
    not charted              |       |     |  | -
    """,
    "temperature": """
    what        | vitalsign.charttime | vitalsign.temperature | -> | temp_score
    38.99       | +1:00 | 38.99 |  | 0
    39.00       | +1:00 | 39.00 |  | 3
    not charted |       |       |  | -
    """,
    "the window excludes the admission itself and includes its 24th hour": """
    what                     | vitalsign.charttime | vitalsign.heart_rate | chemistry.charttime | chemistry.bun | gcs.charttime | gcs.gcs | urine_output.charttime | urine_output.urineoutput | -> | hr_score | bun_score | gcs_score | uo_score
    at intime: not seen      | +0:00     | 170 | +0:00     | 90 | +0:00     | 3 | +0:00     | 100 |  | - | -  | -  | -
    one second after: seen   | +0:00:01  | 170 | +0:00:01  | 90 | +0:00:01  | 3 | +0:00:01  | 100 |  | 7 | 10 | 26 | 11
    at 24 h: seen            | +24:00    | 170 | +24:00    | 90 | +24:00    | 3 | +24:00    | 100 |  | 7 | 10 | 26 | 11
    one second later: not    | +24:00:01 | 170 | +24:00:01 | 90 | +24:00:01 | 3 | +24:00:01 | 100 |  | - | -  | -  | -
    """,
    "the extreme of several values, wherever in the window": """
    what             | vitalsign.charttime | vitalsign.sbp | vitalsign.temperature | chemistry.charttime | chemistry.bun | chemistry.potassium | chemistry.sodium | chemistry.bicarbonate | enzyme.charttime | enzyme.bilirubin_total | gcs.charttime | gcs.gcs | -> | sysbp_score | temp_score | bun_score | potassium_score | sodium_score | bicarbonate_score | bilirubin_score | gcs_score
    worse first      | +1:00 | 210 | 39.5 | +1:00 | 90 | 5.5 | 150 | 12 | +1:00 | 9 | +1:00 | 5  |  | 2 | 3 | 10 | 3 | 1 | 6 | 9 | 26
                     | +2:00 | 120 | 37.0 | +2:00 | 10 | 4.0 | 140 | 25 | +2:00 | 1 | +2:00 | 15 |  |   |   |    |   |   |   |   |
    worse last       | +1:00 | 120 | 37.0 | +1:00 | 10 | 4.0 | 140 | 25 | +1:00 | 1 | +1:00 | 15 |  | 2 | 3 | 10 | 3 | 1 | 6 | 9 | 26
                     | +2:00 | 210 | 39.5 | +2:00 | 90 | 5.5 | 150 | 12 | +2:00 | 9 | +2:00 | 5  |  |   |   |    |   |   |   |   |
    low potassium    | +1:00 | 120 | 37.0 | +1:00 | 10 | 2.5 | 140 | 25 | +1:00 | 1 | +1:00 | 15 |  | 0 | 0 | 0  | 3 | 0 | 0 | 0 | 0
                     | +2:00 | 120 | 37.0 | +2:00 | 10 | 4.0 | 140 | 25 | +2:00 | 1 | +2:00 | 15 |  |   |   |    |   |   |   |   |
    """,
    "the window of blood count and bilirubin": """
    what                   | complete_blood_count.charttime | complete_blood_count.wbc | enzyme.charttime | enzyme.bilirubin_total | -> | wbc_score | bilirubin_score
    at intime: not seen    | +0:00     | 30 | +0:00     | 9 |  | - | -
    one second after: seen | +0:00:01  | 30 | +0:00:01  | 9 |  | 3 | 9
    at 24 h: seen          | +24:00    | 30 | +24:00    | 9 |  | 3 | 9
    one second later: not  | +24:00:01 | 30 | +24:00:01 | 9 |  | - | -
    high and normal        | +1:00     | 30 | +1:00     | 9 |  | 3 | 9
                           | +2:00     | 5  | +2:00     | 1 |  |   |
    """,
    "urine": """
    what           | urine_output.charttime | urine_output.urineoutput | -> | uo_score
    499.9          | +1:00 | 499.9 |  | 11
    500            | +1:00 | 500   |  | 4
    999.9          | +1:00 | 999.9 |  | 4
    1000 in two    | +1:00 | 400   |  | 0
                   | +2:00 | 600   |  |
    not charted    |       |       |  | -
    """,
    "blood urea nitrogen": """
    what | chemistry.charttime | chemistry.bun | -> | bun_score
    27.9 | +1:00 | 27.9 |  | 0
    28   | +1:00 | 28   |  | 6
    83.9 | +1:00 | 83.9 |  | 6
    84   | +1:00 | 84   |  | 10
    none |       |      |  | -
    """,
    "white cells": """
    what               | complete_blood_count.charttime | complete_blood_count.wbc | -> | wbc_score
    0.9                | +1:00 | 0.9  |  | 12
    1.0                | +1:00 | 1.0  |  | 0
    19.9               | +1:00 | 19.9 |  | 0
    20.0               | +1:00 | 20.0 |  | 3
    0.5 and 30: worse  | +1:00 | 0.5  |  | 12
                       | +2:00 | 30   |  |
    none               |       |      |  | -
    """,
    "potassium": """
    what | chemistry.charttime | chemistry.potassium | -> | potassium_score
    2.9  | +1:00 | 2.9 |  | 3
    3.0  | +1:00 | 3.0 |  | 0
    4.9  | +1:00 | 4.9 |  | 0
    5.0  | +1:00 | 5.0 |  | 3
    none |       |     |  | -
    """,
    "sodium": """
    what                  | chemistry.charttime | chemistry.sodium | -> | sodium_score
    124.9                 | +1:00 | 124.9 |  | 5
    125                   | +1:00 | 125   |  | 0
    144.9                 | +1:00 | 144.9 |  | 0
    145                   | +1:00 | 145   |  | 1
    120 and 150: worse    | +1:00 | 120   |  | 5
                          | +2:00 | 150   |  |
    none                  |       |       |  | -
    """,
    "bicarbonate": """
    what | chemistry.charttime | chemistry.bicarbonate | -> | bicarbonate_score
    14.9 | +1:00 | 14.9 |  | 6
    15   | +1:00 | 15   |  | 3
    19.9 | +1:00 | 19.9 |  | 3
    20   | +1:00 | 20   |  | 0
    none |       |      |  | -
    """,
    "bilirubin": """
    what | enzyme.charttime | enzyme.bilirubin_total | -> | bilirubin_score
    3.9  | +1:00 | 3.9 |  | 0
    4.0  | +1:00 | 4.0 |  | 4
    5.9  | +1:00 | 5.9 |  | 4
    6.0  | +1:00 | 6.0 |  | 9
    none |       |     |  | -
    """,
    "coma scale": """
    what                | gcs.charttime | gcs.gcs | -> | gcs_score
    below 3 is no score | +1:00 | 2  |  | -
    3                   | +1:00 | 3  |  | 26
    5                   | +1:00 | 5  |  | 26
    6                   | +1:00 | 6  |  | 13
    8                   | +1:00 | 8  |  | 13
    9                   | +1:00 | 9  |  | 7
    10                  | +1:00 | 10 |  | 7
    11                  | +1:00 | 11 |  | 5
    13                  | +1:00 | 13 |  | 5
    14                  | +1:00 | 14 |  | 0
    15                  | +1:00 | 15 |  | 0
    above 15            | +1:00 | 16 |  | -
    none                |       |    |  | -
    """,
    "oxygenation counts under invasive ventilation, from after its start to its end": """
    what                            | bg.charttime | bg.specimen | bg.pao2fio2ratio | ventilation.starttime | ventilation.endtime | ventilation.ventilation_status | -> | pao2fio2_score
    99.9                            | +2:00    | ART. | 99.9  | +1:00 | +3:00 | InvasiveVent    |  | 11
    100                             | +2:00    | ART. | 100   | +1:00 | +3:00 | InvasiveVent    |  | 9
    199.9                           | +2:00    | ART. | 199.9 | +1:00 | +3:00 | InvasiveVent    |  | 9
    200                             | +2:00    | ART. | 200   | +1:00 | +3:00 | InvasiveVent    |  | 6
    the lowest gas                  | +2:00    | ART. | 250   | +1:00 | +3:00 | InvasiveVent    |  | 11
                                    | +2:30    | ART. | 50    |       |       |                 |  |
    venous gas                      | +2:00    | VEN. | 50    | +1:00 | +3:00 | InvasiveVent    |  | -
    mask ventilation alone          | +2:00    | ART. | 50    | +1:00 | +3:00 | NonInvasiveVent |  | -
    at the start: not yet           | +1:00    | ART. | 50    | +1:00 | +3:00 | InvasiveVent    |  | -
    a second after the start        | +1:00:01 | ART. | 50    | +1:00 | +3:00 | InvasiveVent    |  | 11
    at the end                      | +3:00    | ART. | 50    | +1:00 | +3:00 | InvasiveVent    |  | 11
    a second after the end          | +3:00:01 | ART. | 50    | +1:00 | +3:00 | InvasiveVent    |  | -
    no ratio                        | +2:00    | ART. | -     | +1:00 | +3:00 | InvasiveVent    |  | -
    at intime                       | +0:00    | ART. | 50    | -9:00 | +3:00 | InvasiveVent    |  | -
    """,
    "oxygenation counts on CPAP: from 1 h before the first to 4 h after the last charting": """
    what                             | bg.charttime | bg.specimen | bg.pao2fio2ratio | chartevents.charttime | chartevents.itemid | chartevents.value | -> | pao2fio2_score
    within                           | +6:00    | ART. | 150 | +6:00     | 226732 | 'CPAP mask ' |  | 9
    1 h before: not yet              | +5:00    | ART. | 150 | +6:00     | 226732 | 'CPAP mask ' |  | -
    a second less                    | +5:00:01 | ART. | 150 | +6:00     | 226732 | 'CPAP mask ' |  | 9
    4 h after                        | +10:00   | ART. | 150 | +6:00     | 226732 | 'CPAP mask ' |  | 9
    a second more                    | +10:00:01 | ART. | 150 | +6:00    | 226732 | 'CPAP mask ' |  | -
    BiPAP of any wording             | +6:00    | ART. | 150 | +6:00     | 226732 | BiPAP        |  | 9
    the word CPAP alone              | +6:00    | ART. | 150 | +6:00     | 226732 | CPAP         |  | -
    another item                     | +6:00    | ART. | 150 | +6:00     | 223834 | 'CPAP mask ' |  | -
    between two chartings            | +12:00   | ART. | 150 | +2:00     | 226732 | 'Bipap mask ' |  | 9
                                     |          |      |     | +20:00    | 226732 | 'Bipap mask ' |  |
    charted at intime only           | +1:00    | ART. | 150 | +0:00     | 226732 | 'CPAP mask ' |  | -
    charted at 24 h, gas at 24 h     | +24:00   | ART. | 150 | +24:00    | 226732 | 'CPAP mask ' |  | 9
    """,
    "AIDS 17, haematological malignancy 10, metastatic cancer 9, the highest alone": """
    what                          | diagnoses_icd.icd_version | diagnoses_icd.icd_code | -> | comorbidity_score
    no diagnosis                  |    |       |  | 0
    HIV disease, ICD-9            | 9  | 042   |  | 17
    044                           | 9  | 0449  |  | 17
    045                           | 9  | 0450  |  | 0
    HIV disease, ICD-10           | 10 | B20   |  | 17
    B23 is left out               | 10 | B230  |  | 0
    B24                           | 10 | B24   |  | 17
    ICD-9 code in ICD-10          | 10 | 042   |  | 0
    lymphoma, first of range      | 9  | 20000 |  | 10
    20238 last of range           | 9  | 20238 |  | 10
    20239 after it                | 9  | 20239 |  | 0
    20240                         | 9  | 20240 |  | 10
    20249 after the range         | 9  | 20249 |  | 0
    20250                         | 9  | 20250 |  | 10
    2025 is a shorter text        | 9  | 2025  |  | 0
    20302                         | 9  | 20302 |  | 10
    20305 through the overlap     | 9  | 20305 |  | 10
    20382                         | 9  | 20382 |  | 10
    20383                         | 9  | 20383 |  | 0
    20400                         | 9  | 20400 |  | 10
    20522                         | 9  | 20522 |  | 10
    20523                         | 9  | 20523 |  | 0
    20580                         | 9  | 20580 |  | 10
    20703                         | 9  | 20703 |  | 0
    20720                         | 9  | 20720 |  | 10
    20892                         | 9  | 20892 |  | 10
    20893                         | 9  | 20893 |  | 0
    2386x                         | 9  | 23860 |  | 10
    2733                          | 9  | 2733  |  | 10
    C81                           | 10 | C8100 |  | 10
    C96                           | 10 | C969  |  | 10
    C97                           | 10 | C97   |  | 0
    secondary lymph nodes         | 9  | 1960  |  | 9
    1991                          | 9  | 1991  |  | 9
    1992                          | 9  | 1992  |  | 0
    196 is a shorter text         | 9  | 196   |  | 0
    199 is within by text         | 9  | 199   |  | 9
    20970                         | 9  | 20970 |  | 9
    20975                         | 9  | 20975 |  | 9
    20976                         | 9  | 20976 |  | 0
    20979                         | 9  | 20979 |  | 9
    malignant ascites             | 9  | 78951 |  | 9
    C77                           | 10 | C770  |  | 9
    C800                          | 10 | C800  |  | 9
    C801                          | 10 | C801  |  | 0
    metastasis and another        | 10 | C770  |  | 9
                                  | 10 | I10   |  |
    all three                     | 10 | C770  |  | 17
                                  | 10 | C8100 |  |
                                  | 10 | B20   |  |
    blood and metastasis          | 9  | 1991  |  | 10
                                  | 9  | 20892 |  |
    """,
    "type of admission by the first service": """
    what                                | admissions.admission_type | services.transfertime | services.curr_service | -> | admissiontype_score
    elective, surgical                  | ELECTIVE                   | -12:00 | SURG  |  | 0
    emergency, surgical                 | EW EMER.                   | -12:00 | CSURG |  | 8
    same-day surgery is not ELECTIVE    | SURGICAL SAME DAY ADMISSION | -12:00 | SURG |  | 8
    orthopaedics is not surgical here   | ELECTIVE                   | -12:00 | ORTHO |  | 6
    trauma neither                      | ELECTIVE                   | -12:00 | TRAUM |  | 6
    medical                             | EW EMER.                   | -12:00 | MED   |  | 6
    no service                          | ELECTIVE                   |        |       |  | 6
    unknown type, surgical              | -                          | -12:00 | SURG  |  | 6
    medical first                       | ELECTIVE                   | -12:00 | MED   |  | 6
                                        |                            | -11:00 | SURG  |  |
    surgical first                      | EW EMER.                   | -11:00 | MED   |  | 8
                                        |                            | -12:00 | SURG  |  |
    same time: alphabetical             | EW EMER.                   | -12:00 | SURG  |  | 6
                                        |                            | -12:00 | MED   |  |
    untimed service comes first         | EW EMER.                   | -12:00 | MED   |  | 8
                                        |                            | -      | SURG  |  |
    first service after the ICU day     | EW EMER.                   | +90:00 | SURG  |  | 8
    """,
}


@pytest.mark.parametrize("name", SAPSII)
def test_sapsii(db: CaseDb, name: str) -> None:
    db.check("sapsii", SAPSII[name])


def test_sapsii_total_and_probability(db: CaseDb) -> None:
    """Age 80 (18), GCS 3 (26), medical (6): 50 points, mortality 46.1 % in the table of Le Gall 1993."""
    db.patient(1)
    db.insert("age", hadm_id=2001, age=80.0)
    db.insert("gcs", stay_id=3001, charttime=INTIME.replace(hour=12), gcs=3.0)
    (row,) = db.concept("sapsii")
    assert row["sapsii"] == 50
    assert row["sapsii_prob"] == pytest.approx(0.461, abs=5e-4)
    assert row["starttime"] == INTIME
    assert row["endtime"] == INTIME.replace(day=2)


def test_sapsii_links(db: CaseDb) -> None:
    """Vital signs and laboratory belong to the patient, coma scale and urine to the stay, CPAP to the patient."""
    db.patient(1)
    late = INTIME.replace(hour=12)
    db.insert("vitalsign", subject_id=1001, stay_id=9, charttime=late, heart_rate=170.0)
    db.insert("chemistry", subject_id=1001, hadm_id=None, charttime=late, bun=90.0)
    db.insert("gcs", subject_id=1001, stay_id=9, charttime=late, gcs=3.0)
    db.insert("urine_output", stay_id=9, charttime=late, urineoutput=10.0)
    (row,) = db.concept("sapsii")
    assert (row["hr_score"], row["bun_score"], row["gcs_score"], row["uo_score"]) == (7, 10, None, None)


def test_sapsii_cpap_of_another_stay_of_the_patient(db: CaseDb) -> None:
    db.patient(1)
    db.insert("icustays", subject_id=1001, hadm_id=2001, stay_id=9, intime=INTIME.replace(hour=11), outtime=INTIME.replace(day=3))
    db.insert("chartevents", stay_id=9, charttime=INTIME.replace(hour=13), itemid=226732, value="CPAP mask ")
    db.insert("bg", subject_id=1001, charttime=INTIME.replace(hour=13), specimen="ART.", pao2fio2ratio=150.0)
    assert {row["stay_id"]: row["pao2fio2_score"] for row in db.concept("sapsii")} == {3001: 9, 9: 9}


def test_sapsii_needs_an_admission_but_no_patient_row(db: CaseDb) -> None:
    db.patient(1, patients={"absent": True})
    db.patient(2, admissions={"absent": True})
    assert [row["stay_id"] for row in db.concept("sapsii")] == [3001]

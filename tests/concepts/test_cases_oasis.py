"""OASIS point by point. Each line is a patient; the points are read off Johnson AEW et al., Crit Care Med 2013;41:1711-1718, table 3,
or follow the choice named in the line where the public code departs from it.
"""

from __future__ import annotations

import math

import pytest

from tests.concepts.case_db import CaseDb

OASIS = {
    "age in years with fraction": """
    what                        | age.age | -> | age_score
    just below 24               | 23.99 |  | 0
    24                          | 24    |  | 3
    53                          | 53    |  | 3
    53.01 is in the next band   | 53.01 |  | 6
    77                          | 77    |  | 6
    77.4                        | 77.4  |  | 9
    89                          | 89    |  | 9
    89.5 falls between bands    | 89.5  |  | 0
    90                          | 90    |  | 7
    unknown                     | -     |  | -
    no age row                  |       |  | -
    """,
    "pre-ICU stay: 10.2 min, 4.95 h, 24 h, 311.8 h": """
    what                            | admissions.admittime | -> | preiculos | preiculos_score
    admitted after ICU admission    | +1:00    |  | -60      | 5
    10 min                          | -0:10    |  | 10       | 5
    10 min 11 s is below 10.2       | -0:10:11 |  | 10.183333333333334 | 5
    10 min 12 s is 10.2             | -0:10:12 |  | 10.2     | 3
    4 h 56 min 59 s                 | -4:56:59 |  | 296.983333333333 | 3
    4 h 57 min                      | -4:57    |  | 297      | 0
    23 h 59 min 59 s                | -23:59:59 |  | 1439.983333333333 | 0
    24 h                            | -24:00   |  | 1440     | 2
    311 h 47 min 59 s               | -311:47:59 |  | 18707.983333333334 | 2
    311 h 48 min                    | -311:48  |  | 18708    | 1
    unknown                         | -        |  | -        | -
    """,
    "coma scale": """
    what        | first_day_gcs.gcs_min | -> | gcs_score | gcs
    3           | 3   |  | 10 | 3
    7           | 7   |  | 10 | 7
    8           | 8   |  | 4  | 8
    13          | 13  |  | 4  | 13
    14          | 14  |  | 3  | 14
    15          | 15  |  | 0  | 15
    not charted |     |  | -  | -
    """,
    "heart rate: high before low before moderately high": """
    what                               | first_day_vitalsign.heart_rate_min | first_day_vitalsign.heart_rate_max | -> | heart_rate_score | heartrate
    125 is not above 125               | 60 | 125   |  | 3 | 125
    125.5                              | 60 | 125.5 |  | 6 | 125.5
    high beats low                     | 20 | 130   |  | 6 | 130
    32.9 is low                        | 32.9 | 100 |  | 4 | 32.9
    33 is not; max 88                  | 33 | 88    |  | 0 | 60.5
    low beats 107-125                  | 32 | 110   |  | 4 | 32
    88.9 falls between bands           | 60 | 88.9  |  | 0 | 74.45
    89                                 | 60 | 89    |  | 1 | 89
    106                                | 60 | 106   |  | 1 | 106
    106.5 falls between bands          | 60 | 106.5 |  | 0 | 83.25
    107                                | 60 | 107   |  | 3 | 107
    not charted                        | -  | -     |  | - | -
    """,
    "mean arterial pressure": """
    what                       | first_day_vitalsign.mbp_min | first_day_vitalsign.mbp_max | -> | mbp_score | meanbp
    20.64                      | 20.64 | 90     |  | 4 | 20.64
    20.65                      | 20.65 | 90     |  | 3 | 20.65
    50.9                       | 50.9  | 90     |  | 3 | 50.9
    low beats high             | 50    | 150    |  | 3 | 50
    51                         | 51    | 90     |  | 2 | 51
    61.32                      | 61.32 | 90     |  | 2 | 61.32
    61.33                      | 61.33 | 90.67  |  | 0 | 76
    143.44 is normal           | 70    | 143.44 |  | 0 | 106.72
    143.45 is high             | 70    | 143.45 |  | 3 | 143.45
    high beats 51-61.32        | 55    | 144    |  | 3 | 144
    not charted                | -     | -      |  | - | -
    """,
    "respiratory rate": """
    what                       | first_day_vitalsign.resp_rate_min | first_day_vitalsign.resp_rate_max | -> | resp_rate_score | resprate
    5.9 is very low            | 5.9  | 20   |  | 10 | 5.9
    very low beats very high   | 5    | 50   |  | 10 | 5
    6                          | 6    | 20   |  | 1  | 6
    12.9                       | 12.9 | 20   |  | 1  | 12.9
    13                         | 13   | 22   |  | 0  | 17.5
    22.1                       | 13   | 22.1 |  | 1  | 22.1
    high before low            | 10   | 23   |  | 1  | 23
    30                         | 13   | 30   |  | 1  | 30
    30.1                       | 13   | 30.1 |  | 6  | 30.1
    44                         | 13   | 44   |  | 6  | 44
    44.1                       | 13   | 44.1 |  | 9  | 44.1
    not charted                | -    | -    |  | -  | -
    """,
    "temperature": """
    what                        | first_day_vitalsign.temperature_min | first_day_vitalsign.temperature_max | -> | temp_score | temp
    39.88 is not above          | 37    | 39.88 |  | 2 | 39.88
    39.89                       | 37    | 39.89 |  | 6 | 39.89
    high beats low              | 33    | 40    |  | 6 | 40
    33.21                       | 33.21 | 36.5  |  | 3 | 33.21
    33.22                       | 33.22 | 36.5  |  | 4 | 33.22
    35.93                       | 35.93 | 36.5  |  | 4 | 35.93
    highest 35.93, lowest below | 33.00 | 35.93 |  | 4 | 35.93
    highest below 33.22         | 32.00 | 33.21 |  | 3 | 32
    35.94                       | 35.94 | 36.5  |  | 2 | 35.94
    36.39                       | 36.39 | 36.5  |  | 2 | 36.39
    36.40                       | 36.40 | 36.88 |  | 0 | 36.64
    36.89                       | 36.40 | 36.89 |  | 2 | 36.89
    low beats 36.89-39.88       | 36.00 | 38.00 |  | 2 | 36
    the mean is not rounded     | 36.41 | 36.42 |  | 0 | 36.415
    not charted                 | -     | -     |  | - | -
    """,
    "urine of the first day, mL": """
    what                 | first_day_urine_output.urineoutput | -> | urineoutput_score | urineoutput
    irrigation, negative | -100    |  | 10 | -100
    671.08               | 671.08  |  | 10 | 671.08
    671.09               | 671.09  |  | 5  | 671.09
    1426.99              | 1426.99 |  | 5  | 1426.99
    between bands        | 1426.995 |  | 0 | 1426.995
    1427                 | 1427    |  | 1  | 1427
    2544.14              | 2544.14 |  | 1  | 2544.14
    2544.15              | 2544.15 |  | 0  | 2544.15
    6896.80              | 6896.80 |  | 0  | 6896.80
    6896.81              | 6896.81 |  | 8  | 6896.81
    not charted          |         |  | -  | -
    """,
    "invasive ventilation that begins on, ends on or spans the first day": """
    what                              | ventilation.starttime | ventilation.endtime | ventilation.ventilation_status | -> | mechvent | mechvent_score
    none                              |           |           |                 |  | 0 | 0
    mask ventilation does not count   | +1:00     | +9:00     | NonInvasiveVent |  | 0 | 0
    tracheostomy does not count       | +1:00     | +9:00     | Tracheostomy    |  | 0 | 0
    begins at admission               | +0:00     | +30:00    | InvasiveVent    |  | 1 | 9
    begins at the end of the day      | +24:00    | +30:00    | InvasiveVent    |  | 1 | 9
    begins a second later             | +24:00:01 | +30:00    | InvasiveVent    |  | 0 | 0
    ends at admission                 | -9:00     | +0:00     | InvasiveVent    |  | 1 | 9
    ends a second before              | -9:00     | -0:00:01  | InvasiveVent    |  | 0 | 0
    spans the day                     | -9:00     | +48:00    | InvasiveVent    |  | 1 | 9
    spans it by an hour               | -1:00     | +25:00    | InvasiveVent    |  | 1 | 9
    two episodes, one counts          | -9:00     | -8:00     | InvasiveVent    |  | 1 | 9
                                      | +3:00     | +4:00     | InvasiveVent    |  |   |
    """,
    "elective surgery: ELECTIVE and a surgical service before the end of the first day": """
    what                                | admissions.admission_type | services.curr_service | services.transfertime | -> | electivesurgery | electivesurgery_score
    elective, surgical                  | ELECTIVE                   | SURG  | -12:00    |  | 1 | 0
    any service with surg in it         | ELECTIVE                   | CSURG | -12:00    |  | 1 | 0
    orthopaedics counts                 | ELECTIVE                   | ORTHO | -12:00    |  | 1 | 0
    ortho in small letters does not     | ELECTIVE                   | ortho | -12:00    |  | 0 | 6
    trauma does not                     | ELECTIVE                   | TRAUM | -12:00    |  | 0 | 6
    a second before the day's end       | ELECTIVE                   | NSURG | +23:59:59 |  | 1 | 0
    at the day's end: too late          | ELECTIVE                   | NSURG | +24:00    |  | 0 | 6
    medical first, surgical later       | ELECTIVE                   | MED   | -12:00    |  | 1 | 0
                                        |                            | VSURG | +3:00     |  |   |
    elective, no service at all         | ELECTIVE                   |       |           |  | 0 | 6
    emergency, surgical                 | EW EMER.                   | SURG  | -12:00    |  | 0 | 6
    same-day surgery is not ELECTIVE    | SURGICAL SAME DAY ADMISSION | SURG | -12:00    |  | 0 | 6
    unknown type                        | -                          | SURG  | -12:00    |  | - | -
    """,
}


@pytest.mark.parametrize("name", OASIS)
def test_oasis(db: CaseDb, name: str) -> None:
    db.check("oasis", OASIS[name])


def test_oasis_total_and_probability(db: CaseDb) -> None:
    """Age 60.5 (6), 12 h before the ICU (0), not elective (6), nothing else known: 12 points."""
    db.patient(1)
    db.insert("age", hadm_id=2001, age=60.5)
    (row,) = db.concept("oasis")
    assert row["oasis"] == 12
    assert row["oasis_prob"] == pytest.approx(1 / (1 + math.exp(6.1746 - 0.1275 * 12)), abs=1e-12)


def test_oasis_needs_admission_and_patient(db: CaseDb) -> None:
    db.patient(1)
    db.patient(2, patients={"absent": True})
    db.patient(3, admissions={"absent": True})
    assert [row["stay_id"] for row in db.concept("oasis")] == [3001]

"""SOFA hour by hour and of the first day. Points are read off Vincent JL et al., Intensive Care Med 1996;22:707-710,
or follow the choice named in the line where the public code departs from it.

Intime is 10:00. The hourly cases have a grid of hours -24 to 30 around 10:00, so hour 1 is 10:00:01 to 11:00:00.
"""

from __future__ import annotations

import datetime as dt

import pytest

from tests.concepts.case_db import INTIME, CaseDb, read

HOUR = dt.timedelta(hours=1)


def hourly(db: CaseDb, text: str, hr: int = 1, last: int = 30) -> None:
    """Check the expected values in hour `hr`."""
    cases = read(text)
    for number in range(len(cases)):
        db.con.execute(
            "INSERT INTO mimiciv_derived.icustay_hourly SELECT ?, h, ? + h * INTERVAL 1 HOUR FROM range(-24, ?) r(h)",
            [3000 + number, INTIME, last + 1],
        )
    db.filled.add("icustay_hourly")
    db.check_rows(lambda: [row for row in db.concept("sofa") if row["hr"] == hr], cases)


HOURLY = {
    "respiration: invasive ventilation reaches 4, without it 2 at most": """
    what                               | bg.charttime | bg.specimen | bg.pao2fio2ratio | ventilation.starttime | ventilation.endtime | ventilation.ventilation_status | -> | respiration | pao2fio2ratio_vent | pao2fio2ratio_novent
    ventilated 99.9                    | +0:30 | ART. | 99.9  | +0:00 | +9:00 | InvasiveVent    |  | 4 | 99.9  | -
    ventilated 100                     | +0:30 | ART. | 100   | +0:00 | +9:00 | InvasiveVent    |  | 3 | 100   | -
    ventilated 199.9                   | +0:30 | ART. | 199.9 | +0:00 | +9:00 | InvasiveVent    |  | 3 | 199.9 | -
    ventilated 200                     | +0:30 | ART. | 200   | +0:00 | +9:00 | InvasiveVent    |  | 2 | 200   | -
    ventilated 299.9                   | +0:30 | ART. | 299.9 | +0:00 | +9:00 | InvasiveVent    |  | 2 | 299.9 | -
    ventilated 300                     | +0:30 | ART. | 300   | +0:00 | +9:00 | InvasiveVent    |  | 1 | 300   | -
    ventilated 399.9                   | +0:30 | ART. | 399.9 | +0:00 | +9:00 | InvasiveVent    |  | 1 | 399.9 | -
    ventilated 400                     | +0:30 | ART. | 400   | +0:00 | +9:00 | InvasiveVent    |  | 0 | 400   | -
    unaided 50                         | +0:30 | ART. | 50    |       |       |                 |  | 2 | -     | 50
    unaided 299.9                      | +0:30 | ART. | 299.9 |       |       |                 |  | 2 | -     | 299.9
    unaided 300                        | +0:30 | ART. | 300   |       |       |                 |  | 1 | -     | 300
    unaided 399.9                      | +0:30 | ART. | 399.9 |       |       |                 |  | 1 | -     | 399.9
    unaided 400                        | +0:30 | ART. | 400   |       |       |                 |  | 0 | -     | 400
    mask ventilation is unaided        | +0:30 | ART. | 50    | +0:00 | +9:00 | NonInvasiveVent |  | 2 | -     | 50
    at the start of ventilation        | +0:30 | ART. | 50    | +0:30 | +9:00 | InvasiveVent    |  | 4 | 50    | -
    at its end                         | +0:30 | ART. | 50    | -9:00 | +0:30 | InvasiveVent    |  | 4 | 50    | -
    a second after its end             | +0:30:01 | ART. | 50 | -9:00 | +0:30 | InvasiveVent    |  | 2 | -     | 50
    lowest of each kind                | +0:10 | ART. | 210   | +0:00 | +0:20 | InvasiveVent    |  | 2 | 205   | 150
                                       | +0:15 | ART. | 205   |       |       |                 |  |   |       |
                                       | +0:40 | ART. | 150   |       |       |                 |  |   |       |
    venous gas                         | +0:30 | VEN. | 50    | +0:00 | +9:00 | InvasiveVent    |  | - | -     | -
    unnamed specimen                   | +0:30 | -    | 50    | +0:00 | +9:00 | InvasiveVent    |  | - | -     | -
    gas without FiO2                   | +0:30 | ART. | -     | +0:00 | +9:00 | InvasiveVent    |  | - | -     | -
    """,
    "coagulation": """
    what  | complete_blood_count.charttime | complete_blood_count.platelet | -> | coagulation
    19.9  | +0:30 | 19.9  |  | 4
    20    | +0:30 | 20    |  | 3
    49.9  | +0:30 | 49.9  |  | 3
    50    | +0:30 | 50    |  | 2
    99.9  | +0:30 | 99.9  |  | 2
    100   | +0:30 | 100   |  | 1
    149.9 | +0:30 | 149.9 |  | 1
    150   | +0:30 | 150   |  | 0
    lowest of two | +0:30 | 150 |  | 3
          | +0:40 | 30    |  |
    none  |       |       |  | -
    """,
    "liver: the top band starts at 12.0": """
    what  | enzyme.charttime | enzyme.bilirubin_total | -> | liver
    1.1   | +0:30 | 1.1  |  | 0
    1.2   | +0:30 | 1.2  |  | 1
    1.9   | +0:30 | 1.9  |  | 1
    2.0   | +0:30 | 2.0  |  | 2
    5.9   | +0:30 | 5.9  |  | 2
    6.0   | +0:30 | 6.0  |  | 3
    11.9  | +0:30 | 11.9 |  | 3
    12.0  | +0:30 | 12.0 |  | 4
    none  |       |      |  | -
    """,
    "cardiovascular: pressure and drugs at the end of the hour": """
    what                             | vitalsign.charttime | vitalsign.mbp | norepinephrine.starttime | norepinephrine.endtime | norepinephrine.vaso_rate | epinephrine.starttime | epinephrine.endtime | epinephrine.vaso_rate | dopamine.starttime | dopamine.endtime | dopamine.vaso_rate | dobutamine.starttime | dobutamine.endtime | dobutamine.vaso_rate | -> | cardiovascular
    pressure 69.9                    | +0:30 | 69.9 |  |  |  |  |  |  |  |  |  |  |  |  |  | 1
    pressure 70                      | +0:30 | 70   |  |  |  |  |  |  |  |  |  |  |  |  |  | 0
    nothing                          |       |      |  |  |  |  |  |  |  |  |  |  |  |  |  | -
    norepinephrine 0.1               |  |  | +0:10 | +1:10 | 0.1  |  |  |  |  |  |  |  |  |  |  | 3
    norepinephrine 0.101             |  |  | +0:10 | +1:10 | 0.101 |  |  |  |  |  |  |  |  |  |  | 4
    norepinephrine charted as 0      |  |  | +0:10 | +1:10 | 0    |  |  |  |  |  |  |  |  |  |  | 3
    norepinephrine 0.15 alone        |  |  | +0:10 | +1:10 | 0.15 |  |  |  |  |  |  |  |  |  |  | 4
    epinephrine 0.1                  |  |  |  |  |  | +0:10 | +1:10 | 0.1 |  |  |  |  |  |  |  | 3
    epinephrine 0.11                 |  |  |  |  |  | +0:10 | +1:10 | 0.11 |  |  |  |  |  |  |  | 4
    dopamine 5                       |  |  |  |  |  |  |  |  | +0:10 | +1:10 | 5    |  |  |  |  | 2
    dopamine 5.1                     |  |  |  |  |  |  |  |  | +0:10 | +1:10 | 5.1  |  |  |  |  | 3
    dopamine 15                      |  |  |  |  |  |  |  |  | +0:10 | +1:10 | 15   |  |  |  |  | 3
    dopamine 15.1                    |  |  |  |  |  |  |  |  | +0:10 | +1:10 | 15.1 |  |  |  |  | 4
    dopamine 0                       |  |  |  |  |  |  |  |  | +0:10 | +1:10 | 0    |  |  |  |  | 0
    dobutamine, any dose             |  |  |  |  |  |  |  |  |  |  |  | +0:10 | +1:10 | 0.5 |  | 2
    dobutamine 0                     |  |  |  |  |  |  |  |  |  |  |  | +0:10 | +1:10 | 0   |  | 0
    drug outranks pressure           | +0:30 | 60 |  |  |  |  |  |  |  |  |  | +0:10 | +1:10 | 1 |  | 2
    ends at the hour's end           |  |  | +0:10 | +1:00 | 0.05 |  |  |  |  |  |  |  |  |  |  | 3
    ends a second before             |  |  | +0:10 | +0:59:59 | 0.05 |  |  |  |  |  |  |  |  |  |  | -
    starts at the hour's end         |  |  | +1:00 | +2:10 | 0.05 |  |  |  |  |  |  |  |  |  |  | -
    starts a second before           |  |  | +0:59:59 | +2:10 | 0.05 |  |  |  |  |  |  |  |  |  |  | 3
    wholly within the hour is missed |  |  | +0:10 | +0:50 | 0.05 |  |  |  |  |  |  |  |  |  |  | -
    began before the grid            |  |  | -90:00 | +9:00 | 0.05 |  |  |  |  |  |  |  |  |  |  | 3
    highest of two pumps             |  |  | +0:10 | +1:10 | 0.05 |  |  |  |  |  |  |  |  |  |  | 4
                                     |  |  | +0:20 | +1:20 | 0.2  |  |  |  |  |  |  |  |  |  |  |
    rate unknown                     |  |  | +0:10 | +1:10 | -    |  |  |  |  |  |  |  |  |  |  | -
    end unknown                      |  |  | +0:10 | -     | 0.2  |  |  |  |  |  |  |  |  |  |  | -
    zero length                      |  |  | +1:00 | +1:00 | 0.2  |  |  |  |  |  |  |  |  |  |  | -
    """,
    "central nervous system": """
    what | gcs.charttime | gcs.gcs | -> | cns
    15   | +0:30 | 15 |  | 0
    14   | +0:30 | 14 |  | 1
    13   | +0:30 | 13 |  | 1
    12   | +0:30 | 12 |  | 2
    10   | +0:30 | 10 |  | 2
    9    | +0:30 | 9  |  | 3
    6    | +0:30 | 6  |  | 3
    5    | +0:30 | 5  |  | 4
    3    | +0:30 | 3  |  | 4
    none |       |    |  | -
    """,
    "renal: creatinine, or urine of the past day where its records cover 22 to 30 hours": """
    what                    | chemistry.charttime | chemistry.creatinine | urine_output_rate.charttime | urine_output_rate.urineoutput_24hr | urine_output_rate.uo_tm_24hr | -> | renal | uo_24hr
    creatinine 1.1          | +0:30 | 1.1 |  |  |  |  | 0 | -
    1.2                     | +0:30 | 1.2 |  |  |  |  | 1 | -
    1.9                     | +0:30 | 1.9 |  |  |  |  | 1 | -
    2.0                     | +0:30 | 2.0 |  |  |  |  | 2 | -
    3.4                     | +0:30 | 3.4 |  |  |  |  | 2 | -
    3.5                     | +0:30 | 3.5 |  |  |  |  | 3 | -
    4.9                     | +0:30 | 4.9 |  |  |  |  | 3 | -
    5.0                     | +0:30 | 5.0 |  |  |  |  | 4 | -
    urine 199               |  |  | +0:30 | 199 | 24    |  | 4 | 199
    urine 200               |  |  | +0:30 | 200 | 24    |  | 3 | 200
    urine 499               |  |  | +0:30 | 499 | 24    |  | 3 | 499
    urine 500               |  |  | +0:30 | 500 | 24    |  | 0 | 500
    22 h are enough         |  |  | +0:30 | 220 | 22    |  | 3 | 240
    21.99 h are not         |  |  | +0:30 | 220 | 21.99 |  | - | -
    30 h are not too many   |  |  | +0:30 | 300 | 30    |  | 3 | 240
    30.01 h are             |  |  | +0:30 | 300 | 30.01 |  | - | -
    highest of two records  |  |  | +0:30 | 100 | 24    |  | 3 | 300
                            |  |  | +0:40 | 300 | 24    |  |   |
    urine 199, creatinine 4 | +0:30 | 4   | +0:30 | 199 | 24 |  | 4 | 199
    urine 499, creatinine 2 | +0:30 | 2   | +0:30 | 499 | 24 |  | 3 | 499
    urine 600, creatinine 2 | +0:30 | 2   | +0:30 | 600 | 24 |  | 2 | 600
    neither                 |  |  |  |  |  |  | - | -
    """,
    "the worst of several values in the hour": """
    what        | bg.charttime | bg.specimen | bg.pao2fio2ratio | vitalsign.charttime | vitalsign.mbp | gcs.charttime | gcs.gcs | enzyme.charttime | enzyme.bilirubin_total | chemistry.charttime | chemistry.creatinine | epinephrine.starttime | epinephrine.endtime | epinephrine.vaso_rate | -> | pao2fio2ratio_novent | meanbp_min | gcs_min | bilirubin_max | creatinine_max | rate_epinephrine | respiration | liver | cns | renal | cardiovascular
    worse first | +0:10 | ART. | 250 | +0:10 | 50 | +0:10 | 8  | +0:10 | 7 | +0:10 | 4 | +0:10 | +2:00 | 0.2  |  | 250 | 50 | 8 | 7 | 4 | 0.2 | 2 | 3 | 3 | 3 | 4
                | +0:20 | ART. | 450 | +0:20 | 90 | +0:20 | 15 | +0:20 | 1 | +0:20 | 1 | +0:20 | +2:00 | 0.05 |  |     |    |   |   |   |     |   |   |   |   |
    worse last  | +0:10 | ART. | 450 | +0:10 | 90 | +0:10 | 15 | +0:10 | 1 | +0:10 | 1 | +0:10 | +2:00 | 0.05 |  | 250 | 50 | 8 | 7 | 4 | 0.2 | 2 | 3 | 3 | 3 | 4
                | +0:20 | ART. | 250 | +0:20 | 50 | +0:20 | 8  | +0:20 | 7 | +0:20 | 4 | +0:20 | +2:00 | 0.2  |  |     |    |   |   |   |     |   |   |   |   |
    """,
    "the higher of two inotrope rates": """
    what        | dopamine.starttime | dopamine.endtime | dopamine.vaso_rate | dobutamine.starttime | dobutamine.endtime | dobutamine.vaso_rate | -> | rate_dopamine | rate_dobutamine | cardiovascular
    two pumps   | +0:10 | +2:00 | 4  | +0:10 | +2:00 | 2 |  | 10 | 5 | 3
                | +0:20 | +2:00 | 10 | +0:20 | +2:00 | 5 |  |    |   |
    """,
    "an hour excludes its start and includes its end": """
    what               | gcs.charttime | gcs.gcs | chemistry.charttime | chemistry.creatinine | bg.charttime | bg.specimen | bg.pao2fio2ratio | vitalsign.charttime | vitalsign.mbp | -> | cns | renal | respiration | cardiovascular
    at its start       | +0:00    | 3 | +0:00    | 9 | +0:00    | ART. | 50 | +0:00    | 50 |  | - | - | - | -
    a second later     | +0:00:01 | 3 | +0:00:01 | 9 | +0:00:01 | ART. | 50 | +0:00:01 | 50 |  | 4 | 4 | 2 | 1
    at its end         | +1:00    | 3 | +1:00    | 9 | +1:00    | ART. | 50 | +1:00    | 50 |  | 4 | 4 | 2 | 1
    a second later     | +1:00:01 | 3 | +1:00:01 | 9 | +1:00:01 | ART. | 50 | +1:00:01 | 50 |  | - | - | - | -
    """,
}


@pytest.mark.parametrize("name", HOURLY)
def test_hour(db: CaseDb, name: str) -> None:
    hourly(db, HOURLY[name])


def test_worst_of_24_hours(db: CaseDb) -> None:
    """A coma scale of 3 in hour 1 counts in hours 1 to 24; the day before admission feeds hour 0."""
    one_hour = "what | gcs.charttime | gcs.gcs | -> | cns | cns_24hours | sofa_24hours\n"
    hourly(db, one_hour + "in the hour itself | +1:00 | 3 | | 4 | 4 | 4", hr=1)
    hourly(db.fresh(), one_hour + "23 hours later | +1:00 | 3 | | - | 4 | 4", hr=24)
    hourly(db.fresh(), one_hour + "24 hours later | +1:00 | 3 | | - | 0 | 0", hr=25)
    hourly(db.fresh(), one_hour + "hour -23 seen from hour 0 | -23:00 | 3 | | - | 4 | 4", hr=0)
    hourly(db.fresh(), one_hour + "hour -24 not | -24:00 | 3 | | - | 0 | 0", hr=0)
    hourly(db.fresh(), one_hour + "before the grid | -30:00 | 3 | | - | 0 | 0", hr=0)


def test_an_infusion_counts_in_every_hour_that_it_covers(db: CaseDb) -> None:
    text = "what | epinephrine.starttime | epinephrine.endtime | epinephrine.vaso_rate | -> | rate_epinephrine\n"
    for hr, rate in ((1, "-"), (2, "0.2"), (3, "0.2"), (4, "0.2"), (5, "-")):
        hourly(db.fresh(), text + f"from 1:10 to 4:30 | +1:10 | +4:30 | 0.2 | | {rate}", hr=hr)


WORST_OF_DAY = """
what          | bg.charttime | bg.specimen | bg.pao2fio2ratio | complete_blood_count.charttime | complete_blood_count.platelet | enzyme.charttime | enzyme.bilirubin_total | vitalsign.charttime | vitalsign.mbp | gcs.charttime | gcs.gcs | chemistry.charttime | chemistry.creatinine | -> | respiration_24hours | coagulation_24hours | liver_24hours | cardiovascular_24hours | cns_24hours | renal_24hours | sofa_24hours
better later  | +1:00 | ART. | 250 | +1:00 | 40  | +1:00 | 7 | +1:00 | 50 | +1:00 | 8  | +1:00 | 4 |  | 2 | 3 | 3 | 1 | 3 | 3 | 15
              | +5:00 | ART. | 450 | +5:00 | 200 | +5:00 | 1 | +5:00 | 90 | +5:00 | 15 | +5:00 | 1 |  |   |   |   |   |   |   |
"""


def test_the_day_keeps_each_organ_s_worst_hour(db: CaseDb) -> None:
    hourly(db, WORST_OF_DAY, hr=6)


def test_rows_start_at_hour_0_and_total_adds_the_organs(db: CaseDb) -> None:
    ids = db.patient(1)
    for hr in range(-24, 3):
        db.insert("icustay_hourly", stay_id=3001, hr=hr, endtime=INTIME + hr * HOUR)
    db.event("gcs", ids, {"charttime": INTIME + HOUR, "gcs": 12.0})
    db.event("chemistry", ids, {"charttime": INTIME + 2 * HOUR, "creatinine": 2.0})
    rows = sorted(db.concept("sofa"), key=lambda row: row["hr"])
    assert [(row["hr"], row["sofa_24hours"]) for row in rows] == [(0, 0), (1, 2), (2, 4)]
    assert rows[1]["starttime"] == INTIME
    assert rows[1]["endtime"] == INTIME + HOUR


def test_links(db: CaseDb) -> None:
    """Gases belong to the patient; laboratory values need the admission's id; coma scale and pressure the stay's."""
    db.patient(1)
    db.insert("icustay_hourly", stay_id=3001, hr=1, endtime=INTIME + HOUR)
    at = INTIME + HOUR / 2
    db.insert("bg", subject_id=1001, hadm_id=None, charttime=at, specimen="ART.", pao2fio2ratio=50.0)
    db.insert("chemistry", subject_id=1001, hadm_id=None, charttime=at, creatinine=9.0)
    db.insert("gcs", subject_id=1001, stay_id=9, charttime=at, gcs=3.0)
    (row,) = db.concept("sofa")
    assert (row["respiration"], row["renal"], row["cns"]) == (2, None, None)


FIRST_DAY = {
    "respiration: any specimen; ventilated ratios of 200 and more earn nothing": """
    what                                | bg.charttime | bg.specimen | bg.pao2fio2ratio | ventilation.starttime | ventilation.endtime | ventilation.ventilation_status | -> | respiration | sofa
    ventilated 99.9                     | +1:00 | ART. | 99.9  | +0:00 | +9:00 | InvasiveVent    |  | 4 | 4
    ventilated 100                      | +1:00 | ART. | 100   | +0:00 | +9:00 | InvasiveVent    |  | 3 | 3
    ventilated 199.9                    | +1:00 | ART. | 199.9 | +0:00 | +9:00 | InvasiveVent    |  | 3 | 3
    ventilated 200                      | +1:00 | ART. | 200   | +0:00 | +9:00 | InvasiveVent    |  | 0 | 0
    unaided 299.9                       | +1:00 | ART. | 299.9 |       |       |                 |  | 2 | 2
    unaided 300                         | +1:00 | ART. | 300   |       |       |                 |  | 1 | 1
    unaided 399.9                       | +1:00 | ART. | 399.9 |       |       |                 |  | 1 | 1
    unaided 400                         | +1:00 | ART. | 400   |       |       |                 |  | 0 | 0
    a venous gas counts                 | +1:00 | VEN. | 50    | +0:00 | +9:00 | InvasiveVent    |  | 4 | 4
    mask ventilation                    | +1:00 | ART. | 50    | +0:00 | +9:00 | NonInvasiveVent |  | 2 | 2
    at the start of ventilation         | +1:00 | ART. | 50    | +1:00 | +9:00 | InvasiveVent    |  | 4 | 4
    lowest of each kind                 | +1:00 | ART. | 250   | +0:00 | +2:00 | InvasiveVent    |  | 3 | 3
                                        | +1:30 | ART. | 150   |       |       |                 |  |   |
    lowest unaided                      | +3:00 | ART. | 350   |       |       |                 |  | 2 | 2
                                        | +4:00 | ART. | 250   |       |       |                 |  |   |
    at the end of ventilation           | +9:00 | ART. | 50    | +0:00 | +9:00 | InvasiveVent    |  | 4 | 4
    6 h before intime                   | -6:00 | ART. | 350   |       |       |                 |  | 1 | 1
    a second earlier                    | -6:00:01 | ART. | 350 |      |       |                 |  | - | 0
    24 h after                          | +24:00 | ART. | 350  |       |       |                 |  | 1 | 1
    a second later                      | +24:00:01 | ART. | 350 |     |       |                 |  | - | 0
    """,
    "cardiovascular: infusions that start in the window": """
    what                          | first_day_vitalsign.mbp_min | norepinephrine.starttime | norepinephrine.endtime | norepinephrine.vaso_rate | dopamine.starttime | dopamine.vaso_rate | dobutamine.starttime | dobutamine.vaso_rate | epinephrine.starttime | epinephrine.vaso_rate | -> | cardiovascular
    pressure 69.9                 | 69.9 |  |  |  |  |  |  |  |  |  |  | 1
    pressure 70                   | 70   |  |  |  |  |  |  |  |  |  |  | 0
    nothing                       |      |  |  |  |  |  |  |  |  |  |  | -
    norepinephrine 0.1            |  | +1:00 | +2:00 | 0.1  |  |  |  |  |  |  |  | 3
    norepinephrine 0.11           |  | +1:00 | +2:00 | 0.11 |  |  |  |  |  |  |  | 4
    norepinephrine 0              |  | +1:00 | +2:00 | 0    |  |  |  |  |  |  |  | 3
    rate unknown                  |  | +1:00 | +2:00 | -    |  |  |  |  |  |  |  | -
    started 6 h before            |  | -6:00 | -5:00 | 0.2  |  |  |  |  |  |  |  | 4
    a second earlier, runs on     |  | -6:00:01 | +9:00 | 0.2 |  |  |  |  |  |  |  | -
    started at 24 h               |  | +24:00 | +25:00 | 0.2 |  |  |  |  |  |  |  | 4
    a second later                |  | +24:00:01 | +25:00 | 0.2 |  |  |  |  |  |  |  | -
    zero length counts            |  | +1:00 | +1:00 | 0.2  |  |  |  |  |  |  |  | 4
    dopamine 5                    |  |  |  |  | +1:00 | 5    |  |  |  |  |  | 2
    dopamine 5.1                  |  |  |  |  | +1:00 | 5.1  |  |  |  |  |  | 3
    dopamine 15                   |  |  |  |  | +1:00 | 15   |  |  |  |  |  | 3
    dopamine 15.1                 |  |  |  |  | +1:00 | 15.1 |  |  |  |  |  | 4
    the higher of two rates       |  | +1:00 | +2:00 | 0.05 | +1:00 | 4    | +1:00 | 0 | +1:00 | 0.05 |  | 4
                                  |  | +3:00 | +4:00 | 0.02 | +2:00 | 16   | +2:00 | 1 | +2:00 | 0.02 |  |
    the higher of two rates, norepinephrine  |  | +1:00 | +2:00 | 0.05 |  |  |  |  |  |  |  | 4
                                  |  | +3:00 | +4:00 | 0.2  |  |      |       |   |       |      |  |
    epinephrine                   |  |       |       |      |  |      |       |   | +1:00 | 0.05 |  | 4
                                  |  |       |       |      |  |      |       |   | +2:00 | 0.2  |  |
    dobutamine                    |  |       |       |      |  |      | +1:00 | 0 |       |      |  | 2
                                  |  |       |       |      |  |      | +2:00 | 1 |       |      |  |
    dobutamine 0                  |  |       |       |      |  |      | +1:00 | 0 |       |      |  | 0
    dopamine 0                    |  |  |  |  | +1:00 | 0    |  |  |  |  |  | 0
    dobutamine                    |  |  |  |  |  |  | +1:00 | 1 |  |  |  | 2
    epinephrine 0.1               |  |  |  |  |  |  |  |  | +1:00 | 0.1  |  | 3
    epinephrine 0.11              |  |  |  |  |  |  |  |  | +1:00 | 0.11 |  | 4
    """,
    "renal and the rest": """
    what                    | first_day_lab.creatinine_max | first_day_urine_output.urineoutput | first_day_lab.platelets_min | first_day_lab.bilirubin_total_max | first_day_gcs.gcs_min | -> | renal | coagulation | liver | cns | sofa
    all normal              | 1.1 | 500 | 150  | 1.1  | 15 |  | 0 | 0 | 0 | 0 | 0
    first points            | 1.2 | 500 | 149.9 | 1.2 | 14 |  | 1 | 1 | 1 | 1 | 4
    upper end               | 1.9 | 500 | 100  | 1.9  | 13 |  | 1 | 1 | 1 | 1 | 4
    second                  | 2.0 | 500 | 99.9 | 2.0  | 12 |  | 2 | 2 | 2 | 2 | 8
    upper end               | 3.4 | 500 | 50   | 5.9  | 10 |  | 2 | 2 | 2 | 2 | 8
    third                   | 3.5 | 500 | 49.9 | 6.0  | 9  |  | 3 | 3 | 3 | 3 | 12
    upper end               | 4.9 | 500 | 20   | 11.9 | 6  |  | 3 | 3 | 3 | 3 | 12
    fourth                  | 5.0 | 500 | 19.9 | 12.0 | 5  |  | 4 | 4 | 4 | 4 | 16
    urine 499.9             | 1.0 | 499.9 |    |      |    |  | 3 | - | - | - | 3
    urine 200               | 1.0 | 200 |      |      |    |  | 3 | - | - | - | 3
    urine 199.9             | 1.0 | 199.9 |    |      |    |  | 4 | - | - | - | 4
    urine alone, enough     |     | 500 |      |      |    |  | 0 | - | - | - | 0
    creatinine alone        | 1.3 |     |      |      |    |  | 1 | - | - | - | 1
    nothing                 |     |     |      |      |    |  | - | - | - | - | 0
    """,
}


@pytest.mark.parametrize("name", FIRST_DAY)
def test_first_day(db: CaseDb, name: str) -> None:
    db.check("first_day_sofa", FIRST_DAY[name])

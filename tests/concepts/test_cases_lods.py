"""LODS point by point. Each line is a patient; the points are read off Le Gall JR et al., JAMA 1996;276:802-810, table 3,
or follow the choice named in the line where the public code departs from it.
"""

from __future__ import annotations

import pytest

from tests.concepts.case_db import INTIME, CaseDb

LODS = {
    "neurologic": """
    what                | first_day_gcs.gcs_min | -> | neurologic | lods
    below 3 is no score | 2  |  | - | 0
    3                   | 3  |  | 5 | 5
    5                   | 5  |  | 5 | 5
    6                   | 6  |  | 3 | 3
    8                   | 8  |  | 3 | 3
    9                   | 9  |  | 1 | 1
    13                  | 13 |  | 1 | 1
    14                  | 14 |  | 0 | 0
    none                |    |  | - | 0
    """,
    "cardiovascular": """
    what                       | first_day_vitalsign.heart_rate_min | first_day_vitalsign.heart_rate_max | first_day_vitalsign.sbp_min | first_day_vitalsign.sbp_max | -> | cardiovascular
    heart rate 29              | 29 | 80  | 100 | 120 |  | 5
    30                         | 30 | 80  | 100 | 120 |  | 0
    systolic 39                | 60 | 80  | 39  | 120 |  | 5
    40                         | 60 | 80  | 40  | 120 |  | 3
    69                         | 60 | 80  | 69  | 120 |  | 3
    70                         | 60 | 80  | 70  | 120 |  | 1
    89                         | 60 | 80  | 89  | 120 |  | 1
    90                         | 60 | 80  | 90  | 120 |  | 0
    239                        | 60 | 80  | 100 | 239 |  | 0
    240                        | 60 | 80  | 100 | 240 |  | 1
    269                        | 60 | 80  | 100 | 269 |  | 1
    270                        | 60 | 80  | 100 | 270 |  | 3
    heart rate 139             | 60 | 139 | 100 | 120 |  | 0
    140                        | 60 | 140 | 100 | 120 |  | 1
    pressure alone             | -  | -   | 80  | 120 |  | 1
    heart rate alone           | 60 | 80  | -   | -   |  | 0
    neither                    | -  | -   | -   | -   |  | -
    """,
    "renal: all three are needed": """
    what                         | first_day_lab.bun_max | first_day_lab.creatinine_max | first_day_urine_output.urineoutput | -> | renal
    urine 499.9                  | 7  | 1.0  | 499.9 |  | 5
    500                          | 7  | 1.0  | 500   |  | 3
    749.9                        | 7  | 1.0  | 749.9 |  | 3
    750                          | 7  | 1.0  | 750   |  | 0
    9999.9                       | 7  | 1.0  | 9999.9 |  | 0
    10000                        | 7  | 1.0  | 10000 |  | 3
    urea nitrogen 7.4            | 7.4 | 1.0 | 2000  |  | 0
    7.5                          | 7.5 | 1.0 | 2000  |  | 1
    27.9                         | 27.9 | 1.0 | 2000 |  | 1
    28                           | 28 | 1.0  | 2000  |  | 3
    55.9                         | 55.9 | 1.0 | 2000 |  | 3
    56                           | 56 | 1.0  | 2000  |  | 5
    creatinine 1.19              | 7  | 1.19 | 2000  |  | 0
    1.20                         | 7  | 1.20 | 2000  |  | 1
    1.59                         | 7  | 1.59 | 2000  |  | 1
    1.60                         | 7  | 1.60 | 2000  |  | 3
    no urea nitrogen             | -  | 5.0  | 2000  |  | -
    no creatinine                | 60 | -    | 2000  |  | -
    no urine                     | 60 | 5.0  |       |  | -
    """,
    "haematologic": """
    what                  | first_day_lab.wbc_min | first_day_lab.wbc_max | first_day_lab.platelets_min | -> | hematologic
    white cells 0.9       | 0.9 | 5  | 200 |  | 3
    1.0                   | 1.0 | 5  | 200 |  | 1
    2.4                   | 2.4 | 5  | 200 |  | 1
    2.5                   | 2.5 | 5  | 200 |  | 0
    49.9                  | 5   | 49.9 | 200 |  | 0
    50                    | 5   | 50 | 200 |  | 1
    platelets 49.9        | 5   | 6  | 49.9 |  | 1
    50                    | 5   | 6  | 50  |  | 0
    platelets alone       | -   | -  | 200 |  | 0
    white cells alone     | 5   | 6  | -   |  | 0
    neither               | -   | -  | -   |  | -
    """,
    "hepatic": """
    what                  | first_day_lab.pt_min | first_day_lab.pt_max | first_day_lab.bilirubin_total_max | -> | hepatic
    bilirubin 1.9         | 12 | 13   | 1.9 |  | 0
    2.0                   | 12 | 13   | 2.0 |  | 1
    PT 15 s               | 12 | 15   | 1   |  | 0
    15.1 s                | 12 | 15.1 | 1   |  | 1
    2.9 s                 | 2.9 | 13  | 1   |  | 1
    3.0 s                 | 3.0 | 13  | 1   |  | 0
    bilirubin alone       | -  | -    | 1   |  | 0
    PT alone              | 12 | 13   | -   |  | 0
    neither               | -  | -    | -   |  | -
    """,
    "pulmonary under invasive ventilation, whole stay, any specimen": """
    what                        | bg.charttime | bg.pao2fio2ratio | bg.specimen | ventilation.starttime | ventilation.endtime | ventilation.ventilation_status | -> | pulmonary
    149.9                       | +50:00    | 149.9 | ART. | +50:00 | +60:00 | InvasiveVent    |  | 3
    150, at the start           | +50:00    | 150   | VEN. | +50:00 | +60:00 | InvasiveVent    |  | 1
    at the end                  | +60:00    | 100   | -    | +50:00 | +60:00 | InvasiveVent    |  | 3
    a second after the end      | +60:00:01 | 100   | ART. | +50:00 | +60:00 | InvasiveVent    |  | 0
    at intime                   | +0:00     | 100   | ART. | -1:00  | +60:00 | InvasiveVent    |  | 3
    before intime               | -0:00:01  | 100   | ART. | -1:00  | +60:00 | InvasiveVent    |  | 0
    at outtime                  | +72:00    | 100   | ART. | -1:00  | +90:00 | InvasiveVent    |  | 0
    a second before outtime     | +71:59:59 | 100   | ART. | -1:00  | +90:00 | InvasiveVent    |  | 3
    mask ventilation            | +50:00    | 100   | ART. | +50:00 | +60:00 | NonInvasiveVent |  | 0
    lowest of two               | +50:00    | 200   | ART. | +50:00 | +60:00 | InvasiveVent    |  | 3
                                | +51:00    | 100   | ART. |        |        |                 |  |
    no gas                      |           |       |      | +50:00 | +60:00 | InvasiveVent    |  | 0
    """,
    "pulmonary on CPAP": """
    what                             | bg.charttime | bg.pao2fio2ratio | chartevents.charttime | chartevents.itemid | chartevents.value | -> | pulmonary
    1 h before the charting          | +5:00     | 100 | +6:00     | 226732 | 'CPAP mask ' |  | 3
    a second more                    | +4:59:59  | 100 | +6:00     | 226732 | 'CPAP mask ' |  | 0
    4 h after                        | +10:00    | 100 | +6:00     | 226732 | 'CPAP mask ' |  | 3
    a second more                    | +10:00:01 | 100 | +6:00     | 226732 | 'CPAP mask ' |  | 0
    the word CPAP alone counts here  | +6:00     | 100 | +6:00     | 226732 | CPAP         |  | 3
    BiPAP needs its mask             | +6:00     | 100 | +6:00     | 226732 | BiPAP        |  | 0
    BiPAP mask                       | +6:00     | 100 | +6:00     | 226732 | 'Bipap mask ' |  | 3
    between two chartings            | +12:00    | 100 | +2:00     | 226732 | 'CPAP mask ' |  | 3
                                     |           |     | +20:00    | 226732 | 'CPAP mask ' |  |
    an hour before the first of two  | +1:00     | 100 | +2:00     | 226732 | 'CPAP mask ' |  | 3
                                     |           |     | +20:00    | 226732 | 'CPAP mask ' |  |
    charted at intime                | +3:00     | 100 | +0:00     | 226732 | 'CPAP mask ' |  | 3
    charted at 24 h, gas later       | +28:00    | 100 | +24:00    | 226732 | 'CPAP mask ' |  | 3
    charted after 24 h               | +25:00    | 100 | +24:00:01 | 226732 | 'CPAP mask ' |  | 0
    """,
}


@pytest.mark.parametrize("name", LODS)
def test_lods(db: CaseDb, name: str) -> None:
    db.check("lods", LODS[name])


def test_lods_links_gases_by_admission_and_keeps_every_stay(db: CaseDb) -> None:
    db.patient(1)
    db.insert("bg", subject_id=1001, hadm_id=None, charttime=INTIME, pao2fio2ratio=50.0)
    db.insert("ventilation", stay_id=3001, starttime=INTIME, endtime=INTIME.replace(day=2), ventilation_status="InvasiveVent")
    db.patient(2, patients={"absent": True})
    rows = {row["stay_id"]: row for row in db.concept("lods")}
    assert (rows[3001]["pulmonary"], rows[3001]["lods"]) == (0, 0)
    assert (rows[3002]["pulmonary"], rows[3002]["lods"]) == (None, 0)

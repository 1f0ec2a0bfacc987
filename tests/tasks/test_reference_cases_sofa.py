"""SOFA of the first 24 h: Vincent JL et al., Intensive Care Med 1996;22:707-710. Missing organs score 0."""

from __future__ import annotations

import pytest

from tests.concepts.case_db import CaseDb
from tests.tasks.references import check

CASES = {
    "respiration: arterial gases; ventilated ratios of 200 and more earn nothing, unaided ones 2 at most": """
    what                           | bg.charttime | bg.specimen | bg.pao2fio2ratio | ventilation.starttime | ventilation.endtime | ventilation.ventilation_status | -> | respiration | sofa
    ventilated 99.9                | +1:00     | ART. | 99.9  | +0:00 | +9:00 | InvasiveVent    |  | 4 | 4
    ventilated 100                 | +1:00     | ART. | 100   | +0:00 | +9:00 | InvasiveVent    |  | 3 | 3
    ventilated 199.9               | +1:00     | ART. | 199.9 | +0:00 | +9:00 | InvasiveVent    |  | 3 | 3
    ventilated 200                 | +1:00     | ART. | 200   | +0:00 | +9:00 | InvasiveVent    |  | 0 | 0
    ventilated 399                 | +1:00     | ART. | 399   | +0:00 | +9:00 | InvasiveVent    |  | 0 | 0
    unaided 50                     | +1:00     | ART. | 50    |       |       |                 |  | 2 | 2
    unaided 299.9                  | +1:00     | ART. | 299.9 |       |       |                 |  | 2 | 2
    unaided 300                    | +1:00     | ART. | 300   |       |       |                 |  | 1 | 1
    unaided 399.9                  | +1:00     | ART. | 399.9 |       |       |                 |  | 1 | 1
    unaided 400                    | +1:00     | ART. | 400   |       |       |                 |  | 0 | 0
    venous                         | +1:00     | VEN. | 50    | +0:00 | +9:00 | InvasiveVent    |  | 0 | 0
    unnamed specimen               | +1:00     | -    | 50    | +0:00 | +9:00 | InvasiveVent    |  | 0 | 0
    mask ventilation               | +1:00     | ART. | 50    | +0:00 | +9:00 | NonInvasiveVent |  | 2 | 2
    tracheostomy                   | +1:00     | ART. | 50    | +0:00 | +9:00 | Tracheostomy    |  | 2 | 2
    at the start of ventilation    | +1:00     | ART. | 50    | +1:00 | +9:00 | InvasiveVent    |  | 4 | 4
    at its end                     | +9:00     | ART. | 50    | +1:00 | +9:00 | InvasiveVent    |  | 4 | 4
    a second after                 | +9:00:01  | ART. | 50    | +1:00 | +9:00 | InvasiveVent    |  | 2 | 2
    ventilated 250, unaided 350    | +1:00     | ART. | 250   | +0:00 | +2:00 | InvasiveVent    |  | 1 | 1
                                   | +3:00     | ART. | 350   |       |       |                 |  |   |
    6 h before                     | -6:00     | ART. | 50    |       |       |                 |  | 2 | 2
    a second earlier               | -6:00:01  | ART. | 50    |       |       |                 |  | 0 | 0
    24 h after                     | +24:00    | ART. | 50    |       |       |                 |  | 2 | 2
    a second later                 | +24:00:01 | ART. | 50    |       |       |                 |  | 0 | 0
    no gas                         |           |      |       |       |       |                 |  | 0 | 0
    """,
    "cardiovascular: infusions that start from 6 h before to 24 h after, whatever their length": """
    what                          | first_day_vitalsign.mbp_min | norepinephrine.starttime | norepinephrine.endtime | norepinephrine.vaso_rate | epinephrine.starttime | epinephrine.vaso_rate | dopamine.starttime | dopamine.vaso_rate | dobutamine.starttime | dobutamine.vaso_rate | -> | cardiovascular
    pressure 69.9                 | 69.9 |  |  |  |  |  |  |  |  |  |  | 1
    pressure 70                   | 70   |  |  |  |  |  |  |  |  |  |  | 0
    nothing                       |      |  |  |  |  |  |  |  |  |  |  | 0
    norepinephrine 0.001          |  | +1:00 | +2:00 | 0.001 |  |  |  |  |  |  |  | 3
    norepinephrine 0.1            |  | +1:00 | +2:00 | 0.1   |  |  |  |  |  |  |  | 3
    norepinephrine 0.101          |  | +1:00 | +2:00 | 0.101 |  |  |  |  |  |  |  | 4
    norepinephrine 0: not given   |  | +1:00 | +2:00 | 0     |  |  |  |  |  |  |  | 0
    rate unknown                  |  | +1:00 | +2:00 | -     |  |  |  |  |  |  |  | 0
    epinephrine 0.1               |  |  |  |  | +1:00 | 0.1  |  |  |  |  |  | 3
    epinephrine 0.101             |  |  |  |  | +1:00 | 0.101 |  |  |  |  |  | 4
    epinephrine 0: not given      | 60 |  |  |  | +1:00 | 0   |  |  |  |  |  | 1
    dopamine 0                    |  |  |  |  |  |  | +1:00 | 0    |  |  |  | 0
    dopamine 5                    |  |  |  |  |  |  | +1:00 | 5    |  |  |  | 2
    dopamine 5.1                  |  |  |  |  |  |  | +1:00 | 5.1  |  |  |  | 3
    dopamine 15                   |  |  |  |  |  |  | +1:00 | 15   |  |  |  | 3
    dopamine 15.1                 |  |  |  |  |  |  | +1:00 | 15.1 |  |  |  | 4
    dobutamine, any dose          |  |  |  |  |  |  |  |  | +1:00 | 0.1  |  | 2
    dobutamine outranks pressure  | 50 |  |  |  |  |  |  |  | +1:00 | 0.1 |  | 2
    started 6 h before            |  | -6:00     | -5:00  | 0.2 |  |  |  |  |  |  |  | 4
    a second earlier, running on  |  | -6:00:01  | +9:00  | 0.2 |  |  |  |  |  |  |  | 0
    started at 24 h               |  | +24:00    | +25:00 | 0.2 |  |  |  |  |  |  |  | 4
    a second later                |  | +24:00:01 | +25:00 | 0.2 |  |  |  |  |  |  |  | 0
    one minute is enough          |  | +1:00     | +1:01  | 0.2 |  |  |  |  |  |  |  | 4
    the highest of two rates      |  | +1:00     | +2:00  | 0.05 |  |  |  |  |  |  |  | 4
                                  |  | +2:00     | +3:00  | 0.3  |  |  |  |  |  |  |  |
    """,
    "the other organs": """
    what           | first_day_lab.platelets_min | first_day_lab.bilirubin_total_max | first_day_gcs.gcs_min | first_day_lab.creatinine_max | first_day_urine_output.urineoutput | -> | coagulation | liver | cns | renal | sofa
    normal         | 150   | 1.1  | 15 | 1.1 | 500   |  | 0 | 0 | 0 | 0 | 0
    1 point        | 149.9 | 1.2  | 14 | 1.2 | 500   |  | 1 | 1 | 1 | 1 | 4
    upper end      | 100   | 1.9  | 13 | 1.9 | 500   |  | 1 | 1 | 1 | 1 | 4
    2 points       | 99.9  | 2.0  | 12 | 2.0 | 500   |  | 2 | 2 | 2 | 2 | 8
    upper end      | 50    | 5.9  | 10 | 3.4 | 500   |  | 2 | 2 | 2 | 2 | 8
    3 points       | 49.9  | 6.0  | 9  | 3.5 | 500   |  | 3 | 3 | 3 | 3 | 12
    upper end      | 20    | 11.9 | 6  | 4.9 | 500   |  | 3 | 3 | 3 | 3 | 12
    4 points       | 19.9  | 12.0 | 5  | 5.0 | 500   |  | 4 | 4 | 4 | 4 | 16
    urine 499.9    | -     | -    |    | 2.0 | 499.9 |  | 0 | 0 | 0 | 3 | 3
    urine 200      | -     | -    |    | 2.0 | 200   |  | 0 | 0 | 0 | 3 | 3
    urine 199.9    | -     | -    |    | 3.5 | 199.9 |  | 0 | 0 | 0 | 4 | 4
    urine negative | -     | -    |    |  -  | -10   |  | 0 | 0 | 0 | 4 | 4
    nothing        |       |      |    |     |       |  | 0 | 0 | 0 | 0 | 0
    """,
}


@pytest.mark.parametrize("name", CASES)
def test_sofa(db: CaseDb, name: str) -> None:
    check(db, "mimic-sofa-24h", CASES[name])

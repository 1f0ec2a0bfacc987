"""Lowest Glasgow Coma Scale of the first day (Teasdale G, Jennett B, Lancet 1974;2:81-84), on both databases."""

from __future__ import annotations

from tests.concepts.case_db import CaseDb
from tests.tasks.references import EicuDb, check

MIMIC = """
what                                         | gcs.charttime | gcs.gcs | gcs.gcs_motor | gcs.gcs_verbal | gcs.gcs_eyes | gcs.gcs_unable | -> | gcs_min | gcs_motor | gcs_verbal | gcs_eyes
the lowest total                             | +1:00 | 15 | 6 | 5 | 4 | 0 |  | 9  | 5 | 2 | 2
                                             | +2:00 | 9  | 5 | 2 | 2 | 0 |  |    |   |   |
equal totals: the earlier                    | +2:00 | 10 | 4 | 3 | 3 | 0 |  | 10 | 5 | 2 | 3
                                             | +1:00 | 10 | 5 | 2 | 3 | 0 |  |    |   |   |
same time: the lower motor score             | +1:00 | 10 | 5 | 2 | 3 | 0 |  | 10 | 4 | 3 | 3
                                             | +1:00 | 10 | 4 | 3 | 3 | 0 |  |    |   |   |
same time: a missing score comes last        | +1:00 | 10 | - | 2 | 3 | 0 |  | 10 | 6 | 3 | 1
                                             | +1:00 | 10 | 6 | 3 | 1 | 0 |  |    |   |   |
intubated: verbal 0 is reported              | +1:00 | 15 | 1 | 0 | 1 | 1 |  | 15 | 1 | 0 | 1
14 is below the intubated 15                 | +1:00 | 15 | 1 | 0 | 1 | 1 |  | 14 | 6 | 4 | 4
                                             | +2:00 | 14 | 6 | 4 | 4 | 0 |  |    |   |   |
missing components are normal                | +1:00 | 12 | - | 2 | - | 0 |  | 12 | 6 | 2 | 4
6 h before                                   | -6:00     | 8 | 4 | 2 | 2 | 0 |  | 8  | 4 | 2 | 2
a second earlier                             | -6:00:01  | 8 | 4 | 2 | 2 | 0 |  | 15 | 6 | 5 | 4
24 h after                                   | +24:00    | 8 | 4 | 2 | 2 | 0 |  | 8  | 4 | 2 | 2
a second later                               | +24:00:01 | 8 | 4 | 2 | 2 | 0 |  | 15 | 6 | 5 | 4
nothing charted                              |           |   |   |   |   |   |  | 15 | 6 | 5 | 4
"""

# charted rows to result: the whole way from chartevents
CHARTED = """
what                                              | chartevents.charttime | chartevents.itemid | chartevents.value | chartevents.valuenum | -> | gcs_min | gcs_motor | gcs_verbal | gcs_eyes
motor 5, verbal 4, eyes 3                         | +1:00 | 223901 | - | 5 |  | 12 | 5 | 4 | 3
                                                  | +1:00 | 223900 | Confused | 4 |  |  |  |  |
                                                  | +1:00 | 220739 | - | 3 |  |  |  |  |
motor alone: verbal 5, eyes 4                     | +1:00 | 223901 | - | 4 |  | 13 | 4 | 5 | 4
eyes carried forward 5 h 59 min                   | +1:00 | 220739 | - | 1 |  | 10 | 4 | 5 | 1
                                                  | +6:59 | 223901 | - | 4 |  |    |   |   |
not 6 h: 12 (eyes 1) and 13 (motor 4) stand alone | +1:00 | 220739 | - | 1 |  | 12 | 6 | 5 | 1
                                                  | +7:00 | 223901 | - | 4 |  |    |   |   |
not over two rows: 4 + 5 + 4 and 6 + 5 + 3        | +1:00 | 223901 | - | 4 |  | 12 | 4 | 5 | 3
                                                  | +2:00 | 220739 | - | 3 |  |    |   |   |
                                                  | +3:00 | 223900 | Oriented | 5 |  |  |  |  |
tube: 15, verbal 0                                | +1:00 | 223901 | - | 1 |  | 15 | 1 | 0 | 1
                                                  | +1:00 | 223900 | No Response-ETT | 0 |  |  |  |  |
                                                  | +1:00 | 220739 | - | 1 |  |  |  |  |
no response without a tube: 1                     | +1:00 | 223900 | No Response | 1 |  | 11 | 6 | 1 | 4
after the tube without verbal: still 15           | +1:00 | 223900 | No Response-ETT | 0 |  | 15 | 6 | 0 | 4
                                                  | +2:00 | 223901 | - | 2 |  |  |  |  |
after the tube with verbal: no carrying           | +1:00 | 223900 | No Response-ETT | 0 |  | 12 | 6 | 2 | 1
                                                  | +1:00 | 220739 | - | 1 |  |  |  |  |
                                                  | +2:00 | 223900 | Incomprehensible sounds | 2 |  |  |  |  |
two readings of one item: the higher              | +1:00 | 223901 | - | 2 |  | 14 | 5 | 5 | 4
                                                  | +1:00 | 223901 | - | 5 |  |    |   |   |
"""

EICU = """
what                                    | nursecharting.nursingchartoffset | nursecharting.nursingchartcelltypecat | nursecharting.nursingchartcelltypevallabel | nursecharting.nursingchartcelltypevalname | nursecharting.nursingchartvalue | -> | gcs_min | gcs_motor | gcs_verbal | gcs_eyes
charted total                           | 60    | Scores | Glasgow coma score         | GCS Total | 9  |  | 9  | 6 | 5 | 4
the other label                         | 60    | Scores | Score (Glasgow Coma Scale) | Value     | 9  |  | 9  | 6 | 5 | 4
the other category                      | 60    | Other Vital Signs and Infusions | Glasgow coma score | GCS Total | 9 |  | 9 | 6 | 5 | 4
a category that does not count          | 60    | Vital Signs | Glasgow coma score    | GCS Total | 9  |  | 15 | 6 | 5 | 4
labels are exact                        | 60    | Scores | glasgow coma score         | GCS Total | 9  |  | 15 | 6 | 5 | 4
name of one with label of the other     | 60    | Scores | Glasgow coma score         | Value     | 9  |  | 15 | 6 | 5 | 4
three components                        | 60    | Scores | Glasgow coma score         | Motor     | 5  |  | 10 | 5 | 3 | 2
                                        | 60    | Scores | Glasgow coma score         | Verbal    | 3  |  |    |   |   |
                                        | 60    | Scores | Glasgow coma score         | Eyes      | 2  |  |    |   |   |
two of each at one time: the lower      | 60    | Scores | Glasgow coma score         | Motor     | 6  |  | 6  | 4 | 1 | 1
                                        | 60    | Scores | Glasgow coma score         | Motor     | 4  |  |    |   |   |
                                        | 60    | Scores | Glasgow coma score         | Verbal    | 5  |  |    |   |   |
                                        | 60    | Scores | Glasgow coma score         | Verbal    | 1  |  |    |   |   |
                                        | 60    | Scores | Glasgow coma score         | Eyes      | 4  |  |    |   |   |
                                        | 60    | Scores | Glasgow coma score         | Eyes      | 1  |  |    |   |   |
motor alone: 5 + verbal 5 + eyes 4      | 60    | Scores | Glasgow coma score         | Motor     | 5  |  | 14 | 5 | 5 | 4
the total counts before the components  | 60    | Scores | Glasgow coma score         | GCS Total | 12 |  | 12 | 1 | 5 | 4
                                        | 60    | Scores | Glasgow coma score         | Motor     | 1  |  |    |   |   |
total 3 is possible                     | 60    | Scores | Glasgow coma score         | GCS Total | 3  |  | 3  | 6 | 5 | 4
total 2 is not: components              | 60    | Scores | Glasgow coma score         | GCS Total | 2  |  | 11 | 2 | 5 | 4
                                        | 60    | Scores | Glasgow coma score         | Motor     | 2  |  |    |   |   |
total 15.9 is below 16                  | 60    | Scores | Glasgow coma score         | GCS Total | 15.9 |  | 15.9 | 6 | 5 | 4
total 16 is not possible                | 60    | Scores | Glasgow coma score         | GCS Total | 16 |  | 15 | 6 | 5 | 4
2 hides 8 at one time                   | 60    | Scores | Glasgow coma score         | GCS Total | 2  |  | 15 | 6 | 5 | 4
                                        | 60    | Scores | Score (Glasgow Coma Scale) | Value     | 8  |  |    |   |   |
lowest of two at one time               | 60    | Scores | Glasgow coma score         | GCS Total | 11 |  | 8  | 6 | 5 | 4
                                        | 60    | Scores | Score (Glasgow Coma Scale) | Value     | 8  |  |    |   |   |
words are passed over                   | 60    | Scores | Glasgow coma score         | GCS Total | Unable to score due to medication |  | 15 | 6 | 5 | 4
blanks around a number                  | 60    | Scores | Glasgow coma score         | GCS Total | ' 9 ' |  | 9 | 6 | 5 | 4
equal totals: the earlier               | 90    | Scores | Glasgow coma score         | GCS Total | 9  |  | 9  | 3 | 5 | 4
                                        | 90    | Scores | Glasgow coma score         | Motor     | 1  |  |    |   |   |
                                        | 60    | Scores | Glasgow coma score         | GCS Total | 9  |  |    |   |   |
                                        | 60    | Scores | Glasgow coma score         | Motor     | 3  |  |    |   |   |
no tube rule: verbal 0 is added         | 60    | Scores | Glasgow coma score         | Verbal    | 0  |  | 10 | 6 | 0 | 4
360 min before                          | -360  | Scores | Glasgow coma score         | GCS Total | 9  |  | 9  | 6 | 5 | 4
361 min before                          | -361  | Scores | Glasgow coma score         | GCS Total | 9  |  | 15 | 6 | 5 | 4
1440 min after                          | 1440  | Scores | Glasgow coma score         | GCS Total | 9  |  | 9  | 6 | 5 | 4
1441 min after                          | 1441  | Scores | Glasgow coma score         | GCS Total | 9  |  | 15 | 6 | 5 | 4
nothing charted                         |       |        |                            |           |    |  | 15 | 6 | 5 | 4
"""


def test_mimic(db: CaseDb) -> None:
    check(db, "mimic-gcs-24h-raw", MIMIC)


def test_mimic_from_charted_rows(db: CaseDb) -> None:
    check(db, "mimic-gcs-24h-raw", CHARTED, build=["gcs"])


def test_eicu(eicu: EicuDb) -> None:
    check(eicu, "eicu-gcs", EICU)

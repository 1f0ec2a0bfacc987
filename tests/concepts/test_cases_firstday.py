"""First-day summaries: window ends, links, and which reading is chosen. Each line is a patient admitted to the ICU at
10:00 (`+0:00`); `first_day_sofa` is in test_cases_sofa.py.
"""

from __future__ import annotations

import pytest

from tests.concepts.case_db import INTIME, CaseDb

# Window of all but urine and weight: 6 h before to 24 h after ICU admission, both ends included.
WINDOW = [("6 h before", "-6:00", True), ("a second earlier", "-6:00:01", False), ("24 h after", "+24:00", True),
          ("a second later", "+24:00:01", False)]  # fmt: skip
SUMMARIES = [
    ("first_day_bg", "bg", "ph", "7.3", "ph_min"),
    ("first_day_bg", "bg", "sodium", "140", "sodium_max"),
    ("first_day_gcs", "gcs", "gcs", "8", "gcs_min"),
    ("first_day_height", "height", "height", "170", "height"),
    ("first_day_lab", "complete_blood_count", "platelet", "90", "platelets_min"),
    ("first_day_lab", "chemistry", "potassium", "4", "potassium_max"),
    ("first_day_lab", "blood_differential", "bands", "5", "bands_max"),
    ("first_day_lab", "coagulation", "ptt", "30", "ptt_max"),
    ("first_day_lab", "enzyme", "ld_ldh", "200", "ld_ldh_max"),
    ("first_day_rrt", "rrt", "dialysis_active", "1", "dialysis_active"),
    ("first_day_vitalsign", "vitalsign", "spo2", "97", "spo2_mean"),
]


@pytest.mark.parametrize(("concept", "table", "column", "measured", "result"), SUMMARIES)
def test_window_and_missing(db: CaseDb, concept: str, table: str, column: str, measured: str, result: str) -> None:
    lines = [f"{what} | {time} | {measured} | | {measured if seen else '-'}" for what, time, seen in WINDOW]
    header = f"what | {table}.charttime | {table}.{column} | -> | {result}"
    db.check(concept, "\n".join([header, *lines, "after discharge | +23:00 | - | | -", "nothing charted | | | | -"]))


def test_values_after_icu_discharge_count(db: CaseDb) -> None:
    db.check("first_day_lab", """
    what                          | icustays.outtime | chemistry.charttime | chemistry.sodium | -> | sodium_min
    two hours' stay, 20 h later   | +2:00            | +20:00              | 128              |    | 128
    """)


def test_arterial_gases_alone(db: CaseDb) -> None:
    db.check("first_day_bg_art", """
    what                  | bg.charttime | bg.specimen | bg.pco2 | -> | pco2_min | pco2_max
    arterial              | +1:00 | ART. | 40 |  | 35 | 40
                          | +2:00 | ART. | 35 |  |    |
    venous                | +1:00 | VEN. | 40 |  | -  | -
    without the dot       | +1:00 | ART  | 40 |  | -  | -
    in small letters      | +1:00 | art. | 40 |  | -  | -
    unnamed               | +1:00 | -    | 40 |  | -  | -
    """)


def test_lowest_and_highest_of_the_same_column(db: CaseDb) -> None:
    """Every lab pair carries its own analyte: sodium before potassium, alt before alp before ast."""
    ids = db.patient(1)
    concepts = ["complete_blood_count", "chemistry", "blood_differential", "coagulation", "enzyme"]
    expected = {}
    renamed = {
        "platelet": "platelets", "atypical_lymphocytes": "atyps", "immature_granulocytes": "imm_granulocytes",
        "metamyelocytes": "metas", **{f"{c}_abs": f"abs_{c}" for c in ("basophils", "eosinophils", "lymphocytes", "monocytes", "neutrophils")},
    }  # fmt: skip
    for offset, concept in enumerate(concepts):
        for hour, add in ((11, 0.0), (12, 0.5)):
            row = {
                c: 100.0 * offset + number + add
                for number, c in enumerate(db.columns[concept])
                if c not in ("subject_id", "hadm_id", "charttime", "specimen_id")
            }
            db.event(concept, ids, {"charttime": INTIME.replace(hour=hour), **row})
            for column, number in row.items():
                name = renamed.get(column, column)
                expected[f"{name}_{'min' if add == 0 else 'max'}"] = number
    (found,) = db.concept("first_day_lab")
    summarised = {c: float(v) for c, v in found.items() if c not in ("subject_id", "stay_id")}
    expected = {c: v for c, v in expected.items() if c in summarised}
    # the differential's white cells come after the blood count's in the loop, but the blood count's are the summary's
    expected["wbc_min"], expected["wbc_max"] = (
        100.0 * 0 + db.columns["complete_blood_count"].index("wbc") + add for add in (0.0, 0.5)
    )
    assert summarised == expected
    assert len(summarised) == 2 * 43
    order = [name for name in found if name.endswith("_min")]
    assert order[14:17] == ["sodium_min", "potassium_min", "abs_basophils_min"]
    assert order[32:35] == ["alt_min", "alp_min", "ast_min"]


def test_laboratory_and_gases_follow_the_patient_and_vital_signs_the_stay(db: CaseDb) -> None:
    db.patient(1)
    at = INTIME.replace(hour=11)
    db.insert("chemistry", subject_id=1001, hadm_id=None, charttime=at, sodium=130.0)
    db.insert("bg", subject_id=1001, hadm_id=777, charttime=at, ph=7.1)
    db.insert("vitalsign", subject_id=1001, stay_id=9, charttime=at, heart_rate=150.0)
    assert [row["sodium_min"] for row in db.concept("first_day_lab")] == [130]
    assert [row["ph_min"] for row in db.concept("first_day_bg")] == [7.1]
    assert [row["heart_rate_max"] for row in db.concept("first_day_vitalsign")] == [None]


def test_two_stays_on_one_day_share_the_patient_s_laboratory(db: CaseDb) -> None:
    db.patient(1)
    db.insert("icustays", subject_id=1001, hadm_id=2001, stay_id=9, intime=INTIME.replace(hour=20), outtime=INTIME.replace(day=3))
    db.insert("chemistry", subject_id=1001, charttime=INTIME.replace(hour=15), sodium=130.0)
    db.insert("chemistry", subject_id=1001, charttime=INTIME.replace(day=2, hour=12), sodium=120.0)
    assert {row["stay_id"]: row["sodium_min"] for row in db.concept("first_day_lab")} == {3001: 130, 9: 120}


def test_vital_sign_mean_is_over_charted_times(db: CaseDb) -> None:
    db.check("first_day_vitalsign", """
    what                           | vitalsign.charttime | vitalsign.heart_rate | vitalsign.temperature | -> | heart_rate_min | heart_rate_max | heart_rate_mean | temperature_mean
    three times                    | +1:00 | 80  | 37.0 |  | 80 | 110 | 93.33333333333333 | 37.115
                                   | +2:00 | 90  | 37.23 | |    |     |    |
                                   | +9:00 | 110 | -     | |    |     |    |
    """)


GCS = """
what                                         | gcs.charttime | gcs.gcs | gcs.gcs_motor | gcs.gcs_verbal | gcs.gcs_eyes | gcs.gcs_unable | -> | gcs_min | gcs_motor | gcs_verbal | gcs_eyes | gcs_unable
the lowest total                             | +1:00 | 15 | 6 | 5 | 4 | 0 |  | 9  | 5 | 2 | 2 | 0
                                             | +2:00 | 9  | 5 | 2 | 2 | 0 |  |    |   |   |   |
equal totals: the earlier                    | +2:00 | 10 | 4 | 3 | 3 | 0 |  | 10 | 5 | 2 | 3 | 0
                                             | +1:00 | 10 | 5 | 2 | 3 | 0 |  |    |   |   |   |
an intubated 15 before an awake 15           | +1:00 | 15 | 1 | 0 | 1 | 1 |  | 15 | 1 | 0 | 1 | 1
                                             | +2:00 | 15 | 6 | 5 | 4 | 0 |  |    |   |   |   |
anything below 15 before the intubated 15    | +1:00 | 15 | 1 | 0 | 1 | 1 |  | 14 | 6 | 4 | 4 | 0
                                             | +2:00 | 14 | 6 | 4 | 4 | 0 |  |    |   |   |   |
components missing                           | +1:00 | 15 | - | - | 4 | 0 |  | 15 | - | - | 4 | 0
same time: lower motor score                 | +1:00 | 10 | 5 | 2 | 3 | 0 |  | 10 | 4 | 3 | 3 | 0
                                             | +1:00 | 10 | 4 | 3 | 3 | 0 |  |    |   |   |   |
same time: a missing motor score comes last  | +1:00 | 10 | - | 2 | 3 | 0 |  | 10 | 6 | 3 | 1 | 0
                                             | +1:00 | 10 | 6 | 3 | 1 | 0 |  |    |   |   |   |
same time and motor: lower verbal            | +1:00 | 10 | 4 | 3 | 3 | 0 |  | 10 | 4 | 2 | 4 | 0
                                             | +1:00 | 10 | 4 | 2 | 4 | 0 |  |    |   |   |   |
all but the tube equal: without it           | +1:00 | 15 | 6 | 5 | 4 | 1 |  | 15 | 6 | 5 | 4 | 0
                                             | +1:00 | 15 | 6 | 5 | 4 | 0 |  |    |   |   |   |
nothing charted                              |       |    |   |   |   |   |  | -  | - | - | - | -
"""


def test_coma_scale_and_its_ties(db: CaseDb) -> None:
    db.check("first_day_gcs", GCS)


def test_height_is_rounded_twice(db: CaseDb) -> None:
    """The mean of 170 and 170.01 is 170.005: three decimals keep it, two round it up."""
    db.check("first_day_height", """
    what                       | height.charttime | height.height | -> | height
    mean of two                | +1:00 | 170    |  | 171.5
                               | +2:00 | 173    |  |
    170, 170.01: 170.005       | +1:00 | 170    |  | 170.01
                               | +2:00 | 170.01 |  |
    """)


def test_dialysis(db: CaseDb) -> None:
    db.check("first_day_rrt", """
    what                       | rrt.charttime | rrt.dialysis_present | rrt.dialysis_active | rrt.dialysis_type | -> | dialysis_present | dialysis_active | dialysis_type
    an unused catheter         | +1:00 | 1 | 0 | -      |  | 1 | 0 | -
    CRRT                       | +1:00 | 1 | 1 | CVVHDF |  | 1 | 1 | CVVHDF
    two kinds, each once       | +1:00 | 1 | 1 | IHD    |  | 1 | 1 | 'CVVH, IHD'
                               | +2:00 | 1 | 1 | CVVH   |  |   |   |
                               | +3:00 | 1 | 0 | IHD    |  |   |   |
                               | +4:00 | 1 | 0 | -      |  |   |   |
    nothing: missing, not 0    |       |   |   |        |  | - | - | -
    """)


def test_urine_window_starts_at_admission(db: CaseDb) -> None:
    db.check("first_day_urine_output", """
    what                        | urine_output.charttime | urine_output.urineoutput | -> | urineoutput
    at admission                | +0:00     | 100  |  | 100
    a second before             | -0:00:01  | 100  |  | -
    24 h after                  | +24:00    | 100  |  | 100
    a second later              | +24:00:01 | 100  |  | -
    sum                         | +1:00     | 100  |  | 350.5
                                | +2:00     | 250.5 | |
    irrigation outweighs urine  | +1:00     | 100  |  | -200
                                | +2:00     | -300 |  |
    volume missing              | +1:00     | -    |  | -
    nothing charted             |           |      |  | -
    """)


def test_weight(db: CaseDb) -> None:
    db.check("first_day_weight", """
    what                                   | weight_durations.starttime | weight_durations.weight | weight_durations.weight_type | -> | weight_admit | weight | weight_min | weight_max
    admission weight                       | -2:00     | 80 | admit |  | 80 | 80 | 80 | 80
    admission and daily weight, a vote each | -2:00    | 80 | admit |  | 80 | 85 | 80 | 90
                                           | +20:00    | 90 | daily |  |    |    |    |
    daily weight alone                     | -2:00     | 90 | daily |  | -  | 90 | 90 | 90
    starts at 24 h                         | +24:00    | 90 | daily |  | -  | 90 | 90 | 90
    a second later                         | +24:00:01 | 90 | daily |  | -  | -  | -  | -
    long before admission                  | -900:00   | 70 | daily |  | -  | 70 | 70 | 70
    none                                   |           |    |       |  | -  | -  | -  | -
    """)

"""Charlson index by hand: codes of Quan H et al., Med Care 2005;43:1130-1139, weights of Charlson ME et al., J Chronic
Dis 1987;40:373-383, age points of Charlson M et al., J Clin Epidemiol 1994;47:1245-1251.
"""

from __future__ import annotations

import pytest

from tests.concepts.case_db import CaseDb

# flag: codes that set it and near misses that do not; 9 or 10 before the code is the ICD version
CODES: dict[str, tuple[list[str], list[str]]] = {
    "myocardial_infarct": (["9 41001", "9 412", "10 I2101", "10 I220", "10 I252"], ["9 411", "9 4139", "10 I251", "10 I23", "9 I21"]),
    "congestive_heart_failure": (
        ["9 4280", "9 39891", "9 40201", "9 40493", "9 4254", "9 4259", "10 I43", "10 I501", "10 I0990", "10 I110", "10 I130", "10 I429", "10 P290"],
        ["9 4253", "9 425", "9 40200", "9 40402", "9 4270", "10 I119", "10 I421", "10 I098"],
    ),
    "peripheral_vascular_disease": (
        ["9 4400", "9 4411", "9 0930", "9 4373", "9 4431", "9 4439", "9 4471", "9 5571", "9 V434", "10 I70", "10 I714", "10 I739", "10 K551", "10 Z958", "10 Z959"],
        ["9 4430", "9 443", "9 442", "9 5570", "10 I730", "10 I72", "10 Z957", "10 K550"],
    ),
    "cerebrovascular_disease": (
        ["9 430", "9 4389", "9 36234", "10 G45", "10 G460", "10 I60", "10 I6990", "10 H340"],
        ["9 4299", "9 439", "9 36233", "10 G44", "10 I59", "10 I70", "10 H341"],
    ),
    "dementia": (["9 2900", "9 2941", "9 3312", "10 F00", "10 F0390", "10 G309", "10 F051", "10 G311"], ["9 291", "9 2940", "9 3311", "10 F04", "10 F050", "10 G310"]),
    "chronic_pulmonary_disease": (
        ["9 490", "9 49320", "9 505", "9 4168", "9 4169", "9 5064", "9 5081", "9 5088", "10 J40", "10 J479", "10 J60", "10 J67", "10 I278", "10 J684", "10 J703"],
        ["9 4899", "9 506", "9 4160", "9 5080", "10 J39", "10 J48", "10 J59", "10 J68", "10 I277", "10 J700"],
    ),
    "rheumatic_disease": (
        ["9 725", "9 4465", "9 7100", "9 7104", "9 7142", "9 7148", "10 M05", "10 M069", "10 M32", "10 M34", "10 M315", "10 M351", "10 M353", "10 M360"],
        ["9 7105", "9 7143", "9 4464", "9 7149", "10 M07", "10 M31", "10 M350", "10 M35"],
    ),
    "peptic_ulcer_disease": (["9 531", "9 53490", "10 K25", "10 K289"], ["9 530", "9 535", "10 K24", "10 K29"]),
    "mild_liver_disease": (
        ["9 570", "9 5712", "9 0706", "9 0709", "9 5733", "9 5739", "9 V427", "9 07022", "9 07054", "10 B18", "10 K730", "10 K74", "10 K700", "10 K709", "10 K713", "10 K760", "10 K769", "10 Z944"],
        ["9 5730", "9 07020", "9 0705", "9 0707", "10 K704", "10 K711", "10 K761", "10 B19"],
    ),
    "diabetes_without_cc": (
        ["9 25000", "9 2501", "9 2503", "9 25080", "9 2509", "10 E100", "10 E106", "10 E1165", "10 E119", "10 E139", "10 E149"],
        ["9 250", "9 2504", "9 2507", "10 E10", "10 E102", "10 E117", "10 E15"],
    ),
    "diabetes_with_cc": (["9 25040", "9 2507", "10 E102", "10 E107", "10 E1121", "10 E117", "10 E147"], ["9 2503", "9 2508", "10 E101", "10 E106", "10 E116"]),
    "paraplegia": (
        ["9 342", "9 3439", "9 3341", "9 3440", "9 3446", "9 3449", "10 G81", "10 G82", "10 G041", "10 G114", "10 G801", "10 G802", "10 G830", "10 G834", "10 G839"],
        ["9 3340", "9 3448", "9 344", "10 G80", "10 G835", "10 G83"],
    ),
    "renal_disease": (
        ["9 582", "9 5859", "9 586", "9 V560", "9 5880", "9 V420", "9 V451", "9 5830", "9 5837", "9 40301", "9 40403", "9 40492", "10 N18", "10 N19", "10 I120", "10 I131", "10 N032", "10 N057", "10 N250", "10 Z490", "10 Z992", "10 Z940"],
        ["9 583", "9 5838", "9 584", "9 40300", "9 40410", "9 5881", "10 N17", "10 I129", "10 N031", "10 Z493", "10 Z991"],
    ),
    "malignant_cancer": (
        ["9 140", "9 1729", "9 1740", "9 1958", "9 175", "9 200", "9 20893", "9 2386", "10 C00", "10 C269", "10 C30", "10 C34", "10 C37", "10 C41", "10 C43", "10 C45", "10 C4A0", "10 C58", "10 C60", "10 C76", "10 C81", "10 C85", "10 C88", "10 C90", "10 C97"],
        ["9 139", "9 173", "9 1739", "9 174", "9 1959", "9 196", "9 209", "9 2385", "10 C27", "10 C35", "10 C42", "10 C44", "10 C59", "10 C77", "10 C7A0", "10 C86", "10 C89", "10 D00"],
    ),
    "severe_liver_disease": (
        ["9 4560", "9 45621", "9 5722", "9 5728", "9 5725", "10 I850", "10 I859", "10 I864", "10 I982", "10 K704", "10 K711", "10 K721", "10 K729", "10 K765", "10 K767"],
        ["9 4563", "9 5721", "9 5729", "9 572", "10 I851", "10 K720", "10 K764"],
    ),
    "metastatic_solid_tumor": (["9 196", "9 1991", "10 C77", "10 C800"], ["9 195", "9 200", "10 C76", "10 C81"]),
    "aids": (["9 042", "9 0449", "10 B20", "10 B22", "10 B24"], ["9 041", "9 045", "10 B23", "10 B19", "10 042"]),
}  # fmt: skip


@pytest.mark.parametrize("flag", CODES)
def test_codes(db: CaseDb, flag: str) -> None:
    inside, outside = CODES[flag]
    lines = [
        f"{code} | {code.split()[0]} | '{code.split()[1]}' | | {expected}"
        for codes, expected in ((inside, 1), (outside, 0))
        for code in codes
    ]
    more = f"""
    no diagnosis           |    |  |  | 0
    one of several         | 10 | A000 |  | 1
                           | {inside[-1].split()[0]} | '{inside[-1].split()[1]}' |  |
    unknown version        | 11 | '{inside[0].split()[1]}' |  | 0
    version missing        | -  | '{inside[0].split()[1]}' |  | 0
    code missing           | 9  | - |  | 0
    """
    db.check("charlson", "\n".join([f"what | diagnoses_icd.icd_version | diagnoses_icd.icd_code | -> | {flag}", *lines, more]))


AGE = """
what                        | age.age | -> | age_score | charlson_comorbidity_index
50                          | 50   |  | 0 | 0
50.2: in the next band      | 50.2 |  | 1 | 1
60                          | 60   |  | 1 | 1
60.01                       | 60.01 |  | 2 | 2
70                          | 70   |  | 2 | 2
70.5                        | 70.5 |  | 3 | 3
80                          | 80   |  | 3 | 3
80.1                        | 80.1 |  | 4 | 4
age row without an age      | -    |  | 4 | 4
no age row                  |      |  | - | -
"""


def test_age(db: CaseDb) -> None:
    db.check("charlson", AGE)


WEIGHTS = """
what                                  | age.age | diagnoses_icd.icd_version | diagnoses_icd.icd_code | -> | charlson_comorbidity_index | mild_liver_disease | severe_liver_disease
infarction                            | 40 | 10 | I21  |  | 1 | 0 | 0
heart failure                         | 40 | 10 | I50  |  | 1 | 0 | 0
peripheral vessels                    | 40 | 10 | I70  |  | 1 | 0 | 0
stroke                                | 40 | 10 | I63  |  | 1 | 0 | 0
dementia                              | 40 | 10 | F03  |  | 1 | 0 | 0
lung                                  | 40 | 10 | J44  |  | 1 | 0 | 0
rheumatic                             | 40 | 10 | M05  |  | 1 | 0 | 0
ulcer                                 | 40 | 10 | K25  |  | 1 | 0 | 0
mild liver                            | 40 | 10 | K73  |  | 1 | 1 | 0
severe liver                          | 40 | 10 | K704 |  | 3 | 0 | 1
both: the severe alone, both flagged  | 40 | 10 | K73  |  | 3 | 1 | 1
                                      |    | 10 | K704 |  |   |   |
diabetes                              | 40 | 10 | E119 |  | 1 | 0 | 0
with complication                     | 40 | 10 | E112 |  | 2 | 0 | 0
both                                  | 40 | 10 | E119 |  | 2 | 0 | 0
                                      |    | 10 | E112 |  |   |   |
paraplegia                            | 40 | 10 | G82  |  | 2 | 0 | 0
kidney                                | 40 | 10 | N18  |  | 2 | 0 | 0
cancer                                | 40 | 10 | C34  |  | 2 | 0 | 0
metastasis                            | 40 | 10 | C78  |  | 6 | 0 | 0
both                                  | 40 | 10 | C34  |  | 6 | 0 | 0
                                      |    | 10 | C78  |  |   |   |
AIDS                                  | 40 | 10 | B20  |  | 6 | 0 | 0
the same diagnosis twice counts once  | 40 | 10 | I21  |  | 1 | 0 | 0
                                      |    | 9  | 410  |  |   |   |
heart failure with kidney, two flags  | 40 | 9  | 40413 |  | 3 | 0 | 0
age 65, infarction, AIDS: 2 + 1 + 6   | 65 | 10 | I21  |  | 9 | 0 | 0
                                      |    | 10 | B20  |  |   |   |
"""


def test_weights_and_hierarchy(db: CaseDb) -> None:
    db.check("charlson", WEIGHTS)


def test_admissions_outside_the_icu_and_without_patient_row_are_kept(db: CaseDb) -> None:
    db.insert("admissions", subject_id=1, hadm_id=1)
    db.insert("diagnoses_icd", subject_id=1, hadm_id=2, icd_version=10, icd_code="I21")
    (row,) = db.concept("charlson")
    assert (row["hadm_id"], row["myocardial_infarct"], row["charlson_comorbidity_index"]) == (1, 0, None)

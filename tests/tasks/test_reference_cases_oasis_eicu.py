"""OASIS on eICU by hand: Johnson AEW et al., Crit Care Med 2013;41:1711-1718, on charted text and APACHE summaries.

Times are minutes from unit admission; the window is after 0, up to 1440.
"""

from __future__ import annotations

import pytest

from tests.tasks.references import EicuDb, check, rows

TASK = "eicu-oasis"


def charted(label: str, name: str, points: list[tuple[str, int]], score: str, category: str = "Vital Signs") -> str:
    """A table with one charted text a patient; several texts separated by `;` come at successive times."""
    lines = [
        "what | nursecharting.nursingchartoffset | nursecharting.nursingchartcelltypecat"
        " | nursecharting.nursingchartcelltypevallabel | nursecharting.nursingchartcelltypevalname"
        f" | nursecharting.nursingchartvalue | -> | {score}"
    ]
    for texts, expected in points:
        for number, text in enumerate(texts.split(";")):
            what, answer = (texts, expected) if number == 0 else ("", "")
            lines.append(f"{what} | {60 + number} | {category} | {label} | {name} | '{text}' | | {answer}")
    return "\n".join(lines)


VITALS = {
    "heart rate": charted("Heart Rate", "Heart Rate", [
        ("32;60", 4), ("33", 0), ("88", 0), ("88.5", 0), ("89", 1), ("106", 1), ("106.5", 0), ("107", 3), ("125", 3),
        ("126", 6), ("125.5", 6), ("60;130", 6), ("130;60", 6), ("30;140", 4), ("24", 0), ("25", 4), ("225", 6), ("226", 0), ("24;130", 6),
        ("unable", 0), ("32 bpm", 0), (" 32 ", 4),
    ], "heart_rate_score"),
    "respiratory rate": charted("Respiratory Rate", "Respiratory Rate", [
        ("5", 10), ("5.9", 10), ("6", 1), ("12", 1), ("12.5", 0), ("13", 0), ("22", 0), ("22.5;23", 1), ("23", 1), ("30", 1),
        ("31", 6), ("44", 6), ("45", 9), ("60", 9), ("61", 0), ("15;50", 0), ("23;50", 9), ("0", 0), ("0;20", 0),
    ], "resp_rate_score"),
    "temperature": charted("Temperature", "Temperature (C)", [
        ("33.21", 3), ("33.22", 4), ("35.93", 4), ("35.935", 0), ("35.94", 2), ("36.39", 2), ("36.395", 0), ("36.4", 0),
        ("36.88", 0), ("36.89", 2), ("39.88", 2), ("39.89", 6), ("25", 3), ("24.9", 0), ("46", 6), ("46.1", 0),
        ("33;40", 3), ("36;40", 2), ("36.5;40", 6), ("98.6", 0),
    ], "temp_score"),
    "invasive pressure": charted("Invasive BP", "Invasive BP Mean", [
        ("20.64", 4), ("20.65", 3), ("50.99", 3), ("50.995", 0), ("51", 2), ("61.32", 2), ("61.33", 0), ("143.44", 0),
        ("143.45", 3), ("61.325;150", 3), ("80;150", 0), ("0.9", 0), ("1", 4), ("250", 3), ("251", 0),
    ], "mbp_score"),
    "cuff pressure": charted("Non-Invasive BP", "Non-Invasive BP Mean", [("20", 4), ("50", 3), ("60", 2), ("100", 0), ("150", 3), ("50;100", 3), ("100;50", 3), ("61.325;150", 3), ("61.325;251", 0), ("0.9", 0), ("1", 4)], "mbp_score"),
    "other arterial labels": charted("MAP (mmHg)", "Value", [("50", 3)], "mbp_score"),
    "arterial line": charted("Arterial Line MAP (mmHg)", "Value", [("50", 3)], "mbp_score"),
    "label of the cuff with the arterial name": charted("Non-Invasive BP", "Invasive BP Mean", [("50", 0)], "mbp_score"),
    "coma scale": charted("Glasgow coma score", "GCS Total", [
        ("3", 10), ("7", 10), ("7.5", 10), ("8", 4), ("13", 4), ("13.5", 0), ("14", 3), ("15", 0), ("2", 0), ("16", 0), ("15;9", 4),
        ("unable", 0),
    ], "gcs_score", "Scores"),
    "coma scale, other label": charted("Score (Glasgow Coma Scale)", "Value", [("8", 4)], "gcs_score", "Other Vital Signs and Infusions"),
    "coma scale, components are not added": charted("Glasgow coma score", "Motor", [("1", 0)], "gcs_score", "Scores"),
    "coma scale, category of vital signs does not count": charted("Glasgow coma score", "GCS Total", [("3", 0)], "gcs_score"),
    "heart rate, category of scores counts": charted("Heart Rate", "Heart Rate", [("130", 6)], "heart_rate_score", "Scores"),
    "heart rate, category of infusions counts": charted("Heart Rate", "Heart Rate", [("130", 6)], "heart_rate_score", "Other Vital Signs and Infusions"),
    "heart rate, other category": charted("Heart Rate", "Heart Rate", [("130", 0)], "heart_rate_score", "Other"),
}  # fmt: skip


@pytest.mark.parametrize("name", VITALS)
def test_charted(eicu: EicuDb, name: str) -> None:
    check(eicu, TASK, VITALS[name])


# label, name, a value that earns points, the component
PAIRS = [
    ("Heart Rate", "Heart Rate", "130", "heart_rate_score"),
    ("Respiratory Rate", "Respiratory Rate", "50", "resp_rate_score"),
    ("Temperature", "Temperature (C)", "40", "temp_score"),
    ("Invasive BP", "Invasive BP Mean", "50", "mbp_score"),
    ("MAP (mmHg)", "Value", "50", "mbp_score"),
    ("Arterial Line MAP (mmHg)", "Value", "50", "mbp_score"),
    ("Non-Invasive BP", "Non-Invasive BP Mean", "50", "mbp_score"),
    ("Glasgow coma score", "GCS Total", "5", "gcs_score"),
    ("Score (Glasgow Coma Scale)", "Value", "5", "gcs_score"),
]


@pytest.mark.parametrize(("label", "name", "text", "score"), PAIRS)
def test_label_and_name_count_together_only(eicu: EicuDb, label: str, name: str, text: str, score: str) -> None:
    check(eicu, TASK, charted(label, "something else", [(text, 0)], score, "Scores"))
    eicu.fresh()
    check(eicu, TASK, charted("something else", name, [(text, 0)], score, "Scores"))


CASES = {
    "pre-unit stay: the offset of the hospital admission, negative before the unit": """
    what                  | patient.hospitaladmitoffset | -> | preiculos_score
    admitted afterwards   | 30     |  | 5
    10 min                | -10    |  | 5
    11 min                | -11    |  | 3
    296 min               | -296   |  | 3
    297 min               | -297   |  | 0
    24 h                  | -1440  |  | 0
    24 h 1 min            | -1441  |  | 2
    18708 min             | -18708 |  | 2
    18709 min             | -18709 |  | 1
    unknown               | -      |  | 0
    """,
    "age": """
    what        | patient.age | -> | age_score
    23          | '23'   |  | 0
    24          | '24'   |  | 3
    53          | '53'   |  | 3
    54          | '54'   |  | 6
    77          | '77'   |  | 6
    78          | '78'   |  | 9
    89          | '89'   |  | 9
    over 89     | '> 89' |  | 7
    90          | '90'   |  | 7
    77.5 is 78  | '77.5' |  | 9
    unreadable  | old    |  | 0
    unknown     | -      |  | 0
    """,
    "window of charting": """
    what          | nursecharting.nursingchartoffset | nursecharting.nursingchartentryoffset | nursecharting.nursingchartcelltypecat | nursecharting.nursingchartcelltypevallabel | nursecharting.nursingchartcelltypevalname | nursecharting.nursingchartvalue | -> | heart_rate_score
    at admission            | 0    | 60   | Vital Signs | Heart Rate | Heart Rate | 130 |  | 0
    a minute later          | 1    | 60   | Vital Signs | Heart Rate | Heart Rate | 130 |  | 6
    at 24 h                 | 1440 | 60   | Vital Signs | Heart Rate | Heart Rate | 130 |  | 6
    a minute later          | 1441 | 60   | Vital Signs | Heart Rate | Heart Rate | 130 |  | 0
    entered long afterwards | 60   | 9999 | Vital Signs | Heart Rate | Heart Rate | 130 |  | 6
    """,
    "invasive before cuff pressure": """
    what                              | nursecharting.nursingchartoffset | nursecharting.nursingchartcelltypecat | nursecharting.nursingchartcelltypevallabel | nursecharting.nursingchartcelltypevalname | nursecharting.nursingchartvalue | -> | mbp_score
    invasive normal, cuff low         | 60 | Vital Signs | Invasive BP     | Invasive BP Mean     | 80    |  | 0
                                      | 60 | Vital Signs | Non-Invasive BP | Non-Invasive BP Mean | 20    |  |
    invasive in a gap, cuff low       | 60 | Vital Signs | Invasive BP     | Invasive BP Mean     | 61.325 |  | 4
                                      | 60 | Vital Signs | Non-Invasive BP | Non-Invasive BP Mean | 20    |  |
    invasive implausible, cuff low    | 60 | Vital Signs | Invasive BP     | Invasive BP Mean     | 300   |  | 4
                                      | 60 | Vital Signs | Non-Invasive BP | Non-Invasive BP Mean | 20    |  |
    """,
    "coma scale: nurses' totals before the physician's examination": """
    what                                    | nursecharting.nursingchartoffset | nursecharting.nursingchartcelltypecat | nursecharting.nursingchartcelltypevallabel | nursecharting.nursingchartcelltypevalname | nursecharting.nursingchartvalue | physicalexam.physicalexamoffset | physicalexam.physicalexampath | physicalexam.physicalexamvalue | -> | gcs_score
    both                                    | 60 | Scores | Glasgow coma score | GCS Total | 15 | 60 | notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/3  | 3  |  | 0
    examination alone                       |    |  |  |  |  | 60   | notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/10 | 10 |  | 4
    one digit                               |    |  |  |  |  | 60   | notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/7  | 7  |  | 10
    three characters                        |    |  |  |  |  | 60   | notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/scored | 7 |  | 0
    nothing after the slash                 |    |  |  |  |  | 60   | notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/   | 7  |  | 0
    eyes, verbal or motor below             |    |  |  |  |  | 60   | notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/Eyes Score/1 | 1 |  | 0
    no range: 2 counts                      |    |  |  |  |  | 60   | notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/2  | 2  |  | 10
    at admission                            |    |  |  |  |  | 0    | notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/7  | 7  |  | 0
    at 24 h                                 |    |  |  |  |  | 1440 | notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/7  | 7  |  | 10
    a minute later                          |    |  |  |  |  | 1441 | notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/7  | 7  |  | 0
    lowest of two                           |    |  |  |  |  | 60   | notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/15 | 15 |  | 10
                                            |    |  |  |  |  | 90   | notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/6  | 6  |  |
    nurse's total impossible: examination   | 60 | Scores | Glasgow coma score | GCS Total | 16 | 60 | notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/10 | 10 |  | 4
    an impossible total hides another at its time | 60 | Scores | Glasgow coma score | GCS Total | 2 |  |  |  |  | 0
                                            | 60 | Scores | Score (Glasgow Coma Scale) | Value | 9 |  |  |  |  |
    """,
    "urine": """
    what                                | intakeoutput.intakeoutputoffset | intakeoutput.cellpath | intakeoutput.cellvaluenumeric | apacheapsvar.urine | -> | urineoutput_score
    670                                 | 60   | 'flowsheet¦Flowsheet Cell Labels¦I&O¦Output (ml)¦Urine' | 670     |     |  | 10
    671                                 | 60   | 'flowsheet¦Flowsheet Cell Labels¦I&O¦Output (ml)¦Urine' | 671     |     |  | 5
    1426.99                             | 60   | 'flowsheet¦Flowsheet Cell Labels¦I&O¦Output (ml)¦Urine' | 1426.99 |     |  | 5
    in a gap                            | 60   | 'flowsheet¦Flowsheet Cell Labels¦I&O¦Output (ml)¦Urine' | 1426.995 |    |  | 0
    1427                                | 60   | 'flowsheet¦Flowsheet Cell Labels¦I&O¦Output (ml)¦Urine' | 1427    |     |  | 1
    2543.99                             | 60   | 'flowsheet¦Flowsheet Cell Labels¦I&O¦Output (ml)¦Urine' | 2543.99 |     |  | 1
    2544                                | 60   | 'flowsheet¦Flowsheet Cell Labels¦I&O¦Output (ml)¦Urine' | 2544    |     |  | 0
    6896                                | 60   | 'flowsheet¦Flowsheet Cell Labels¦I&O¦Output (ml)¦Urine' | 6896    |     |  | 0
    6896.5                              | 60   | 'flowsheet¦Flowsheet Cell Labels¦I&O¦Output (ml)¦Urine' | 6896.5  |     |  | 8
    sum of two labels                   | 60   | 'flowsheet¦Flowsheet Cell Labels¦I&O¦Output (ml)¦Urine' | 600     |     |  | 5
                                        | 90   | 'flowsheet¦Flowsheet Cell Labels¦I&O¦Output (ml)¦Condom Cath' | 100 | |  |
    negative rows stay in the sum       | 60   | 'flowsheet¦Flowsheet Cell Labels¦I&O¦Output (ml)¦Urine' | 700     |     |  | 10
                                        | 90   | 'flowsheet¦Flowsheet Cell Labels¦I&O¦Output (ml)¦Urine' | -100    |     |  |
    at admission                        | 0    | 'flowsheet¦Flowsheet Cell Labels¦I&O¦Output (ml)¦Urine' | 300     |     |  | 0
    at 24 h                             | 1440 | 'flowsheet¦Flowsheet Cell Labels¦I&O¦Output (ml)¦Urine' | 300     |     |  | 10
    a minute later                      | 1441 | 'flowsheet¦Flowsheet Cell Labels¦I&O¦Output (ml)¦Urine' | 300     |     |  | 0
    APACHE when nothing is charted      |      |        |     | 300 |  | 10
    APACHE -1 is unknown                |      |        |     | -1  |  | 0
    APACHE 0 is unknown                 |      |        |     | 0   |  | 0
    charting before APACHE              | 60   | 'flowsheet¦Flowsheet Cell Labels¦I&O¦Output (ml)¦Urine' | 3000 | 300 |  | 0
    a charted 0 before APACHE           | 60   | 'flowsheet¦Flowsheet Cell Labels¦I&O¦Output (ml)¦Urine' | 0    | 3000 |  | 10
    an empty charting leaves APACHE     | 60   | 'flowsheet¦Flowsheet Cell Labels¦I&O¦Output (ml)¦Urine' | -    | 300 |  | 10
    """,
    "ventilation": """
    what                            | apacheapsvar.intubated | apachepredvar.oobintubday1 | respiratorycare.respcarestatusoffset | respiratorycare.airwaytype | respiratorycare.airwaysize | respiratorycare.airwayposition | respiratorycare.cuffpressure | respiratorycare.setapneatv | -> | mechvent_score
    nothing                         |   |   |      |   |   |   |   |   |  | 0
    APACHE intubated                | 1 |   |      |   |   |   |   |   |  | 9
    APACHE not intubated            | 0 | 0 |      |   |   |   |   |   |  | 0
    APACHE prediction               |   | 1 |      |   |   |   |   |   |  | 9
    airway type                     |   |   | 60   | Oral ETT | | | | |  | 9
    airway size                     |   |   | 60   |   | 7.5 |   |   |   |  | 9
    airway position                 |   |   | 60   |   |   | 22 |   |   |  | 9
    cuff pressure                   |   |   | 60   |   |   |   | 25 |   |  | 9
    apnoea tidal volume             |   |   | 60   |   |   |   |   | 500 |  | 9
    an empty row                    |   |   | 60   | - | - | - | - | - |  | 0
    at admission                    |   |   | 0    | Oral ETT | | | | |  | 0
    at 24 h                         |   |   | 1440 | Oral ETT | | | | |  | 9
    a minute later                  |   |   | 1441 | Oral ETT | | | | |  | 0
    """,
    "elective surgery by APACHE, not from the emergency department": """
    what                           | apachepredvar.electivesurgery | patient.unitadmitsource | -> | electivesurgery_score
    elective                       | 1 | Operating Room       |  | 0
    elective, source unknown       | 1 | -                    |  | 0
    from the emergency department  | 1 | Emergency Department |  | 6
    not elective                   | 0 | Operating Room       |  | 6
    unknown                        | - | Operating Room       |  | 6
    no APACHE row                  |   | Operating Room       |  | 6
    """,
}


@pytest.mark.parametrize("name", CASES)
def test_cases(eicu: EicuDb, name: str) -> None:
    check(eicu, TASK, CASES[name])


# labels below the path of fluid output, in ml: charted as urine or not
URINE_LABELS = {
    "Foley": True, "foley catheter": True, "FOLEY cath": True, "Foley OR": False, "foley (pacu)": False,
    "Foley irrigation": False, "Foley #2 via IR": False, "Foley - left": True, "Indwelling Foley": True,
    "indwelling foley": True, "Indwelling foley": False, "Output (ml) Urinary Catheter": True,
    "Output-Urethral Catheter": True, "Output - External Urethral": True, "output Urinary Catheter": False,
    "Urinary Catheter Output: Indwelling": True, "Urine Output (mL): day": True, "Urine Output": False,
    "urine output": True, "Urine Output-Foley": True, "Urine Output-Ileoconduit": True, "Straight  Cath": True,
    "Straight Cath": True, "Straight   Cath": False, "straight cath ml's": True, "Straight Cath'd": True,
    "urinary output 7AM - 7 PM": True, "URINE": True, "uRINE": False, "Urine ": False, "Stool": False,
    "Chest tube": False,
}  # fmt: skip


def test_urine_labels(eicu: EicuDb) -> None:
    lines = [
        f"{label!r} | 60 | 'flowsheet¦Flowsheet Cell Labels¦I&O¦Output (ml)¦{label}' | 100 | | {10 if urine else 0}"
        for label, urine in URINE_LABELS.items()
    ]
    more = [
        "intake | 60 | 'flowsheet¦Flowsheet Cell Labels¦I&O¦Intake (ml)¦Urine' | 100 | | 0",
        "another path | 60 | 'flowsheet¦flowsheet cell labels¦I&O¦Output (ml)¦Urine' | 100 | | 0",
    ]
    header = "what | intakeoutput.intakeoutputoffset | intakeoutput.cellpath | intakeoutput.cellvaluenumeric | -> | urineoutput_score"
    check(eicu, TASK, "\n".join([header, *lines, *more]))


def test_total_and_every_stay(eicu: EicuDb) -> None:
    """Nothing known but age 60 (6) and 12 h before the unit (0): with non-elective surgery (6) 12 points."""
    eicu.patient(1)
    (row,) = rows(eicu, TASK)
    assert (row["oasis"], row["patienthealthsystemstayid"], row["uniquepid"]) == (12, 2001, "p1")
    assert None not in row.values()

"""References from the charted rows on: units, items, several records of one time, and what the concepts pass over.

Each line is a patient of 60 years (anchor year 2150), admitted to the hospital at 22:00 and to the ICU at 10:00 the
next day (`+0:00`). Every concept that the reference reads is built from the rows.
"""

from __future__ import annotations

import pytest

from m4lib.cards import get_card
from m4lib.concepts import graph
from m4lib.project import find_project
from m4lib.tasks.reference import reference_sql, tables_read
from tests.concepts.case_db import CaseDb
from tests.tasks.references import check

CASES = {
    ("mimic-sirs-24h-raw", "temperature in Fahrenheit and Celsius, several readings of one time"): """
    what                                       | chartevents.charttime | chartevents.itemid | chartevents.valuenum | -> | temp_score | heart_rate_score | resp_score
    100.4 °F is 38.00 °C                       | +1:00 | 223761 | 100.4 |  | 0 | 0 | 0
    100.42 °F is 38.01 °C                      | +1:00 | 223761 | 100.42 |  | 1 | 0 | 0
    96.8 °F is 36.00 °C                        | +1:00 | 223761 | 96.8  |  | 0 | 0 | 0
    96.78 °F is 35.99 °C                       | +1:00 | 223761 | 96.78 |  | 1 | 0 | 0
    38.1 °C                                    | +1:00 | 223762 | 38.1  |  | 1 | 0 | 0
    38.004 °C is 38.00                         | +1:00 | 223762 | 38.004 |  | 0 | 0 | 0
    70 °F is not plausible                     | +1:00 | 223761 | 70    |  | 0 | 0 | 0
    50 °C is not plausible                     | +1:00 | 223762 | 50    |  | 0 | 0 | 0
    both scales of one time: their mean        | +1:00 | 223761 | 100.4 |  | 1 | 0 | 0
                                               | +1:00 | 223762 | 39.0  |  |   |   |
    heart rates 88 and 94 of one time: 91      | +1:00 | 220045 | 88    |  | 0 | 1 | 0
                                               | +1:00 | 220045 | 94    |  |   |   |
    heart rates 88 and 92: 90                  | +1:00 | 220045 | 88    |  | 0 | 0 | 0
                                               | +1:00 | 220045 | 92    |  |   |   |
    heart rate 300 is not plausible            | +1:00 | 220045 | 300   |  | 0 | 0 | 0
    ventilator's total rate counts             | +1:00 | 224690 | 25    |  | 0 | 0 | 1
    respiratory rate 70 is not plausible       | +1:00 | 220210 | 70    |  | 0 | 0 | 0
    """,
    ("mimic-sirs-24h-raw", "white cells, bands and arterial gas"): """
    what                                       | labevents.charttime | labevents.specimen_id | labevents.itemid | labevents.valuenum | labevents.value | -> | wbc_score | resp_score
    white cells 12.1                           | +1:00 | 1 | 51301 | 12.1 | '12.1' |  | 1 | 0
    the other white-cell item is not used      | +1:00 | 2 | 51300 | 12.1 | '12.1' |  | 0 | 0
    bands 11 %                                 | +1:00 | 3 | 51144 | 11   | '11'   |  | 1 | 0
    arterial PaCO2 31                          | +1:00 | 4 | 50818 | 31   | '31'   |  | 0 | 1
                                               | +1:00 | 4 | 50821 | 90   | '90'   |  |   |
                                               | +1:00 | 4 | 52033 | -    | ART.   |  |   |
    venous PaCO2 31                            | +1:00 | 5 | 50818 | 31   | '31'   |  | 0 | 0
                                               | +1:00 | 5 | 50821 | 90   | '90'   |  |   |
                                               | +1:00 | 5 | 52033 | -    | VEN.   |  |   |
    a gas without PaO2 is none                 | +1:00 | 6 | 50818 | 31   | '31'   |  | 0 | 0
                                               | +1:00 | 6 | 52033 | -    | ART.   |  |   |
    """,
    ("mimic-sofa-24h", "oxygen of the gas or of the chart, as fraction or percent"): """
    what                                       | labevents.charttime | labevents.specimen_id | labevents.itemid | labevents.valuenum | labevents.value | chartevents.charttime | chartevents.itemid | chartevents.valuenum | chartevents.value | -> | respiration
    PaO2 90 at 30 %: 300                       | +5:00 | 1 | 50821 | 90   | '90'  |       |        |    |  |  | 1
                                               | +5:00 | 1 | 50816 | 30   | '30'  |       |        |    |  |  |
                                               | +5:00 | 1 | 52033 | -    | ART.  |       |        |    |  |  |
    PaO2 90 at a fraction of 0.31: 290         | +5:00 | 2 | 50821 | 90   | '90'  |       |        |    |  |  | 2
                                               | +5:00 | 2 | 50816 | 0.31 | '.31' |       |        |    |  |  |
                                               | +5:00 | 2 | 52033 | -    | ART.  |       |        |    |  |  |
    charted 4 h before                         | +5:00 | 3 | 50821 | 90   | '90'  | +1:00 | 223835 | 60 | '60' |  | 2
                                               | +5:00 | 3 | 52033 | -    | ART.  |       |        |    |  |  |
    a second more: no ratio                    | +5:00 | 4 | 50821 | 90   | '90'  | +0:59:59 | 223835 | 60 | '60' |  | 0
                                               | +5:00 | 4 | 52033 | -    | ART.  |       |        |    |  |  |
    """,
    ("mimic-sofa-24h", "vasopressor units"): """
    what                                       | inputevents.starttime | inputevents.endtime | inputevents.itemid | inputevents.rate | inputevents.rateuom | inputevents.patientweight | -> | cardiovascular
    norepinephrine 0.1 mcg/kg/min              | +1:00 | +2:00 | 221906 | 0.1    | mcg/kg/min | 80 |  | 3
    0.00011 mg/kg/min is 0.11 mcg/kg/min       | +1:00 | +2:00 | 221906 | 0.00011 | mg/kg/min | 80 |  | 4
    mg/kg/min with a weight of 1 stays         | +1:00 | +2:00 | 221906 | 0.09   | mg/kg/min  | 1  |  | 3
    epinephrine                                | +1:00 | +2:00 | 221289 | 0.2    | mcg/kg/min | 80 |  | 4
    dopamine 10                                | +1:00 | +2:00 | 221662 | 10     | mcg/kg/min | 80 |  | 3
    dobutamine                                 | +1:00 | +2:00 | 221653 | 2      | mcg/kg/min | 80 |  | 2
    vasopressin gives nothing                  | +1:00 | +2:00 | 222315 | 2.4    | units/hour | 80 |  | 0
    phenylephrine gives nothing                | +1:00 | +2:00 | 221749 | 5      | mcg/kg/min | 80 |  | 0
    """,
    ("mimic-vasopressor-equivalents", "units"): """
    what                                       | inputevents.starttime | inputevents.endtime | inputevents.itemid | inputevents.rate | inputevents.rateuom | inputevents.patientweight | -> | norepinephrine_equivalent_dose
    vasopressin 2.4 units/h                    | +1:00 | +2:00 | 222315 | 2.4  | units/hour | 80 |  | 0.1
    vasopressin 0.04 units/min                 | +1:00 | +2:00 | 222315 | 0.04 | units/min  | 80 |  | 0.1
    phenylephrine 80 mcg/min at 80 kg          | +1:00 | +2:00 | 221749 | 80   | mcg/min    | 80 |  | 0.1
    phenylephrine 1 mcg/kg/min                 | +1:00 | +2:00 | 221749 | 1    | mcg/kg/min | 80 |  | 0.1
    phenylephrine without a weight             | +1:00 | +2:00 | 221749 | 80   | mcg/min    | -  |  | no row
    norepinephrine 0.0001 mg/kg/min            | +1:00 | +2:00 | 221906 | 0.0001 | mg/kg/min | 80 |  | 0.1
    dopamine                                   | +1:00 | +2:00 | 221662 | 10   | mcg/kg/min | 80 |  | 0.1
    milrinone alone                            | +1:00 | +2:00 | 221986 | 0.5  | mcg/kg/min | 80 |  | no row
    """,
    ("mimic-meld-24h", "laboratory items and dialysis"): """
    what                                       | labevents.charttime | labevents.specimen_id | labevents.itemid | labevents.valuenum | procedureevents.starttime | procedureevents.endtime | procedureevents.itemid | procedureevents.value | chartevents.charttime | chartevents.itemid | chartevents.value | -> | meld
    creatinine 2                               | +1:00 | 1 | 50912 | 2   |  |  |  |  |  |  |  |  | 13
    highest of two                             | +1:00 | 2 | 50912 | 1   |  |  |  |  |  |  |  |  | 13
                                               | +2:00 | 3 | 50912 | 2   |  |  |  |  |  |  |  |  |
    creatinine 151 is not plausible            | +1:00 | 4 | 50912 | 151 |  |  |  |  |  |  |  |  | 6
    bilirubin 10                               | +1:00 | 5 | 50885 | 10  |  |  |  |  |  |  |  |  | 15
    INR 2                                      | +1:00 | 6 | 51237 | 2   |  |  |  |  |  |  |  |  | 14
    haemodialysis 6 h before                   |       |   |       |     | -6:00 | -2:00 | 225441 | 240 |  |  |  |  | 20
    a second earlier, still running            |       |   |       |     | -6:00:01 | +9:00 | 225441 | 240 |  |  |  |  | 6
    dialysis access charted                    |       |   |       |     |  |  |  |  | +1:00 | 224135 | Right IJ |  | 20
    peritoneal dialysis                        |       |   |       |     |  |  |  |  | +1:00 | 225806 | '2000' |  | 20
    """,
    ("mimic-urine-output-rate", "irrigation is subtracted, records of one time are added"): """
    what                                       | chartevents.charttime | chartevents.itemid | chartevents.valuenum | outputevents.charttime | outputevents.itemid | outputevents.value | -> | uo | weight
    Foley                                      | +0:00 | 220045 | 80 | +1:00 | 226559 | 100 |  | 100 | -
    Foley and void                             | +0:00 | 220045 | 80 | +1:00 | 226559 | 100 |  | 150 | -
                                               |       |        |    | +1:00 | 226560 | 50  |  |     |
    irrigant in 300, out 400                   | +0:00 | 220045 | 80 | +1:00 | 227488 | 300 |  | 100 | -
                                               |       |        |    | +1:00 | 227489 | 400 |  |     |
    drain                                      | +0:00 | 220045 | 80 | +1:00 | 226588 | 100 |  | no row |
    admission weight                           | +0:00 | 220045 | 80 | +1:00 | 226559 | 100 |  | 100 | 82
                                               | +5:00 | 226512 | 82 |       |        |     |  |     |
    daily weight later, from 2 h before        | +0:00 | 220045 | 80 | +1:00 | 226559 | 100 |  | 100 | 84
                                               | +9:00 | 224639 | 84 |       |        |     |  |     |
    """,
    ("mimic-creatinine-baseline", "age of the admission, creatinine of the blood"): """
    what                                       | patients.anchor_age | patients.anchor_year | labevents.charttime | labevents.specimen_id | labevents.itemid | labevents.valuenum | -> | scr_min
    18 at the anchor, admitted in the year     | 18 | 2150 | +1:00 | 1 | 50912 | 0.9 |  | 0.9
    17 at the anchor: 17.4                     | 17 | 2150 | +1:00 | 2 | 50912 | 0.9 |  | no row
    18 in the year after: 17.4                 | 18 | 2151 | +1:00 | 3 | 50912 | 0.9 |  | no row
    creatinine 0 is no value                   | 60 | 2150 | +1:00 | 4 | 50912 | 0   |  | -
    creatinine 150                             | 60 | 2150 | +1:00 | 5 | 50912 | 150 |  | 150
    creatinine 150.1                           | 60 | 2150 | +1:00 | 6 | 50912 | 150.1 |  | -
    """,
    ("mimic-ventilation", "a device counts where an oxygen flow was charted with it"): """
    what                                       | chartevents.charttime | chartevents.itemid | chartevents.value | chartevents.valuenum | -> | ventilation_status | starttime | endtime
    device with flow                           | +1:00 | 226732 | Nasal cannula | - |  | SupplementalOxygen | +1:00 | +3:00
                                               | +1:00 | 223834 | '2'           | 2 |  |  |  |
                                               | +3:00 | 226732 | Nasal cannula | - |  |  |  |
                                               | +3:00 | 223834 | '2'           | 2 |  |  |  |
    device without flow                        | +1:00 | 226732 | Nasal cannula | - |  | no row |  |
                                               | +3:00 | 226732 | Nasal cannula | - |  |  |  |
    two devices: the first in the alphabet     | +1:00 | 226732 | Nasal cannula | - |  | InvasiveVent | +1:00 | +3:00
                                               | +1:00 | 226732 | Endotracheal tube | - |  |  |  |
                                               | +1:00 | 223834 | '2'           | 2 |  |  |  |
                                               | +3:00 | 226732 | Endotracheal tube | - |  |  |  |
                                               | +3:00 | 227287 | '2'           | 2 |  |  |  |
    ventilator mode needs no flow              | +1:00 | 223849 | CMV/ASSIST    | - |  | InvasiveVent | +1:00 | +3:00
                                               | +3:00 | 223849 | CMV/ASSIST    | - |  |  |  |
    two modes of one time: the last            | +1:00 | 223849 | CMV/ASSIST    | - |  | no row |  |
                                               | +1:00 | 223849 | Standby       | - |  |  |  |
                                               | +3:00 | 223849 | CMV/ASSIST    | - |  |  |  |
    """,
    ("mimic-suspicion-infection", "systemic antibiotics"): """
    what                                       | prescriptions.starttime | prescriptions.stoptime | prescriptions.drug | prescriptions.drug_type | prescriptions.route | microbiologyevents.micro_specimen_id | microbiologyevents.chartdate | microbiologyevents.charttime | microbiologyevents.spec_type_desc | -> | antibiotic | suspected_infection
    vancomycin IV with a culture               | +5:00 | +30:00 | Vancomycin | MAIN | IV | 1 | -10:00 | +4:00 | BLOOD CULTURE |  | Vancomycin | 1
    eye drops                                  | +5:00 | +30:00 | Tobramycin | MAIN | RIGHT EYE | 2 | -10:00 | +4:00 | BLOOD CULTURE |  | no row |
    topical                                    | +5:00 | +30:00 | Bactroban  | MAIN | TP | 3 | -10:00 | +4:00 | BLOOD CULTURE |  | no row |
    cream                                      | +5:00 | +30:00 | Gentamicin Cream | MAIN | IV | 4 | -10:00 | +4:00 | BLOOD CULTURE |  | no row |
    the fluid it is given in                   | +5:00 | +30:00 | Cefazolin in D5W | BASE | IV | 5 | -10:00 | +4:00 | BLOOD CULTURE |  | no row |
    not an antibiotic                          | +5:00 | +30:00 | Heparin    | MAIN | IV | 6 | -10:00 | +4:00 | BLOOD CULTURE |  | no row |
    screening counts as a culture              | +5:00 | +30:00 | Cefepime   | MAIN | IV | 7 | -10:00 | +4:00 | MRSA SCREEN |  | Cefepime | 1
    route unknown                              | +5:00 | +30:00 | Cefepime   | MAIN | -  | 8 | -10:00 | +4:00 | BLOOD CULTURE |  | no row |
    """,
    ("mimic-sepsis3-raw", "antibiotic, culture and a failing kidney"): """
    what                                       | chartevents.charttime | chartevents.itemid | chartevents.valuenum | labevents.charttime | labevents.specimen_id | labevents.itemid | labevents.valuenum | prescriptions.starttime | prescriptions.stoptime | prescriptions.drug | prescriptions.drug_type | prescriptions.route | microbiologyevents.micro_specimen_id | microbiologyevents.chartdate | microbiologyevents.charttime | microbiologyevents.spec_type_desc | -> | suspected_infection_time | sofa_time | sofa_score | renal
    creatinine 2.5 in the 3rd hour             | +0:00  | 220045 | 80 | +2:30 | 1 | 50912 | 2.5 | +5:00 | +30:00 | Vancomycin | MAIN | IV | 1 | -10:00 | +4:00 | BLOOD CULTURE |  | +4:00 | +3:00 | 2 | 2
                                               | +20:00 | 220045 | 80 |       |   |       |     |       |        |            |      |    |   |        |       |               |  |       |       |   |
    creatinine 1.5 is one point only           | +0:00  | 220045 | 80 | +2:30 | 2 | 50912 | 1.5 | +5:00 | +30:00 | Vancomycin | MAIN | IV | 2 | -10:00 | +4:00 | BLOOD CULTURE |  | no row | | |
                                               | +20:00 | 220045 | 80 |       |   |       |     |       |        |            |      |    |   |        |       |               |  |       |       |   |
    no heart rate: no hours                    |        |        |    | +2:30 | 3 | 50912 | 2.5 | +5:00 | +30:00 | Vancomycin | MAIN | IV | 3 | -10:00 | +4:00 | BLOOD CULTURE |  | no row | | |
    antibiotic before the ICU                  | +0:00  | 220045 | 80 | +2:30 | 4 | 50912 | 2.5 | -5:00 | +30:00 | Vancomycin | MAIN | IV | 4 | -10:00 | -6:00 | BLOOD CULTURE |  | no row | | |
                                               | +20:00 | 220045 | 80 |       |   |       |     |       |        |            |      |    |   |        |       |               |  |       |       |   |
    """,
    ("mimic-oasis-24h", "age of the admission, temperature in Fahrenheit"): """
    what                                       | patients.anchor_age | chartevents.charttime | chartevents.itemid | chartevents.valuenum | -> | age_score | temp_score
    53 at the anchor, 53.4 at admission        | 53 | +1:00 | 223761 | 103.784 |  | 6 | 2
    89 at the anchor, 89.4: no band            | 89 | +1:00 | 223761 | 103.82  |  | 0 | 6
    """,
    ("mimic-sapsii-24h", "charted coma scale and pressure of both methods"): """
    what                                       | chartevents.charttime | chartevents.itemid | chartevents.valuenum | chartevents.value | -> | sysbp_score | gcs_score
    arterial 60 and cuff 90: their mean, 75    | +1:00 | 220050 | 60 | '60' |  | 5 | 0
                                               | +1:00 | 220179 | 90 | '90' |  |   |
    motor 4 alone: 13                          | +1:00 | 223901 | 4  | '4'  |  | 0 | 5
    intubated: 15                              | +1:00 | 223900 | 0  | No Response-ETT |  | 0 | 0
                                               | +1:00 | 223901 | 1  | '1'  |  |   |
    """,
    ("mimic-apsiii-24h", "glucose of bedside and laboratory, measured A-aDO2"): """
    what                                       | chartevents.charttime | chartevents.itemid | chartevents.valuenum | chartevents.value | labevents.charttime | labevents.specimen_id | labevents.itemid | labevents.valuenum | labevents.value | -> | glucose_score | pao2_aado2_score
    bedside 39, laboratory 100                 | +1:00 | 225664 | 39 | '39' | +1:00 | 1 | 50931 | 100 | '100' |  | 8 | 0
    ventilated with 60 %, A-aDO2 400           | +0:00 | 223849 | -  | CMV/ASSIST | +1:00 | 2 | 50821 | 80 | '80' |  | 0 | 11
                                               | +4:00 | 223849 | -  | CMV/ASSIST | +1:00 | 2 | 50816 | 60 | '60' |  |   |
                                               |       |        |    |            | +1:00 | 2 | 50801 | 400 | '400' |  |   |
                                               |       |        |    |            | +1:00 | 2 | 52033 | -  | ART. |  |   |
    """,
    ("mimic-kdigo-48h", "urine by weight"): """
    what                                       | chartevents.charttime | chartevents.itemid | chartevents.valuenum | chartevents.value | outputevents.charttime | outputevents.itemid | outputevents.value | -> | aki_stage_uo | aki_stage_crrt
    80 kg, 39 mL/h: 0.488 mL/kg/h              | +0:00 | 226512 | 80 | '80'   | +1:00 | 226559 | 39  |  | 1 | 0
                                               |       |        |    |        | +7:00 | 226559 | 234 |  |   |
    80 kg, 40 mL/h: 0.5 mL/kg/h                | +0:00 | 226512 | 80 | '80'   | +1:00 | 226559 | 40  |  | 0 | 0
                                               |       |        |    |        | +7:00 | 226559 | 240 |  |   |
    no weight: no rate                         |       |        |    |        | +1:00 | 226559 | 1   |  | 0 | 0
                                               |       |        |    |        | +7:00 | 226559 | 1   |  |   |
    CRRT mode charted                          | +1:00 | 227290 | -  | CVVHDF |       |        |     |  | 0 | 3
    """,
}


@pytest.mark.parametrize(("task", "what"), CASES, ids=[f"{task}: {what}" for task, what in CASES])
def test_from_charting(db: CaseDb, task: str, what: str) -> None:
    read = tables_read(reference_sql(get_card(find_project().tasks, task)))
    needed = [name.split(".")[1] for name in read if name.startswith("mimiciv_derived.")]
    order = [concept.name for concept in graph.order(graph.closure(db.concepts, needed))]
    check(db, task, CASES[task, what], build=order)

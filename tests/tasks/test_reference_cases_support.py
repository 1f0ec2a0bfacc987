"""Ventilation episodes and norepinephrine equivalents (Goradia S et al., J Crit Care 2021;61:233-240) by hand."""

from __future__ import annotations

import pytest

from tests.concepts.case_db import CaseDb
from tests.tasks.references import check

VENTILATION = {
    "an episode ends at the next status": """
    what                        | oxygen_delivery.charttime | oxygen_delivery.o2_delivery_device_1 | ventilator_setting.charttime | ventilator_setting.ventilator_mode | ventilator_setting.ventilator_mode_hamilton | -> | ventilation_seq | starttime | endtime | ventilation_status
    one status                  | +1:00 | Nasal cannula     |       |           |   |  | 1 | +1:00 | +3:00 | SupplementalOxygen
                                | +3:00 | Nasal cannula     |       |           |   |  |   |       |       |
    tube, then cannula          | +1:00 | Endotracheal tube |       |           |   |  | 1 | +1:00 | +9:00 | InvasiveVent
                                | +5:00 | Endotracheal tube |       |           |   |  | 2 | +9:00 | +12:00 | SupplementalOxygen
                                | +9:00 | Nasal cannula     |       |           |   |  |   |       |       |
                                | +12:00 | Face tent        |       |           |   |  |   |       |       |
    a single charting is dropped, but ends the one before | +1:00 | Endotracheal tube | | | |  | 1 | +1:00 | +9:00 | InvasiveVent
                                | +5:00 | Endotracheal tube |       |           |   |  |   |       |       |
                                | +9:00 | Nasal cannula     |       |           |   |  |   |       |       |
    a single charting with a later status | +1:00 | Endotracheal tube | |        |   |  | 1 | +2:00 | +4:00 | HFNC
                                | +2:00 | High flow nasal cannula | |            |   |  |   |       |       |
                                | +4:00 | High flow nasal cannula | |            |   |  |   |       |       |
    one charting alone          | +1:00 | Endotracheal tube |       |           |   |  | no row |  |       |
    T-piece is passed over      | +1:00 | Endotracheal tube |       |           |   |  | 1 | +1:00 | +5:00 | InvasiveVent
                                | +3:00 | T-piece           |       |           |   |  |   |       |       |
                                | +5:00 | Endotracheal tube |       |           |   |  |   |       |       |
    no support is a status      | +1:00 | None              |       |           |   |  | 1 | +1:00 | +5:00 | None
                                | +5:00 | None              |       |           |   |  |   |       |       |
    nothing charted             |       |                   |       |           |   |  | no row |  |       |
    """,
    "14 hours without a charting break an episode": """
    what                        | oxygen_delivery.charttime | oxygen_delivery.o2_delivery_device_1 | -> | ventilation_seq | starttime | endtime | ventilation_status
    a second less than 14 h     | +1:00     | Nasal cannula     |  | 1 | +1:00 | +14:59:59 | SupplementalOxygen
                                | +14:59:59 | Nasal cannula     |  |   |       |       |
    exactly 14 h: two singles   | +1:00     | Nasal cannula     |  | no row |  |       |
                                | +15:00    | Nasal cannula     |  |   |       |       |
    two episodes of one status  | +1:00     | Nasal cannula     |  | 1 | +1:00 | +2:00 | SupplementalOxygen
                                | +2:00     | Nasal cannula     |  | 2 | +16:00 | +17:00 | SupplementalOxygen
                                | +16:00    | Nasal cannula     |  |   |       |       |
                                | +17:00    | Nasal cannula     |  |   |       |       |
    next status 14 h later: own end | +1:00 | Endotracheal tube |  | 1 | +1:00 | +2:00 | InvasiveVent
                                | +2:00     | Endotracheal tube |  |   |       |       |
                                | +16:00    | Nasal cannula     |  |   |       |       |
    next status a second sooner | +1:00     | Endotracheal tube |  | 1 | +1:00 | +15:59:59 | InvasiveVent
                                | +2:00     | Endotracheal tube |  |   |       |       |
                                | +15:59:59 | Nasal cannula     |  |   |       |       |
    the same status 14 h back, another between | +1:00 | Nasal cannula |  | 1 | +9:00 | +15:00 | InvasiveVent
                                | +9:00     | Endotracheal tube |  | 2 | +15:00 | +16:00 | SupplementalOxygen
                                | +10:00    | Endotracheal tube |  |   |       |       |
                                | +15:00    | Nasal cannula     |  |   |       |       |
                                | +16:00    | Nasal cannula     |  |   |       |       |
    """,
}


@pytest.mark.parametrize("name", VENTILATION)
def test_ventilation(db: CaseDb, name: str) -> None:
    check(db, "mimic-ventilation", VENTILATION[name], order="ventilation_seq")


DEVICES = {
    "Tracheostomy": ["Tracheostomy tube", "Trach mask "],
    "InvasiveVent": ["Endotracheal tube"],
    "NonInvasiveVent": ["Bipap mask ", "CPAP mask "],
    "HFNC": ["High flow nasal cannula"],
    "SupplementalOxygen": [
        "Non-rebreather", "Face tent", "Aerosol-cool", "Venti mask ", "Medium conc mask ", "Ultrasonic neb", "Vapomist",
        "Oxymizer", "High flow neb", "Nasal cannula",
    ],
    "None": ["None"],
    "": ["T-piece", "Other", "Trach mask", "Bipap mask", "CPAP mask", "Venti mask", "nasal cannula", "Endotracheal tube "],
}  # fmt: skip
MODES = {
    "InvasiveVent": [
        "(S) CMV", "APRV", "APRV/Biphasic+ApnPress", "APRV/Biphasic+ApnVol", "APV (cmv)", "Ambient", "Apnea Ventilation",
        "CMV", "CMV/ASSIST", "CMV/ASSIST/AutoFlow", "CMV/AutoFlow", "CPAP/PPS", "CPAP/PSV", "CPAP/PSV+Apn TCPL",
        "CPAP/PSV+ApnPres", "CPAP/PSV+ApnVol", "MMV", "MMV/AutoFlow", "MMV/PSV", "MMV/PSV/AutoFlow", "P-CMV", "PCV+",
        "PCV+/PSV", "PCV+Assist", "PRES/AC", "PRVC/AC", "PRVC/SIMV", "PSV/SBT", "SIMV", "SIMV/AutoFlow", "SIMV/PRES",
        "SIMV/PSV", "SIMV/PSV/AutoFlow", "SIMV/VOL", "SYNCHRON MASTER", "SYNCHRON SLAVE", "VOL/AC",
    ],
    "": ["CPAP", "Standby", "SPONT", "Other", "NIV", "ASV", "cmv"],
}  # fmt: skip
HAMILTON = {
    "InvasiveVent": ["APRV", "APV (cmv)", "Ambient", "(S) CMV", "P-CMV", "SIMV", "APV (simv)", "P-SIMV", "VS", "ASV"],
    "NonInvasiveVent": ["DuoPaP", "NIV", "NIV-ST"],
    "": ["SPONT", "CMV", "MMV", "Standby", "niv"],
}


@pytest.mark.parametrize(
    ("column", "table"),
    [("oxygen_delivery.o2_delivery_device_1", DEVICES), ("ventilator_setting.ventilator_mode", MODES),
     ("ventilator_setting.ventilator_mode_hamilton", HAMILTON)],
)  # fmt: skip
def test_device_and_mode_texts(db: CaseDb, column: str, table: dict[str, list[str]]) -> None:
    time = column.split(".")[0] + ".charttime"
    lines = []
    for status, texts in table.items():
        for text in texts:
            lines.append(f"{text!r} | +1:00 | '{text}' | | {status or 'no row'}")
            lines.append(f" | +2:00 | '{text}' | |")
    check(db, "mimic-ventilation", "\n".join([f"what | {time} | {column} | -> | ventilation_status", *lines]))


PRIORITY = """
what                                  | oxygen_delivery.charttime | oxygen_delivery.o2_delivery_device_1 | ventilator_setting.charttime | ventilator_setting.ventilator_mode | ventilator_setting.ventilator_mode_hamilton | -> | ventilation_status
tracheostomy over a ventilator mode   | +1:00 | Tracheostomy tube  | +1:00 | CMV/ASSIST | - |  | Tracheostomy
                                      | +2:00 | Tracheostomy tube  | +2:00 | CMV/ASSIST | - |  |
invasive mode over a mask             | +1:00 | 'Bipap mask '      | +1:00 | CMV/ASSIST | - |  | InvasiveVent
                                      | +2:00 | 'Bipap mask '      | +2:00 | CMV/ASSIST | - |  |
mask mode over a cannula              | +1:00 | Nasal cannula      | +1:00 | -          | NIV |  | NonInvasiveVent
                                      | +2:00 | Nasal cannula      | +2:00 | -          | NIV |  |
each mode in its own column           | +1:00 | Nasal cannula      | +1:00 | -          | CMV |  | SupplementalOxygen
                                      | +2:00 | Nasal cannula      | +2:00 | -          | CMV |  |
settings without a mode               | +1:00 | -                  | +1:00 | -          | -   |  | no row
                                      | +2:00 | -                  | +2:00 | -          | -   |  |
"""


def test_priority(db: CaseDb) -> None:
    check(db, "mimic-ventilation", PRIORITY)


DOSE = """
what                                  | vasoactive_agent.starttime | vasoactive_agent.endtime | vasoactive_agent.norepinephrine | vasoactive_agent.epinephrine | vasoactive_agent.phenylephrine | vasoactive_agent.dopamine | vasoactive_agent.vasopressin | vasoactive_agent.dobutamine | vasoactive_agent.milrinone | -> | starttime | endtime | norepinephrine_equivalent_dose
norepinephrine 0.1                    | +1:00 | +2:00 | 0.1 |     |   |    |     |   |   |  | +1:00 | +2:00 | 0.1
epinephrine 0.1                       | +1:00 | +2:00 |     | 0.1 |   |    |     |   |   |  | +1:00 | +2:00 | 0.1
phenylephrine 1 is a tenth            | +1:00 | +2:00 |     |     | 1 |    |     |   |   |  | +1:00 | +2:00 | 0.1
dopamine 10 is a hundredth            | +1:00 | +2:00 |     |     |   | 10 |     |   |   |  | +1:00 | +2:00 | 0.1
vasopressin 2.4 units/h = 0.04 units/min | +1:00 | +2:00 |  |     |   |    | 2.4 |   |   |  | +1:00 | +2:00 | 0.1
all five                              | +1:00 | +2:00 | 0.1 | 0.1 | 1 | 10 | 2.4 |   |   |  | +1:00 | +2:00 | 0.5
dobutamine adds nothing               | +1:00 | +2:00 | 0.1 |     |   |    |     | 5 | 1 |  | +1:00 | +2:00 | 0.1
inotropes alone                       | +1:00 | +2:00 |     |     |   |    |     | 5 | 1 |  | no row | |
no drug running                       | +1:00 | +2:00 | -   | -   | - | -  | -   | - | - |  | no row | |
a rate of 0 stays                     | +1:00 | +2:00 | 0   |     |   |    |     |   |   |  | +1:00 | +2:00 | 0
three decimals: 0.0004                | +1:00 | +2:00 | 0.0004 |  |   |    |     |   |   |  | +1:00 | +2:00 | 0
0.0005 is rounded up                  | +1:00 | +2:00 | 0.0005 |  |   |    |     |   |   |  | +1:00 | +2:00 | 0.001
0.12345                               | +1:00 | +2:00 | 0.12345 | |   |    |     |   |   |  | +1:00 | +2:00 | 0.123
0.1235 is rounded up                  | +1:00 | +2:00 | 0.1235 | |    |    |     |   |   |  | +1:00 | +2:00 | 0.124
the same interval twice: the highest  | +1:00 | +2:00 | 0.1 |     |   |    |     |   |   |  | +1:00 | +2:00 | 0.3
                                      | +1:00 | +2:00 | 0.3 |     |   |    |     |   |   |  |       |       |
equal neighbours are not merged       | +1:00 | +2:00 | 0.1 |     |   |    |     |   |   |  | +1:00 | +2:00 | 0.1
                                      | +2:00 | +3:00 | 0.1 |     |   |    |     |   |   |  | +2:00 | +3:00 | 0.1
"""


def test_norepinephrine_equivalents(db: CaseDb) -> None:
    check(db, "mimic-vasopressor-equivalents", DOSE, order="starttime")


PUMPS = """
what                                     | norepinephrine.starttime | norepinephrine.endtime | norepinephrine.vaso_rate | dobutamine.starttime | dobutamine.endtime | dobutamine.vaso_rate | -> | starttime | endtime | norepinephrine_equivalent_dose
an inotrope cuts the interval            | +1:00 | +4:00 | 0.1 | +2:00 | +3:00 | 5 |  | +1:00 | +2:00 | 0.1
                                         |       |       |     |       |       |   |  | +2:00 | +3:00 | 0.1
                                         |       |       |     |       |       |   |  | +3:00 | +4:00 | 0.1
a gap is no interval                     | +1:00 | +2:00 | 0.1 |       |       |   |  | +1:00 | +2:00 | 0.1
                                         | +3:00 | +4:00 | 0.2 |       |       |   |  | +3:00 | +4:00 | 0.2
two overlapping rows: the higher rate    | +1:00 | +3:00 | 0.1 |       |       |   |  | +1:00 | +2:00 | 0.1
                                         | +2:00 | +4:00 | 0.4 |       |       |   |  | +2:00 | +3:00 | 0.4
                                         |       |       |     |       |       |   |  | +3:00 | +4:00 | 0.4
"""


def test_intervals_from_pumps(db: CaseDb) -> None:
    check(db, "mimic-vasopressor-equivalents", PUMPS, build=["vasoactive_agent"], order="starttime")

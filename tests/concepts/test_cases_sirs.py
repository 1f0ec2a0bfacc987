"""SIRS point by point. Each line is a patient; the points are read off Bone RC et al., Chest 1992;101:1644-1655,
or follow the choice named in the line where the public code departs from it.
"""

from __future__ import annotations

import pytest

from tests.concepts.case_db import CaseDb

SIRS = {
    "temperature below 36 or above 38 °C": """
    what             | first_day_vitalsign.temperature_min | first_day_vitalsign.temperature_max | -> | temp_score | sirs
    35.99 is low     | 35.99 | 37    |  | 1 | 1
    36.00 is not     | 36.00 | 37    |  | 0 | 0
    38.00 is not     | 36.50 | 38.00 |  | 0 | 0
    38.01 is high    | 36.50 | 38.01 |  | 1 | 1
    not charted      | -     | -     |  | - | 0
    """,
    "heart rate above 90": """
    what         | first_day_vitalsign.heart_rate_max | -> | heart_rate_score | sirs
    90 is normal | 90    |  | 0 | 0
    90.5 is not  | 90.5  |  | 1 | 1
    not charted  | -     |  | - | 0
    """,
    "respiratory rate above 20, or arterial PaCO2 below 32 mmHg": """
    what                             | first_day_vitalsign.resp_rate_max | first_day_bg_art.pco2_min | -> | resp_score | sirs
    rate 20, PaCO2 32                | 20   | 32   |  | 0 | 0
    rate 20.1                        | 20.1 | 32   |  | 1 | 1
    PaCO2 31.9                       | 20   | 31.9 |  | 1 | 1
    both: still one point            | 30   | 25   |  | 1 | 1
    gas alone, normal                |      | 40   |  | 0 | 0
    gas alone, low                   |      | 31   |  | 1 | 1
    rate alone, normal               | 15   |      |  | 0 | 0
    neither                          |      |      |  | - | 0
    """,
    "white cells below 4 or above 12 K/µL, or more than 10 % bands": """
    what                         | first_day_lab.wbc_min | first_day_lab.wbc_max | first_day_lab.bands_max | -> | wbc_score | sirs
    4.0 and 12.0 are normal      | 4.0 | 12.0 |      |  | 0 | 0
    3.9 is low                   | 3.9 | 12.0 |      |  | 1 | 1
    12.1 is high                 | 4.0 | 12.1 |      |  | 1 | 1
    10 % bands are not enough    | 5.0 | 6.0  | 10   |  | 0 | 0
    10.5 % bands are             | 5.0 | 6.0  | 10.5 |  | 1 | 1
    bands alone, few             |     |      | 5    |  | 0 | 0
    bands alone, many            |     |      | 11   |  | 1 | 1
    nothing measured             |     |      |      |  | - | 0
    """,
    "the total is the sum of the criteria": """
    what          | first_day_vitalsign.temperature_min | first_day_vitalsign.temperature_max | first_day_vitalsign.heart_rate_max | first_day_vitalsign.resp_rate_max | first_day_lab.wbc_min | first_day_lab.wbc_max | -> | sirs
    all four      | 35 | 39 | 120 | 30 | 2 | 15 |  | 4
    three         | 37 | 39 | 120 | 30 | 5 | 10 |  | 3
    fever on both sides is one criterion | 35 | 39 | 80 | 15 | 5 | 10 |  | 1
    """,
}


@pytest.mark.parametrize("name", SIRS)
def test_sirs(db: CaseDb, name: str) -> None:
    db.check("sirs", SIRS[name])

"""Every concept against small cases that were computed by hand (cases_*.md beside this file)."""

from pathlib import Path

import pytest

from tests.concepts.casebook import Case, check, read_cases

CASES = [case for path in sorted(Path(__file__).parent.glob("cases_*.md")) for case in read_cases(path)]


@pytest.mark.parametrize("case", CASES, ids=[f"{case.concept}: {case.title}" for case in CASES])
def test_hand_computed(case: Case) -> None:
    check(case)

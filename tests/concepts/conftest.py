"""An empty hand-made MIMIC-IV for the tables of clinical cases."""

from __future__ import annotations

import pytest

from tests.concepts.case_db import CaseDb


@pytest.fixture(scope="session")
def empty_db() -> CaseDb:
    return CaseDb()


@pytest.fixture
def db(empty_db: CaseDb) -> CaseDb:
    return empty_db.fresh()

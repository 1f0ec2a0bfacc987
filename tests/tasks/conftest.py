"""The empty hand-made databases for the tables of clinical cases."""

from __future__ import annotations

import pytest

from tests.concepts.conftest import db, empty_db  # noqa: F401
from tests.tasks.references import EicuDb


@pytest.fixture(scope="session")
def empty_eicu() -> EicuDb:
    return EicuDb()


@pytest.fixture
def eicu(empty_eicu: EicuDb) -> EicuDb:
    empty_eicu.fresh()
    return empty_eicu

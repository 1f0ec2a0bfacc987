"""Runs the reference of a task on hand-made patients; eICU has its own empty database."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from m4lib.cards import get_card
from m4lib.data.schema import source
from m4lib.duck import connect
from m4lib.project import find_project
from m4lib.tasks.reference import reference
from tests.concepts.case_db import CaseDb, read


def rows(db: CaseDb, task: str) -> list[dict[str, Any]]:
    """The reference rows of `task`, as dictionaries; the contract's columns are checked on the way."""
    relation = reference(get_card(find_project().tasks, task), db.con)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def check(
    db: CaseDb,
    task: str,
    text: str,
    *,
    imputed: bool = False,
    leave_out: Iterable[str] = (),
    build: Iterable[str] = (),
    order: str | None = None,
) -> None:
    """Compare the reference of `task` with a table of cases.

    imputed: the table is that of a concept; a missing component (`-`) is 0 here, and columns that are not in the
    task's contract are passed over.
    leave_out: cases, by their first cell, in which the task departs from the concept.
    """
    skipped = set(leave_out)
    cases = [case for case in read(text) if case.what not in skipped]
    if imputed:
        required = get_card(find_project().tasks, task).evaluation["required_columns"]
        for case in cases:
            case.expected = [
                {column: 0 if value is None else value for column, value in row.items() if column in required}
                for row in case.expected
            ]
            assert any(case.expected), f"nothing is left to compare in {case.what}"
    db.check_rows(lambda: rows(db, task), cases, build, order)


class EicuDb(CaseDb):
    """An empty eICU; every patient of a table is a unit stay of a 60-year-old woman, times are minutes."""

    base_tables = ("patient",)

    def __init__(self) -> None:
        self.con = connect(threads=1)
        self.con.execute("CREATE SCHEMA eicu_crd")
        self.columns = {}
        for table in source("eicu").tables:
            self.columns[table.name] = [c.name for c in table.columns]
            columns = ", ".join(f'"{c.name}" {c.type}' for c in table.columns)
            self.con.execute(f"CREATE TABLE {table.full_name} ({columns})")
        self.filled = set()

    @staticmethod
    def full_name(table: str) -> str:
        return f"eicu_crd.{table}"

    def patient(self, number: int, **overrides: dict[str, Any]) -> dict[str, int]:
        ids = {"patientunitstayid": 3000 + number}
        row = {"patienthealthsystemstayid": 2000 + number, "uniquepid": f"p{number}", "age": "60", "hospitaladmitoffset": -720}
        self.event("patient", ids, {**row, **overrides.get("patient", {})})
        return ids

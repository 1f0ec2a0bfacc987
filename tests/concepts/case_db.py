"""Hand-made patients as text tables: a line is a patient, left of the arrow what was charted, right of it the answer.

    what it shows           | first_day_lab.bun_max | -> | bun_score
    just below 17 mg/dL     | 16.9                  |    | 0
    on it                   | 17                    |    | 2
    not measured            |                       |    | -

Every line gets its own patient, admission and ICU stay (intime `INTIME`, outtime 3 days later, female, anchor age
60). Input columns are `table.column`; a table is filled for a patient when at least one of its cells is not empty.
Empty means "nothing", `-` is NULL, quotes keep blanks and `¦` in them is a bar. `+24:00` is a time after intime. A line whose first cell is
empty adds one more event, and one more expected row, to the patient above it; `no row` expects none.

This checks scores from the concepts they read; `casebook.py` checks concepts from the charted rows.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from m4lib.concepts import graph
from m4lib.concepts.engine import build_concepts
from m4lib.data.schema import source
from m4lib.duck import connect

INTIME = dt.datetime(2150, 6, 1, 10, 0, 0)
HOSP = {t.name for t in source("mimic-iv").tables if t.schema == "mimiciv_hosp"}
ICU = {t.name for t in source("mimic-iv").tables if t.schema == "mimiciv_icu"}
NO_ROW = "no row"


@dataclass
class Case:
    """One patient: events to insert and rows to expect, each a dict of column to value."""

    what: str
    events: list[dict[str, Any]] = field(default_factory=list)
    expected: list[dict[str, Any]] = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=dict)


def value(cell: str) -> Any:
    """A cell as NULL, offset from intime, number or text (quoted text keeps its blanks and is never a number)."""
    if cell == "-":
        return None
    if re.fullmatch(r"[+-]\d+:\d\d(:\d\d)?", cell):
        hours, minutes, *seconds = cell[1:].split(":")
        offset = dt.timedelta(hours=int(hours), minutes=int(minutes), seconds=int(seconds[0]) if seconds else 0)
        return INTIME + (offset if cell[0] == "+" else -offset)
    if cell.startswith("'") and cell.endswith("'"):
        return cell[1:-1].replace("¦", "|")
    if re.fullmatch(r"0\d+", cell):  # a code with a leading zero
        return cell
    try:
        return int(cell)
    except ValueError:
        try:
            return float(cell)
        except ValueError:
            return cell


def read(text: str) -> list[Case]:
    """The cases of a text table; lines that start with `#` are remarks."""
    lines = [line.strip() for line in text.strip().splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    header = [cell.strip() for cell in lines[0].split("|")]
    arrow = header.index("->")
    cases: list[Case] = []
    for line in lines[1:]:
        cells = [cell.strip() for cell in line.split("|")]
        assert len(cells) == len(header), f"{len(cells)} cells for {len(header)} columns: {line}"
        if cells[0]:
            cases.append(Case(cells[0]))
        event = {c: value(v) for c, v in zip(header[1:arrow], cells[1:arrow], strict=True) if v}
        expected = {c: value(v) for c, v in zip(header[arrow + 1 :], cells[arrow + 1 :], strict=True) if v}
        if event:
            cases[-1].events.append(event)
        if expected:
            cases[-1].expected.append(expected)
    assert all(case.expected for case in cases), "a case without expected values tests nothing"
    return cases


class CaseDb:
    """An in-memory MIMIC-IV with every table and concept, all empty; `fresh()` empties what a test has filled."""

    base_tables: tuple[str, ...] = ("patients", "admissions", "icustays")  # every patient has one row in each

    def __init__(self) -> None:
        self.con = connect(threads=1)
        for table in source("mimic-iv").tables:
            self.con.execute(f"CREATE SCHEMA IF NOT EXISTS {table.schema}")
            columns = ", ".join(f'"{c.name}" {c.type}' for c in table.columns)
            self.con.execute(f"CREATE TABLE {table.full_name} ({columns})")
        build_concepts(self.con)
        self.concepts = graph.load()
        rows = self.con.execute("SELECT table_name, column_name FROM information_schema.columns").fetchall()
        self.columns: dict[str, list[str]] = {}
        for table_name, column in rows:
            self.columns.setdefault(table_name, []).append(column)
        self.filled: set[str] = set()

    def fresh(self) -> CaseDb:
        for name in self.filled:
            self.con.execute(f"DELETE FROM {self.full_name(name)}")
        self.filled.clear()
        return self

    @staticmethod
    def full_name(table: str) -> str:
        schema = "mimiciv_hosp" if table in HOSP else "mimiciv_icu" if table in ICU else "mimiciv_derived"
        return f"{schema}.{table}"

    def insert(self, table: str, **row: Any) -> None:
        names = ", ".join(f'"{name}"' for name in row)
        marks = ", ".join("?" for _ in row)
        self.con.execute(f"INSERT INTO {self.full_name(table)} ({names}) VALUES ({marks})", list(row.values()))
        self.filled.add(table)

    def patient(self, number: int, **overrides: dict[str, Any]) -> dict[str, int]:
        """Insert patient, admission and stay `number`; `overrides` maps one of these tables to changed columns.

        A table mapped to {"absent": ...} is left out.
        """
        ids = {"subject_id": 1000 + number, "hadm_id": 2000 + number, "stay_id": 3000 + number}
        admission = {
            "admittime": INTIME - dt.timedelta(hours=12), "dischtime": INTIME + dt.timedelta(days=10),
            "admission_type": "EW EMER.", "hospital_expire_flag": 0,
        }
        rows: dict[str, dict[str, Any]] = {
            "patients": {"gender": "F", "anchor_age": 60, "anchor_year": 2150},
            "admissions": admission,
            "icustays": {"intime": INTIME, "outtime": INTIME + dt.timedelta(days=3)},
        }
        for table, row in rows.items():
            changed = overrides.get(table, {})
            if "absent" not in changed:
                self.event(table, ids, {**row, **changed})
        return ids

    def event(self, table: str, ids: dict[str, int], columns: dict[str, Any]) -> None:
        """Insert a row that belongs to the patient `ids`, unless `columns` names another."""
        keys = {key: ids[key] for key in ids if key in self.columns[table]}
        self.insert(table, **{**keys, **columns})

    def load(self, cases: list[Case]) -> None:
        for number, case in enumerate(cases):
            grouped = [split(event) for event in case.events]
            base = {t: g[t] for g in grouped for t in self.base_tables if t in g}
            case.ids = self.patient(number, **base)
            for group in grouped:
                for table, columns in group.items():
                    if table not in base:
                        self.event(table, case.ids, columns)

    def rebuild(self, *names: str) -> None:
        """Fill these concepts, in this order, from what is charted."""
        for name in names:
            self.con.execute(f"INSERT INTO mimiciv_derived.{name} {self.concepts[name].sql}")
            self.filled.add(name)

    def rows(self, sql: str) -> list[dict[str, Any]]:
        cursor = self.con.execute(sql)
        names = [d[0] for d in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def concept(self, name: str) -> list[dict[str, Any]]:
        """The concept's rows, by its own SQL file, on what has been inserted."""
        return self.rows(self.concepts[name].sql)

    def check(self, concept: str, text: str, build: Iterable[str] = (), order: str | None = None) -> None:
        """Load the text table, build `build`, run `concept` and compare row by row, all differences at once."""
        self.check_rows(lambda: self.concept(concept), read(text), build, order)

    def check_rows(
        self, query: Any, cases: list[Case], build: Iterable[str] = (), order: str | None = None
    ) -> None:
        """As `check`, with the result rows of the callable `query`."""
        self.load(cases)
        self.rebuild(*build)
        found = query()
        keys = ("stay_id", "hadm_id", "subject_id", "patientunitstayid")
        key = next((k for k in keys if found and k in found[0]), "stay_id")
        wrong = []
        for case in cases:
            rows = [row for row in found if row[key] == case.ids.get(key)]
            if order:
                rows.sort(key=lambda row: (row[order] is None, row[order]))
            expected = [e for e in case.expected if NO_ROW not in e.values()]
            if len(rows) != len(expected):
                wrong.append(f"{case.what}: {len(rows)} rows instead of {len(expected)}: {rows}")
                continue
            for row, answer in zip(rows, expected, strict=True):
                wrong += [
                    f"{case.what}: {column} is {row[column]!r}, by hand {hand!r}"
                    for column, hand in answer.items()
                    if not same(row[column], hand)
                ]
        assert not wrong, "\n".join(wrong)


def split(event: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Cells of one event by table."""
    grouped: dict[str, dict[str, Any]] = {}
    for name, cell in event.items():
        table, column = name.split(".")
        grouped.setdefault(table, {})[column] = cell
    return grouped


def same(found: Any, hand: Any) -> bool:
    """Equal, numbers within 1e-9; a date equals its midnight."""
    if isinstance(found, bool) and isinstance(hand, str):
        return str(found).lower() == hand
    if isinstance(found, (int, float, decimal.Decimal)) and isinstance(hand, (int, float)):
        return math.isclose(float(found), float(hand), rel_tol=0, abs_tol=1e-9)
    return bool(found == hand)

"""Hand-computed cases written as Markdown tables, so that a clinician can read and check them.

`## name` names a concept, `### title` begins a case. A line with a table's name and a Markdown table gives rows of a
base table; the table with the concept's own name is the expected result, of which only the shown columns are compared.

Cells: empty = missing. `10:00` is that time on 2150-01-01, `+1 10:00` a day later, `-1 10:00` a day before; other times
are written out. Text after an item id is its label. Backticks keep blanks. `~1.23` in a result is compared to 2 decimals.
Columns that are not shown: subject_id 1, hadm_id 10, stay_id 100, specimen_id 1000, `value` as `valuenum`, else missing.
Without its own table a case has one patient (man, anchor age 60 in 2150), one admission (2150-01-01 to 01-06) and one
ICU stay (2150-01-01 00:00 to 2150-01-04 00:00).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from m4lib.concepts import build_concepts, graph
from m4lib.data import schema

BASE = {table.name: table for table in schema.source("mimic-iv").tables}
DEFAULTS = {"subject_id": "1", "hadm_id": "10", "stay_id": "100", "specimen_id": "1000"}
SETTING = {
    "patients": (["subject_id", "gender", "anchor_age", "anchor_year"], [["1", "M", "60", "2150"]]),
    "admissions": (["subject_id", "hadm_id", "admittime", "dischtime"], [["1", "10", "00:00", "+5 00:00"]]),
    "icustays": (["subject_id", "hadm_id", "stay_id", "intime", "outtime"], [["1", "10", "100", "00:00", "+3 00:00"]]),
}
Rows = tuple[list[str], list[list[str]]]


@dataclass
class Case:
    concept: str
    title: str
    tables: dict[str, Rows] = field(default_factory=dict)


def read_cases(path: Path) -> list[Case]:
    """All cases of one Markdown file."""
    cases: list[Case] = []
    concept, table = "", ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("## "):
            concept = line[3:].strip()
        elif line.startswith("### "):
            cases.append(Case(concept, line[4:].strip()))
        elif cases and re.fullmatch(r"[a-z_]+", line.strip()):
            table = line.strip()
        elif line.startswith("|"):
            if re.fullmatch(r"[|\-: ]+", line):
                continue
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            header, rows = cases[-1].tables.setdefault(table, (cells, []))
            if header is not cells:
                assert len(cells) == len(header), f"{path.name}:{number} has {len(cells)} cells, not {len(header)}"
                rows.append(cells)
    return cases


def cell(text: str, column: str) -> str | None:
    """The value of a cell as text that DuckDB can cast to the type of its column."""
    if text.startswith("`"):
        return text.strip("`")
    if not text:
        return None
    time = re.fullmatch(r"(?:([+-]\d+) )?(\d\d:\d\d(?::\d\d(?:\.\d+)?)?)", text)
    if time:
        return str(duckdb.sql(f"SELECT DATE '2150-01-01' + {int(time[1] or 0)} + TIME '{time[2]}'").fetchall()[0][0])
    if column.endswith("itemid"):
        return text.split()[0]
    return text


def database(case: Case) -> duckdb.DuckDBPyConnection:
    """The base tables that the concept rests on, in memory, with the rows of the case."""
    given = {name: rows for name, rows in case.tables.items() if name != case.concept}
    read = {name for one in graph.closure(graph.load(), [case.concept]).values() for _, name in one.needs.base}
    assert set(given) <= read, f"{case.concept} does not read {set(given) - read}"
    con = duckdb.connect(config={"threads": 1})
    con.execute("CREATE SCHEMA mimiciv_hosp; CREATE SCHEMA mimiciv_icu")
    for table in map(BASE.__getitem__, sorted(read)):
        con.execute(f"CREATE TABLE {table.full_name} ({', '.join(f'{c.name} {c.type}' for c in table.columns)})")
    for name, (header, rows) in {**SETTING, **given}.items():
        if name not in read:
            continue
        columns = [c.name for c in BASE[name].columns]
        assert set(header) <= set(columns), f"{name} has no column {set(header) - set(columns)}"
        for row in rows:
            values = {k: v for k, v in DEFAULTS.items() if k in columns}
            values |= {column: cell(text, column) for column, text in zip(header, row, strict=True)}
            if "valuenum" in values and "value" not in values:
                values["value"] = values["valuenum"]
            con.execute(
                f"INSERT INTO {BASE[name].full_name} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})",
                list(values.values()),
            )
    return con


def same(expected: str, actual: Any, column: str) -> bool:
    if expected.startswith("~"):
        decimals = len(expected.partition(".")[2])
        return actual is not None and abs(float(actual) - float(expected[1:])) <= 0.5000001 * 10**-decimals
    value = cell(expected, column)
    if value is None or actual is None:
        return value is None and actual is None
    if isinstance(actual, bool):
        return value == str(actual).lower()
    if isinstance(actual, int | float | Decimal):
        return abs(float(value) - float(actual)) <= 1e-9
    return value == str(actual)


def check(case: Case) -> None:
    """Build the concept on the case's rows and compare; the assertion shows both tables."""
    header, expected = case.tables[case.concept]
    con = database(case)
    build_concepts(con, only=[case.concept])
    found = con.execute(f"SELECT {', '.join(header)} FROM mimiciv_derived.{case.concept}").fetchall()
    left = list(found)
    missing = []
    for row in expected:
        match = next((f for f in left if all(map(same, row, f, header))), None)
        if match is None:
            missing.append(row)
        else:
            left.remove(match)
    shown = [[str(v) if v is not None else "" for v in row] for row in found]
    assert not missing and not left, f"{case.concept}: {case.title}\n{header}\nexpected {expected}\nfound    {shown}"

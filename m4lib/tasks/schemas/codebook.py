"""Names of the transformed schemas: which code stands for which schema, table and column of MIMIC-IV.

The codebook follows from the catalogue (the 31 base tables and 63 derived concepts with their columns) by one rule:
alphabetical numbering. One global map for columns, so that equal codes still show which columns join. A seeded codebook
deals the same codes out at random. Never give a codebook to an agent.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import sqlglot
from sqlglot import exp

from m4lib.errors import M4Error
from m4lib.files import sha256_text

DERIVED = "mimiciv_derived"
# merged table -> schema it lives in; the merged and discriminating names are numbered from 901
MERGED = {
    "encounters": "mimiciv_hosp",
    "flows": "mimiciv_icu",
    "item_reference": "mimiciv_icu",
    "observations": "mimiciv_icu",
}
MERGED_NUMBERS = {"encounters": 901, "flows": 902, "item_reference": 903, "observations": 901}
DISCRIMINATORS = ("source", "direction", "item_type")  # of observations, flows, item_reference: c_901, c_902, c_903

Catalogue = Mapping[str, Iterable[str]]  # `schema.table` -> column names


@dataclass(frozen=True)
class Codebook:
    """Native name -> code, for each kind of name. `tables` maps `schema.table` to `ds_N.t_NNN`; all maps are one-to-one.

    `seed` is None for the published codes.
    """

    schemas: Mapping[str, str]
    tables: Mapping[str, str]
    columns: Mapping[str, str]
    restructured_tables: Mapping[str, str]
    restructured_columns: Mapping[str, str]
    seed: int | None = None

    def table(self, name: str) -> str:
        """The code of `schema.table`; raises M4Error when the catalogue does not know it."""
        return _look_up(self.tables, name.lower(), "table")

    def column(self, name: str) -> str:
        return _look_up(self.columns, name.lower(), "column")

    @cached_property
    def native_columns(self) -> dict[str, str]:
        return {code: name for name, code in self.columns.items()}

    @cached_property
    def native_tables(self) -> dict[str, str]:
        return {code: name for name, code in self.tables.items()}

    def to_json(self) -> str:
        """The published form: five sections, keys sorted, two blanks of indent."""
        sections = {
            "columns": dict(self.columns), "restructured_columns": dict(self.restructured_columns),
            "restructured_tables": dict(self.restructured_tables), "schemas": dict(self.schemas),
            "tables": dict(self.tables),
        }
        return json.dumps(sections, indent=2, sort_keys=True) + "\n"

    @cached_property
    def sha256(self) -> str:
        return sha256_text(self.to_json())


def _look_up(section: Mapping[str, str], name: str, kind: str) -> str:
    try:
        return section[name]
    except KeyError:
        raise M4Error(f"The catalogue of the transformed schemas knows no {kind} called {name}.") from None


def codebook(catalogue: Catalogue | None = None, seed: int | None = None) -> Codebook:
    """The codebook of `catalogue` (default: `mimic_catalogue()`).

    With a `seed`, every schema, table and column gets another's number; the same seed always gives the same codebook.
    """
    if catalogue is None:
        return _default(seed)
    dice = random.Random(seed) if seed is not None else None

    def numbers(count: int, start: int = 1) -> list[int]:
        found = list(range(start, start + count))
        if dice:
            dice.shuffle(found)
        return found

    by_schema: dict[str, list[str]] = {}
    for name in sorted(catalogue):
        schema, _, table = name.partition(".")
        by_schema.setdefault(schema, []).append(table)
    schemas = {name: f"ds_{n}" for name, n in zip(sorted(by_schema), numbers(len(by_schema)), strict=True)}
    tables = {
        f"{schema}.{table}": f"{schemas[schema]}.t_{n:03d}"
        for schema, names in sorted(by_schema.items())
        for table, n in zip(sorted(names), numbers(len(names)), strict=True)
    }
    names = sorted({column.lower() for columns in catalogue.values() for column in columns})
    columns = {name: f"c_{n:03d}" for name, n in zip(names, numbers(len(names)), strict=True)}
    merged_numbers = dict(MERGED_NUMBERS)
    if dice:
        merged_numbers = dict(zip(sorted(MERGED), numbers(len(MERGED), 901), strict=True))
    merged = {
        name: f"{schemas[schema]}.t_{merged_numbers[name]:03d}" for name, schema in MERGED.items() if schema in schemas
    }
    marks = {name: f"c_{n}" for name, n in zip(DISCRIMINATORS, numbers(len(DISCRIMINATORS), 901), strict=True)}
    made = Codebook(schemas, tables, columns, merged, marks, seed)
    for section in (made.schemas, made.tables, made.columns, made.restructured_tables, made.restructured_columns):
        assert len(set(section.values())) == len(section), "two names share a code"
    return made


@cache
def _default(seed: int | None) -> Codebook:
    return codebook(mimic_catalogue(), seed)


@cache
def mimic_catalogue() -> dict[str, tuple[str, ...]]:
    """`schema.table` -> columns of MIMIC-IV 3.1 with all derived concepts, from the table description and the SQL itself."""
    import m4lib.concepts
    from m4lib.data import schema

    found = {
        table.full_name: tuple(column.name.lower() for column in table.columns)
        for table in schema.source("mimic-iv").tables
    }
    for path in sorted(Path(m4lib.concepts.__file__).parent.glob("*/*.sql")):
        tree: exp.Expression = sqlglot.parse_one(path.read_text(encoding="utf-8"), read="duckdb")  # type: ignore[assignment]
        found[f"{DERIVED}.{path.stem}"] = tuple(output_columns(tree))
    return dict(sorted(found.items()))


def output_columns(query: exp.Expression, whole: exp.Expression | None = None) -> list[str]:
    """Names of the columns that a query gives; a star is followed into the common table expression that it reads.

    whole: the statement around `query`, where such expressions are defined (default: the query itself).
    Raises M4Error when a star reads something else, whose columns the text does not tell.
    """
    whole = whole or query
    names: list[str] = []
    for projection in query.selects:  # type: ignore[attr-defined]
        if not projection.is_star:
            names.append(projection.alias_or_name.lower())
            continue
        qualified = isinstance(projection, exp.Column)
        tables = [table for table in query.find_all(exp.Table) if table.parent_select is query]
        read = [table for table in tables if not qualified or projection.table == table.alias_or_name]
        inner = [cte.this for cte in whole.find_all(exp.CTE) if read and not read[0].db and cte.alias == read[0].name]
        if len(read) != 1 or not inner:
            raise M4Error(f"Cannot tell the columns of {projection.sql(dialect='duckdb')} without a database.")
        star = projection.this if qualified else projection
        skipped = {column.name.lower() for column in star.args.get("except_") or star.args.get("except") or []}
        names += [name for name in output_columns(inner[0], whole) if name not in skipped]
    return names

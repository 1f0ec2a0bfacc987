"""What a source release looks like: tables, typed columns, and what may be absent.

A column is written `name:type`. A trailing `?` marks a column that not every supported release has; it is
filled with NULL when it is not there. A `!` after a table's name marks a table that the concepts or tasks need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from m4lib.errors import M4Error
from m4lib.files import sha256_text

# int never holds a measurement: DuckDB would round 36.6 to 37 without a word, so whatever is measured is num
TYPES = {"int": "BIGINT", "num": "DOUBLE", "time": "TIMESTAMP", "date": "DATE", "text": "VARCHAR"}
# these tokens mean "missing" in every column, quoted or not
NULL_TOKENS = ("", "NULL", "NA", "N/A", "___")


@dataclass(frozen=True)
class Column:
    name: str
    type: str  # a DuckDB type
    optional: bool = False


@dataclass(frozen=True)
class Table:
    """One CSV file of a release; `folder` is its subfolder in the PhysioNet layout, '' for none."""

    schema: str
    name: str
    folder: str
    columns: tuple[Column, ...]
    required: bool = False

    @property
    def full_name(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True)
class Source:
    """All tables of one source, with the label that messages use."""

    name: str
    label: str
    tables: tuple[Table, ...]

    @property
    def spec_sha256(self) -> str:
        """Changes whenever a table, column or type of this description changes."""
        return sha256_text(repr((NULL_TOKENS, self.tables)))


def parse_tables(text: Mapping[str, str], schemas: Mapping[str, str]) -> tuple[Table, ...]:
    """`{"hosp/patients!": "subject_id:int gender:text ..."}` and `{folder: schema}` to Table objects."""
    tables = []
    for key, columns in text.items():
        required = key.endswith("!")
        folder, _, name = key.removesuffix("!").rpartition("/")
        parsed = []
        for item in columns.split():
            column, _, kind = item.partition(":")
            parsed.append(Column(column, TYPES[kind.removesuffix("?")], kind.endswith("?")))
        tables.append(Table(schemas[folder], name, folder, tuple(parsed), required))
    return tuple(tables)


@cache
def source(name: str) -> Source:
    """The description of `mimic-iv` or `eicu`. Raises M4Error for any other name."""
    if name == "mimic-iv":
        from m4lib.data.schema_mimic import SCHEMAS, TABLES

        return Source(name, "MIMIC-IV", parse_tables(TABLES, SCHEMAS))
    if name == "eicu":
        from m4lib.data.schema_eicu import SCHEMAS, TABLES

        return Source(name, "eICU", parse_tables(TABLES, SCHEMAS))
    raise M4Error(f"There is no source called {name!r}; choose mimic-iv or eicu.")

"""Scripts for the replay server: the conversation that a model would have had about a task.

With a skill, the agent lists and reads it, runs the reference SQL and ends. Without one, it looks at the database and
runs a version of the SQL with a mistake in it, so that the demonstration has an effect to measure. Nothing here is
evidence: records of replayed runs are never publishable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import sqlglot
from sqlglot import exp

from m4lib.cards import Card
from m4lib.concepts import graph
from m4lib.errors import M4Error
from m4lib.harness.conditions import Condition
from m4lib.tasks.schemas import Codebook

FENCE = re.compile(r"^```sql\n(.*?)^```", re.DOTALL | re.MULTILINE)
USAGE = {"input": 1000, "cached": 400, "output": 50}

LOOK = """python3 - <<'EOF'
import duckdb
con = duckdb.connect("./database.duckdb", read_only=True)
print(con.execute("SELECT table_schema, count(*) FROM information_schema.tables GROUP BY ALL ORDER BY ALL").fetchall())
EOF"""


def script(commands: Sequence[str], closing: str = "The table is written to ./output.csv.", **usage: int) -> dict[str, Any]:
    """A conversation that runs `commands` one after another and then says `closing`."""
    return {"steps": [*({"run": command} for command in commands), {"say": closing}], "usage": {**USAGE, **usage}}


def sql_of_skill(files: Mapping[str, str]) -> str:
    """The SQL block of the raw-SQL condition; M4Error when there is none."""
    for path, text in sorted(files.items()):
        found = FENCE.search(text) if path.endswith("SKILL.md") else None
        if found:
            return found.group(1)
    raise M4Error("The raw-SQL condition holds no SQL block, so the oracle has nothing to execute.")


def conversation(
    card: Card, condition: Condition, *, schema: str = "native", trial: int = 1, codes: Codebook | None = None
) -> dict[str, Any]:
    """The script for one run of `card`: right with a helpful skill, slightly wrong without."""
    commands = [LOOK]
    if condition.files:
        paths = " ".join(sorted(condition.files))
        commands = [f"find {condition.skill_dir} -name '*.md'", f"cat {paths}", LOOK]
    helpful = condition.condition in ("with-skill", "with-skill-mapped", "with-skill-all", "with-skill-rawsql", "operational-spec")
    statements = reference_statements(card, schema, codes)
    if not helpful:
        statements[-1] = flawed(card, statements[-1], trial)
    return script([*commands, sql_command(statements)])


def sql_command(statements: Sequence[str]) -> str:
    """One shell command that executes SQL on ./database.duckdb; the last statement's rows become ./output.csv."""
    body = "\n".join(
        ["import duckdb", 'con = duckdb.connect("./database.duckdb", read_only=True)', "con.execute(\"SET TimeZone='UTC'\")"]
        + [f"con.execute({text!r})" for text in statements[:-1]]
        + ["query = " + repr(statements[-1].strip().rstrip(";") + "\n"), "con.execute(\"COPY (\" + query + \") TO './output.csv' (FORMAT csv, HEADER)\")"]
    )
    return f"cat > solve.py <<'EOF'\n{body}\nEOF\npython3 solve.py"


def reference_statements(card: Card, schema: str = "native", codes: Codebook | None = None) -> list[str]:
    """SQL that yields the reference of `card` in its own task database."""
    return adapted(card, card.reference_path.read_text(encoding="utf-8"), schema, codes)


def adapted(card: Card, sql: str, schema: str = "native", codes: Codebook | None = None) -> list[str]:
    """Reference SQL made to run in the card's own task database, `codes` being its names; the last statement gives the rows.

    Derived concepts that a raw task lacks are made first, as temporary tables. In a transformed schema names are
    rewritten; a raw task in a transformed schema has no such SQL (M4Error).
    """
    if schema != "native":
        from m4lib.tasks.schemas.rewrite import rewrite

        if card.drops_all_derived:
            raise M4Error(f"There is no script for {card.name} in the {schema} schema; give the replay its own conversation.")
        return [rewrite(sql, schema, codes)]
    if not card.drops_all_derived:
        return [sql]
    concepts = graph.load()
    needed = graph.dependencies(sql, card.name).concepts
    ordered = graph.order(graph.closure(concepts, needed)) if needed else []
    return [f"CREATE TEMP TABLE {_temporary(concept.name)} AS {_localised(concept.sql)}" for concept in ordered] + [_localised(sql)]


def _temporary(name: str) -> str:
    return f"derived_{name}"


def _localised(sql: str) -> str:
    """`sql` with mimiciv_derived.x read from the temporary table of x."""
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    for table in tree.find_all(exp.Table):
        if table.db.lower() == graph.DERIVED:
            alias = table.alias or table.name
            table.set("db", None)
            table.set("this", exp.to_identifier(_temporary(table.name.lower())))
            table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    return tree.sql(dialect="duckdb")


def flawed(card: Card, sql: str, trial: int) -> str:
    """The rows of `sql` with mistakes such as an agent makes: some missing values read as zero, some rows forgotten."""
    evaluation: Mapping[str, Any] = card.evaluation
    keys = ", ".join(f'"{key}"' for key in evaluation["key_columns"])
    columns = []
    for place, name in enumerate(card.scored_columns):
        columns.append(f'CASE WHEN hash({keys}, {place + 17 * trial}) % 5 = 0 THEN NULL ELSE "{name}" END AS "{name}"')
    replaced = ", ".join(columns)
    return (
        f"SELECT * REPLACE ({replaced}) FROM (\n{sql.strip().rstrip(';')}\n) AS answer WHERE hash({keys}, {trial}) % 10 <> 0"
    )

"""Agents without a model. They test the harness: the oracle scores 1, nop scores 0, scripted does what a test wants."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from m4lib.errors import M4Error
from m4lib.harness.agents.base import Agent, Launch, Task
from m4lib.harness.isolation import HOME

RUN_SQL = '''"""Run the SQL statements in the file beside this one; the last one's rows become ./output.csv."""
import json
import pathlib

import duckdb

statements = json.loads(pathlib.Path(__file__).with_name("statements.json").read_text())
con = duckdb.connect("./database.duckdb", read_only=True)
con.execute("SET temp_directory='/tmp'; SET TimeZone='UTC'")
for statement in statements[:-1]:
    con.execute(statement)
con.execute("COPY (" + statements[-1].strip().rstrip(";") + "\\n) TO './output.csv' (FORMAT csv, HEADER)")
print(con.execute("SELECT count(*) FROM read_csv('./output.csv', all_varchar=true)").fetchone()[0], "rows")
'''


@dataclass(frozen=True)
class Nop(Agent):
    """Ends at once."""

    def launch(self, task: Task) -> Launch:
        return Launch(("/bin/true",))


@dataclass(frozen=True)
class Scripted(Agent):
    """Runs a Python file, or SQL statements (a JSON list, or text that starts with SELECT or WITH)."""

    def launch(self, task: Task) -> Launch:
        if not task.script.strip():
            raise M4Error("The scripted agent needs a script: Python text, or SQL.")
        if task.script.lstrip().startswith("["):
            return run_sql(json.loads(task.script))
        if re.match(r"\s*(--[^\n]*\n\s*|/\*.*?\*/\s*)*(select|with)\b", task.script, re.IGNORECASE | re.DOTALL):
            return run_sql([task.script])
        return Launch(("python3", f"{HOME}/script.py"), {}, {f"{HOME}/script.py": task.script})


def run_sql(statements: list[str]) -> Launch:
    """A launch that executes SQL against ./database.duckdb and writes ./output.csv."""
    return Launch(
        ("python3", f"{HOME}/run_sql.py"), {}, {f"{HOME}/run_sql.py": RUN_SQL, f"{HOME}/statements.json": json.dumps(statements)}
    )


NOP = Nop("nop", test_only=True, why_unpublishable="the agent nop only tests the harness")
SCRIPTED = Scripted("scripted", test_only=True, why_unpublishable="the agent scripted only tests the harness")
ORACLE = Scripted("oracle", test_only=True, why_unpublishable="the agent oracle executes the reference SQL")

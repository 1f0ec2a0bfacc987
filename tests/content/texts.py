"""Reading what the content tests compare: markdown tables, point tables, CASE expressions and item lists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import sqlglot
from sqlglot import exp

ITEM = re.compile(r"(?<![\d.,])(?:5[0-2]\d{3}|22[0-9]\d{3})(?![\d.])")  # MIMIC-IV lab and ICU item ids
NUMBER = r"[−-]?\d+(?:\.\d+)?"
OPERATORS = {"<": "<", "≤": "<=", ">": ">", "≥": ">=", "=": "="}
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def tables(text: str) -> list[list[list[str]]]:
    """Every markdown table as rows of stripped cells; the first row is the header, the dashes are left out."""
    found, rows = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
        elif rows:
            found.append([row for row in rows if not all(set(cell) <= {"-", ":"} for cell in row)])
            rows = []
    return found


class Branch(NamedTuple):
    """One line of a point table: what is compared (operator and number, "" where it is part of a product), points."""

    tests: frozenset[tuple[str, float]]
    points: str


class Points(NamedTuple):
    where: str
    branches: list[Branch]
    otherwise: str | None


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def point_tables(text: str) -> list[Points]:
    """The two-column tables of `text` whose last column is points or a stage."""
    found = []
    for header, *rows in tables(text):
        if len(header) != 2 or not re.match(r"(Points|Stage|age_score)\b", header[1]):
            continue
        branches, otherwise = [], None
        for condition, points in rows:
            tests = condition_tests(condition)
            if tests and points != "missing":
                branches.append(Branch(tests, points.split(" ")[0]))
            elif condition.startswith("otherwise"):
                otherwise = points
        if branches:
            found.append(Points(header[0], branches, otherwise))
    return found


def condition_tests(condition: str) -> frozenset[tuple[str, float]]:
    text = re.sub(r"\([^)]*\)", lambda m: m[0] if re.search(r"[<>≤≥]", m[0]) else "", condition)  # remarks
    text = re.sub(r"\b(24|12|6)-h\b|\+ 6 h\b|\+ 24 h\b", "", text)
    tests: set[tuple[str, float]] = set()

    def take(operator: str, value: str) -> None:
        tests.add((operator, number(value)))

    for low, high in re.findall(rf"(?<![\w.])({NUMBER}) to ({NUMBER})(?![\w.])", text):
        take(">=", low), take("<=", high)
    text = re.sub(rf"(?<![\w.])({NUMBER}) to ({NUMBER})(?![\w.])", " ", text)
    if re.fullmatch(NUMBER, text):
        return frozenset({("=", number(text))})
    for value, operator in re.findall(rf"(?<![≤≥<>=] )(?<![\w.])({NUMBER}) ([<≤])", text):
        take(FLIPPED[OPERATORS[operator]], value)
    text = re.sub(rf"(?<![≤≥<>=] )(?<![\w.])({NUMBER}) ([<≤])", " ", text)
    for operator, value, product in re.findall(rf"([<≤>≥=]) ({NUMBER})(?![\w.])( ×)?", text):
        take("" if product else OPERATORS[operator], value)
    text = re.sub(rf"([<≤>≥=]) ({NUMBER})(?![\w.])( ×)?", " ", text)
    for value in re.findall(rf"(?<![\w.])({NUMBER})(?![\w.])", text):
        take("", value)
    return frozenset(tests)


COMPARISON: dict[type[exp.Expression], str] = {exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.EQ: "="}


def sql_points(path: Path) -> list[Points]:
    """The point tables of a query: CASE expressions with numeric results, and bands given as VALUES
    (variable, from, below, points)."""
    tree = sqlglot.parse_one(path.read_text(encoding="utf-8"), dialect="duckdb")
    found = []
    for case in tree.find_all(exp.Case):
        branches = []
        for branch in case.args["ifs"]:
            tests, points = sql_tests(branch.this), literal(branch.args["true"])
            if tests and points is not None:
                branches.append(Branch(tests, f"{points:g}"))
        default = case.args.get("default")
        otherwise = literal(default) if default is not None else None
        if branches:
            found.append(Points(str(path), branches, None if otherwise is None else f"{otherwise:g}"))
    bands: dict[str, list[Branch]] = {}
    for row in tree.find_all(exp.Tuple):
        if len(row.expressions) == 4 and row.expressions[0].is_string:
            name, low, high, points = row.expressions
            low_value, high_value = literal(low), literal(high)
            test = ("<", high_value) if high_value is not None else (">=", low_value)
            bands.setdefault(name.this, []).append(Branch(frozenset({test}), f"{literal(points):g}"))  # type: ignore[arg-type]
    return found + [Points(f"{path}: {name}", rows, None) for name, rows in bands.items()]


def sql_tests(condition: exp.Expression) -> frozenset[tuple[str, float]]:
    tests: set[tuple[str, float]] = set()
    for node in condition.find_all(exp.Predicate):
        if isinstance(node, exp.Between):
            low, high = literal(node.args["low"]), literal(node.args["high"])
            if low is not None and high is not None:
                tests |= {(">=", low), ("<=", high)}
        elif type(node) in COMPARISON:
            operator, left, right = COMPARISON[type(node)], literal(node.left), literal(node.right)
            if right is not None:
                tests.add((operator, right))
            elif left is not None:
                tests.add((FLIPPED[operator], left))
            elif not node.find(exp.Interval):
                for value in node.find_all(exp.Literal):
                    if not value.is_string:
                        tests.add(("", float(value.this)))
    return frozenset(tests)


def literal(node: exp.Expression | None) -> float | None:
    """The number that `node` is, through casts and signs; None for anything else."""
    while isinstance(node, exp.Cast | exp.TryCast | exp.Paren):
        node = node.this
    if isinstance(node, exp.Neg):
        value = literal(node.this)
        return None if value is None else -value
    return float(node.this) if isinstance(node, exp.Literal) and not node.is_string else None


def same_points(skill: Points, sql: Points) -> bool:
    """Whether the two decide alike, a last line written out in one and left to the default in the other included."""
    ours, theirs = merged(skill.branches), merged(sql.branches)
    if ours == theirs:
        return skill.otherwise in (None, sql.otherwise) or sql.otherwise is None
    if ours[:-1] == theirs and ours[-1].points == sql.otherwise:
        return True
    return theirs[:-1] == ours and theirs[-1].points == skill.otherwise


def merged(branches: list[Branch]) -> list[Branch]:
    """Neighbouring lines that give the same points as one line."""
    lines: list[Branch] = []
    for branch in branches:
        if lines and lines[-1].points == branch.points:
            lines[-1] = Branch(lines[-1].tests | branch.tests, branch.points)
        else:
            lines.append(branch)
    return lines


def sql_strings(path: Path) -> set[str]:
    tree = sqlglot.parse_one(path.read_text(encoding="utf-8"), dialect="duckdb")
    return {node.this for node in tree.find_all(exp.Literal) if node.is_string}


def sql_items(*paths: Path) -> set[int]:
    """Item ids among the numbers of the queries."""
    numbers = set()
    for path in paths:
        tree = sqlglot.parse_one(path.read_text(encoding="utf-8"), dialect="duckdb")
        numbers |= {node.this for node in tree.find_all(exp.Literal) if not node.is_string}
    return {int(value) for value in numbers if ITEM.fullmatch(value)}


def text_items(text: str) -> set[int]:
    return {int(value) for value in ITEM.findall(text)}

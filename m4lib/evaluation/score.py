"""Score one output file against one reference file. Knows nothing of Docker, runs or campaigns."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from contextlib import ExitStack, closing
from typing import Any

import pyarrow as pa

from m4lib.errors import M4Error
from m4lib.evaluation import compare, nmae
from m4lib.evaluation.contract import Contract, EvaluationError, MissingOutput, read_contract
from m4lib.evaluation.opening import Opened, open_regular
from m4lib.evaluation.tables import Reference, Table, open_table
from m4lib.evaluation.values import Aligned, align

EVALUATOR_VERSION = "1"


def evaluate_files(
    output: str | os.PathLike[str], reference: str | os.PathLike[str], contract: Mapping[str, Any]
) -> dict[str, Any]:
    """Score `output` against `reference` (CSV or Parquet, gzip or not) by the rules of `contract`.

    contract: key_columns, value_columns; optional required_columns, tolerance {column: number}, scored_columns,
    non_scoring_columns, row_coverage_threshold (0.95), accuracy_threshold (0.90). A card's `.evaluation` is one.

    Returns a dictionary of plain values that `json.dumps` takes:

    reward                 mean of the match rates, 8 decimals (reward_uncapped is the same)
    match_rates            {scored column: matched / denominator, 8 decimals}; {} when there is no file
    matched                {scored column: count}; denominator = reference rows + extra keys + duplicates
    reference_rows, output_rows, agent_unique_keys, matched_keys, missing_keys, extra_keys, duplicate_keys
    key_precision          8 decimals; key_recall and key_f1 follow from it and the counts, unrounded
    ordered_value_nmae     None when undefined; ordered_value_columns: their number; ordered_columns: their names
    diagnostics            [{check, status: passed | failed, value, threshold}] and passed, failed, errors, total,
                           failed_checks, diagnostics_failed (None when there is no file)
    reason                 None, or in words why the score is what it is

    Whatever the output holds, the result is a score: raises M4Error only for a missing or unreadable reference or
    a contract without keys.
    """
    rules = read_contract(contract)
    with ExitStack() as stack:
        try:
            truth_file = open_regular(reference, follow_links=True)
            stack.enter_context(closing(truth_file))
            table = open_table(truth_file)
        except (MissingOutput, EvaluationError) as error:
            why = "there is no such file" if isinstance(error, MissingOutput) else str(error)
            raise M4Error(f"The reference {reference} cannot be used: {why}.".replace("..", ".")) from None
        try:
            opened = open_regular(output)
            stack.enter_context(closing(opened))
        except MissingOutput as error:
            return no_output(rules, str(error))
        except EvaluationError as error:
            return failed(rules, str(error))
        try:
            return score(opened, truth_file, table, rules)
        except UnusableReference as error:
            raise M4Error(f"The reference {reference} cannot be used: {error}") from None


class UnusableReference(M4Error):
    """The reference lacks a column or cannot be read to its end."""


def score(opened: Opened, truth_file: Opened, truth_table: Table, rules: Contract) -> dict[str, Any]:
    """As `evaluate_files`, on files that are open already."""
    try:
        table = open_table(opened)
    except EvaluationError as error:
        return failed(rules, str(error))
    lacking = [column for column in rules.columns if column not in truth_table.columns]
    if set(lacking) & {*rules.keys, *rules.scored}:
        raise UnusableReference(f"it lacks the column {lacking[0]}.")
    try:
        truth = Reference(truth_table, rules.columns)
    except (EvaluationError, pa.ArrowException) as error:
        raise UnusableReference(str(error)) from None
    try:
        missing = [key for key in rules.keys if key not in table.columns]
        if missing:
            raise EvaluationError(f"The output lacks the key column {missing[0]}.")
        aligned = align(truth, table, rules.keys, rules.compared, rules.tolerance)
        return _count(truth, aligned, table, rules)
    except (EvaluationError, pa.ArrowException, MemoryError) as error:
        words = str(error) if isinstance(error, EvaluationError) else f"The output is too large to be compared: {error}."
        result = failed(rules, words)
        result["reference_rows"] = truth.rows
        if isinstance(error, EvaluationError) and error.readable:
            value, names = nmae.from_files(truth, opened, truth_file, rules)
            result |= {"ordered_value_nmae": value, "ordered_value_columns": len(names), "ordered_columns": names}
        return result


def _count(truth: Reference, aligned: Aligned, table: Table, rules: Contract) -> dict[str, Any]:
    keys = aligned.matched
    found = keys.unique - keys.extra
    denominator = truth.rows + keys.extra + keys.duplicates
    matched, exact = {}, {}
    for column in rules.scored:
        count = 0
        if column in aligned.tallies:
            count = aligned.tallies[column].matched
        elif column in aligned.columns and keys.rows:
            count = int(compare.matches(truth, aligned, column, rules.tolerance.get(column, 0.0)).sum())
        matched[column] = count
        exact[column] = count / denominator if denominator else 0.0
    rates = {column: round(rate, 8) for column, rate in exact.items()}
    reward = round(math.fsum(rates.values()) / len(rates), 8) if rates else 0.0
    coverage = found / truth.rows if truth.rows else 0.0
    lacking = [column for column in rules.required if column not in table.columns]
    checks = [
        _check("output_exists", True, 1, 1),
        _check("output_is_valid_csv", keys.rows > 0, keys.rows, 1),
        _check("has_required_columns", not lacking, len(rules.required) - len(lacking), len(rules.required)),
        _check("row_coverage", coverage >= rules.coverage_threshold, coverage, rules.coverage_threshold),
        *(
            _check(f"score_accuracy[{column}]", rate >= rules.accuracy_threshold, rate, rules.accuracy_threshold)
            for column, rate in exact.items()
        ),
    ]
    precision = round(found / keys.unique, 8) if keys.unique else 0.0
    value, names = nmae.from_aligned(truth, aligned, rules)
    return {
        "reward": reward, "reward_uncapped": reward, "match_rates": rates, "matched": matched,
        "denominator": denominator, "reference_rows": truth.rows, "output_rows": keys.rows,
        "agent_unique_keys": keys.unique, "matched_keys": found, "missing_keys": truth.rows - found,
        "extra_keys": keys.extra, "duplicate_keys": keys.duplicates,
        "key_precision": precision, **recall_and_f1(precision, keys.unique, keys.extra, truth.rows),
        "ordered_value_nmae": value, "ordered_value_columns": len(names), "ordered_columns": names,
        **_strict(checks, errors=0), "diagnostics": checks,
        "reason": _reason(checks, lacking, keys.extra, keys.duplicates, truth.rows - found),
        "evaluator_version": EVALUATOR_VERSION,
    }


def recall_and_f1(precision: float | None, unique: int | None, extra: int | None, truth_rows: int) -> dict[str, float]:
    """Key recall from the recorded counts, and its harmonic mean with the rounded precision; blanks count as 0."""
    recall = max((unique or 0) - (extra or 0), 0) / truth_rows if truth_rows else 0.0
    total = (precision or 0.0) + recall
    return {"key_recall": recall, "key_f1": 2 * (precision or 0.0) * recall / total if total else 0.0}


def no_output(rules: Contract, reason: str) -> dict[str, Any]:
    """The result when there is no file at all."""
    return failed(rules, reason) | {"match_rates": {}, "matched": {}, "diagnostics_failed": None}


def failed(rules: Contract, reason: str) -> dict[str, Any]:
    """The result of an evaluation error: nothing is scored, one check that errored."""
    zero = dict.fromkeys(rules.scored, 0.0)
    return {
        "reward": 0.0, "reward_uncapped": 0.0, "match_rates": zero, "matched": dict.fromkeys(rules.scored, 0),
        "denominator": 0, "reference_rows": None, "output_rows": None,
        "agent_unique_keys": 0, "matched_keys": 0, "missing_keys": None, "extra_keys": 0, "duplicate_keys": 0,
        "key_precision": 0.0, "key_recall": 0.0, "key_f1": 0.0,
        "ordered_value_nmae": None, "ordered_value_columns": 0, "ordered_columns": [],
        "passed": 0, "failed": 0, "errors": 1, "total": 1, "failed_checks": [], "diagnostics_failed": True,
        "diagnostics": [], "reason": reason, "evaluator_version": EVALUATOR_VERSION,
    }


def _check(name: str, passed: bool, value: float, threshold: float) -> dict[str, Any]:
    return {"check": name, "status": "passed" if passed else "failed", "value": value, "threshold": threshold}


def _strict(checks: list[dict[str, Any]], errors: int) -> dict[str, Any]:
    bad = [check["check"] for check in checks if check["status"] == "failed"]
    return {
        "passed": len(checks) - len(bad), "failed": len(bad), "errors": errors, "total": len(checks),
        "failed_checks": bad, "diagnostics_failed": bool(bad or errors),
    }


def _reason(checks: list[dict[str, Any]], lacking: list[str], extra: int, duplicates: int, missing: int) -> str | None:
    words = []
    if checks[1]["status"] == "failed":
        words.append("the output has a header but no rows")
    if lacking:
        words.append("columns are missing: " + ", ".join(lacking))
    for count, what in ((missing, "keys of the reference are missing"), (extra, "keys are not in the reference"),
                        (duplicates, "rows repeat a key")):
        if count:
            words.append(f"{count:,} {what}")
    worst = sorted((check["value"], check["check"]) for check in checks[4:] if check["value"] < 1)
    if worst and not words:
        words.append(f"{len(worst)} of {len(checks) - 4} columns differ, most of all {worst[0][1][15:-1]}")
    text = "; ".join(words)
    return f"{text[0].upper()}{text[1:]}." if text else None

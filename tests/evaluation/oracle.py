"""The evaluator's rules written down naively: both files whole in pandas, one join, one column after the other.

Independent of m4lib (it shares no code with it) and slow. It is the yardstick for the property tests and the baseline
of the benchmark.
"""

from __future__ import annotations

import math
import re
import warnings

import pandas as pd

IDENTIFIERS = {"subject_id", "hadm_id", "stay_id", "patientunitstayid", "patienthealthsystemstayid", "uniquepid"}
TIME = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}:\d{2}")


class Broken(Exception):
    pass


def read(path):
    try:
        return pd.read_csv(path, keep_default_na=False, na_values=[""], low_memory=False)
    except (ValueError, pd.errors.ParserError, OSError) as error:
        raise Broken(str(error)) from None


def to_times(column):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pd.to_datetime(column, errors="coerce")


def normalise_key(column):
    numeric = pd.to_numeric(column, errors="coerce")
    if numeric.notna().all():
        return numeric
    times = to_times(column)
    if times.notna().all():
        return times
    return column.map(str, na_action="ignore").astype(object)


def compare(truth, agent, tolerance, found):
    both = truth.notna() & agent.notna()
    a, b = pd.to_numeric(truth, errors="coerce"), pd.to_numeric(agent, errors="coerce")
    if a[truth.notna()].notna().all() and b[both].notna().all():
        equal = (a - b).abs() <= tolerance
    else:
        equal = truth.astype(str) == agent.astype(str)
        if truth.dropna().head(50).astype(str).map(lambda cell: bool(TIME.search(cell))).any():
            a, b = to_times(truth), to_times(agent)
            if a[truth.notna()].notna().all() and b[both].notna().all():
                equal = (a - b).abs().dt.total_seconds() <= tolerance
    return (equal & both) | (truth.isna() & agent.isna() & found)


def scored(contract):
    if contract.get("scored_columns"):
        return list(contract["scored_columns"])
    skip = {*contract["key_columns"], *IDENTIFIERS, *(contract.get("non_scoring_columns") or [])}
    return list(dict.fromkeys([*contract["value_columns"], *(c for c in contract.get("required_columns") or [] if c not in skip)]))


def evaluate(output, reference, contract):
    """The keys that the case files state, and failed_checks."""
    columns = scored(contract)
    broken = {
        "reward": 0.0, "match_rates": dict.fromkeys(columns, 0.0), "key_precision": 0.0, "extra_keys": 0,
        "agent_unique_keys": 0, "passed": 0, "failed": 0, "errors": 1, "total": 1, "failed_checks": [],
    }
    try:
        agent = read(output)
        truth = read(reference)
        return score(truth, agent, columns, contract)
    except (Broken, TypeError, ValueError, AttributeError, OverflowError):
        return broken


def score(truth, agent, columns, contract):
    keys = list(contract["key_columns"])
    if set(keys) - set(agent.columns):
        raise Broken("key column missing")
    have = set(agent.columns)
    rows = len(agent)
    matches = dict.fromkeys(columns, 0)
    unique = extra = duplicates = found_count = 0
    if rows:
        left = pd.DataFrame({f"_key_{k}": normalise_key(truth[k]) for k in keys} | {f"{c}_truth": truth[c] for c in columns})
        right = pd.DataFrame(
            {f"_key_{k}": normalise_key(agent[k]) for k in keys} | {f"{c}_agent": agent[c] for c in columns if c in have}
        )
        on = [f"_key_{k}" for k in keys]
        if left.duplicated(on).any():
            raise Broken("reference repeats a key")
        repeated = right.duplicated(on, keep="first")
        duplicates = int(repeated.sum())
        right = right[~repeated]
        joined = left.merge(right, on=on, how="left", indicator=True)
        found = joined["_merge"] == "both"
        found_count, unique = int(found.sum()), len(right)
        extra = unique - found_count
        for c in columns:
            if c in have:
                tolerance = (contract.get("tolerance") or {}).get(c, 0)
                matches[c] = int(compare(joined[f"{c}_truth"], joined[f"{c}_agent"], tolerance, found).sum())
    denominator = len(truth) + extra + duplicates
    exact = {c: matches[c] / denominator if denominator else 0.0 for c in columns}
    rates = {c: round(rate, 8) for c, rate in exact.items()}
    coverage, accuracy = contract.get("row_coverage_threshold", 0.95), contract.get("accuracy_threshold", 0.9)
    checks = {
        "output_exists": True,
        "output_is_valid_csv": rows > 0,
        "has_required_columns": set(contract.get("required_columns") or [*keys, *contract["value_columns"]]) <= have,
        "row_coverage": (found_count / len(truth) if len(truth) else 0.0) >= coverage,
        **{f"score_accuracy[{c}]": rate >= accuracy for c, rate in exact.items()},
    }
    bad = [name for name, fine in checks.items() if not fine]
    return {
        "reward": round(math.fsum(rates.values()) / len(rates), 8), "match_rates": rates,
        "key_precision": round(found_count / unique, 8) if unique else 0.0, "extra_keys": extra, "agent_unique_keys": unique,
        "passed": len(checks) - len(bad), "failed": len(bad), "errors": 0, "total": len(checks), "failed_checks": bad,
    }

"""Tests a referee asks for beside the intervals: sign flips, Holm's adjustment, leaving families out, detectable effect."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from m4lib.analysis.intervals import SEED_PRIMARY

EXACT_UNITS = 30  # 2**29 sums at most; above this the patterns are drawn


def _signed_sums(values: np.ndarray) -> np.ndarray:
    """All 2**n sums of +-values, by doubling; shape (2**n,)."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate((sums + value, sums - value))
    return sums


def exact_sign_flip(values: pd.Series | np.ndarray) -> float:
    """Two-sided p of the mean by full enumeration of the 2**n sign patterns (meet in the middle, n <= 30).

    Share of patterns whose absolute mean is at least the observed one. Zero deltas carry no sign and do not matter.
    """
    data = np.asarray(values, dtype=float)
    data = data[~np.isnan(data)]
    if not len(data):
        return float("nan")
    if len(data) > EXACT_UNITS:
        raise ValueError(f"{len(data)} units are too many to enumerate; use sampled_sign_flip")
    # 1e-12: patterns that equal the observed sum must count in spite of another summation order
    observed = abs(float(data.sum())) - 1e-12
    left = _signed_sums(data[: len(data) // 2])
    right = np.sort(_signed_sums(data[len(data) // 2:]))
    above = len(right) - np.searchsorted(right, observed - left, side="left")
    below = np.searchsorted(right, -observed - left, side="right")
    if observed <= 0:
        return 1.0
    return float((above.sum() + below.sum()) / 2.0 ** len(data))


def sampled_sign_flip(values: pd.Series | np.ndarray, seed: int = SEED_PRIMARY, draws: int = 200_000) -> float:
    """Two-sided p from random sign patterns: (hits + 1) / (draws + 1).

    The signs are the bits of `random.Random(seed).getrandbits`; the order in which the published test used them is not
    known, and none of its p values is printed.
    """
    data = np.asarray(values, dtype=float)
    data = data[~np.isnan(data)]
    if not len(data):
        return float("nan")
    bits = np.frombuffer(random.Random(seed).randbytes((draws * len(data) + 7) // 8), dtype=np.uint8)
    flips = np.unpackbits(bits)[: draws * len(data)].reshape(draws, len(data))
    sums = data.sum() - 2 * (flips @ data)
    hits = int((np.abs(sums) >= abs(data.sum()) - 1e-12).sum())
    return (hits + 1) / (draws + 1)


def permutation_test(treated: np.ndarray, control: np.ndarray) -> float:
    """Exact two-sided permutation p of a difference of means between two small cells (5 + 5 trials: 252 splits).

    Raises ValueError when there are more than 200,000 splits.
    """
    from itertools import combinations
    from math import comb

    treated, control = np.asarray(treated, dtype=float), np.asarray(control, dtype=float)
    pooled = np.concatenate((treated, control))
    if not len(treated) or not len(control):
        return float("nan")
    if comb(len(pooled), len(treated)) > 200_000:
        raise ValueError("too many splits to enumerate")
    chosen = np.array(list(combinations(range(len(pooled)), len(treated))))
    sums = pooled[chosen].sum(axis=1)
    means = sums / len(treated) - (pooled.sum() - sums) / len(control)
    return float((np.abs(means) >= abs(treated.mean() - control.mean()) - 1e-12).mean())


def stratified_permutation_test(
    treated: list[np.ndarray], control: list[np.ndarray],
) -> float:
    """Exact two-sided p of the mean over models of (treated - control), labels permuted within each model.

    `treated[m]`, `control[m]`: rewards of model m. With two models of 5 + 5 trials: 252 * 252 patterns, enumerated.
    """
    from itertools import combinations

    total = np.zeros(1)
    observed = 0.0
    for a, b in zip(treated, control, strict=True):
        a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
        if not len(a) or not len(b):
            return float("nan")
        pooled = np.concatenate((a, b))
        chosen = np.array(list(combinations(range(len(pooled)), len(a))))
        sums = pooled[chosen].sum(axis=1)
        total = np.add.outer(total, sums / len(a) - (pooled.sum() - sums) / len(b)).ravel()
        observed += a.mean() - b.mean()
        if len(total) > 20_000_000:
            raise ValueError("too many patterns to enumerate")
    return float((np.abs(total) >= abs(observed) - 1e-12).mean())


def holm(p_values: pd.Series) -> pd.Series:
    """Holm's step-down adjusted p values, same index; missing values stay missing and are not counted."""
    known = p_values.dropna().sort_values(kind="stable")
    steps = known.to_numpy() * np.arange(len(known), 0, -1)
    adjusted = pd.Series(np.minimum(np.maximum.accumulate(steps), 1.0), index=known.index)
    return adjusted.reindex(p_values.index)


def leave_out(values: pd.Series, groups: Mapping[str, str] | Callable[[str], str] | None = None) -> pd.Series:
    """Mean of the task deltas without each group (family) in turn, or without each task when `groups` is None."""
    label = pd.Series(
        [task if groups is None else groups(task) if callable(groups) else groups[task] for task in values.index],
        index=values.index,
    )
    return pd.Series({name: values[label != name].mean() for name in sorted(label.unique())}, dtype=float)


def detectable_effect(values: pd.Series | np.ndarray, alpha: float = 0.05, power: float = 0.8) -> float:
    """Smallest true mean delta that a two-sided paired t test over these tasks finds with the given power.

    From the spread of the observed deltas, by the noncentral t distribution; in the unit of the values.
    """
    from scipy.optimize import brentq
    from scipy.stats import nct, t

    data = np.asarray(values, dtype=float)
    data = data[~np.isnan(data)]
    if len(data) < 2:
        return float("nan")
    spread = data.std(ddof=1)
    if spread == 0:
        return 0.0
    freedom = len(data) - 1
    critical = t.ppf(1 - alpha / 2, freedom)

    def missing_power(shift: float) -> float:
        return float(nct.sf(critical, freedom, shift) - power)  # the other tail is below 1e-5 here

    return float(brentq(missing_power, 0.5, critical + 6.0) * spread / np.sqrt(len(data)))

"""Bootstrap intervals, with the random stream of the published ones.

The published intervals drew units with the standard library: `Random(seed).randrange(n)` for every drawn unit, resample
after resample. `draw_units` replays that stream with NumPy's generator of the same name, thousands of times faster.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

RESAMPLES = 20_000
SEED_PRIMARY = 20260504  # table 3, first row of table 19, table 26
SEED_OSS = 20260505  # table 28
SEED_FOLLOWUP = 20260506  # tables 4 and 23, family rows of table 19


class Interval(NamedTuple):
    """Point estimate and 95 % bounds, all in the unit of the values that went in."""

    estimate: float
    low: float
    high: float


EMPTY = Interval(float("nan"), float("nan"), float("nan"))


def draw_units(seed: int, units: int, count: int) -> np.ndarray:
    """The first `count` values of `random.Random(seed).randrange(units)`, shape (count,), dtype int64.

    `randrange` takes the top k bits of each 32-bit word, k the bit length of `units`, and rejects values out of range.
    Raises ValueError unless 1 <= units < 2**32.
    """
    if not 1 <= units < 2**32:
        raise ValueError(f"units must be between 1 and 2**32 - 1, not {units}")
    words, position = random.Random(seed).getstate()[1][:-1], random.Random(seed).getstate()[1][-1]
    generator = np.random.MT19937()
    generator.state = {"bit_generator": "MT19937", "state": {"key": np.array(words, dtype=np.uint32), "pos": position}}
    bits = units.bit_length()
    accept = units / 2**bits
    parts: list[np.ndarray] = []
    have = 0
    while have < count:
        ask = int((count - have) / accept * 1.01) + 64
        drawn = (generator.random_raw(ask) >> np.uint64(32 - bits)).astype(np.int64)
        drawn = drawn[drawn < units]
        parts.append(drawn)
        have += len(drawn)
    return np.concatenate(parts)[:count] if parts else np.empty(0, dtype=np.int64)


def order_bounds(statistics: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Bounds as order statistics, no interpolation: positions 500 and 19,500 of 20,000 sorted values."""
    count = len(statistics)
    tail = (1 - level) / 2
    # 1e-9: 0.025 * 20,000 must not become 499.99...
    low, high = int(tail * count + 1e-9), min(int((1 - tail) * count + 1e-9), count - 1)
    ordered = np.partition(statistics, (low, high))
    return float(ordered[low]), float(ordered[high])


def resampled_means(values: np.ndarray, seed: int, resamples: int = RESAMPLES) -> np.ndarray:
    """Means of `resamples` draws of n units with replacement, shape (resamples,); `values` has shape (n,)."""
    values = np.asarray(values, dtype=float)
    drawn = draw_units(seed, len(values), resamples * len(values))
    return values[drawn].reshape(resamples, len(values)).mean(axis=1)


def task_bootstrap(values: pd.Series | np.ndarray, seed: int = SEED_PRIMARY, resamples: int = RESAMPLES) -> Interval:
    """Mean of task deltas with the published percentile interval. Units keep the order given; blanks are left out."""
    data = np.asarray(values, dtype=float)
    data = data[~np.isnan(data)]
    if not len(data):
        return EMPTY
    return Interval(float(data.mean()), *order_bounds(resampled_means(data, seed, resamples)))


def _by_family(values: pd.Series, families: Mapping[str, str] | Callable[[str], str]) -> list[np.ndarray]:
    named = [families(task) if callable(families) else families[task] for task in values.index]
    grouped = values.dropna().groupby(pd.Series(named, index=values.index))
    return [group.to_numpy(float) for _, group in grouped]  # groupby sorts: family ids alphabetical


def family_bootstrap(
    values: pd.Series, families: Mapping[str, str] | Callable[[str], str], seed: int = SEED_FOLLOWUP,
    resamples: int = RESAMPLES,
) -> Interval:
    """Families drawn with replacement, their task deltas pooled, so a resample's size varies. `values` is by task."""
    groups = _by_family(values, families)
    if not groups:
        return EMPTY
    sums = np.array([group.sum() for group in groups])
    sizes = np.array([len(group) for group in groups], dtype=float)
    drawn = draw_units(seed, len(groups), resamples * len(groups)).reshape(resamples, len(groups))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    return Interval(float(sums.sum() / sizes.sum()), *order_bounds(means))


def family_balanced_bootstrap(
    values: pd.Series, families: Mapping[str, str] | Callable[[str], str], seed: int = SEED_FOLLOWUP,
    resamples: int = RESAMPLES,
) -> Interval:
    """Mean of the family means, and the bootstrap over those means. `values` is by task."""
    return task_bootstrap(np.array([group.mean() for group in _by_family(values, families)]), seed, resamples)


def bca_bootstrap(values: pd.Series | np.ndarray, seed: int = SEED_PRIMARY, resamples: int = RESAMPLES) -> Interval:
    """Bias-corrected and accelerated interval of the mean (Efron 1987), on the same resamples as `task_bootstrap`."""
    from statistics import NormalDist

    data = np.asarray(values, dtype=float)
    data = data[~np.isnan(data)]
    if len(data) < 2 or np.ptp(data) == 0:
        return Interval(float(data.mean()), float(data.mean()), float(data.mean())) if len(data) else EMPTY
    normal, estimate = NormalDist(), float(data.mean())
    means = np.sort(resampled_means(data, seed, resamples))
    below = ((means < estimate).sum() + 0.5 * (means == estimate).sum()) / resamples
    bias = normal.inv_cdf(min(max(float(below), 1 / resamples), 1 - 1 / resamples))
    left_out = (data.sum() - data) / (len(data) - 1)
    spread = left_out.mean() - left_out
    acceleration = float((spread**3).sum() / (6 * ((spread**2).sum()) ** 1.5))

    def bound(tail: float) -> float:
        score = bias + normal.inv_cdf(tail)
        level = normal.cdf(bias + score / (1 - acceleration * score))
        return float(means[min(int(level * resamples), resamples - 1)])

    return Interval(estimate, bound(0.025), bound(0.975))


def two_stage_bootstrap(
    treated: Sequence[Sequence[np.ndarray]], control: Sequence[Sequence[np.ndarray]], seed: int = SEED_PRIMARY,
    resamples: int = RESAMPLES, chunk: int = 4_000,
) -> Interval:
    """Tasks are drawn, then trials within every drawn cell; `treated[t][m]` holds the rewards of task t and model m.

    Wider than `task_bootstrap` by the trial noise. Cells may differ in size. NumPy's default generator, since nothing
    published rests on it. Raises ValueError when the two arms have different shapes or an empty cell.
    """
    if len(treated) != len(control) or any(len(a) != len(b) for a, b in zip(treated, control, strict=False)):
        raise ValueError("both arms need the same tasks and models")
    if not treated:
        return EMPTY
    generator = np.random.default_rng(seed)
    tasks = len(treated)

    def mean_delta(task: int, count: int) -> np.ndarray:
        total = np.zeros(count)
        for sign, arm in ((1.0, treated[task]), (-1.0, control[task])):
            for cell in arm:
                cell = np.asarray(cell, dtype=float)
                if not len(cell):
                    raise ValueError("a cell without runs cannot be resampled")
                total += sign * cell[generator.integers(len(cell), size=(count, len(cell)))].mean(axis=1) / len(arm)
        return total

    point = float(np.mean([
        np.mean([np.mean(a) for a in treated[task]]) - np.mean([np.mean(b) for b in control[task]])
        for task in range(tasks)
    ]))
    means = np.empty(resamples)
    for start in range(0, resamples, chunk):
        count = min(chunk, resamples - start)
        drawn = generator.integers(tasks, size=(count, tasks))
        total = np.zeros(count)
        for task in range(tasks):  # every time a task is drawn its trials are drawn anew
            times = (drawn == task).sum(axis=1)
            fresh = mean_delta(task, int(times.sum()))
            total += np.bincount(np.repeat(np.arange(count), times), weights=fresh, minlength=count)
        means[start:start + count] = total / tasks
    return Interval(point, *order_bounds(means))


def trial_interval(treated: Sequence[np.ndarray], control: Sequence[np.ndarray]) -> Interval:
    """95 % interval of one task's delta over its trials: Welch's t with Satterthwaite's degrees of freedom.

    `treated[m]` and `control[m]` hold the rewards of model m. Cells of one run give no spread; then bounds are missing.
    """
    cells = [np.asarray(cell, dtype=float) for cell in (*treated, *control)]
    if not treated or not control or any(not len(cell) for cell in cells):
        return EMPTY
    estimate = float(np.mean([cell.mean() for cell in cells[: len(treated)]])
                     - np.mean([cell.mean() for cell in cells[len(treated):]]))
    if any(len(cell) < 2 for cell in cells):
        return Interval(estimate, float("nan"), float("nan"))
    weights = [1 / len(treated) ** 2] * len(treated) + [1 / len(control) ** 2] * len(control)
    parts = np.array([w * cell.var(ddof=1) / len(cell) for w, cell in zip(weights, cells, strict=True)])
    if parts.sum() == 0:
        return Interval(estimate, estimate, estimate)
    from scipy.special import stdtrit  # an eighth of a second less than scipy.stats

    freedom = parts.sum() ** 2 / sum(p**2 / (len(cell) - 1) for p, cell in zip(parts, cells, strict=True))
    half = float(stdtrit(freedom, 0.975)) * float(np.sqrt(parts.sum()))
    return Interval(estimate, estimate - half, estimate + half)

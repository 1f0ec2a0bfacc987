"""A constructed Claude replication index and April probe, and their answers by plain loops over plain rows.

The answers share no code with the library: dictionaries, `statistics` and `random` only.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

Row = dict[str, Any]
ARMS = ("no-skill", "with-skill")
MIXED_CLI = {"mimic-meld-24h", "mimic-meld-24h-raw", "mimic-sofa-24h-raw", "eicu-gcs", "mimic-kdigo-48h"}
MIXED_ROUTING = {"mimic-charlson-raw", "mimic-meld-24h"}  # one of them has mixed versions as well


def replication_rows(tasks: list[str]) -> list[Row]:
    """560 runs; in MIXED_CLI tasks Opus's with-skill runs have another version, Sonnet's no-skill cell mixes both."""
    source, rows = random.Random(2026), []
    for task in tasks:
        base = {model: source.uniform(0.2, 0.95) for model in ("opus", "sonnet")}
        gain = {model: source.uniform(-0.08, 0.35) for model in ("opus", "sonnet")}
        for model in ("opus", "sonnet"):
            for arm in ARMS:
                for trial in range(1, 6):
                    reward = round(min(max(base[model] + gain[model] * (arm == ARMS[1]) + source.gauss(0, 0.05), 0), 1), 8)
                    errored = source.random() < 0.02
                    newer = task in MIXED_CLI and ((model == "opus" and arm == ARMS[1]) or (
                        model == "sonnet" and arm == ARMS[0] and trial > 3))
                    override = (tasks.index(task) % 3 == 0) != (task in MIXED_ROUTING and model == "sonnet" and arm == ARMS[1])
                    extra = source.randrange(0, 400)
                    rows.append({
                        "task": task, "condition": arm, "schema": "native", "model": model, "trial": trial,
                        "reward": 0.0 if errored else reward, "failed": 0 if errored else int(reward < 0.9),
                        "errors": int(errored), "key_precision": "" if errored else round(1000 / (1000 + extra), 8),
                        "agent_unique_keys": "" if errored else 1000 + extra, "extra_keys": "" if errored else extra,
                        "truth_rows": 1100, "publishable": True, "isolated": True, "filesystem_canary": True,
                        "contamination_lint": True, "elapsed_seconds": round(source.uniform(60, 900), 1),
                        "cli_version": "2.1.220" if newer else "2.1.119", "overrides_recorded": override,
                        "haiku_usage": not override, "haiku_turns": 1 if source.random() < 0.01 else 0,
                    })
    return rows


def probe_rows(tasks: list[str]) -> list[Row]:
    """260 no-skill runs on both transformed schemas."""
    source = random.Random(428)
    return [{"task": task, "condition": "no-skill", "schema": schema, "model": "gpt-5.4-mini", "trial": trial,
             "reward": round(source.uniform(0.3, 0.7), 8), "failed": 1, "errors": 0}
            for task in tasks for schema in ("obfuscated", "restructured") for trial in range(1, 6)]


def write_rows(path: Path, rows: list[Row]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def key_f1(row: Row) -> float:
    if row["key_precision"] == "":
        return 0.0
    recall = (row["agent_unique_keys"] - row["extra_keys"]) / row["truth_rows"]
    total = row["key_precision"] + recall
    return 2 * row["key_precision"] * recall / total if total else 0.0


def reward(row: Row) -> float:
    return float(row["reward"])


def delta(rows: list[Row], task: str, model: str, value: Callable[[Row], float] = reward) -> float:
    def cell(arm: str) -> float:
        return fmean(value(row) for row in rows if (row["task"], row["model"], row["condition"]) == (task, model, arm))

    return cell("with-skill") - cell("no-skill")


def mean_delta(rows: list[Row], task: str, value: Callable[[Row], float] = reward) -> float:
    return fmean(delta(rows, task, model, value) for model in ("opus", "sonnet"))


def bounds(values: list[float], seed: int) -> tuple[float, float]:
    source, count = random.Random(seed), len(values)
    draw = source.randrange
    means = sorted(sum([values[draw(count)] for _ in values]) / count for _ in range(20_000))
    return means[500], means[19_500]


def fmt(value: float) -> str:
    return f"{value:.3f}"

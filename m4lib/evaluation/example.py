"""A made-up reference and an output that disagrees with it in known ways, for any task: to look at, without any data."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd

from m4lib.cards import Card

LABELS = {
    "ventilation_status": ["InvasiveVent", "SupplementalOxygen", "None", "HFNC"], "gender": ["F", "M"],
    "specimen": ["BLOOD CULTURE", "URINE", "SPUTUM"], "antibiotic": ["Vancomycin", "CefePIME", "Meropenem"],
}


def made_up(card: Card, folder: str | os.PathLike[str], *, rows: int = 2000, seed: int = 1) -> tuple[Path, Path]:
    """Write `output.csv` and `reference.parquet` below `folder` with the task's columns; returns (output, reference).

    Planted: 3 % of the keys missing, some extra and repeated ones; scores one too high, nulls for zeros, values in another
    unit or off by a constant, times six hours late, labels in another case.
    """
    rng = np.random.default_rng(seed)
    columns = dict.fromkeys([*card.evaluation["key_columns"], *(card.evaluation.get("required_columns") or []), *card.scored_columns])
    truth = pd.DataFrame({name: _column(card, name, rows, rng) for name in columns})
    output = truth.copy()
    for at, name in enumerate(card.scored_columns):
        _spoil(output, name, at, rng)
    key = card.evaluation["key_columns"][0]
    output = output[~np.isin(np.arange(rows), rng.choice(rows, rows * 3 // 100, replace=False))]
    extra = output.head(rows // 200).assign(**{key: rows + 1 + np.arange(rows // 200)})
    output = pd.concat([output, extra, output.tail(rows // 400)])
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    truth.to_parquet(folder / "reference.parquet", index=False)
    output.to_csv(folder / "output.csv", index=False)
    return folder / "output.csv", folder / "reference.parquet"


def _column(card: Card, name: str, rows: int, rng: np.random.Generator) -> np.ndarray:
    if name == card.evaluation["key_columns"][0]:
        return np.arange(rows) + 1  # no identifier of any database
    if name.endswith("time"):
        return np.datetime64("2001-01-01", "s") + (np.arange(rows) * 7200 + rng.integers(0, 60, rows) * 60) * np.timedelta64(1, "s")
    if name in LABELS:
        return rng.choice(LABELS[name], rows)
    if name in (card.evaluation.get("tolerance") or {}):
        return rng.gamma(4, 0.4, rows).round(2)
    return rng.integers(0, 5, rows)


def _spoil(output: pd.DataFrame, name: str, at: int, rng: np.random.Generator) -> None:
    """Each column gets its own mistake, in its own share of the rows."""
    hit = rng.random(len(output)) < 0.05 + 0.03 * (at % 4)
    if name.endswith("time"):
        output.loc[hit, name] += pd.Timedelta(hours=6)
    elif output[name].dtype == object:
        output.loc[hit, name] = output.loc[hit, name].str.lower()
    elif output[name].dtype.kind == "f":
        output.loc[hit, name] = (output.loc[hit, name] * (88.4 if at % 2 else 1) + (0 if at % 2 else 0.5)).round(3)
    elif at % 3 == 1:
        output[name] = output[name].where(~(hit & (output[name] == 0)))
    else:
        output.loc[hit, name] += 1

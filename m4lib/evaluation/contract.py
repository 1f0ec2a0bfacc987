"""What a task asks of an output file, and the two ways in which scoring ends early."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from m4lib.cards import scored_columns
from m4lib.errors import M4Error


class MissingOutput(Exception):
    """There is no file at the place."""


class EvaluationError(Exception):
    """The pair cannot be scored: unreadable file, key column missing, keys or values that cannot be compared."""

    def __init__(self, reason: str, *, readable: bool = False) -> None:
        super().__init__(reason)
        self.readable = readable  # True: both files could be read, only the comparison failed


@dataclass(frozen=True)
class Contract:
    """The evaluation section of a task card with its defaults filled in."""

    keys: tuple[str, ...]
    values: tuple[str, ...]
    required: tuple[str, ...]
    scored: tuple[str, ...]
    tolerance: Mapping[str, float]
    coverage_threshold: float
    accuracy_threshold: float

    @property
    def columns(self) -> list[str]:
        """Every column that has to be read: keys, scored and value columns."""
        return list(dict.fromkeys([*self.keys, *self.scored, *self.values]))

    @property
    def compared(self) -> list[str]:
        """The columns whose cells are compared: scored and value columns."""
        return list(dict.fromkeys([*self.scored, *self.values]))


def read_contract(contract: Mapping[str, Any]) -> Contract:
    """Fill in the defaults (thresholds 0.95 and 0.90, required = keys + values). Raises M4Error without key columns."""
    try:
        keys, values = tuple(contract["key_columns"]), tuple(contract["value_columns"])
    except (KeyError, TypeError) as error:
        raise M4Error(f"The evaluation contract lacks {error}.") from None
    if not keys:
        raise M4Error("The evaluation contract names no key column.")
    coverage, accuracy = contract.get("row_coverage_threshold"), contract.get("accuracy_threshold")
    return Contract(
        keys=keys,
        values=values,
        required=tuple(contract.get("required_columns") or (*keys, *values)),
        scored=tuple(scored_columns(contract)),
        tolerance={column: float(value) for column, value in (contract.get("tolerance") or {}).items()},
        coverage_threshold=0.95 if coverage is None else float(coverage),
        accuracy_threshold=0.90 if accuracy is None else float(accuracy),
    )

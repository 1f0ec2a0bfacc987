"""Task cards: one `task.toml` a task, read by the evaluator, the harness, the tables and the docs alike."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from m4lib.errors import M4Error

IDENTIFIERS = (
    "subject_id", "hadm_id", "stay_id", "patientunitstayid", "patienthealthsystemstayid", "uniquepid",
)  # required in an output, never scored


def scored_columns(evaluation: Mapping[str, Any]) -> list[str]:
    """Value columns, then every required column that is neither a key nor an identifier; order kept."""
    if evaluation.get("scored_columns"):
        return list(evaluation["scored_columns"])
    skip = {*evaluation["key_columns"], *IDENTIFIERS, *(evaluation.get("non_scoring_columns") or [])}
    extra = [column for column in evaluation.get("required_columns") or [] if column not in skip]
    return list(dict.fromkeys([*evaluation["value_columns"], *extra]))


@dataclass(frozen=True)
class Card:
    """One task. `evaluation` is the contract mapping that `m4lib.evaluation.evaluate_files` takes."""

    name: str
    family: str
    mode: str  # standard | raw
    database: str  # mimic-iv | eicu
    difficulty: str
    reference_id: str
    reference: str  # SQL file in the family's folder
    source_schemas: tuple[str, ...]
    drop: tuple[str, ...]  # relations that the task database must not hold (raw MIMIC-IV: all of mimiciv_derived)
    evaluation: Mapping[str, Any]
    skills: tuple[str, ...]
    decoy: str
    operational_spec: bool
    paper: Mapping[str, Any] = field(default_factory=dict)
    folder: Path = Path()

    @property
    def scored_columns(self) -> list[str]:
        return scored_columns(self.evaluation)

    @property
    def reference_path(self) -> Path:
        return self.folder.parent / self.reference

    @property
    def instruction_path(self) -> Path:
        return self.folder / "instruction.md"

    @property
    def spec_path(self) -> Path:
        return self.folder / "operational-spec.md"

    @property
    def provenance_path(self) -> Path:
        return self.folder.parent / "provenance.yaml"

    @property
    def drops_all_derived(self) -> bool:
        return self.database == "mimic-iv" and self.mode == "raw"


def load_card(path: str | os.PathLike[str]) -> Card:
    """Read one `task.toml`; raises M4Error that names the file and the missing or wrong entry."""
    path = Path(path)
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        task, evaluation = raw["task"], dict(raw["evaluation"])
        evaluation.setdefault("tolerance", {})
        return Card(
            name=task["name"], family=task["family"], mode=task["mode"], database=task["database"],
            difficulty=task["difficulty"], reference_id=task["reference_id"], reference=task["reference"],
            source_schemas=tuple(task["source_schemas"]), drop=tuple(task["drop"]), evaluation=evaluation,
            skills=tuple(raw["conditions"]["skills"]), decoy=raw["conditions"]["decoy"],
            operational_spec=raw["conditions"]["operational_spec"], paper=raw["paper"], folder=path.parent,
        )
    except FileNotFoundError:
        raise M4Error(f"There is no task card at {path}.") from None
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise M4Error(f"The task card {path} cannot be read: {error}.") from error


def load_cards(tasks: str | os.PathLike[str]) -> dict[str, Card]:
    """All cards below `tasks`, by name, alphabetical. Raises M4Error when there are none."""
    cards = [load_card(path) for path in sorted(Path(tasks).glob("*/*/task.toml"))]
    if not cards:
        raise M4Error(f"No task cards below {tasks}.")
    return {card.name: card for card in sorted(cards, key=lambda card: card.name)}


def get_card(tasks: str | os.PathLike[str], name: str) -> Card:
    """The card called `name`; the error names the nearest ones."""
    import difflib

    cards = load_cards(tasks)
    if name not in cards:
        near = difflib.get_close_matches(name, cards, n=3) or list(cards)[:3]
        raise M4Error(f"There is no task called {name!r}; nearest: {', '.join(near)}.")
    return cards[name]

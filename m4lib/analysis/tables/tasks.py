"""What the task cards say: inventory (table 2), details (6), review provenance (7), validity caveats (9)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from m4lib.analysis.metrics import family_of
from m4lib.analysis.sources import Sources
from m4lib.analysis.table import table
from m4lib.cards import Card, load_cards
from m4lib.errors import M4Error

DATABASES = {"mimic-iv": "MIMIC-IV", "eicu": "eICU"}
FAMILY_NAMES = {
    "apsiii": "APS III", "charlson": "Charlson", "creatinine-baseline": "Baseline creatinine", "gcs": "GCS",
    "kdigo": "KDIGO AKI", "meld": "MELD", "oasis": "OASIS", "sapsii": "SAPS-II", "sepsis3": "Sepsis-3", "sirs": "SIRS",
    "sofa": "SOFA", "suspicion-infection": "Suspected infection", "urine-output-rate": "Urine-output rate",
    "vasopressor-equivalents": "Vasopressor equivalents", "ventilation": "Ventilation",
}


def cards_of(sources: Sources) -> dict[str, Card]:
    if sources.tasks is None:
        raise M4Error("This table comes from the task cards; give the folder that holds them.")
    return load_cards(sources.tasks)


@table("table02_task_inventory", "Task inventory by family", columns="family tasks standard raw database", keys="family",
       formats="tasks:int standard:int raw:int", headings={"database": "Database(s)"})
def task_inventory(sources: Sources) -> pd.DataFrame:
    cards = list(cards_of(sources).values())
    groups = [(FAMILY_NAMES.get(family, family), [card for card in cards if card.family == family])
              for family in sorted({card.family for card in cards})]
    return pd.DataFrame([_inventory_row(name, part) for name, part in [*groups, ("Total", cards)]])


def _inventory_row(name: str, cards: list[Card]) -> dict[str, Any]:
    databases = {DATABASES.get(card.database, card.database) for card in cards}
    return {"family": name, "tasks": len(cards), "standard": sum(card.mode == "standard" for card in cards),
            "raw": sum(card.mode == "raw" for card in cards),
            "database": "/".join(sorted(databases))}  # ASCII order puts MIMIC-IV before eICU


def key_grain(keys: list[str]) -> str:
    """What one output row stands for, from the key columns; the order of the tests matters."""
    names = set(keys)
    if names & {"ventilation_seq", "starttime", "endtime"}:
        return "interval"
    if "charttime" in names or any("window" in name for name in names):
        return "stay-window"
    if "ab_id" in names:
        return "event"
    if names & {"stay_id", "patientunitstayid"}:
        return "stay"
    return "admission" if "hadm_id" in names else "other"


@table("table06_task_details", "Task details", columns="task mode database key_grain scored_columns reference_rows",
       keys="task", formats="scored_columns:int reference_rows:int",
       caption="Scored columns: declared value columns; the reward also averages other required columns. "
               "Reference rows: as recorded in the run index.")
def task_details(sources: Sources) -> pd.DataFrame:
    recorded = reference_rows(sources)
    return pd.DataFrame([
        {"task": card.name, "mode": card.mode, "database": DATABASES.get(card.database, card.database),
         "key_grain": key_grain(list(card.evaluation["key_columns"])),
         "scored_columns": len(card.evaluation["value_columns"]), "reference_rows": recorded.get(card.name)}
        for card in cards_of(sources).values()
    ], dtype=object)


def reference_rows(sources: Sources) -> dict[str, int]:
    """Reference rows by task as the run indexes record them; without an index, as the cards state them."""
    rows: dict[str, int] = {}
    for index in sources.indexes.values():
        if index is not None and "truth_rows" in index:
            most = index.groupby("task")["truth_rows"].max().dropna()
            rows = {**{str(task): int(count) for task, count in most.items()}, **rows}
    if not rows and sources.own is None and sources.tasks is not None:
        rows = {card.name: int(card.paper["reference_rows"]) for card in load_cards(sources.tasks).values()
                if "reference_rows" in card.paper}
    return rows


@table("table07_review_provenance", "Review provenance of the skills", columns="task reviewers source_basis",
       keys="task", headings={"source_basis": "Source basis"})
def review_provenance(sources: Sources) -> pd.DataFrame:
    return pd.DataFrame([
        {"task": card.name, "reviewers": "/".join(card.paper["reviewers"]), "source_basis": card.paper["source_basis"]}
        for card in cards_of(sources).values()
    ])


# the paper groups its caveats by what a reader would compare: label -> the family whose provenance states it
CAVEATS = (("Suspected infection / Sepsis-3", "suspicion-infection"), ("SOFA / Sepsis-3", "sofa"), ("APS III", "apsiii"),
           ("Vasopressor equivalents", "vasopressor-equivalents"), ("eICU OASIS", "oasis"))


@table("table09_reference_validity", "Reference-validity caveats",
       columns="family reference_convention validity_caveat", keys="family")
def reference_validity(sources: Sources) -> pd.DataFrame:
    families = {family_of(name): card.provenance_path for name, card in cards_of(sources).items()}
    rows = []
    for label, family in CAVEATS:
        convention, caveat = _validity(families[family])
        rows.append({"family": label, "reference_convention": convention, "validity_caveat": caveat})
    return pd.DataFrame(rows)


def _validity(path: Path) -> tuple[str | None, str | None]:
    """Conventions that a family's reference keeps, and the caveats of its provenance file, each as one text."""
    import yaml

    if not path.is_file():
        return None, None
    content: Mapping[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    kept, caveats = content.get("conventions_kept") or [], content.get("validity_caveats") or []
    return "; ".join(map(str, kept)) or None, " ".join(map(str, caveats)) or None

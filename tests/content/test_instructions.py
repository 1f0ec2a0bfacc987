"""Lints of what every run reads: instructions and operational specifications."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from m4lib.cards import Card

from .conftest import AUTHOR, CITATION, CODE_BASE, SCHEMA, SPEC_TASKS, SQL, TABLES, TASKS, citations
from .texts import tables

RAW_PARAGRAPH = re.compile(r"Computed tables that would shorten [^\n]*(?:\n[^\n]+)*\n\n")

# what the skill teaches and an instruction must not say, by family
SILENT = {
    "sofa": r"arterial|invasive|FiO2|platelets? <|mcg|\bmL\b|start of the infusion|urine",
    "sirs": r"\b(36|38|90|20|32|12)\b|\bbands?\b|PaCO2|pCO2|arterial|Fahrenheit|Celsius",
    "sapsii": r"CPAP|BiPAP|ELECTIVE|look-?back|6 hours|elective|AIDS|malignan|metasta|exclusive",
    "apsiii": r"furthest|farther|renal failure|gradient|A-aDO2|arterial|6 hours|kidney",
    "oasis": r"ORTHO|surg|ELECTIVE|6 hours|fraction|APACHE|offset",
    "gcs": r"ETT|carr(y|ied)|\bties?\b",
    "meld": r"0\.957|0\.378|1\.12|coefficient|dialysis|floor|\bcap\b|125|137|6 hours|highest|lowest|worst",
    "kdigo": r"baseline|7 days|0\.3|0\.5|weight|rolling|anuri",
    "charlson": r"\bweights?\b|hierarch|age band|I21|410",
    "creatinine-baseline": r"\b75\b|1\.1\b|0\.742|186|N18|585|fraction",
    "ventilation": r"14|Endotracheal|mask|CMV|flow row",
    "suspicion-infection": r"72|24 h|3 days|earliest|route|topical|screening|preced|90856",
    "sepsis3": r"rolling|past 24|arterial|vasopress|72|grid|heart rate",
    "vasopressor-equivalents": r"/ ?10\b|/ ?100\b|2\.5|units|mcg|kg|highest|maximum|angiotensin|boundar|split",
    "urine-output-rate": r"\b5\b|\b11\b|\b23\b|irriga|start excluded|admission weight",
}


def instruction(card: Card) -> str:
    return card.instruction_path.read_text(encoding="utf-8")


@pytest.mark.parametrize("task", TASKS)
def test_contract_is_the_cards(cards: dict[str, Card], task: str) -> None:
    card, text = cards[task], instruction(cards[task])
    assert [row[0].strip("`") for row in tables(text)[0][1:]] == card.evaluation["required_columns"]
    assert all(row[1] for row in tables(text)[0])
    assert "`./database.duckdb`" in text and "`./output.csv`" in text
    grain = re.search(r"^Grain: (.*?)\n\n", text, re.DOTALL | re.MULTILINE)
    assert grain and re.findall(r"`(\w+)`", grain[1]) == card.evaluation["key_columns"]
    assert {"mimic-iv": "MIMIC-IV", "eicu": "eICU"}[card.database] in text


@pytest.mark.parametrize("task", TASKS)
def test_no_recipe(cards: dict[str, Card], concepts: dict[str, str], task: str) -> None:
    card, text = cards[task], instruction(cards[task])
    prose = re.sub(r"^\| `.*", "", text, flags=re.MULTILINE)
    body = prose.split("Reference:")[0]
    assert not re.search(r"\d{5}", body) and "itemid" not in text.lower()
    for what in (SQL, SCHEMA, CODE_BASE, TABLES):
        assert not (found := what.search(body.replace("DuckDB", ""))), found
    named = set(re.findall(r"`(\w+)`", prose)) - set(card.evaluation["required_columns"])
    assert not named & set(concepts)
    assert not re.search(r"base tables|raw tables only|only the (base|raw)", text, re.IGNORECASE)


@pytest.mark.parametrize("task", TASKS)
def test_silent_on_what_the_skill_teaches(cards: dict[str, Card], task: str) -> None:
    card, text = cards[task], instruction(cards[task])
    body = re.sub(r"\n\| .*", "", text).split("Reference:")[0]
    assert not (found := re.search(SILENT[card.family], body)), found


@pytest.mark.parametrize("task", [name for name in TASKS if name.endswith("-raw") and name.removesuffix("-raw") in TASKS])
def test_raw_and_standard_differ_by_one_paragraph(cards: dict[str, Card], task: str) -> None:
    raw, standard = instruction(cards[task]), instruction(cards[task.removesuffix("-raw")])
    assert len(RAW_PARAGRAPH.findall(raw)) == 1 and not RAW_PARAGRAPH.search(standard)
    assert RAW_PARAGRAPH.sub("", raw) == standard


@pytest.mark.parametrize("task", TASKS)
def test_raw_mode_is_announced(cards: dict[str, Card], task: str) -> None:
    announced = bool(RAW_PARAGRAPH.search(instruction(cards[task])))
    assert announced == cards[task].drops_all_derived  # nothing is removed from eICU


@pytest.mark.parametrize("task", TASKS)
def test_one_literature_reference_with_journal_and_year(cards: dict[str, Card], task: str) -> None:
    lines = [line for line in instruction(cards[task]).splitlines() if line.startswith("Reference:")]
    assert len(lines) == 1
    assert all(CITATION.match(citation) for citation in citations(lines[0]))


@pytest.mark.parametrize("task", SPEC_TASKS)
def test_specification_is_clinical(cards: dict[str, Card], concepts: dict[str, str], task: str) -> None:
    card = cards[task]
    text = card.spec_path.read_text(encoding="utf-8")
    assert len(text) > 800 and "## Contract" in text
    assert not re.search(r"\d{5}", text) and "itemid" not in text.lower()
    for what in (SQL, SCHEMA, CODE_BASE, TABLES):
        assert not (found := what.search(text)), found
    assert "`" not in text  # no code, no names of columns of the source
    words = set(re.findall(r"\b\w+_\w+\b", text)) - set(card.evaluation["required_columns"])
    assert not words, words
    assert not (names := AUTHOR.search(text)), names


def test_specifications_are_those_of_the_cards(cards: dict[str, Card]) -> None:
    assert {name for name, card in cards.items() if card.spec_path.exists()} == set(SPEC_TASKS)
    assert len(SPEC_TASKS) == 8 and {cards[name].paper["in_sentinel_set"] for name in SPEC_TASKS} == {True}


@pytest.mark.parametrize("task", TASKS)
def test_nothing_names_a_person(cards: dict[str, Card], task: str) -> None:
    assert not (found := AUTHOR.search(instruction(cards[task]).split("Reference:")[0])), found


def test_the_lints_can_fail(cards: dict[str, Card]) -> None:
    assert SQL.search("select x from y where z") and SCHEMA.search("mimiciv_icu.x") and TABLES.search("chartevents")
    assert AUTHOR.search("as reviewed by Miller AB, surgeon") and not AUTHOR.search("Glasgow Coma Scale, ICU")
    assert not CITATION.match("Vincent JL, et al. Intensive Care Med")
    assert re.search(SILENT["meld"], "sodium below 137") and Path(cards["eicu-gcs"].instruction_path).exists()

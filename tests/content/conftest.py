"""Cards, skills and instructions as the content tests need them."""

from __future__ import annotations

import re

import pytest

from m4lib.cards import Card, load_cards
from m4lib.harness.skills import Skill, load_library
from m4lib.project import Project, find_project


@pytest.fixture(scope="session")
def cards(project: Project) -> dict[str, Card]:
    return load_cards(project.tasks)


@pytest.fixture(scope="session")
def library(project: Project) -> dict[str, Skill]:
    return load_library(project.skills)


@pytest.fixture(scope="session")
def concepts(project: Project) -> dict[str, str]:
    """Name of each derived concept -> its SQL file relative to the checkout."""
    return {path.stem: str(path.relative_to(project.root)) for path in (project.root / "m4lib/concepts").glob("*/*.sql")}


TASKS = sorted(load_cards(find_project(__file__).tasks))
SPEC_TASKS = sorted(name for name, card in load_cards(find_project(__file__).tasks).items() if card.operational_spec)

SQL = re.compile(
    r"```|\bSELECT\b|\bJOIN\b|\bGROUP BY\b|\bORDER BY\b|\bPARTITION\b|\bCOALESCE\b|\bCASE WHEN\b|\bINTERVAL '|\bOVER \(|"
    r"\bUNION ALL\b|\brow_number\b|\bselect\b.{1,80}\bfrom\b.{1,40}\bwhere\b|\bSQL\b", re.DOTALL)
SCHEMA = re.compile(r"mimiciv|eicu_crd|\bds_\d|\bmain\.", re.IGNORECASE)
CODE_BASE = re.compile(r"mimic-code|MIT-LCP|eicu-code|github", re.IGNORECASE)
# tables whose names cannot be ordinary words
TABLES = re.compile(
    r"\b(chartevents|labevents|inputevents|outputevents|procedureevents|datetimeevents|ingredientevents|microbiologyevents|"
    r"icustays|d_items|d_labitems|diagnoses_icd|procedures_icd|drgcodes|emar|hcpcsevents|poe|omr|nursecharting|nursecare|"
    r"physicalexam|intakeoutput|apacheapsvar|apachepredvar|apachepatientresult|respiratorycare|respiratorycharting|"
    r"vitalperiodic|vitalaperiodic|infusiondrug|patienthistory)\b", re.IGNORECASE)
# "Vincent JL", "Le Gall JR": surname and initials, the form of a citation
AUTHOR = re.compile(r"\b(?:van |de |Le )?[A-ZÁÉÖÜ][a-zéöüá]+(?:-[A-Z][a-z]+)? [A-Z]{1,3}\b(?=[,.;]| et al)")
CITATION = re.compile(r"[\w.-]+ .*\b(?:19|20)\d\d;\d+(?:\(\d+\))?:[A-Z]?\d+")


def citations(line: str) -> list[str]:
    """The citations of one line, "Reference: a; b." or "- a."; years and pages contain ";" without a blank."""
    return [part.strip() for part in re.sub(r"^(Reference:|-)\s*", "", line).rstrip(".").split("; ")]

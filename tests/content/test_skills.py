"""Lints of the skills library as reviewers and runs see it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from m4lib.cards import Card
from m4lib.harness.conditions import holds
from m4lib.harness.skills import LINK, Skill, load_library, ready_made
from m4lib.project import Project

from .conftest import AUTHOR, CITATION, CODE_BASE, SCHEMA, SQL, citations
from .texts import tables

SECTIONS = ("When to use", "Missing data, ties, rounding", "Common mistakes", "Worked example (invented)", "References")


def references(text: str) -> list[str]:
    tail = re.split(r"^## References\n", text, flags=re.MULTILINE)
    return [line for line in tail[1].splitlines() if line.startswith("- ")] if len(tail) > 1 else []


def prose(text: str) -> str:
    """The text without frontmatter and references."""
    return re.split(r"^## References\n", text.split("\n---\n", 1)[-1], flags=re.MULTILINE)[0]


def test_the_library_is_the_cards(cards: dict[str, Card], library: dict[str, Skill]) -> None:
    assert set(library) == {name for card in cards.values() for name in card.skills} and len(library) == 15


def test_frontmatter_and_review_record(cards: dict[str, Card], library: dict[str, Skill]) -> None:
    for name, skill in library.items():
        first = [card for card in cards.values() if card.skills[0] == name]
        assert re.fullmatch(r"\d+\.\d+\.\d+", skill.meta["version"]), name
        review = skill.meta["review"]
        assert {tuple(review["reviewers"])} == {tuple(card.paper["reviewers"]) for card in first}, name
        assert all(re.fullmatch(r"C[1-4]", code) for code in review["reviewers"])
        assert set(re.findall(r"\b(?:mimic|eicu)-[\w-]+", review["covers"])) == {card.name for card in first}, name
        assert review["wording"]
        assert 40 < len(skill.meta["description"]) <= 300 and "\n" not in skill.meta["description"]


def test_every_part_a_reviewer_needs(library: dict[str, Skill]) -> None:
    for name, skill in library.items():
        headings = re.findall(r"^## (.*)$", skill.text, re.MULTILINE)
        assert not [section for section in SECTIONS if section not in headings], name
        assert len(tables(skill.text)) >= 2, name
        assert len(references(skill.text)) >= 1, name


def test_no_query_and_no_schema(library: dict[str, Skill]) -> None:
    for name, skill in library.items():
        for file, text in skill.files.items():
            for what in (SQL, SCHEMA, CODE_BASE):
                assert not (found := what.search(text)), (name, file, found)


def test_computed_tables_are_named_on_ready_made_lines_only(
    cards: dict[str, Card], library: dict[str, Skill], concepts: dict[str, str]
) -> None:
    columns = {column for card in cards.values() for column in card.evaluation["required_columns"]}
    for name, skill in library.items():
        for file, text in skill.files.items():
            assert set(ready_made(text)) - {"vaso_rate"} <= set(concepts), (name, file)
            rest = re.sub(r"^- Ready-made: .*$", "", text, flags=re.MULTILINE)
            assert not (set(re.findall(r"`(\w+)`", rest)) & set(concepts)) - columns, (name, file)


def test_no_run_is_pointed_to_a_table_it_lacks(project: Project, cards: dict[str, Card]) -> None:
    some = 0
    for card in cards.values():
        dropped = {name.rpartition(".")[2] for name in card.drop}
        received = load_library(project.skills, holds=lambda relation, card=card: holds(card, relation))  # type: ignore[misc]
        named = {relation for skill in received.values() for text in skill.files.values() for relation in ready_made(text)}
        some += bool(named)
        assert not named & dropped, card.name
        assert not named or (card.database == "mimic-iv" and card.mode == "standard")
    assert some == sum(card.mode == "standard" for card in cards.values())


def test_a_copied_folder_is_complete(library: dict[str, Skill]) -> None:
    for name, skill in library.items():
        for file, text in skill.files.items():
            for _, target in LINK.findall(text):
                assert target in skill.files, (name, file, target)
            assert "](../" not in text, (name, file)


def test_every_shared_block_is_used_and_every_link_exists(project: Project, library: dict[str, Skill]) -> None:
    shared = {path.name for path in (project.skills / "_shared").glob("*.md")}
    assert shared == {block for skill in library.values() for block in skill.blocks}
    for path in project.skills.glob("*/*.md"):
        for _, target in LINK.findall(path.read_text(encoding="utf-8")):
            assert (path.parent / target).is_file(), (path, target)


def test_references_have_journal_and_year(project: Project) -> None:
    for path in project.skills.glob("*/*.md"):
        for line in references(path.read_text(encoding="utf-8")):
            line = re.sub(r" \([a-z ]+\)\.$", ".", line)  # a closing remark
            assert all(CITATION.match(citation) for citation in citations(line)), (path, line)


def test_nothing_names_a_person(library: dict[str, Skill]) -> None:
    for name, skill in library.items():
        for file, text in skill.files.items():
            assert not (found := AUTHOR.search(prose(text))), (name, file, found)


def test_tables_are_well_formed(project: Project) -> None:
    for path in [*project.skills.glob("*/*.md"), *project.tasks.glob("*/*/*.md")]:
        for rows in tables(Path(path).read_text(encoding="utf-8")):
            assert len({len(row) for row in rows}) == 1 and len(rows) > 1, (path, rows[0])


def test_decoys_are_of_another_family(cards: dict[str, Card]) -> None:
    owner = {card.skills[0]: card.family for card in cards.values()}
    for card in cards.values():
        assert card.decoy in owner and owner[card.decoy] != card.family and card.decoy not in card.skills


@pytest.mark.parametrize("skill", ["oasis-score", "gcs-calculation"])
def test_skills_for_two_databases_say_which_part_is_which(library: dict[str, Skill], skill: str) -> None:
    other = next(file for file in library[skill].files if file.startswith("eicu-") and file != "eicu-charted-text.md")
    assert f"]({other})" in library[skill].text and "replaces the MIMIC-IV part" in " ".join(library[skill].files[other].split())

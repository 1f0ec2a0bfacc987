"""Cards and provenance against the published description of the tasks."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import sqlglot
import yaml
from sqlglot import exp

from m4lib.cards import Card
from m4lib.tasks.reference import reference_sql, tables_read
from m4lib.tasks.schemas import mimic_catalogue


def many(text: str) -> list[str]:
    return [part for part in text.split(";") if part]


def test_cards_are_the_published_contracts(cards: Mapping[str, Card], facts_dir: Path) -> None:
    with open(facts_dir / "tasks" / "tasks.csv", encoding="utf-8") as handle:
        rows = {row["task"]: row for row in csv.DictReader(handle)}
    assert set(rows) == set(cards) and len(cards) == 28
    for name, row in rows.items():
        card = cards[name]
        contract, paper = card.evaluation, card.paper
        tolerances = dict(part.split("=") for part in many(row["tolerances"]))
        assert {
            "family": card.family, "mode": card.mode, "database": card.database, "difficulty": card.difficulty,
            "source_schema": list(card.source_schemas), "key_columns": contract["key_columns"],
            "value_columns": contract["value_columns"], "required_columns": contract["required_columns"],
            "scored_columns": card.scored_columns, "tolerances": contract["tolerance"],
            "row_coverage_threshold": contract["row_coverage_threshold"],
            "accuracy_threshold": contract["accuracy_threshold"], "drop_tables": list(card.drop),
            "reference_id": card.reference_id, "has_operational_spec": card.operational_spec,
            "targeted_skills": list(card.skills), "decoy_skill": card.decoy,
            "reference_rows": paper["reference_rows"], "key_grain": paper["key_grain"],
            "ordered_columns": paper["ordered_columns"], "reviewers": paper["reviewers"],
            "source_basis": paper["source_basis"], "in_raw_sql_control": paper["in_raw_sql_control"],
            "in_decoy_control": paper["in_decoy_control"], "in_sentinel_set": paper["in_sentinel_set"],
        } == {
            "family": row["family"], "mode": row["mode"], "database": row["database"], "difficulty": row["difficulty"],
            "source_schema": many(row["source_schema"]), "key_columns": many(row["key_columns"]),
            "value_columns": many(row["value_columns"]), "required_columns": many(row["required_columns"]),
            "scored_columns": many(row["scored_columns"]),
            "tolerances": {column: float(value) for column, value in tolerances.items()},
            "row_coverage_threshold": float(row["row_coverage_threshold"]),
            "accuracy_threshold": float(row["accuracy_threshold"]), "drop_tables": many(row["drop_tables"]),
            "reference_id": row["reference_id"], "has_operational_spec": row["has_operational_spec"] == "yes",
            "targeted_skills": many(row["targeted_skills"]), "decoy_skill": row["decoy_skill"],
            "reference_rows": int(row["reference_rows"]), "key_grain": row["key_grain"],
            "ordered_columns": many(row["ordered_columns"]), "reviewers": many(row["reviewers"]),
            "source_basis": row["source_basis"], "in_raw_sql_control": row["in_raw_sql_control"] == "yes",
            "in_decoy_control": row["in_decoy_control"] == "yes", "in_sentinel_set": row["in_sentinel_set"] == "yes",
        }, name


def test_siblings_share_one_reference(cards: Mapping[str, Card]) -> None:
    by_id: dict[str, set[Path]] = {}
    for card in cards.values():
        by_id.setdefault(card.reference_id, set()).add(card.reference_path)
    assert len(by_id) == 17
    assert all(len(paths) == 1 for paths in by_id.values())


def test_provenance_names_literature_lineage_caveats_and_the_reviewers_of_the_paper(
    cards: Mapping[str, Card], evidence_dir: Path
) -> None:
    with open(evidence_dir / "expected" / "table07_review_provenance.csv", encoding="utf-8") as handle:
        printed = {row["task"]: row for row in csv.DictReader(handle)}
    seen = set()
    for card in cards.values():
        provenance = yaml.safe_load(card.provenance_path.read_text(encoding="utf-8"))
        assert provenance["family"] == card.family
        assert provenance["references"][card.reference_id] == card.reference
        assert provenance["literature"] and all(
            entry["authors"] and isinstance(entry["year"], int) and entry["source"] for entry in provenance["literature"]
        )
        assert provenance["public_code"]["lineage"] and provenance["public_code"]["departures"]
        assert provenance["conventions_kept"] and provenance["validity_caveats"]
        for task, review in provenance["review"].items():
            assert "/".join(review["reviewers"]) == printed[task]["reviewers"], task
            assert review["source_basis"] == printed[task]["source_basis"], task
            seen.add(task)
    assert seen == set(cards) == set(printed)


def test_the_five_printed_caveats_are_told(cards: Mapping[str, Card]) -> None:
    told = {
        card.family: " ".join(yaml.safe_load(card.provenance_path.read_text(encoding="utf-8"))["validity_caveats"])
        for card in cards.values()
    }
    for family, words in {
        "suspicion-infection": ["specimen", "inflate"], "sepsis3": ["specimen", "score 0"], "sofa": ["score 0"],
        "apsiii": ["breathing", "oxygenation"], "vasopressor-equivalents": ["Angiotensin II"], "oasis": ["APACHE"],
    }.items():
        assert all(part in told[family] for part in words), family


def test_references_are_one_select_with_a_header(cards: Mapping[str, Card]) -> None:
    for card in {card.reference_path: card for card in cards.values()}.values():
        text = card.reference_path.read_text(encoding="utf-8")
        header = [line for line in text.splitlines() if line.startswith("-- ")]
        for part in ("Grain: ", "Source: "):
            assert any(line.startswith(f"-- {part}") for line in header), (card.reference_path, part)
        statements = sqlglot.parse(text, read="duckdb")
        assert len(statements) == 1 and isinstance(statements[0], exp.Select), card.reference_path
        assert statements[0].named_selects == card.evaluation["required_columns"]


def test_no_reference_reads_what_its_standard_task_drops(cards: Mapping[str, Card]) -> None:
    for card in cards.values():
        if card.mode == "standard":
            assert not tables_read(reference_sql(card)) & set(card.drop), card.name


def test_no_name_inside_a_reference_is_that_of_a_stored_relation(mimic_cards: list[Card]) -> None:
    """A short name equal to a table's would give that table away in a transformed query."""
    relations = {name.partition(".")[2] for name in mimic_catalogue()}
    for card in mimic_cards:
        tree = sqlglot.parse_one(reference_sql(card), read="duckdb")
        aliases = {alias.name for alias in tree.find_all(exp.TableAlias) if alias.name}
        assert not aliases & relations, (card.name, aliases & relations)

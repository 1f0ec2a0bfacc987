"""References and transformed schemas on synthetic data, which has what the demo lacks: thresholds, odd cases, any size."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from m4lib.cards import Card
from m4lib.data.build import build
from m4lib.data.synthetic import synthesize
from m4lib.duck import connect, literal, quote
from m4lib.tasks.reference import write_references
from m4lib.tasks.schemas.verify import equivalence, lost_rows
from m4lib.tasks.store import open_store


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("synthetic")
    made = {}
    for source, stays in (("mimic-iv", 150), ("eicu", 150)):
        synthesize(source, folder / source, stays, seed=5)
        made[source] = folder / f"{source}.duckdb"
        build(source, folder / source, made[source], progress=False)
    return made


def test_every_scored_column_of_every_task_varies(
    synthetic: dict[str, Path], cards: Mapping[str, Card], tmp_path: Path
) -> None:
    """A reference whose column is constant could not tell a right answer from a default."""
    constant = []
    con = connect()
    for source, db in synthetic.items():
        chosen = {card.reference_id: card for card in cards.values() if card.database == source}.values()
        manifest = write_references(chosen, db, tmp_path)
        for card in chosen:
            assert manifest["references"][card.name]["duplicate_keys"] == 0, card.name
            rows = f"read_parquet({literal(str(tmp_path / f'{card.name}.parquet'))})"
            for column in card.scored_columns:
                found = con.execute(f"SELECT count(DISTINCT {quote(column)}) + max({quote(column)} IS NULL)::INT FROM {rows}").fetchone()
                if not found or found[0] < 2:
                    constant.append((card.reference_id, column))
    assert set(constant) <= {("sepsis3", "sepsis3")}  # always true by definition


def test_schemas_are_equivalent_and_lossless(
    synthetic: dict[str, Path], mimic_cards: list[Card], tmp_path: Path
) -> None:
    store = open_store(synthetic["mimic-iv"], tmp_path)
    assert set(lost_rows(store).values()) == {0}
    found = equivalence(mimic_cards, store)
    assert len(found) == 30 and all(one.equal and one.rows for one in found)

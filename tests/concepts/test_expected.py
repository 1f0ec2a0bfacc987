"""Concept tables of the MIMIC-IV demo against the published right answers, row for row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from m4lib.concepts import graph
from m4lib.duck import connect, literal
from m4lib.project import find_project
from tests.concepts.tables import differences

# Cells that the answers leave to ties are blanked on both sides. Each names the rows by a key and what is blanked.
TIES = {
    # readings with different components share the lowest total
    "first_day_gcs": (
        "stay_id",
        """SELECT stay_id FROM (
             SELECT gcs.*, RANK() OVER (PARTITION BY stay.stay_id ORDER BY gcs.gcs) AS place
             FROM mimiciv_icu.icustays AS stay INNER JOIN mimiciv_derived.gcs AS gcs
             ON gcs.stay_id = stay.stay_id
             AND gcs.charttime BETWEEN stay.intime - INTERVAL 6 HOUR AND stay.intime + INTERVAL 24 HOUR
           ) WHERE place = 1
           GROUP BY stay_id HAVING COUNT(DISTINCT (gcs_motor, gcs_verbal, gcs_eyes, gcs_unable)) > 1""",
        ["gcs_motor", "gcs_verbal", "gcs_eyes", "gcs_unable"],
    ),
    # two flows of one time were stored together
    "oxygen_delivery": (
        "(subject_id, charttime)",
        """SELECT (subject_id, charttime) FROM mimiciv_icu.chartevents
           WHERE itemid IN (223834, 227582) AND value IS NOT NULL
           GROUP BY subject_id, charttime, storetime HAVING COUNT(*) > 1""",
        ["o2_flow"],
    ),
    # two specimens were taken at one time
    "suspicion_of_infection": (
        "(subject_id, culture_time)",
        """SELECT (subject_id, COALESCE(charttime, chartdate)) FROM mimiciv_hosp.microbiologyevents
           GROUP BY subject_id, COALESCE(charttime, chartdate) HAVING COUNT(DISTINCT micro_specimen_id) > 1""",
        ["specimen", "positive_culture"],
    ),
}
CONCEPTS = sorted(graph.load())
ANSWERS = find_project(Path(__file__).parent).shared / "expected" / "mimic-demo" / "derived"
# without the answers on this machine every concept stands here, and the fixture says why it is skipped
PUBLISHED = sorted(path.stem for path in ANSWERS.glob("*.parquet")) or CONCEPTS


@pytest.fixture(scope="module")
def con(demo_mimic_db: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    con = connect(demo_mimic_db, read_only=True, threads=2)
    yield con
    con.close()


def without_ties(con: duckdb.DuckDBPyConnection, concept: str, relation: str) -> str:
    if concept == "first_day_rrt":  # the order inside the text is not determined
        return f"(SELECT * REPLACE (LIST_SORT(STRING_SPLIT(dialysis_type, ', ')) AS dialysis_type) FROM {relation})"
    if concept not in TIES:
        return relation
    key, tied, cells = TIES[concept]
    blanked = ", ".join(f"CASE WHEN {key} NOT IN ({tied}) THEN {cell} END AS {cell}" for cell in cells)
    return f"(SELECT * REPLACE ({blanked}) FROM {relation})"


@pytest.mark.parametrize("concept", PUBLISHED)
def test_equals_expected(con: duckdb.DuckDBPyConnection, expected_dir: Path, concept: str) -> None:
    path = expected_dir / "mimic-demo" / "derived" / f"{concept}.parquet"
    expected, found = literal(str(path)), f"mimiciv_derived.{concept}"
    assert differences(con, without_ties(con, concept, expected), without_ties(con, concept, found)) == []


def test_ties_are_few(con: duckdb.DuckDBPyConnection) -> None:
    """The blanking above hides ties only, not whole tables."""
    for concept, (key, tied, _) in TIES.items():
        hidden, rows = con.execute(
            f"SELECT COUNT(*) FILTER ({key} IN ({tied})), COUNT(*) FROM mimiciv_derived.{concept}"
        ).fetchall()[0]
        assert 0 < hidden < 0.25 * rows, concept


def test_a_wrong_value_is_noticed(con: duckdb.DuckDBPyConnection) -> None:
    """The comparison itself: a changed number, a missing row and a doubled row each differ."""
    age = "mimiciv_derived.age"
    assert differences(con, age, f"(SELECT * FROM {age} ORDER BY random())") == []
    assert differences(con, age, f"(SELECT * REPLACE (age + 0.00001 AS age) FROM {age})", tolerance=1e-9)
    assert differences(con, age, f"(SELECT * FROM {age} WHERE hadm_id <> (SELECT MIN(hadm_id) FROM {age}))")
    assert differences(con, age, f"(SELECT * FROM {age} UNION ALL (SELECT * FROM {age} LIMIT 1))")
    assert differences(con, age, f"(SELECT * REPLACE (NULL AS age) FROM {age})")

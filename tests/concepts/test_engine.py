"""The concept engine: order from the SQL, clear refusals, atomic tables, rebuilding only what changed."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from m4lib.concepts import build_concepts, graph
from m4lib.concepts.engine import ConceptResult
from m4lib.duck import connect
from m4lib.errors import M4Error
from tests.concepts.tables import differences

SIZES = {
    "demographics": 5, "measurement": 18, "medication": 13, "treatment": 4, "firstday": 10, "organfailure": 4,
    "score": 6, "sepsis": 2, "comorbidity": 1,
}


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """Two ICU stays and no more."""
    con = duckdb.connect()
    con.execute("CREATE SCHEMA mimiciv_icu")
    con.execute("CREATE TABLE mimiciv_icu.icustays AS SELECT * FROM (VALUES (1, 10), (2, 20)) AS t(stay_id, hours)")
    yield con
    con.close()


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Three concepts: long <- longest, and one that reads neither."""
    return write(
        tmp_path,
        long="SELECT stay_id, hours FROM mimiciv_icu.icustays WHERE hours > 10",
        longest="WITH top AS (SELECT max(hours) AS hours FROM mimiciv_derived.long) SELECT hours FROM top",
        number="SELECT count(*) AS n FROM mimiciv_icu.icustays",
    )


def write(folder: Path, **concepts: str) -> dict[str, Path]:
    (folder / "group").mkdir(exist_ok=True)
    for name, sql in concepts.items():
        (folder / "group" / f"{name}.sql").write_text(f"-- {name}\n{sql}\n")
    return {path.stem: path for path in sorted((folder / "group").glob("*.sql"))}


def built(results: list[ConceptResult]) -> list[str]:
    return [result.name for result in results if not result.skipped]


# what the files say


def test_all_concepts_are_there() -> None:
    found = graph.load()
    assert {group: sum(c.group == group for c in found.values()) for group in SIZES} == SIZES
    assert len(found) == 63


def test_levels() -> None:
    """A concept's level is one more than the highest it reads."""
    levels: dict[str, int] = {}
    for concept in graph.order(graph.load()):
        levels[concept.name] = 1 + max((levels[name] for name in concept.needs.concepts), default=-1)
    assert [sum(level == n for level in levels.values()) for n in range(4)] == [35, 17, 10, 1]
    assert [name for name, level in levels.items() if level == 3] == ["sepsis3"]


@pytest.mark.parametrize("path", sorted(graph.FOLDER.glob("*/*.sql")), ids=lambda path: path.stem)
def test_files_explain_themselves(path: Path) -> None:
    """A header says what a row is and where the definition comes from; below it is a SELECT that stands alone."""
    text = path.read_text()
    header = text[: re.search(r"^(?!--)", text, re.M).start()]  # type: ignore[union-attr]
    assert re.search(r"^-- Grain:", header, re.M), "what one row is"
    assert re.search(r"^-- Source:", header, re.M), "literature or public concept"
    assert not re.search(r"\bCREATE\b|[{}]", text), "a plain SELECT without templates"


@pytest.mark.parametrize("concept", graph.load().values(), ids=lambda concept: concept.name)
def test_a_concept_can_be_selected_from(concept: graph.Concept) -> None:
    """Put between brackets as it is, it is one statement: no comment at its end swallows the bracket."""
    assert len(duckdb.extract_statements(f"SELECT * FROM ({concept.sql})")) == 1


def test_dependencies_are_relations_not_own_names() -> None:
    needs = graph.dependencies(
        """
        -- mimiciv_derived.comment is no relation
        WITH bg AS (SELECT 'mimiciv_derived.text' AS t FROM MIMICIV_DERIVED.Chemistry), n AS (SELECT * FROM range(3))
        SELECT * FROM bg, n
        UNION ALL SELECT x, 1 FROM mimiciv_hosp.labevents AS bg
        WHERE EXISTS (SELECT 1 FROM "mimiciv_derived"."gcs" AS inner_one WHERE inner_one.gcs = bg.x)
        """
    )
    assert needs.concepts == {"chemistry", "gcs"}
    assert needs.base == {("mimiciv_hosp", "labevents")}


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("CREATE TABLE x AS SELECT 1", "exactly one SELECT"),
        ("SELECT 1; SELECT 2", "exactly one SELECT"),
        ("", "exactly one SELECT"),
        ("SELECT * FROM icustays", "unknown relation icustays"),
        ("SELECT * FROM eicu_crd.patient", "unknown relation eicu_crd.patient"),
        ("SELECT FROM WHERE (", "not valid SQL"),
    ],
)
def test_other_statements_are_refused(sql: str, reason: str) -> None:
    with pytest.raises(M4Error, match=reason) as error:
        graph.dependencies(sql)
    assert "\n" not in str(error.value)


def test_comments_and_layout_do_not_change_the_digest() -> None:
    one = graph.digest("SELECT 1 AS a -- one\nFROM x")
    assert one == graph.digest("/* other */ SELECT   1 AS a\n\nFROM x")
    assert one != graph.digest("SELECT 2 AS a FROM x")
    assert graph.digest("SELECT 'a b'") != graph.digest("SELECT 'a  b'")


def test_order_follows_the_dependencies(files: dict[str, Path]) -> None:
    names = [concept.name for concept in graph.order(graph.load(reversed(files.values())))]
    assert names.index("long") < names.index("longest")
    assert names == [concept.name for concept in graph.order(graph.load(files.values()))]


def test_circle_is_refused(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    paths = write(
        tmp_path,
        a="SELECT * FROM mimiciv_derived.b",
        b="SELECT * FROM mimiciv_derived.c",
        c="SELECT * FROM mimiciv_derived.a",
    )
    with pytest.raises(M4Error, match=r"in a circle: .*a.*b.*c|in a circle: .*c.*b.*a"):
        build_concepts(con, paths=paths.values())


def test_a_concept_without_a_file_is_refused(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    paths = write(tmp_path, a="SELECT * FROM mimiciv_derived.nowhere")
    with pytest.raises(M4Error, match=r"a reads mimiciv_derived\.nowhere"):
        build_concepts(con, paths=paths.values())


def test_same_name_in_two_groups_is_refused(tmp_path: Path) -> None:
    paths = write(tmp_path, a="SELECT 1 AS x")
    other = tmp_path / "other" / "a.sql"
    other.parent.mkdir()
    other.write_text("SELECT 2 AS x")
    with pytest.raises(M4Error, match="exists twice"):
        graph.load([*paths.values(), other])


# building


def test_missing_base_tables_are_named_before_anything_is_built(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(M4Error) as error:
        build_concepts(con, only=["sofa"])
    assert "mimiciv_icu.chartevents (needed by" in str(error.value)
    assert "mimiciv_hosp.labevents (needed by" in str(error.value)
    assert "icustays" not in str(error.value)
    assert con.execute("SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'mimiciv_derived'").fetchall() == [(0,)]


def test_unknown_name_is_refused(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(M4Error, match="There is no concept sofaa"):
        build_concepts(con, only=["sofaa"])


def test_only_builds_what_is_asked_for_and_what_it_reads(con: duckdb.DuckDBPyConnection, files: dict[str, Path]) -> None:
    seen: list[ConceptResult] = []
    results = build_concepts(con, only=["longest"], paths=files.values(), progress=seen.append)
    assert built(results) == ["long", "longest"] and seen == results
    assert results[0] == ConceptResult("long", "group", 1, results[0].seconds, False)
    assert con.execute("SELECT hours FROM mimiciv_derived.longest").fetchall() == [(20,)]


def test_second_build_does_nothing(con: duckdb.DuckDBPyConnection, files: dict[str, Path]) -> None:
    assert len(built(build_concepts(con, paths=files.values()))) == 3
    again = build_concepts(con, paths=files.values())
    assert built(again) == [] and [result.rows for result in again] == [1, 1, 1]
    assert len(built(build_concepts(con, paths=files.values(), force=True))) == 3


def test_changed_sql_rebuilds_it_and_its_readers(
    con: duckdb.DuckDBPyConnection, files: dict[str, Path], tmp_path: Path
) -> None:
    build_concepts(con, paths=files.values())
    write(tmp_path, long="SELECT stay_id, hours FROM mimiciv_icu.icustays -- WHERE hours > 10")
    assert built(build_concepts(con, paths=files.values())) == ["long", "longest"]
    write(tmp_path, long="SELECT stay_id,  hours /* all */\nFROM mimiciv_icu.icustays")
    assert built(build_concepts(con, paths=files.values())) == []


def test_changed_base_table_rebuilds_its_readers(con: duckdb.DuckDBPyConnection, files: dict[str, Path]) -> None:
    build_concepts(con, paths=files.values())
    con.execute("UPDATE mimiciv_icu.icustays SET hours = 30 WHERE stay_id = 1")
    assert len(built(build_concepts(con, paths=files.values()))) == 3
    assert con.execute("SELECT hours FROM mimiciv_derived.longest").fetchall() == [(30,)]
    con.execute("CREATE OR REPLACE TABLE mimiciv_icu.icustays AS FROM mimiciv_icu.icustays ORDER BY hours DESC")
    assert built(build_concepts(con, paths=files.values())) == [], "the order of rows is no change"
    con.execute("ALTER TABLE mimiciv_icu.icustays ALTER hours TYPE DOUBLE")
    assert len(built(build_concepts(con, paths=files.values()))) == 3, "a type is"


def test_hash_of_the_ingested_file_stands_for_the_rows(con: duckdb.DuckDBPyConnection, files: dict[str, Path]) -> None:
    con.execute("CREATE SCHEMA m4_meta")
    con.execute("CREATE TABLE m4_meta.ingest AS SELECT 'mimiciv_icu' AS schema_name, 'icustays' AS table_name, 'x' AS sha256")
    build_concepts(con, paths=files.values())
    assert built(build_concepts(con, paths=files.values())) == []
    con.execute("UPDATE m4_meta.ingest SET sha256 = 'y'")
    assert len(built(build_concepts(con, paths=files.values()))) == 3
    con.execute("INSERT INTO mimiciv_icu.icustays VALUES (3, 30)")
    assert len(built(build_concepts(con, paths=files.values()))) == 3, "the number of rows is checked all the same"


def test_lost_or_damaged_table_is_built_again(con: duckdb.DuckDBPyConnection, files: dict[str, Path]) -> None:
    build_concepts(con, paths=files.values())
    con.execute("DROP TABLE mimiciv_derived.longest")
    con.execute("DELETE FROM mimiciv_derived.number")
    assert built(build_concepts(con, paths=files.values())) == ["number", "longest"]


def test_table_of_a_removed_file_goes_too(con: duckdb.DuckDBPyConnection, files: dict[str, Path]) -> None:
    build_concepts(con, paths=files.values())
    files.pop("number").unlink()
    build_concepts(con, paths=files.values())
    tables = con.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'mimiciv_derived' ORDER BY ALL")
    assert tables.fetchall() == [("long",), ("longest",)]


def test_records_stay_out_of_the_derived_schema(con: duckdb.DuckDBPyConnection, files: dict[str, Path]) -> None:
    build_concepts(con, paths=files.values())
    found = con.execute("SELECT schema_name, table_name FROM duckdb_tables() WHERE schema_name <> 'mimiciv_icu'").fetchall()
    assert sorted(found) == [
        ("m4_meta", "concepts"), ("mimiciv_derived", "long"), ("mimiciv_derived", "longest"), ("mimiciv_derived", "number"),
    ]


def test_failing_concept_is_one_sentence_and_keeps_the_old_table(
    con: duckdb.DuckDBPyConnection, files: dict[str, Path], tmp_path: Path
) -> None:
    build_concepts(con, paths=files.values())
    write(tmp_path, number="SELECT no_such_column FROM mimiciv_icu.icustays")
    with pytest.raises(M4Error, match=r"group/number\.sql could not be built: .*no_such_column") as error:
        build_concepts(con, paths=files.values())
    assert "\n" not in str(error.value)
    assert con.execute("SELECT n FROM mimiciv_derived.number").fetchall() == [(2,)]
    write(tmp_path, number="SELECT count(*) AS n FROM mimiciv_icu.icustays")
    assert built(build_concepts(con, paths=files.values())) == [], "what was there is still recorded as built"


def test_interrupted_build_goes_on_where_it_stopped(con: duckdb.DuckDBPyConnection, files: dict[str, Path]) -> None:
    def stop(result: ConceptResult) -> None:
        if result.name == "number":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_concepts(con, paths=files.values(), progress=stop)
    assert built(build_concepts(con, paths=files.values())) == ["longest"]


def test_interrupted_query_leaves_the_old_table(
    con: duckdb.DuckDBPyConnection, files: dict[str, Path], tmp_path: Path
) -> None:
    build_concepts(con, paths=files.values())
    write(tmp_path, number="SELECT sum(hash(a.range + b.range)) AS n FROM range(10000000) AS a, range(10000000) AS b")
    timer = threading.Timer(0.5, con.interrupt)
    timer.start()
    with pytest.raises((duckdb.InterruptException, KeyboardInterrupt)):
        build_concepts(con, paths=files.values())
    timer.join()
    assert con.execute("SELECT n FROM mimiciv_derived.number").fetchall() == [(2,)]


# all concepts on the demo


@pytest.mark.parametrize(("threads", "seed"), [(1, 1), (4, 2)])
def test_results_do_not_depend_on_row_order_or_threads(demo_mimic_db: Path, threads: int, seed: int) -> None:
    con = connect(threads=threads)
    con.execute(f"ATTACH '{demo_mimic_db}' AS built (READ_ONLY)")
    base = {needed for concept in graph.load().values() for needed in concept.needs.base}
    for schema, table in sorted(base):
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        con.execute(f"CREATE TABLE {schema}.{table} AS FROM built.{schema}.{table} ORDER BY hash(rowid + {seed})")
    results = build_concepts(con)
    assert len(results) == 63
    different = {}
    for result in results:
        once, again = f"built.mimiciv_derived.{result.name}", f"mimiciv_derived.{result.name}"
        same = con.execute(f"SELECT count(*) FROM (FROM {once} EXCEPT ALL FROM {again})").fetchall() == [(0,)]
        # means and sums of many fractions may differ in the last digit
        if not same or con.execute(f"SELECT (FROM {once} SELECT count(*)) <> (FROM {again} SELECT count(*))").fetchall()[0][0]:
            found = differences(con, once, again, tolerance=1e-12)
            if found:
                different[result.name] = found
    assert different == {}
    con.close()

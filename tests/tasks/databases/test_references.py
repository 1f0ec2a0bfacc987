"""References on the demo: expected rows, contract, determinism, incremental writing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import duckdb
import pytest

from m4lib import cli
from m4lib.cards import Card
from m4lib.duck import connect, literal, quote
from m4lib.errors import M4Error
from m4lib.files import read_json, sha256_file
from m4lib.tasks import reference, source, taskdb
from m4lib.tasks.store import Store


@pytest.fixture(scope="module")
def written(cards: Mapping[str, Card], demo_mimic_db: Path, demo_eicu_db: Path, tmp_path_factory) -> Path:
    """References of both sources in one folder."""
    out = tmp_path_factory.mktemp("references")
    for db, name in ((demo_mimic_db, "mimic-iv"), (demo_eicu_db, "eicu")):
        reference.write_references([card for card in cards.values() if card.database == name], db, out)
    return out


def differing(expected: str, got: str, keys: list[str], columns: list[str]) -> dict[str, int]:
    """Rows by column that are not equal (numbers within 1e-6), plus rows that only one of two Parquet files has."""
    con = connect()
    kinds = {row[0]: row[1] for row in con.execute(f"DESCRIBE SELECT * FROM {expected}").fetchall()}
    tests = []
    for column in columns:
        a, b = f"e.{quote(column)}", f"g.{quote(column)}"
        same = f"{a} IS NOT DISTINCT FROM {b}"
        if kinds[column].startswith(("DOUBLE", "DECIMAL", "BIGINT", "INTEGER", "HUGEINT")):
            same = f"({same} OR abs({a}::DOUBLE - {b}::DOUBLE) <= 1e-6 * greatest(1, abs({a}::DOUBLE)))"
        tests.append(f"count(*) FILTER (NOT coalesce({same}, false)) AS {quote(column)}")
    on = " AND ".join(f"e.{quote(key)} = g.{quote(key)}" for key in keys)
    row = con.execute(
        f"SELECT {', '.join(tests)}, count(*) FILTER (e.{quote(keys[0])} IS NULL OR g.{quote(keys[0])} IS NULL) AS rows "
        f"FROM {expected} AS e FULL JOIN {got} AS g ON {on}"
    ).fetchone()
    assert row is not None
    return {name: count for name, count in zip([*columns, "rows"], row, strict=True) if count}


def test_demo_references_equal_the_expected_rows(cards: Mapping[str, Card], written: Path, expected_dir: Path) -> None:
    seen = 0
    for path in sorted(expected_dir.glob("*/tasks/*.parquet")):
        card = cards[path.stem]
        expected, got = (f"read_parquet({literal(str(p))})" for p in (path, written / path.name))
        keys = list(card.evaluation["key_columns"])
        values = [column for column in card.evaluation["required_columns"] if column not in keys]
        assert differing(expected, got, keys, values) == {}, card.name
        seen += 1
    assert seen >= 12


def test_the_comparison_sees_a_wrong_cell_and_a_missing_row() -> None:
    good = "(VALUES (1, 2.0, 'a'), (2, NULL, 'b')) AS t(k, v, s)"
    assert differing(f"(SELECT * FROM {good})", f"(SELECT * FROM {good})", ["k"], ["v", "s"]) == {}
    bad = "(SELECT * FROM (VALUES (1, 2.1, 'a'), (3, NULL, 'b')) AS t(k, v, s))"
    assert differing(f"(SELECT * FROM {good})", bad, ["k"], ["v", "s"]) == {"v": 1, "s": 2, "rows": 2}


def test_contract_columns_unique_keys_and_sorted_rows(cards: Mapping[str, Card], written: Path) -> None:
    con = connect()
    manifest = read_json(written / "manifest.json")["references"]
    assert set(manifest) == set(cards)
    for card in cards.values():
        path = written / f"{card.name}.parquet"
        rows = con.execute(f"SELECT * FROM read_parquet({literal(str(path))})")
        assert [column[0] for column in rows.description] == list(card.evaluation["required_columns"])
        record = manifest[card.name]
        assert record["duplicate_keys"] == 0 and record["rows"] > 0
        assert record["sha256"] == sha256_file(path)
        assert record["duckdb"] == duckdb.__version__ and record["sorted_by"] == reference.sort_columns(card)
        keys = [tuple(row) for row in con.execute(
            f"SELECT {', '.join(card.evaluation['key_columns'])} FROM read_parquet({literal(str(path))})").fetchall()]
        assert keys == sorted(keys), card.name
        assert not any(kind.startswith("HUGEINT") for kind in record["types"].values())


def test_siblings_are_one_file_on_disk(cards: Mapping[str, Card], written: Path) -> None:
    inodes: dict[str, set[int]] = {}
    for card in cards.values():
        inodes.setdefault(card.reference_id, set()).add((written / f"{card.name}.parquet").stat().st_ino)
    assert all(len(found) == 1 for found in inodes.values())


def test_scores_are_whole_and_within_their_range(written: Path) -> None:
    con = connect()
    for task, total, most in (("mimic-sofa-24h", "sofa", 24), ("mimic-sirs-24h-raw", "sirs", 4),
                              ("mimic-sapsii-24h", "sapsii", 163), ("mimic-apsiii-24h", "apsiii", 299),
                              ("mimic-oasis-24h", "oasis", 68), ("eicu-oasis", "oasis", 68),
                              ("mimic-kdigo-48h", "aki_stage", 3), ("mimic-charlson-raw", "charlson_comorbidity_index", 33)):
        low, high, kinds = con.execute(
            f"SELECT min({total}), max({total}), count(DISTINCT {total}) FROM read_parquet({literal(str(written / f'{task}.parquet'))})"
        ).fetchone() or (0, 0, 0)
        assert 0 <= low < high <= most and kinds > 2, task


def test_threads_and_row_order_change_nothing(
    cards: Mapping[str, Card], demo_mimic_db: Path, demo_eicu_db: Path, written: Path, tmp_path: Path
) -> None:
    """The same tables in another order of rows, read with four threads, give the same rows."""
    for db, name in ((demo_mimic_db, "mimic-iv"), (demo_eicu_db, "eicu")):
        shuffled = tmp_path / f"{name}.duckdb"
        con = duckdb.connect(str(shuffled))
        con.execute(f"ATTACH {literal(str(db))} AS demo (READ_ONLY)")
        chosen = [card for card in cards.values() if card.database == name]
        needed = set().union(*(reference.tables_read(reference.reference_sql(card)) for card in chosen))
        for table in sorted(needed):
            con.execute(f"CREATE SCHEMA IF NOT EXISTS {table.partition('.')[0]}")
            con.execute(f"CREATE TABLE {table} AS SELECT * FROM demo.{table} AS t ORDER BY hash(t), 1 DESC")
        con.close()
        out = tmp_path / name
        reference.write_references(chosen, shuffled, out, threads=4)
        for card in chosen:
            con = connect()
            a, b = (f"read_parquet({literal(str(folder / f'{card.name}.parquet'))})" for folder in (written, out))
            assert con.execute(f"SELECT count(*) FROM (({a_minus(a, b)}) UNION ALL ({a_minus(b, a)}))").fetchone() == (0,), card.name


def a_minus(a: str, b: str) -> str:
    return f"SELECT * FROM {a} EXCEPT ALL SELECT * FROM {b}"


def test_references_run_inside_the_databases_of_their_standard_tasks(
    mimic_cards: list[Card], demo_store: Store, written: Path, tmp_path: Path
) -> None:
    """An agent with perfect knowledge can get full marks from what it is given."""
    for card in mimic_cards:
        if card.mode != "standard":
            continue
        made = taskdb.build(card, "native", demo_store.db, tmp_path, store=demo_store)
        con = taskdb.open_taskdb(made)
        rows = reference.reference(card, con).fetchall()
        con.close()
        got = connect().execute(f"SELECT * FROM read_parquet({literal(str(written / f'{card.name}.parquet'))})").fetchall()
        assert rows == got, card.name


def test_a_second_call_keeps_what_is_up_to_date(cards: Mapping[str, Card], tiny_mimic_db: Path, tmp_path: Path) -> None:
    chosen = [cards["mimic-sofa-24h"], cards["mimic-sofa-24h-raw"], cards["mimic-meld-24h"]]
    first = reference.write_references(chosen, tiny_mimic_db, tmp_path)
    assert sorted(first["written"]) == sorted(card.name for card in chosen)
    before = {card.name: (tmp_path / f"{card.name}.parquet").stat().st_mtime_ns for card in chosen}
    assert reference.write_references(chosen, tiny_mimic_db, tmp_path)["written"] == []
    assert {card.name: (tmp_path / f"{card.name}.parquet").stat().st_mtime_ns for card in chosen} == before
    # a damaged sibling is linked again from the good one, without computing
    (tmp_path / "mimic-sofa-24h-raw.parquet").unlink()
    (tmp_path / "mimic-sofa-24h-raw.parquet").write_bytes(b"cut")
    assert reference.write_references(chosen, tiny_mimic_db, tmp_path)["written"] == ["mimic-sofa-24h-raw"]
    assert os.path.samefile(tmp_path / "mimic-sofa-24h.parquet", tmp_path / "mimic-sofa-24h-raw.parquet")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_another_database_or_query_is_noticed(cards: Mapping[str, Card], tiny_mimic_db: Path, tmp_path: Path) -> None:
    card = cards["mimic-gcs-24h-raw"]
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes(tiny_mimic_db.read_bytes())
    reference.write_references([card], copy, tmp_path / "out")
    assert source.fingerprint(copy) == source.fingerprint(tiny_mimic_db)
    with duckdb.connect(str(copy)) as con:
        con.execute("UPDATE mimiciv_icu.icustays SET hadm_id = 12 WHERE stay_id = 100")
    assert reference.write_references([card], copy, tmp_path / "out")["written"] == [card.name]
    rows = connect().execute(f"SELECT hadm_id FROM read_parquet({literal(str(tmp_path / 'out' / f'{card.name}.parquet'))}) WHERE stay_id = 100")
    assert rows.fetchone() == (12,)


def test_a_failing_query_leaves_the_old_file(cards: Mapping[str, Card], tiny_mimic_db: Path, tmp_path: Path) -> None:
    card = cards["mimic-gcs-24h-raw"]
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes(tiny_mimic_db.read_bytes())
    out = tmp_path / "out"
    reference.write_references([card], copy, out)
    before = (out / f"{card.name}.parquet").read_bytes()
    with duckdb.connect(str(copy)) as con:
        con.execute("DROP TABLE mimiciv_derived.gcs")
    with pytest.raises(M4Error, match=r"lacks mimiciv_derived\.gcs, which mimic-gcs-24h-raw reads"):
        reference.write_references([card], copy, out)
    assert (out / f"{card.name}.parquet").read_bytes() == before
    assert sorted(path.name for path in out.iterdir()) == ["manifest.json", f"{card.name}.parquet"]


def test_fingerprint_of_a_large_file_is_sampled_and_sees_its_ends(tmp_path: Path) -> None:
    path = tmp_path / "big"
    content = bytearray(os.urandom(8 << 20))
    path.write_bytes(content)

    def sampled() -> str:
        return source.fingerprint(path, whole_up_to=1 << 20, samples=4)

    first = sampled()
    assert first == sampled() and len(first) == 32
    for place in (0, 4096, len(content) - 1):
        changed = bytearray(content)
        changed[place] ^= 1
        path.write_bytes(changed)
        assert sampled() != first


@pytest.mark.parametrize(("arguments", "message"), [
    (["--task", "eicu-gcs"], "needs eICU, but"),
    (["--task", "mimic-sofa-24h", "--threads", "0"], "threads must be a whole number from 1 to 1024, not 0"),
    (["--task", "mimic-sofa-24h", "--memory-limit", "lots"], "'lots' is no memory limit"),
    (["--task", "mimic-sofa"], "There is no task called 'mimic-sofa'; nearest: mimic-sofa-24h"),
])
def test_user_mistakes_are_one_sentence(
    arguments: list[str], message: str, tiny_mimic_db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = cli.main(["reference", *arguments, "--db", str(tiny_mimic_db), "--out", str(tmp_path)])
    error = capsys.readouterr().err
    assert status == 2 and message in error and len(error.strip().splitlines()) == 1


def test_a_missing_or_foreign_database_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reference", "--task", "all", "--db", str(tmp_path / "no.duckdb"), "--out", str(tmp_path)]) == 2
    assert "There is no database at" in capsys.readouterr().err
    other = tmp_path / "other.duckdb"
    duckdb.connect(str(other)).close()
    assert cli.main(["reference", "--task", "all", "--db", str(other), "--out", str(tmp_path)]) == 2
    assert "holds neither MIMIC-IV nor eICU" in capsys.readouterr().err


def test_command_line_writes_all_tasks_of_the_source(tiny_mimic_db: Path, tmp_path: Path, capsys) -> None:
    assert cli.main(["reference", "--task", "all", "--db", str(tiny_mimic_db), "--out", str(tmp_path), "--quiet"]) == 0
    assert len(list(tmp_path.glob("*.parquet"))) == 26
    assert capsys.readouterr().out.count("written") == 26

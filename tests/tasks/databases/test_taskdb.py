"""Task databases: nothing of a dropped relation in any file, one copy on disk, whole or not at all."""

from __future__ import annotations

import multiprocessing
import os
import re
import resource
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from m4lib import cli
from m4lib.cards import Card
from m4lib.errors import M4Error
from m4lib.files import read_json, sha256_file, write_json
from m4lib.tasks import taskdb
from m4lib.tasks.schemas.verify import disk_use
from m4lib.tasks.store import Store, open_store
from m4lib.tasks.taskdb import TaskDB


@pytest.fixture(scope="module")
def native(cards: Mapping[str, Card], demo_mimic_db: Path, demo_eicu_db: Path, tmp_path_factory) -> dict[str, TaskDB]:
    """All 28 task databases as the harness makes them, each source in a folder of its own."""
    made = {}
    for db, name in ((demo_mimic_db, "mimic-iv"), (demo_eicu_db, "eicu")):
        out = tmp_path_factory.mktemp("native")
        store = open_store(db, out / ".store")
        for card in cards.values():
            if card.database == name:
                made[card.name] = taskdb.build(card, "native", db, out, store=store, data_prefix="/data")
    return made


def catalogue(made: TaskDB) -> set[str]:
    con = taskdb.open_taskdb(made)
    rows = con.execute("SELECT schema_name || '.' || view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    tables = con.execute("SELECT count(*) FROM duckdb_tables()").fetchone()
    con.close()
    assert tables == (0,)
    return {row[0] for row in rows}


def test_a_task_sees_exactly_what_its_card_allows(
    cards: Mapping[str, Card], native: dict[str, TaskDB], demo_store: Store
) -> None:
    for name, made in native.items():
        card = cards[name]
        found = catalogue(made)
        if card.database == "eicu":
            assert len(found) == 20 and all(relation.startswith("eicu_crd.") for relation in found)
        elif card.mode == "raw":
            assert found == {relation for relation in demo_store.relations if not relation.startswith("mimiciv_derived.")}
        else:
            assert set(demo_store.relations) - found == set(card.drop)
            assert set(card.drop) <= set(demo_store.relations)


def test_dropped_names_are_in_no_byte_of_the_database_file(
    cards: Mapping[str, Card], native: dict[str, TaskDB], demo_store: Store
) -> None:
    for name, made in native.items():
        card = cards[name]
        if card.database == "eicu":
            continue
        content = made.path.read_bytes()
        allowed = set(taskdb.allowed(card, list(demo_store.relations)))
        dropped = set(demo_store.relations) - allowed
        assert dropped, name
        # a relation that stays may have a column of the dropped relation's name (the concept sofa and sofa_score, say)
        harmless = {word for relation in allowed for word in (relation, *demo_store.relations[relation].columns)}
        harmless_text = "\n".join(harmless)
        for relation in dropped:
            table = relation.partition(".")[2]
            assert relation.encode() not in content
            if table in harmless_text:
                pattern = rf"(?<![a-z0-9_]){re.escape(table)}(?![a-z0-9_])".encode()
                assert table in harmless or not re.search(pattern, content), (name, table)
            else:
                assert table.encode() not in content, (name, table)
        if card.mode == "raw":
            assert b"mimiciv_derived" not in content
            # columns that only computed tables have, such as every score component
            base = {column for relation in allowed for column in demo_store.relations[relation].columns}
            for relation in dropped:
                for column in set(demo_store.relations[relation].columns) - base:
                    if len(column) > 3 and not any(column in word for word in harmless):
                        assert column.encode() not in content, (name, column)
        assert name.encode() not in content


def test_the_byte_search_finds_a_name_that_was_dropped_the_usual_way(tmp_path: Path) -> None:
    """Control: a table dropped from a copied file leaves its name behind, which is why task files are new."""
    path = tmp_path / "copy.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE SCHEMA mimiciv_derived; CREATE TABLE mimiciv_derived.first_day_sofa (sofa INTEGER)")
        con.execute("CHECKPOINT")
        con.execute("DROP TABLE mimiciv_derived.first_day_sofa")
    assert b"first_day_sofa" in path.read_bytes()


def test_files_are_the_allowed_relations_and_tell_nothing(
    cards: Mapping[str, Card], native: dict[str, TaskDB], demo_store: Store
) -> None:
    for name, made in native.items():
        card = cards[name]
        files = {path.name for path in made.folder.iterdir()}
        assert files == {path.name for path in made.files}
        assert all(re.fullmatch(r"database\.duckdb|[0-9a-f]{16}\.parquet", file) for file in files)
        for path in made.files:
            if path.suffix == ".parquet":
                schema = pq.read_schema(path)
                assert all(re.fullmatch(rf"c{path.stem[:8]}_\d+", column) for column in schema.names)
                assert not schema.metadata
        if card.database == "mimic-iv":
            allowed = set(taskdb.allowed(card, list(demo_store.relations)))
            hashes = {sha256_file(path) for path in made.files}
            kept = {demo_store.relations[relation].sha256 for relation in allowed}
            for relation in set(demo_store.relations) - allowed:
                dropped = demo_store.relations[relation]
                # two empty relations may be equal byte for byte; then there is no row to leak
                assert dropped.sha256 not in hashes or (dropped.sha256 in kept and dropped.rows == 0), (name, relation)


def test_bookkeeping_of_the_source_is_left_out(native: dict[str, TaskDB], demo_mimic_db: Path) -> None:
    with duckdb.connect(str(demo_mimic_db), read_only=True, config={"preserve_insertion_order": False}) as con:
        schemas = {row[0] for row in con.execute("SELECT DISTINCT schema_name FROM duckdb_tables()").fetchall()}
    assert "m4_meta" in schemas
    assert all(b"m4_meta" not in made.path.read_bytes() for made in native.values())


def test_values_and_types_are_those_of_the_source(
    cards: Mapping[str, Card], native: dict[str, TaskDB], demo_mimic_db: Path, demo_eicu_db: Path
) -> None:
    for name, db in (("mimic-sofa-24h", demo_mimic_db), ("eicu-oasis", demo_eicu_db)):
        relations = sorted(catalogue(native[name]))
        con = taskdb.open_taskdb(native[name])
        con.execute(f"ATTACH '{db}' AS source (READ_ONLY)")
        for relation in relations:
            if relation in ("mimiciv_icu.chartevents", "eicu_crd.vitalperiodic"):  # large, and no different
                continue
            described = [con.execute(f"DESCRIBE {prefix}{relation}").fetchall() for prefix in ("", "source.")]
            assert [row[:2] for row in described[0]] == [(row[0].lower(), row[1]) for row in described[1]], relation
            sums = [con.execute(f"SELECT count(*), sum(hash(t)) FROM {prefix}{relation} AS t").fetchone() for prefix in ("", "source.")]
            assert sums[0] == sums[1], relation
        con.close()


def test_all_databases_take_little_more_room_than_the_source(
    native: dict[str, TaskDB], demo_mimic_db: Path, demo_eicu_db: Path
) -> None:
    used = sum(disk_use(root) for root in {made.folder.parent for made in native.values()})
    source = demo_mimic_db.stat().st_size + demo_eicu_db.stat().st_size
    assert len(native) == 28 and used <= 1.2 * source


def test_modes_suit_a_container_user_and_no_log_is_left(native: dict[str, TaskDB]) -> None:
    for made in native.values():
        assert stat.S_IMODE(made.folder.stat().st_mode) == 0o755
        assert all(stat.S_IMODE(path.stat().st_mode) == 0o644 for path in made.files)
        assert not list(made.folder.glob("*.wal"))


def test_views_look_at_the_prefix_and_nowhere_else(native: dict[str, TaskDB], tmp_path: Path) -> None:
    made = native["mimic-meld-24h-raw"]
    content = made.path.read_bytes()
    assert b"/data" in content and str(made.folder).encode() not in content and b"/tmp" not in content
    con = duckdb.connect(str(made.path), read_only=True)
    with pytest.raises(duckdb.IOException, match="/data/"):
        con.execute("SELECT count(*) FROM mimiciv_icu.icustays")
    con.close()
    # anywhere else, one variable finds the files, also after the folder has moved
    moved = tmp_path / "moved"
    moved.mkdir()
    for path in made.files:
        os.link(path, moved / path.name)
    con = taskdb.open_taskdb(moved / "database.duckdb")
    assert con.execute("SELECT count(*) > 0 FROM mimiciv_icu.icustays").fetchone() == (True,)
    con.close()


def test_without_a_prefix_the_database_opens_where_it_lies(cards: Mapping[str, Card], tiny_mimic_db: Path, tmp_path: Path) -> None:
    made = taskdb.build(cards["mimic-meld-24h"], "native", tiny_mimic_db, tmp_path / "out")
    con = duckdb.connect(str(made.path), read_only=True)
    assert con.execute("SELECT count(*) FROM mimiciv_icu.icustays").fetchone() == (4,)
    con.close()
    assert b"meld" not in made.path.read_bytes()  # the path in the views does not spell the task


def test_an_unchanged_database_is_kept_and_a_damaged_one_is_made_again(
    cards: Mapping[str, Card], tiny_mimic_db: Path, tmp_path: Path
) -> None:
    card = cards["mimic-meld-24h"]
    first = taskdb.build(card, "native", tiny_mimic_db, tmp_path)
    inode = first.path.stat().st_ino
    again = taskdb.build(card, "native", tiny_mimic_db, tmp_path)
    assert again == first and again.path.stat().st_ino == inode  # a container may have it mounted
    assert first.size == sum(path.stat().st_size for path in first.files)
    next(path for path in first.files if path.suffix == ".parquet").unlink()
    assert taskdb.build(card, "native", tiny_mimic_db, tmp_path).path.stat().st_ino != inode
    (tmp_path / card.name / "stranger.txt").write_text("x")
    healed = taskdb.build(card, "native", tiny_mimic_db, tmp_path)
    assert {path.name for path in healed.folder.iterdir()} == {path.name for path in healed.files}


def test_a_changed_source_gives_new_files_and_the_old_store_goes(
    cards: Mapping[str, Card], tiny_mimic_db: Path, tmp_path: Path
) -> None:
    db = tmp_path / "db.duckdb"
    db.write_bytes(tiny_mimic_db.read_bytes())
    card = cards["mimic-meld-24h"]
    first = taskdb.build(card, "native", db, tmp_path / "out")
    with duckdb.connect(str(db)) as con:
        con.execute("DELETE FROM mimiciv_icu.icustays WHERE stay_id = 400")
    second = taskdb.build(card, "native", db, tmp_path / "out")
    assert second.sha256 != first.sha256
    con = taskdb.open_taskdb(second)
    assert con.execute("SELECT count(*) FROM mimiciv_icu.icustays").fetchone() == (3,)
    con.close()
    assert len([path for path in (tmp_path / "out" / ".store").iterdir() if path.is_dir()]) == 1


def _open(arguments: tuple[Path, Path]) -> str:
    return str(open_store(*arguments).folder)


def test_processes_that_start_together_share_one_export(tiny_mimic_db: Path, tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        folders = pool.map(_open, [(tiny_mimic_db, tmp_path / "store")] * 3)
    assert len(set(folders)) == 1
    assert len([path for path in (tmp_path / "store").iterdir() if path.is_dir()]) == 1


def test_a_half_written_store_is_not_trusted(tiny_mimic_db: Path, tmp_path: Path) -> None:
    store = open_store(tiny_mimic_db, tmp_path)
    victim = store.path(store.relations["mimiciv_icu.icustays"])
    victim.write_bytes(victim.read_bytes()[:-10])
    again = open_store(tiny_mimic_db, tmp_path)
    assert sha256_file(victim) == again.relations["mimiciv_icu.icustays"].sha256


def test_stores_of_older_states_go_whatever_their_format(tiny_mimic_db: Path, tmp_path: Path) -> None:
    db = tmp_path / "db.duckdb"
    shutil.copyfile(tiny_mimic_db, db)
    old = open_store(db, tmp_path / "store").folder
    write_json(old / "index.json", {**read_json(old / "index.json"), "format": 1})
    with duckdb.connect(str(db)) as con:
        con.execute("CREATE TABLE mimiciv_icu.other AS SELECT 1 AS x")
    assert open_store(db, tmp_path / "store").folder != old and not old.exists()


def test_wildcards_in_the_path_are_refused(tiny_mimic_db: Path, tmp_path: Path) -> None:
    with pytest.raises(M4Error, match=r"has \* or \? in its path"):
        open_store(tiny_mimic_db, tmp_path / "st*r")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_sentence(tiny_mimic_db: Path, tmp_path: Path) -> None:
    """A limit on file size stands in for a full disk."""
    for command, option in ((["taskdb", "--schema", "native"], "--store"), (["reference"], "--out")):
        out = tmp_path / command[0]
        done = subprocess.run(
            [sys.executable, "-m", "m4lib", *command, "--task", "mimic-charlson-raw", "--db", str(tiny_mimic_db), "--out", str(out)],
            capture_output=True, text=True, timeout=120, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200)),
        )
        assert done.returncode == 2 and "The disk is full" in done.stderr and option in done.stderr, done.stderr
        assert done.stderr.count("\n") == 1 and not list(out.rglob("*.parquet"))


def test_a_failed_build_leaves_the_old_database(
    cards: Mapping[str, Card], tiny_mimic_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = cards["mimic-meld-24h"]
    first = taskdb.build(card, "native", tiny_mimic_db, tmp_path)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(taskdb, "write_views", fail)
    with pytest.raises(OSError, match="disk full"):
        taskdb.build(card, "native", tiny_mimic_db, tmp_path, data_prefix="/data")
    assert first.path.is_file()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".") and path.name not in (".store", ".at")]


@pytest.mark.parametrize(("arguments", "message"), [
    (["--task", "eicu-gcs"], "eicu-gcs needs eICU"),
    (["--task", "eicu-gcs", "--schema", "obfuscated"], "eICU has no obfuscated form"),
    (["--task", "mimic-nothing"], "There is no task called"),
    (["--task", "mimic-sofa-24h", "--seed", "1"], "belong to the transformed schemas"),
    (["--task", "mimic-sofa-24h", "--threads", "-1"], "threads must be a whole number from 1 to 1024, not -1"),
    (["--task", "mimic-sofa-24h", "--memory-limit", "80%"], "'80%' is no memory limit"),
    (["--task", "mimic-sofa-24h", "--data-prefix", "data"], "'data' is not absolute"),
    (["--task", "mimic-sofa-24h", "--data-prefix", ""], "'' is not absolute"),
])
def test_user_mistakes_are_one_sentence(
    arguments: list[str], message: str, tiny_mimic_db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["taskdb", *arguments, "--db", str(tiny_mimic_db), "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert message in error and len(error.strip().splitlines()) == 1


def test_a_relative_prefix_is_refused(cards: Mapping[str, Card], tiny_mimic_db: Path, tmp_path: Path) -> None:
    with pytest.raises(M4Error, match="not absolute"):
        taskdb.build(cards["mimic-sofa-24h"], "native", tiny_mimic_db, tmp_path, data_prefix="./data")
    assert list(tmp_path.iterdir()) == []


def test_a_foreign_schema_name_is_refused(cards: Mapping[str, Card], tiny_mimic_db: Path, tmp_path: Path) -> None:
    with pytest.raises(M4Error, match="no schema called 'klingon'"):
        taskdb.build(cards["mimic-sofa-24h"], "klingon", tiny_mimic_db, tmp_path)

"""Every mistake: one sentence with file, line or column; the old database stays; nothing half-written remains."""

from __future__ import annotations

import gzip
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from raw_folders import raw_folder, write_file

from m4lib import duck
from m4lib.cli import main
from m4lib.data.build import build, ingest
from m4lib.errors import M4Error

LAB = "labevent_id,subject_id,hadm_id,specimen_id,itemid,order_provider_id,charttime,storetime,value,valuenum,valueuom," \
      "ref_range_lower,ref_range_upper,flag,priority,comments"


def lab_row(number: int, valuenum: str = "1.5", charttime: str = "2150-01-01 00:00:00", itemid: str = "50912") -> str:
    return f"{number},10000001,,{number},{itemid},,{charttime},,{valuenum},{valuenum},mg/dL,,,,,"


def labs(raw: Path, lines: list[str], name: str = "labevents.csv", header: str = LAB) -> None:
    for old in (raw / "hosp").glob("labevents.*"):
        old.unlink()
    write_file(raw / "hosp" / name, "\n".join([header, *lines]) + "\n")


def edit(file: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def apply(raw: Path) -> None:
        path = raw / file
        path.write_bytes(change(path.read_bytes()))

    return apply


def many_labs(valuenum: str, at: int, total: int = 300_000) -> list[str]:
    return [lab_row(n, valuenum if n == at else "1.5") for n in range(total)]


def cut_gzip(keep: float | int) -> Callable[[Path], None]:
    """labevents.csv.gz without its end: a share of the file, or all but some bytes."""
    def apply(raw: Path) -> None:
        noise = random.Random(1)
        labs(raw, [lab_row(n, str(noise.random())) for n in range(20_000)], "labevents.csv.gz")
        path = raw / "hosp" / "labevents.csv.gz"
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * keep)] if isinstance(keep, float) else data[:-keep])

    return apply


def flip_a_byte(raw: Path) -> None:
    """Damage that still inflates to well-formed rows: stored blocks, one digit changed. Only the checksum tells."""
    text = "\n".join([LAB, *(lab_row(n) for n in range(2000))]) + "\n"
    (raw / "hosp" / "labevents.csv").unlink()
    data = bytearray(gzip.compress(text.encode(), compresslevel=0, mtime=0))
    at = data.index(b"50912", len(data) // 2)
    data[at] = ord("9")
    (raw / "hosp" / "labevents.csv.gz").write_bytes(data)


def text_behind_gzip(raw: Path) -> None:
    path = raw / "hosp" / "labevents.csv"
    path.with_name("labevents.csv.gz").write_bytes(gzip.compress(path.read_bytes()) + b"text")
    path.unlink()


MISTAKES: dict[str, tuple[Callable[[Path], None], list[str]]] = {
    "gzip cut in the middle": (cut_gzip(0.6), ["hosp/labevents.csv.gz", "cut off", "again"]),
    "gzip without its last byte": (cut_gzip(1), ["hosp/labevents.csv.gz", "cut off"]),
    "gzip without its checksum": (cut_gzip(8), ["hosp/labevents.csv.gz", "cut off"]),
    "gzip cut to its header": (cut_gzip(0.00001), ["hosp/labevents.csv.gz", "cut off"]),
    "text behind the gzip data": (text_behind_gzip, ["hosp/labevents.csv.gz", "damaged"]),
    "gzip with one changed byte": (flip_a_byte, ["hosp/labevents.csv.gz", "damaged"]),
    "not gzip": (lambda raw: (raw / "hosp/labevents.csv").rename(raw / "hosp/labevents.csv.gz") and None,
                 ["hosp/labevents.csv.gz", "not a gzip file"]),
    "text in a number": (lambda raw: labs(raw, [lab_row(1), lab_row(2), lab_row(3, "high")]),
                         ["hosp/labevents.csv, line 4", "column valuenum", "'high'", "number"]),
    "text in a number far below": (lambda raw: labs(raw, many_labs("high", 234_567)), ["line 234569", "column valuenum"]),
    "wrong time": (lambda raw: labs(raw, [lab_row(1, charttime="2150-13-01")]), ["line 2", "column charttime", "a time"]),
    "text in an id": (lambda raw: labs(raw, [lab_row(1, itemid="creatinine")]), ["line 2", "column itemid", "whole number"]),
    "a field too many": (lambda raw: labs(raw, [lab_row(1), lab_row(2) + ",7,8"]), ["line 3", "more fields", "16 columns"]),
    "a field too few": (lambda raw: labs(raw, [lab_row(1), "1,2,3"]), ["line 3", "3 fields"]),
    "quote that does not end": (lambda raw: labs(raw, [lab_row(1), lab_row(2) + '"no end', lab_row(3)]), ["labevents.csv", "quote"]),
    "latin-1": (lambda raw: (raw / "hosp/labevents.csv").write_bytes(f"{LAB}\n{lab_row(1)}caf".encode() + b"\xe9\n") and None,
                ["labevents.csv", "UTF-8"]),
    "missing column": (lambda raw: labs(raw, [], header=LAB.replace("valuenum,", "")), ["hosp/labevents.csv", "valuenum", "missing"]),
    "extra column": (lambda raw: labs(raw, [], header=LAB + ",loinc"), ["hosp/labevents.csv", "loinc", "Remove", "--ignore-extra-columns"]),
    "column twice": (lambda raw: labs(raw, [], header=LAB + ",itemid"), ["itemid", "twice"]),
    "no header": (lambda raw: labs(raw, [], header=lab_row(1)), ["labevents.csv", "header"]),
    "another table under this name": (lambda raw: (raw / "icu/d_items.csv").replace(raw / "hosp/labevents.csv") and
                                      write_file(raw / "icu/d_items.csv", "x\n") and None, ["labevents.csv", "header"]),
    "empty file": (edit("hosp/labevents.csv", lambda _: b""), ["hosp/labevents.csv", "empty"]),
    "missing table": (lambda raw: (raw / "icu/chartevents.csv").unlink(), ["icu/chartevents", "needed"]),
    "two files of one table": (lambda raw: write_file(raw / "icu/chartevents.csv.gz", "x") and None, ["chartevents", "more than one file"]),
}


def leftovers(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"raw", "x.duckdb", "x.duckdb.manifest.json"}


@pytest.fixture
def built(tmp_path: Path) -> tuple[Path, Path]:
    """(raw folder, database built from it)."""
    raw = raw_folder(tmp_path / "raw", rows={"patients": [{"subject_id": 1, "gender": "F"}]})
    db = tmp_path / "x.duckdb"
    ingest("mimic-iv", raw, db, progress=False)
    return raw, db


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake(mistake: str, built: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    raw, db = built
    before, manifest = db.read_bytes(), db.with_name("x.duckdb.manifest.json").read_bytes()
    spoil, expected = MISTAKES[mistake]
    spoil(raw)
    assert main(["build", "--source", "mimic-iv", "--raw", str(raw), "--db", str(db), "--no-concepts"]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and "Traceback" not in message
    for part in expected:
        assert part in message
    assert len(message) < 400
    assert db.read_bytes() == before and db.with_name("x.duckdb.manifest.json").read_bytes() == manifest
    assert leftovers(db.parent) == set()


def test_mistake_without_an_old_database_leaves_nothing(tmp_path: Path) -> None:
    raw = raw_folder(tmp_path / "raw")
    labs(raw, [lab_row(1, "high")])
    with pytest.raises(M4Error, match="line 2, column valuenum"):
        ingest("mimic-iv", raw, tmp_path / "x.duckdb", progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["raw"]


def test_extra_column_can_be_left_out(built: tuple[Path, Path]) -> None:
    raw, db = built
    labs(raw, [lab_row(1) + ",X"], header=LAB + ",loinc")
    result = ingest("mimic-iv", raw, db, progress=False, ignore_extra_columns=True)
    assert result["tables"]["mimiciv_hosp.labevents"]["ignored"] == ["loinc"]
    with pytest.raises(M4Error, match="loinc"):  # also when the file did not change since
        ingest("mimic-iv", raw, db, progress=False)


@pytest.mark.parametrize("source, other", [("mimic-iv", "eicu"), ("eicu", "mimic-iv")])
def test_wrong_source(source: str, other: str, tmp_path: Path) -> None:
    with pytest.raises(M4Error, match=f"--source {other}"):
        ingest(source, raw_folder(tmp_path / "raw", other), tmp_path / "x.duckdb", progress=False)


def test_what_lies_there_is_not_replaced_by_another_source(built: tuple[Path, Path], tmp_path: Path) -> None:
    _, db = built
    before, eicu = db.read_bytes(), raw_folder(tmp_path / "eicu", "eicu")
    with pytest.raises(M4Error, match="holds mimic-iv, not eicu"):
        ingest("eicu", eicu, db, progress=False)
    notes = write_file(tmp_path / "notes.txt", "a page of notes")
    with pytest.raises(M4Error, match="no DuckDB database"):
        ingest("eicu", eicu, notes, progress=False)
    assert db.read_bytes() == before and notes.read_text() == "a page of notes"
    assert ingest("eicu", eicu, db, progress=False, force=True)["source"] == "eicu"


def test_folders_that_hold_nothing(tmp_path: Path) -> None:
    db = tmp_path / "x.duckdb"
    with pytest.raises(M4Error, match="no folder"):
        ingest("mimic-iv", tmp_path / "nowhere", db)
    (tmp_path / "empty").mkdir()
    with pytest.raises(M4Error, match="hosp and icu"):
        ingest("mimic-iv", tmp_path / "empty", db)
    raw_folder(tmp_path / "above" / "3.1")
    with pytest.raises(M4Error, match=r"use .*above/3\.1"):
        ingest("mimic-iv", tmp_path / "above", db)
    flat = tmp_path / "flat"
    write_file(flat / "chartevents.csv", "x\n")
    with pytest.raises(M4Error, match="subfolders hosp and icu"):
        ingest("mimic-iv", flat, db)
    with pytest.raises(M4Error, match="choose mimic-iv or eicu"):
        ingest("mimic-iii", flat, db)
    with pytest.raises(M4Error, match="folder"):
        ingest("eicu", raw_folder(tmp_path / "eicu", "eicu"), flat)
    assert not db.exists()


def test_raw_folder_without_a_name_is_not_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(raw_folder(tmp_path / "raw"))
    with pytest.raises(M4Error, match="raw folder is empty"):
        ingest("mimic-iv", "", tmp_path / "x.duckdb")
    assert not (tmp_path / "x.duckdb").exists()


def test_database_below_a_file(tmp_path: Path) -> None:
    raw = raw_folder(tmp_path / "raw")
    (tmp_path / "file").touch()
    with pytest.raises(M4Error, match=f"{tmp_path / 'file'} is no folder"):
        ingest("mimic-iv", raw, tmp_path / "file" / "in.duckdb", progress=False)
    with pytest.raises(M4Error, match=f"{tmp_path / 'file'} is no folder"):
        ingest("mimic-iv", raw, tmp_path / "file" / "further" / "in.duckdb", progress=False)


@pytest.mark.parametrize("limit", ["lots", "", "4", "80%", "-1", "0GB", "4KB", "4 parrots", "99999999999TB"])
def test_what_is_no_memory_limit_is_named(limit: str, built: tuple[Path, Path]) -> None:
    with pytest.raises(M4Error, match=f"{limit}.* is (no memory limit|too small|more than any machine has)"):
        ingest("mimic-iv", *built, memory_limit=limit, progress=False)


@pytest.mark.parametrize("limit", ["4GB", "512MiB", "1.5 gb", "2g", " 1TB "])
def test_memory_limits_of_duckdb_are_taken(limit: str) -> None:
    with duck.connect(memory_limit=limit) as con, duckdb.connect(config={"memory_limit": limit}) as plain:
        assert con.execute("SELECT current_setting('memory_limit')").fetchall() == plain.execute("SELECT current_setting('memory_limit')").fetchall()


@pytest.mark.parametrize("threads", [0, -3, True, 1.5, "4", 1_000_000])
def test_threads_count_from_one(threads: object, built: tuple[Path, Path]) -> None:
    with pytest.raises(M4Error, match="threads must be a whole number from 1"):
        ingest("mimic-iv", *built, threads=threads, progress=False)  # type: ignore[arg-type]


def test_missing_eicu_table_and_optional_one(tmp_path: Path) -> None:
    raw = raw_folder(tmp_path / "raw", "eicu")
    (raw / "lab.csv").unlink()
    assert ingest("eicu", raw, tmp_path / "x.duckdb", progress=False)["absent_tables"] == ["eicu_crd.lab"]
    (raw / "nursecharting.csv").unlink()
    with pytest.raises(M4Error, match="nursecharting"):
        ingest("eicu", raw, tmp_path / "x.duckdb", progress=False)


def test_concept_failure_keeps_the_old_database(built: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from m4lib.concepts import engine

    raw, db = built
    before = db.read_bytes()

    def broken(con: duckdb.DuckDBPyConnection, **_: object) -> None:
        raise M4Error("concept sofa: there is no column x.")

    monkeypatch.setattr(engine, "build_concepts", broken)
    with pytest.raises(M4Error, match="concept sofa"):
        build("mimic-iv", raw, db, progress=False)
    assert db.read_bytes() == before and leftovers(db.parent) == set()


def test_interrupt_while_concepts_are_built(built: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB reports Ctrl-C during its own work as a RuntimeError; the command line must still see an interrupt."""
    from m4lib.concepts import engine

    raw, db = built
    before = db.read_bytes()

    def slow(con: duckdb.DuckDBPyConnection, **_: object) -> None:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        con.execute("SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b").fetchone()

    monkeypatch.setattr(engine, "build_concepts", slow)
    with pytest.raises(KeyboardInterrupt):
        build("mimic-iv", raw, db, progress=False)
    assert db.read_bytes() == before and leftovers(db.parent) == set()


BUILD = "import sys; from m4lib.cli import main; sys.exit(main(sys.argv[1:]))"


def command(raw: Path, db: Path) -> list[str]:
    return [sys.executable, "-c", BUILD, "build", "--source", "mimic-iv", "--raw", str(raw), "--db", str(db), "--no-concepts"]


def test_interrupt_keeps_the_old_database(built: tuple[Path, Path]) -> None:
    raw, db = built
    before = db.read_bytes()
    labs(raw, many_labs("1.5", 0, 2_000_000))
    process = subprocess.Popen(command(raw, db), stderr=subprocess.PIPE, text=True)
    deadline = time.time() + 60
    while not any(path.stat().st_size > 100_000 for path in db.parent.glob(".*.x.duckdb")):
        assert process.poll() is None and time.time() < deadline, "the build ended before it could be interrupted"
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    message = process.communicate(timeout=60)[1]
    assert process.returncode == 130, message
    assert "interrupted" in message and "Traceback" not in message
    assert db.read_bytes() == before and leftovers(db.parent) == set()


def test_full_disk_is_a_clear_sentence(built: tuple[Path, Path]) -> None:
    """A limit on file size stands in for a full disk: the same write fails, and no file system must be mounted."""
    raw, db = built
    before = db.read_bytes()
    noise = random.Random(7)
    labs(raw, [lab_row(n, repr(noise.random())) for n in range(200_000)])
    limit = 3_000_000
    done = subprocess.run(
        command(raw, db), capture_output=True, text=True, timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 2, done.stderr
    assert "disk is full" in done.stderr and done.stderr.count("\n") == 1
    assert db.read_bytes() == before and leftovers(db.parent) == set()


def test_second_build_does_only_what_changed(built: tuple[Path, Path]) -> None:
    raw, db = built
    stamp = db.stat().st_mtime_ns
    assert len(ingest("mimic-iv", raw, db, progress=False)["reused"]) == 31
    assert db.stat().st_mtime_ns == stamp
    first = build("mimic-iv", raw, db, progress=False)
    assert len(first["reused"]) == 31 and first["concepts"]["tables"]
    stamp = db.stat().st_mtime_ns
    assert build("mimic-iv", raw, db, progress=False)["concepts"] == first["concepts"]
    assert db.stat().st_mtime_ns == stamp, "nothing to do, nothing written"
    os.utime(raw / "hosp" / "patients.csv")
    build("mimic-iv", raw, db, progress=False)
    assert db.stat().st_mtime_ns == stamp, "the same bytes with another time are the same file"
    labs(raw, [lab_row(1)])
    second = build("mimic-iv", raw, db, progress=False)
    assert len(second["reused"]) == 30 and "mimiciv_hosp.labevents" not in second["reused"]
    assert second["content_sha256"] != first["content_sha256"]
    with duckdb.connect(str(db), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM mimiciv_derived.chemistry").fetchone() == (1,)
        assert con.execute("SELECT gender FROM mimiciv_hosp.patients").fetchone() == ("F",)
    (raw / "hosp" / "provider.csv").unlink()
    third = build("mimic-iv", raw, db, progress=False)
    assert third["absent_tables"] == ["mimiciv_hosp.provider"]
    with duckdb.connect(str(db), read_only=True) as con:
        names = con.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'mimiciv_hosp'").fetchall()
    assert ("provider",) not in names


def test_database_changed_by_others_is_built_anew(built: tuple[Path, Path]) -> None:
    raw, db = built
    with duckdb.connect(str(db)) as con:
        con.execute("DELETE FROM mimiciv_hosp.patients")
    assert ingest("mimic-iv", raw, db, progress=False)["reused"] == []
    with duckdb.connect(str(db), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM mimiciv_hosp.patients").fetchone() == (1,)


def test_log_of_the_old_database_is_not_replayed_into_the_new(built: tuple[Path, Path]) -> None:
    raw, db = built
    code = (f"import duckdb, os; con = duckdb.connect({str(db)!r}); con.execute('CREATE TABLE mine AS SELECT 1'); "
            "con.execute(\"PRAGMA disable_checkpoint_on_shutdown\"); os._exit(0)")
    subprocess.run([sys.executable, "-c", code], check=True)
    assert Path(f"{db}.wal").exists()
    labs(raw, [lab_row(1)])
    ingest("mimic-iv", raw, db, progress=False)
    assert leftovers(db.parent) == set()
    with duckdb.connect(str(db), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM information_schema.tables WHERE table_name = 'mine'").fetchone() == (0,)


def test_leftovers_of_a_killed_build_are_removed(built: tuple[Path, Path]) -> None:
    raw, db = built
    old, fresh, other = (db.parent / name for name in (".0123abcd.x.duckdb", ".89abcdef.x.duckdb", ".0123abcd.y.duckdb"))
    for path in (old, fresh, other):
        path.write_bytes(b"half")
    Path(f"{old}.tmp").mkdir()
    for path in (old, Path(f"{old}.tmp"), other):
        os.utime(path, (time.time() - 3600, time.time() - 3600))
    ingest("mimic-iv", raw, db, progress=False, force=True)
    assert leftovers(db.parent) == {fresh.name, other.name}

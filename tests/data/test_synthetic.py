"""The generator: same seed same bytes, the layout of the release, and varied values for every concept and task."""

from __future__ import annotations

import csv
import gzip
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from m4lib.cards import load_cards
from m4lib.cli import main
from m4lib.concepts import graph
from m4lib.data.build import build
from m4lib.data.layout import find_files
from m4lib.data.schema import source
from m4lib.data.synthetic import synthesize, write
from m4lib.data.synthetic.names import EICU_FILES
from m4lib.errors import M4Error
from m4lib.files import sha256_file
from m4lib.project import Project
from m4lib.tasks.reference import reference

STAYS = 400
# columns that cannot vary: the definitions allow one value (or NULL) only
CONSTANT = {
    ("crrt", "clots_increasing"), ("crrt", "clotted"), ("rrt", "dialysis_present"), ("first_day_rrt", "dialysis_present"),
    ("meld", "rrt"), ("kdigo_stages", "aki_stage_crrt"), ("sepsis3", "sepsis3"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, dict[str, int]]]:
    root = tmp_path_factory.mktemp("synthetic")
    return {name: (root / name, synthesize(name, root / name, STAYS, seed=5)) for name in ("mimic-iv", "eicu")}


@pytest.fixture(scope="module")
def databases(made: dict[str, tuple[Path, dict[str, int]]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("synthetic_db")
    for name, (raw, _) in made.items():
        build(name, raw, root / f"{name}.duckdb", progress=False)
    return {name: root / f"{name}.duckdb" for name in made}


def hashes(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): sha256_file(path) for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("name", ["mimic-iv", "eicu"])
def test_same_seed_same_bytes(name: str, tmp_path: Path) -> None:
    for folder, seed in (("a", 3), ("b", 3), ("c", 4)):
        synthesize(name, tmp_path / folder, 25, seed=seed)
    synthesize(name, tmp_path / "z", 25, seed=3, gz=True)
    synthesize(name, tmp_path / "y", 25, seed=3, gz=True)
    first = hashes(tmp_path / "a")
    assert first == hashes(tmp_path / "b")
    assert hashes(tmp_path / "z") == hashes(tmp_path / "y")
    assert len(first) == 32
    main_table = "icu/chartevents.csv" if name == "mimic-iv" else "nurseCharting.csv"
    assert first[main_table] != hashes(tmp_path / "c")[main_table]
    for file in first:
        if file.endswith(".csv"):
            assert gzip.decompress((tmp_path / "z" / f"{file}.gz").read_bytes()) == (tmp_path / "a" / file).read_bytes()


def test_a_stay_does_not_depend_on_how_many_there_are(tmp_path: Path) -> None:
    synthesize("eicu", tmp_path / "few", 10, seed=3)
    synthesize("eicu", tmp_path / "many", 20, seed=3)
    few = (tmp_path / "few" / "patient.csv").read_text().splitlines()
    assert (tmp_path / "many" / "patient.csv").read_text().splitlines()[: len(few)] == few


@pytest.mark.parametrize("name", ["mimic-iv", "eicu"])
def test_layout_is_that_of_the_release(name: str, made: dict[str, tuple[Path, dict[str, int]]]) -> None:
    raw, rows = made[name]
    layout = find_files(source(name), raw)
    assert layout.absent == [] and layout.unknown == []
    for table, path in layout.files.items():
        with open(path, newline="") as handle:
            assert next(csv.reader(handle)) == [column.name for column in table.columns], path
        assert rows[table.full_name] > 0, table.full_name
    if name == "eicu":
        assert {path.name for path in layout.files.values()} == {f"{file}.csv" for file in EICU_FILES.values()}
    assert "No real patients" in (raw / "README.md").read_text()


def query(db: Path, sql: str) -> list[tuple]:
    with duckdb.connect(str(db), read_only=True) as con:
        return con.execute(sql).fetchall()


def test_identifiers_lie_in_the_ranges_of_the_sources(databases: dict[str, Path]) -> None:
    mimic = "SELECT min(subject_id), max(subject_id), min(hadm_id), max(hadm_id), min(stay_id), max(stay_id), count(DISTINCT stay_id), count(*) FROM mimiciv_icu.icustays"
    low_s, high_s, low_h, high_h, low_i, high_i, stays, count = query(databases["mimic-iv"], mimic)[0]
    assert 19_000_000 <= low_s <= high_s < 20_000_000
    assert 29_000_000 <= low_h <= high_h < 30_000_000
    assert 39_000_000 <= low_i <= high_i < 40_000_000
    assert stays == count == STAYS
    for table, key in [("mimiciv_hosp.admissions", "hadm_id"), ("mimiciv_hosp.patients", "subject_id"), ("mimiciv_hosp.labevents", "labevent_id"),
                       ("mimiciv_hosp.microbiologyevents", "microevent_id"), ("mimiciv_icu.d_items", "itemid"), ("mimiciv_hosp.d_labitems", "itemid"),
                       ("mimiciv_hosp.emar", "emar_id")]:
        assert query(databases["mimic-iv"], f"SELECT count(*) - count(DISTINCT {key}) FROM {table}") == [(0,)], table
    eicu = "SELECT min(patientunitstayid), max(patientunitstayid), count(DISTINCT patientunitstayid), count(*) FROM eicu_crd.patient"
    low, high, stays, count = query(databases["eicu"], eicu)[0]
    assert 100_000 <= low <= high < 10_000_000 and stays == count == STAYS


def test_events_belong_to_stays_and_items(databases: dict[str, Path]) -> None:
    for table in ("chartevents", "inputevents", "outputevents", "procedureevents", "datetimeevents", "ingredientevents"):
        lost = f"""SELECT count(*) FROM mimiciv_icu.{table} AS e
            LEFT JOIN mimiciv_icu.icustays AS s ON (e.stay_id, e.hadm_id, e.subject_id) = (s.stay_id, s.hadm_id, s.subject_id)
            LEFT JOIN mimiciv_icu.d_items AS d ON d.itemid = e.itemid AND d.linksto = '{table}'
            WHERE s.stay_id IS NULL OR d.itemid IS NULL"""
        assert query(databases["mimic-iv"], lost) == [(0,)], table
    orphans = "SELECT count(*) FROM mimiciv_hosp.labevents WHERE hadm_id NOT IN (SELECT hadm_id FROM mimiciv_hosp.admissions)"
    assert query(databases["mimic-iv"], orphans) == [(0,)]


def test_chart_rows_are_as_many_as_in_life(made: dict[str, tuple[Path, dict[str, int]]]) -> None:
    assert 800 < made["mimic-iv"][1]["mimiciv_icu.chartevents"] / STAYS < 3000
    assert 300 < made["eicu"][1]["eicu_crd.nursecharting"] / STAYS < 2000


def test_odd_cases_are_there(databases: dict[str, Path]) -> None:
    """Events on the edges of windows, repeated chart times, missing parts, other units, tubes without an admission."""
    edges = """SELECT count(*) FILTER (WHERE charttime = intime - INTERVAL 6 HOUR), count(*) FILTER (WHERE charttime = intime),
        count(*) FILTER (WHERE charttime = intime + INTERVAL 24 HOUR), count(*) FILTER (WHERE charttime > outtime),
        count(*) FILTER (WHERE charttime < intime - INTERVAL 6 HOUR) FROM mimiciv_icu.chartevents JOIN mimiciv_icu.icustays USING (stay_id)"""
    labs = edges.replace("mimiciv_icu.chartevents JOIN mimiciv_icu.icustays USING (stay_id)", "mimiciv_hosp.labevents JOIN mimiciv_icu.icustays USING (subject_id)")
    found = {
        "chart edges": min(query(databases["mimic-iv"], edges)[0]),
        "lab edges": min(query(databases["mimic-iv"], labs)[0]),
        "repeated": query(databases["mimic-iv"], "SELECT count(*) FROM (SELECT 1 FROM mimiciv_icu.chartevents GROUP BY stay_id, charttime, itemid HAVING count(*) > 1)")[0][0],
        "no admission": query(databases["mimic-iv"], "SELECT count(*) FROM mimiciv_hosp.labevents WHERE hadm_id IS NULL")[0][0],
        "uncharted stays": query(databases["mimic-iv"], "SELECT count(*) FROM mimiciv_icu.icustays WHERE stay_id NOT IN (SELECT stay_id FROM mimiciv_icu.chartevents)")[0][0],
        "date-only cultures": query(databases["mimic-iv"], "SELECT count(*) FROM mimiciv_hosp.microbiologyevents WHERE charttime IS NULL")[0][0],
        "gcs parts missing": query(databases["mimic-iv"], "SELECT count(*) FROM mimiciv_derived.gcs WHERE gcs_motor IS NULL OR gcs_eyes IS NULL")[0][0],
        "no prescription start": query(databases["mimic-iv"], "SELECT count(*) FROM mimiciv_hosp.prescriptions WHERE starttime IS NULL")[0][0],
        "odd nurse text": query(databases["eicu"], "SELECT count(*) FROM eicu_crd.nursecharting WHERE TRY_CAST(nursingchartvalue AS DOUBLE) IS NULL")[0][0],
        "eicu edges": query(databases["eicu"], "SELECT count(DISTINCT nursingchartoffset) FROM eicu_crd.nursecharting WHERE nursingchartoffset IN (-361, -360, 0, 1, 1440, 1441)")[0][0] - 5,
    }
    assert {name: count for name, count in found.items() if count < 1} == {}
    units = dict(query(databases["mimic-iv"], "SELECT DISTINCT rateuom, true FROM mimiciv_icu.inputevents WHERE itemid IN (221906, 221749, 222315)"))
    assert {"mcg/kg/min", "mg/kg/min", "mcg/min", "units/hour", "units/min"} <= set(units)


def test_every_concept_has_varied_values(databases: dict[str, Path]) -> None:
    flat = []
    with duckdb.connect(str(databases["mimic-iv"]), read_only=True) as con:
        for concept in graph.load().values():
            table = f"mimiciv_derived.{concept.name}"
            columns = [row[0] for row in con.execute(f"DESCRIBE {table}").fetchall()]
            counts = con.execute(f"SELECT count(*), {', '.join(f'count(DISTINCT {c})' for c in columns)} FROM {table}").fetchone()
            assert counts is not None and counts[0] > 0, f"{concept.name} is empty"
            flat += [(concept.name, column) for column, count in zip(columns, counts[1:], strict=True)
                     if count < (1 if (concept.name, column) in CONSTANT else 2)]
    # four devices at one time are too rare at this size
    assert [one for one in flat if one not in {("oxygen_delivery", "o2_delivery_device_3"), ("oxygen_delivery", "o2_delivery_device_4")}] == []


def test_every_task_has_varied_answers(databases: dict[str, Path], project: Project) -> None:
    cards = load_cards(project.tasks)
    assert len(cards) == 28
    for card in cards.values():
        with duckdb.connect(str(databases[card.database]), read_only=True) as con:
            answer = reference(card, con).to_arrow_table()
        assert answer.num_rows >= 100, card.name
        frame = answer.to_pandas()
        for column in card.scored_columns:
            if (card.family, column) != ("sepsis3", "sepsis3"):
                assert frame[column].nunique() > 1, f"{card.name}: {column} is always the same"


def test_ten_million_chart_rows_a_minute(tmp_path: Path) -> None:
    """Processor time, because other programs share the machine."""
    con = write.generator("mimic-iv", 500, 1, "light", "2GB", str(tmp_path))
    table = next(table for table in source("mimic-iv").tables if table.name == "chartevents")
    start = time.process_time()
    rows = write.copy_table(con, write.ROOMS["mimic-iv"], table, tmp_path / "chartevents.csv")
    assert rows / (time.process_time() - start) * 60 > 10_000_000


# rows a stay of MIMIC-IV 3.1 (94,458 stays) and eICU 2.0 (200,859 stays)
@pytest.mark.parametrize(("name", "published"), [
    ("mimic-iv", {"mimiciv_icu.chartevents": 430e6 / 94_458, "mimiciv_hosp.admissions": 546_028 / 94_458}),
    ("eicu", {"eicu_crd.nursecharting": 151.6e6 / 200_859, "eicu_crd.vitalperiodic": 146.7e6 / 200_859}),
])
def test_full_density_has_the_rows_of_the_release(name: str, published: dict[str, float], tmp_path: Path) -> None:
    rows = synthesize(name, tmp_path / "raw", 300, seed=1, density="full")
    for table, wanted in published.items():
        assert rows[table] / 300 == pytest.approx(wanted, rel=0.15), table
    build(name, tmp_path / "raw", tmp_path / "x.duckdb", progress=False, concepts=False)
    if name == "mimic-iv":
        with duckdb.connect(str(tmp_path / "x.duckdb"), read_only=True) as con:
            assert con.execute("SELECT count(*) FROM mimiciv_icu.chartevents ANTI JOIN mimiciv_icu.d_items USING (itemid)").fetchone() == (0,)
    with pytest.raises(M4Error, match="density called 'dense'"):
        synthesize(name, tmp_path / "other", 3, density="dense")


@pytest.mark.parametrize("name", ["mimic-iv", "eicu"])
def test_a_single_stay_is_enough(name: str, tmp_path: Path) -> None:
    synthesize(name, tmp_path / "one", 1, seed=9, gz=True)
    build(name, tmp_path / "one", tmp_path / "one.duckdb", progress=False)


def test_nothing_is_overwritten_or_left_half_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("keep")
    with pytest.raises(M4Error, match="not empty"):
        synthesize("mimic-iv", tmp_path / "full", 5)
    with pytest.raises(M4Error, match="between 1 and"):
        synthesize("mimic-iv", tmp_path / "new", 0)

    with pytest.raises(M4Error, match=r"^/proc/new could not be written"):
        synthesize("mimic-iv", "/proc/new", 5)
    with pytest.raises(M4Error, match=r"mine\.txt is no folder"):
        synthesize("mimic-iv", tmp_path / "full" / "mine.txt" / "new", 5)

    def broken(*_: object) -> int:
        raise RuntimeError("stop")

    monkeypatch.setattr(write, "copy_table", broken)
    with pytest.raises(RuntimeError):
        synthesize("mimic-iv", tmp_path / "new", 5)
    assert [path.name for path in tmp_path.iterdir()] == ["full"]


@pytest.mark.parametrize("gz", [False, True])
def test_full_disk_names_the_folder_and_leaves_nothing(gz: bool, tmp_path: Path) -> None:
    """A limit on file size stands in for a full disk."""
    command = [sys.executable, "-m", "m4lib", "synthesize", "--source", "eicu", "--stays", "300", "--out", str(tmp_path / "out"), *(["--gzip"] if gz else [])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)))
    assert done.returncode == 2 and str(tmp_path / "out") in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert "another place" in done.stderr and "database" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("gz", [False, True])
def test_interrupt_leaves_nothing(gz: bool, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; from m4lib.cli import main; sys.exit(main(sys.argv[1:]))", "synthesize", "--source", "mimic-iv",
               "--stays", "8000", "--out", str(tmp_path / "out"), *(["--gzip"] if gz else [])]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.time() + 120
    while not list(tmp_path.glob(".*.out/hosp/labevents*")):
        assert process.poll() is None and time.time() < deadline
        time.sleep(0.01)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    message = process.communicate(timeout=60)[1]
    assert process.returncode == 130 and "Traceback" not in message, message
    assert list(tmp_path.iterdir()) == []


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["synthesize", "--source", "eicu", "--stays", "3", "--seed", "1", "--out", str(out), "--gzip"]) == 0
    assert "3 synthetic stays, 31 tables" in capsys.readouterr().out
    assert (out / "nurseCharting.csv.gz").is_file()
    assert main(["synthesize", "--source", "eicu", "--stays", "3", "--out", str(out)]) == 2
    assert "not empty" in capsys.readouterr().err
    assert main(["build", "--source", "eicu", "--raw", str(out), "--db", str(tmp_path / "e.duckdb")]) == 0
    assert "31 tables" in capsys.readouterr().out

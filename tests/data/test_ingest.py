"""What arrives in the database: rows, types, nulls and dialect traps."""

from __future__ import annotations

import gzip
import hashlib
import re
import shutil
import zlib
from pathlib import Path

import duckdb
import pytest
from raw_folders import csv_text, raw_folder, write_file

from m4lib.data import stream
from m4lib.data.build import build, ingest
from m4lib.data.schema import source
from m4lib.files import read_json, sha256_file


def query(db: Path, sql: str) -> list[tuple]:
    with duckdb.connect(str(db), read_only=True) as con:
        return con.execute(sql).fetchall()


@pytest.fixture(scope="module")
def demo(demo_mimic_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    path = tmp_path_factory.mktemp("ingest") / "mimic.duckdb"
    return path, ingest("mimic-iv", demo_mimic_raw, path, progress=False)


@pytest.fixture(scope="module")
def demo_eicu(demo_eicu_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    path = tmp_path_factory.mktemp("ingest") / "eicu.duckdb"
    return path, ingest("eicu", demo_eicu_raw, path, progress=False)


def stated_rows(readme: Path) -> dict[str, int]:
    """Table name -> row count of the README's table."""
    found = re.findall(r"^\| (?:\w+/)?(\w+)\.csv\.gz \| (\d+) \|", readme.read_text(), re.M)
    return {name.lower(): int(count) for name, count in found}


def test_mimic_rows_are_those_of_the_readme(demo: tuple[Path, dict], demo_mimic_raw: Path) -> None:
    stated = stated_rows(demo_mimic_raw / "README.md")
    assert len(stated) == 31
    assert {name.split(".")[1]: one["rows"] for name, one in demo[1]["tables"].items()} == stated
    for name, one in demo[1]["tables"].items():
        assert query(demo[0], f"SELECT count(*) FROM {name}") == [(one["rows"],)]


def test_eicu_rows_are_those_of_the_readme(demo_eicu: tuple[Path, dict], demo_eicu_raw: Path) -> None:
    stated = stated_rows(demo_eicu_raw / "README.md")
    assert len(stated) == 20
    assert {name.split(".")[1]: one["rows"] for name, one in demo_eicu[1]["tables"].items()} == stated
    assert "eicu_crd.allergy" in demo_eicu[1]["absent_tables"]


def test_both_sources_have_31_tables() -> None:
    assert len(source("mimic-iv").tables) == len(source("eicu").tables) == 31


@pytest.mark.parametrize("which", ["mimic-iv", "eicu"])
def test_values_equal_a_sniffed_read_of_each_file(
    which: str, demo: tuple[Path, dict], demo_eicu: tuple[Path, dict], demo_mimic_raw: Path, demo_eicu_raw: Path
) -> None:
    """Against DuckDB's own type detection over the whole file, cell by cell as text."""
    db, manifest = demo if which == "mimic-iv" else demo_eicu
    root = demo_mimic_raw if which == "mimic-iv" else demo_eicu_raw
    con = duckdb.connect()
    con.execute(f"ATTACH '{db}' AS built (READ_ONLY)")
    for name, one in manifest["tables"].items():
        if not one["rows"]:
            continue
        con.execute(
            f"CREATE OR REPLACE TABLE sniffed AS FROM read_csv('{root / one['file']}', header=true, delim=',', quote='\"', "
            "escape='\"', sample_size=-1, nullstr=['','NULL','NA','N/A','___'])"
        )
        types = dict(con.execute("SELECT lower(column_name), column_type FROM (DESCRIBE sniffed)").fetchall())
        # a BIGINT here and a DOUBLE there are the same numbers; TIME and BOOLEAN stay as published, as text
        def key(column: str, kind: str, side: str, types: dict[str, str] = types) -> str:
            if types[column] in ("BIGINT", "DOUBLE") and kind in ("BIGINT", "DOUBLE", "VARCHAR"):
                return f"CAST({side}{column} AS DOUBLE)"
            if types[column] == "BOOLEAN":
                return f"CAST({side}{column} AS BOOLEAN)"
            return f"CAST({side}{column} AS VARCHAR)"
        mine = ", ".join(key(column, kind, "") for column, kind in one["columns"].items())
        # the sum of row hashes does not depend on the order of rows
        same = f"SELECT count(*), sum(hash({mine})::HUGEINT) FROM"
        assert con.execute(f"{same} built.{name}").fetchone() == con.execute(f"{same} sniffed").fetchone(), name


def test_types_are_stated_even_for_empty_files(demo: tuple[Path, dict], demo_eicu: tuple[Path, dict]) -> None:
    kinds = {
        (table, column): kind
        for db in (demo[0], demo_eicu[0])
        for table, column, kind in query(db, "SELECT table_name, column_name, data_type FROM information_schema.columns")
    }
    assert kinds["emar", "charttime"] == "TIMESTAMP"  # header only in the demo
    assert kinds["lab", "labresult"] == "DOUBLE"
    assert kinds["patients", "dod"] == "DATE"
    assert kinds["microbiologyevents", "chartdate"] == "TIMESTAMP"
    assert kinds["chartevents", "caregiver_id"] == "BIGINT"  # empty in the demo
    assert kinds["outputevents", "value"] == kinds["inputevents", "rate"] == "DOUBLE"
    for text in [("diagnoses_icd", "icd_code"), ("d_hcpcs", "code"), ("prescriptions", "ndc"), ("patient", "age"),
                 ("nursecharting", "nursingchartvalue"), ("physicalexam", "physicalexamvalue"),
                 ("chartevents", "value"), ("procedureevents", "location")]:
        assert kinds[text] == "VARCHAR", text
    assert ("procedureevents", "originalamount") in kinds  # upper case in the file


def test_manifest_says_what_was_read(demo: tuple[Path, dict], demo_mimic_raw: Path) -> None:
    on_disk = read_json(demo[0].with_name("mimic.duckdb.manifest.json"))
    assert on_disk == {key: value for key, value in demo[1].items() if key != "reused"}
    assert on_disk["duckdb"] == duckdb.__version__
    record = on_disk["tables"]["mimiciv_icu.chartevents"]
    assert record["file"] == "icu/chartevents.csv.gz"
    assert record["sha256"] == sha256_file(demo_mimic_raw / record["file"])
    assert record["bytes"] == (demo_mimic_raw / record["file"]).stat().st_size


def test_null_tokens_quotes_and_newlines(tmp_path: Path) -> None:
    raw = raw_folder(tmp_path / "raw")
    columns = [column.name for column in next(t for t in source("mimic-iv").tables if t.name == "d_hcpcs").columns]
    lines = [
        ",".join(columns),
        'A1,,"""y set"" tubing","Pad w>=3"" <5""/yd"',
        '"NA",1,"N/A",___',
        'A2,"",NULL,""',
        'A3,7,"two\nlines, and a comma",plain text ',
        "A4,8,n/a,null",
    ]
    write_file(raw / "hosp" / "d_hcpcs.csv", "\n".join(lines) + "\n")
    db = tmp_path / "x.duckdb"
    ingest("mimic-iv", raw, db, progress=False)
    assert query(db, "SELECT * FROM mimiciv_hosp.d_hcpcs ORDER BY ALL NULLS FIRST") == [
        (None, 1, None, None),
        ("A1", None, '"y set" tubing', 'Pad w>=3" <5"/yd'),
        ("A2", None, None, None),
        ("A3", 7, "two\nlines, and a comma", "plain text "),
        ("A4", 8, "n/a", "null"),
    ]


def test_quoted_newlines_across_many_read_buffers(tmp_path: Path) -> None:
    """Several threads start parsing in the middle of the file; none may take a quoted newline for a row's end."""
    rows = 120_000
    comment = '"first line\nsecond, ""line"" 1,2,3\n"'
    text = "labevent_id,subject_id,hadm_id,specimen_id,itemid,order_provider_id,charttime,storetime,value,valuenum,valueuom,"
    text += "ref_range_lower,ref_range_upper,flag,priority,comments\n"
    text += "".join(
        f"{i},{i % 977},,{i},50912,,2150-01-01 00:00:00,,{i % 50}.5,{i % 50}.5,mg/dL,,,,STAT,{comment}\n" for i in range(rows)
    )
    raw = raw_folder(tmp_path / "raw")
    write_file(raw / "hosp" / "labevents.csv", text)
    db = tmp_path / "x.duckdb"
    result = ingest("mimic-iv", raw, db, threads=4, progress=False)
    assert result["tables"]["mimiciv_hosp.labevents"]["rows"] == rows
    expected = [(rows, sum(range(rows)), 1, comment[1:-1].replace('""', '"'))]
    assert query(db, "SELECT count(*), sum(labevent_id), count(DISTINCT comments), any_value(comments) FROM mimiciv_hosp.labevents") == expected


def test_quoted_text_that_looks_like_rows(tmp_path: Path) -> None:
    """Whole rows inside a comment: threads that start there are misled, and the file is still read right."""
    columns = [column.name for column in next(t for t in source("mimic-iv").tables if t.name == "labevents").columns]
    row = "7,10000001,,7,50912,,2150-01-01 00:00:00,,1.5,1.5,mg/dL,,,,,"
    comment = f"{row}\n{row}\n{row}last"
    text = ",".join(columns) + "\n" + "".join(f'{row.replace("7", str(i), 1)}"{comment}"\n' for i in range(60_000))
    raw = raw_folder(tmp_path / "raw")
    write_file(raw / "hosp" / "labevents.csv", text)
    result = ingest("mimic-iv", raw, tmp_path / "x.duckdb", threads=4, progress=False)
    assert result["tables"]["mimiciv_hosp.labevents"]["rows"] == 60_000
    found = query(tmp_path / "x.duckdb", "SELECT sum(labevent_id), count(DISTINCT labevent_id), min(comments), max(comments) FROM mimiciv_hosp.labevents")
    assert found == [(sum(range(60_000)), 60_000, comment, comment)]


@pytest.mark.parametrize("gz", [False, True])
def test_file_names_in_any_case_with_and_without_gzip(tmp_path: Path, gz: bool) -> None:
    made = raw_folder(tmp_path / "made", rows={"patients": [{"subject_id": 5, "gender": "F"}]}, gz=gz)
    raw = tmp_path / "raw"
    for folder in ("hosp", "icu"):
        for path in (made / folder).iterdir():
            target = raw / folder.upper() / path.name.replace("patients", "Patients").replace(".csv", ".CSV")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    ingest("mimic-iv", raw, tmp_path / "x.duckdb", progress=False)
    assert query(tmp_path / "x.duckdb", "SELECT subject_id, gender FROM mimiciv_hosp.patients") == [(5, "F")]


def test_columns_in_another_order_and_case_with_bom_and_crlf(tmp_path: Path) -> None:
    raw = raw_folder(tmp_path / "raw")
    text = "\ufeffGENDER,anchor_year,Subject_ID,anchor_age,anchor_year_group,dod\r\nM,2150,7,60,2008 - 2010,2151-02-03\r\n"
    write_file(raw / "hosp" / "patients.csv", text)
    ingest("mimic-iv", raw, tmp_path / "x.duckdb", progress=False)
    found = query(tmp_path / "x.duckdb", "SELECT subject_id, gender, anchor_age, CAST(dod AS VARCHAR) FROM mimiciv_hosp.patients")
    assert found == [(7, "M", 60, "2151-02-03")]


def test_older_release_without_provider_columns(tmp_path: Path) -> None:
    left_out = ["order_provider_id", "caregiver_id", "admit_provider_id", "enter_provider_id", "language"]
    raw = raw_folder(tmp_path / "raw", rows={"admissions": [{"subject_id": 1, "hadm_id": 2}]}, leave_out=left_out,
                     tables={t.name for t in source("mimic-iv").tables} - {"provider", "caregiver"})
    result = build("mimic-iv", raw, tmp_path / "x.duckdb", progress=False)
    assert result["tables"]["mimiciv_hosp.admissions"]["filled"] == ["admit_provider_id", "language"]
    assert set(result["absent_tables"]) == {"mimiciv_hosp.provider", "mimiciv_icu.caregiver"}
    assert query(tmp_path / "x.duckdb", "SELECT hadm_id, language FROM mimiciv_hosp.admissions") == [(2, None)]
    assert query(tmp_path / "x.duckdb", "SELECT count(order_provider_id) FROM mimiciv_hosp.labevents") == [(0,)]
    assert result["concepts"]["tables"], "concepts build on tables that are all but empty"


def test_integer_written_as_float_is_read(tmp_path: Path) -> None:
    """pandas writes a column of integers with gaps as floats."""
    raw = raw_folder(tmp_path / "raw", rows={"labevents": [{"labevent_id": 1, "hadm_id": "20000001.0", "valuenum": "1e-2"}]})
    ingest("mimic-iv", raw, tmp_path / "x.duckdb", progress=False)
    assert query(tmp_path / "x.duckdb", "SELECT hadm_id, valuenum FROM mimiciv_hosp.labevents") == [(20000001, 0.01)]


def test_gzip_of_several_members(tmp_path: Path) -> None:
    raw = raw_folder(tmp_path / "raw")
    (raw / "hosp" / "provider.csv").unlink()
    data = gzip.compress(b"provider_id\nP1\n") + gzip.compress(b"P2\nP3\n") + b"\0" * 512
    (raw / "hosp" / "provider.csv.gz").write_bytes(data)
    ingest("mimic-iv", raw, tmp_path / "x.duckdb", progress=False)
    assert query(tmp_path / "x.duckdb", "SELECT provider_id FROM mimiciv_hosp.provider ORDER BY 1") == [("P1",), ("P2",), ("P3",)]


@pytest.mark.parametrize("size", [7, 40, 64])
def test_gzip_headers_of_every_form_across_blocks(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name, comment, extra field and header checksum, each cut somewhere by the end of a block."""
    body = gzip.compress(b"1,2\n" * 100, mtime=0)[10:]
    start = bytes([31, 139, 8, 0x1F, 0, 0, 0, 0, 0, 3]) + b"\4\0abcd" + b"some name\0" + b"and a comment\0"
    header = start + (zlib.crc32(start) & 0xFFFF).to_bytes(2, "little")
    path = tmp_path / "x.csv.gz"
    path.write_bytes((header + body) * 5)
    monkeypatch.setattr(stream, "BLOCK", size)
    raw = stream.RawFile(path, path.name)
    assert raw.read() == b"1,2\n" * 500
    assert raw.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    raw.close()


def test_memory_stays_bounded(tmp_path: Path) -> None:
    """Two million chart rows (120 MB of text) through 150 MB of DuckDB memory."""
    raw = raw_folder(tmp_path / "raw")
    con = duckdb.connect()
    columns = [c.name for c in next(t for t in source("mimic-iv").tables if t.name == "chartevents").columns]
    made = ("10000000 + i // 9, 20000000 + i // 9, 30000000 + i // 9, 1, TIMESTAMP '2150-01-01' + to_seconds(i), NULL, "
            "220045 + i % 40, i % 200, i % 200, 'bpm', 0")
    con.execute(f"COPY (SELECT {made} FROM range(2000000) t(i)) TO '{raw / 'icu' / 'chartevents.csv'}' (HEADER false)")
    body = (raw / "icu" / "chartevents.csv").read_bytes()
    (raw / "icu" / "chartevents.csv").write_bytes((",".join(columns) + "\n").encode() + body)
    result = ingest("mimic-iv", raw, tmp_path / "x.duckdb", threads=2, memory_limit="150MB", progress=False)
    assert result["tables"]["mimiciv_icu.chartevents"]["rows"] == 2_000_000
    assert query(tmp_path / "x.duckdb", "SELECT sum(valuenum) FROM mimiciv_icu.chartevents") == [(199_000_000.0,)]


def test_csv_text_helper_quotes() -> None:
    assert csv_text(["a"], [{"a": "x,y"}]) == 'a\n"x,y"\n'

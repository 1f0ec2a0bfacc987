"""Packing: what is in, what is not, the same bytes again, and every byte guarded."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from m4lib.cli import main
from m4lib.errors import M4Error
from m4lib.evidence import inventory, verify
from m4lib.evidence.compare import against_runs
from m4lib.evidence.package import load_key, make_package
from m4lib.evidence.scan import scan
from m4lib.files import sha256_file
from tests.evidence.runs import HOST, IDS, make_runs

KEY = bytes(range(32))


def every_file(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_what_is_published(published, package, runs):
    names = {path.relative_to(published).as_posix() for path in every_file(published)}
    assert names == {"test-evidence.tar.zst", "test-evidence.tar.zst.sha256", "test-evidence.tar.zst.manifest.json", "m4bench_evidence.croissant.json",
                     "metadata/run-indexes/alpha.csv", "metadata/run-indexes/beta.csv", "verify.py", "SHA256SUMS"}
    manifest = json.loads((published / "test-evidence.tar.zst.manifest.json").read_text())
    assert manifest["sha256"] == sha256_file(published / "test-evidence.tar.zst")
    assert manifest["counts"]["runs"] == 17 and manifest["counts"]["artifacts"]["egress.jsonl"] == 17
    one = package / "runs" / "alpha"
    for run in one.iterdir():
        assert {path.name for path in run.iterdir()} == {"result.json", "trace.jsonl", "output_summary.json", "instruction.md", "egress.jsonl"}
    assert (published / "metadata/run-indexes/alpha.csv").read_bytes() == (package / "metadata/run-indexes/alpha.csv").read_bytes()


def test_nothing_private_is_in(package):
    for path in every_file(package):
        data = path.read_bytes()
        for private in (*IDS, HOST, "/srv/m4", "2151-03-04", KEY.hex()):
            assert private.encode() not in data, (path, private)
        assert KEY not in data
    assert list(scan(package)) == []


def test_what_must_stay_is_in(package, runs):
    record = next((package / "runs/alpha").glob("*meld*/result.json"))
    original = json.loads((runs / "alpha" / record.parent.name / "result.json").read_text())
    public = json.loads(record.read_text())
    for field in ("test_results", "token_usage", "run_id", "filesystem_canary"):
        mine = {name: value for name, value in original[field].items() if name != "pytest_output"} if isinstance(original[field], dict) else original[field]
        assert (public[field] if not isinstance(mine, dict) else {name: public[field][name] for name in mine}) == mine
    assert public["agent_db"] == {"path": f"taskdb/{original['task']}/database.duckdb", "sha256": "ab" * 32, "size_bytes": 31_234_567}
    assert public["provenance"]["source"] == original["provenance"]["source"] and public["results_root"] == "alpha"
    assert "itemid 220045 counts" in (record.parent / "trace.jsonl").read_text()
    assert (record.parent / "instruction.md").read_text() == (runs / "alpha" / record.parent.name / "instruction.md").read_text()
    summary = json.loads((record.parent / "output_summary.json").read_text())
    assert summary == {"columns": ["subject_id", "stay_id", "sofa"], "rows": 1, "sha256": sha256_file(runs / "alpha" / record.parent.name / "output.csv"),
                       "bytes": (runs / "alpha" / record.parent.name / "output.csv").stat().st_size}


def test_every_line_of_the_manifest_names_its_source(package, runs):
    entries = json.loads((package / verify.MANIFEST).read_text())["files"]
    for entry in entries:
        assert entry["public_sha256"] == sha256_file(package / entry["path"]) and entry["transform"]
        if entry["source"]:
            assert sha256_file(runs / entry["source"]) == entry["source_sha256"], entry["path"]
    assert sum(bool(entry["source"]) for entry in entries) >= 17 * 4


def test_the_same_runs_and_key_give_the_same_bytes(published, runs, tmp_path):
    make_package(runs, tmp_path / "again", name="test-evidence", key=KEY)
    for path in every_file(published):
        assert path.read_bytes() == (tmp_path / "again" / path.relative_to(published)).read_bytes(), path.name
    other = make_package(runs, tmp_path / "other", name="test-evidence", key=bytes(32))
    assert other.sha256 != sha256_file(published / "test-evidence.tar.zst")


def test_croissant_is_valid_and_loads_the_indexes(published, monkeypatch):
    import mlcroissant

    monkeypatch.chdir(published)
    data = mlcroissant.Dataset(jsonld=str(published / "m4bench_evidence.croissant.json"))
    assert not data.metadata.ctx.issues.errors and data.metadata.name == "m4bench_evidence"
    for campaign, rows in (("alpha", 8), ("beta", 8)):
        loaded = list(data.records(campaign))
        index = pd.read_csv(published / "metadata/run-indexes" / f"{campaign}.csv")
        assert len(loaded) == len(index) == rows
        assert [record[f"{campaign}/run_id"].decode() for record in loaded] == list(index["run_id"])
        assert [record[f"{campaign}/reward"] for record in loaded] == list(index["reward"])
    text = (published / "m4bench_evidence.croissant.json").read_text()
    assert "http://mlcommons.org/croissant/1.0" in text and '"rai:personalSensitiveInformation"' in text


def test_verify_passes_with_the_standard_library_alone(package, published):
    done = subprocess.run([sys.executable, "-I", "-S", str(package / "verify.py"), str(package)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "17" not in done.stderr and "all of it holds" in done.stdout and "8 run keys of 8 planned" in done.stdout
    done = subprocess.run([sys.executable, "-I", "-S", str(published / "verify.py"), str(published)], capture_output=True, text=True)
    assert done.returncode == 0 and "after unpacking" in done.stdout
    assert subprocess.run([sys.executable, "-I", "-S", str(package / "verify.py"), str(package / "runs")], capture_output=True).returncode == 2


def test_verify_is_python_3_9(package):
    import ast

    tree = ast.parse((package / "verify.py").read_text(), feature_version=(3, 9))
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert imported <= {"csv", "hashlib", "io", "json", "math", "os", "re", "sys"}


def flip(path: Path, rng) -> bytes:
    """Change one bit of one byte; the original bytes."""
    data = path.read_bytes()
    place = rng.randrange(len(data))
    path.write_bytes(data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :])
    return data


def test_a_byte_changed_anywhere_is_caught(package, published, tmp_path):
    import random

    rng = random.Random(5)
    copy = tmp_path / "copy"
    shutil.copytree(package, copy)
    for path in every_file(copy):
        if not path.stat().st_size:
            continue
        data = flip(path, rng)
        report = verify.Report()
        verify.check_sums(str(copy), report)
        assert report.problems, path.relative_to(copy)
        path.write_bytes(data)
    assert not verify.verify_package(str(copy)).problems
    folder = tmp_path / "published"
    shutil.copytree(published, folder)
    for path in every_file(folder):
        data = flip(path, rng)
        report = verify.Report()
        try:
            verify.check_published(str(folder), report)
        except (ValueError, KeyError):
            report.problems.append("not readable")
        assert report.problems, path.relative_to(folder)
        path.write_bytes(data)


def resum(folder: Path) -> None:
    """Someone who tampers also mends the sums and the manifest's checksums."""
    manifest = json.loads((folder / verify.MANIFEST).read_text())
    for entry in manifest["files"]:
        path = folder / entry["path"]
        if path.exists():
            entry["public_sha256"], entry["bytes"] = sha256_file(path), path.stat().st_size
    (folder / verify.MANIFEST).write_text(verify.canonical(manifest))
    (folder / verify.SUMS).write_text(verify.sums_text(str(folder), verify.listing(str(folder), verify.Report())))


@pytest.mark.parametrize("change", ["reward", "index", "table", "key", "missing run", "added file", "superseded", "count"])
def test_a_careful_forgery_is_caught_by_what_it_contradicts(package, tmp_path, change):
    copy = tmp_path / "copy"
    shutil.copytree(package, copy)
    run = sorted((copy / "runs/beta").iterdir())[0]
    record = json.loads((run / "result.json").read_text())
    if change == "reward":
        record["test_results"]["reward"] = 1.0
        (run / "result.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    elif change == "key":
        record["trial"] = 9
        (run / "result.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    elif change == "index":
        path = copy / "metadata/run-indexes/beta.csv"
        rows = list(csv.reader(path.open()))
        rows[1][rows[0].index("elapsed_seconds")] = "1.0"
        with path.open("w", newline="") as handle:
            csv.writer(handle, lineterminator="\n").writerows(rows)
    elif change == "table":
        path = copy / "metadata/tables/effects.csv"
        path.write_text(path.read_text().replace("0.", "0.9", 1))
    elif change == "missing run":
        shutil.rmtree(run)
        manifest = json.loads((copy / verify.MANIFEST).read_text())
        manifest["files"] = [entry for entry in manifest["files"] if run.name not in entry["path"]]
        (copy / verify.MANIFEST).write_text(verify.canonical(manifest))
    elif change == "added file":
        (run / "output.csv").write_text("x\n")
    elif change == "superseded":
        path = copy / "metadata/run-manifests/alpha.json"
        manifest = json.loads(path.read_text())
        assert len(manifest["superseded"]) == 1
        path.write_text(verify.canonical({**manifest, "superseded": []}))
    elif change == "count":
        manifest = json.loads((copy / verify.MANIFEST).read_text())
        manifest["counts"]["runs"] += 1
        (copy / verify.MANIFEST).write_text(verify.canonical(manifest))
    resum(copy)
    report = verify.verify_package(str(copy))
    assert report.problems and not any("checksum" in problem for problem in report.problems), report.problems


def test_tables_and_index_equal_those_of_the_runs(package, runs):
    report = verify.Report()
    against_runs(package, runs, report)
    assert report.problems == [] and "tables of the paper" in report.checks[0]
    original = [(folder.parent.name, json.loads((folder / "result.json").read_text()),
                 [name for name in ("result.json", "instruction.md", "trace.jsonl", "egress.jsonl", "output_summary.json")]) for folder in sorted(runs.glob("*/*_t*"))]
    for name, text in verify.tables(original).items():
        assert (package / "metadata/tables" / name).read_text() == text
    integrity = {(row["campaign"], row["quantity"]): row["count"] for row in csv.DictReader((package / "metadata/tables/integrity.csv").open())}
    assert integrity["alpha", "runs"] == "9" and integrity["beta", "nonzero agent exits"] == "1"


def test_inventory_counts_runs_and_packages_alike(package, runs):
    ours, theirs = inventory(runs), inventory(package)
    assert ours["runs"] == theirs["runs"] == 17 and ours["artifact_counts"]["output.csv"] == 15
    assert ours["artifact_counts"] == theirs["artifact_counts"] and ours["output_tokens"] == theirs["output_tokens"]
    assert set(ours["campaigns"]) == {"alpha", "beta"} and ours["bytes"] > 0
    with pytest.raises(M4Error):
        inventory(runs / "nowhere")


def test_an_incomplete_campaign_says_so(runs, tmp_path):
    root = tmp_path / "runs"
    shutil.copytree(runs / "beta", root / "beta")
    shutil.rmtree(sorted((root / "beta").glob("*_t2_*"))[0])
    out = tmp_path / "out"
    make_package(root / "beta", out, key=KEY)
    from m4lib.evidence.unpack import unpack

    unpack(out / "beta-evidence.tar.zst", tmp_path / "u")
    report = verify.verify_package(str(tmp_path / "u" / "beta-evidence"))
    assert not report.problems and "1 of 8 planned runs are missing" in report.notes[0]


def test_two_packages_share_a_folder(runs, tmp_path):
    out = tmp_path / "out"
    make_package(runs / "alpha", out, name="one", key=KEY)
    make_package(runs / "beta", out, name="two", key=KEY)
    report = verify.Report()
    assert verify.check_published(str(out), report) == ["one.tar.zst", "two.tar.zst"] and not report.problems
    assert '"one.tar.zst"' in (out / "m4bench_evidence.croissant.json").read_text()


def test_nothing_is_written_when_something_private_is_left(runs, tmp_path, monkeypatch):
    from m4lib.evidence.redact import Redactor

    monkeypatch.setattr(Redactor, "text", lambda self, text: text)  # a sanitiser that does nothing
    with pytest.raises(M4Error, match="private-looking places, so nothing was written"):
        make_package(runs / "alpha", tmp_path / "out", key=KEY)
    assert list(tmp_path.iterdir()) == []


def test_the_key_is_the_users_and_stays_outside(runs, tmp_path):
    file = tmp_path / "keys" / "m4.key"
    key = load_key(file, outside=(runs,))
    assert load_key(file) == key and len(key) == 64 and oct(file.stat().st_mode & 0o777) == "0o600"
    assert load_key(None) != load_key(None)
    with pytest.raises(M4Error, match="must not lie in"):
        load_key(runs / "k", outside=(runs,))
    (tmp_path / "short").write_text("abc")
    with pytest.raises(M4Error, match="too short"):
        load_key(tmp_path / "short")


def test_links_in_the_runs_are_not_followed(tmp_path):
    root = make_runs(tmp_path / "runs", trials=1) / "alpha"
    run = sorted(path for path in root.iterdir() if path.name.startswith("mimic"))[0]
    (tmp_path / "secret.md").write_text("the host's own file")
    (run / "instruction.md").unlink()
    os.symlink(tmp_path / "secret.md", run / "instruction.md")
    os.symlink(tmp_path, root / "mimic-link")
    make_package(root, tmp_path / "out", key=KEY)
    from m4lib.evidence.unpack import unpack

    unpack(tmp_path / "out" / "alpha-evidence.tar.zst", tmp_path / "u")
    assert (tmp_path / "u/alpha-evidence/runs/alpha" / run.name / "instruction.md").read_text() == ""


def test_command_line(published, runs, tmp_path, capsys):
    assert main(["evidence", "verify", str(published), "--against", str(runs)]) == 0
    assert "tables of the paper equal those of runs" in capsys.readouterr().out
    assert main(["evidence", "scan", str(published)]) == 0
    assert main(["evidence", "scan", str(runs)]) == 1
    out = capsys.readouterr().out
    assert "output.csv:0: a data file" in out and IDS[0] not in out
    assert main(["evidence", "package", "--runs", str(runs / "alpha"), "--out", str(tmp_path / "o"), "--key-file", str(tmp_path / "k")]) == 0
    assert main(["evidence", "index", "--runs", str(runs), "--out", str(tmp_path / "i")]) == 0
    assert len(pd.read_csv(tmp_path / "i" / "alpha.csv")) == 8
    data = (tmp_path / "o" / "alpha-evidence.tar.zst").read_bytes()
    (tmp_path / "o" / "alpha-evidence.tar.zst").write_bytes(data[:-9] + b"\0" + data[-8:])
    assert main(["evidence", "verify", str(tmp_path / "o")]) == 1
    for wrong in (["package", "--runs", str(tmp_path), "--out", str(tmp_path / "x")], ["verify", str(tmp_path / "nowhere")], ["verify", str(tmp_path / "i")]):
        assert main(["evidence", *wrong]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_tables_10_and_11_are_counted_from_a_package(package, runs, tmp_path):
    from m4lib.analysis.sources import load_sources
    from m4lib.analysis.table import build_table
    from m4lib.project import find_project

    project = find_project()
    found = {}
    for name, folder in (("package", package / "runs"), ("runs", runs)):
        place = tmp_path / name
        place.mkdir()
        (place / "runs").symlink_to(folder)
        shutil.copyfile(package / "metadata/run-indexes/alpha.csv", place / "alpha.csv")
        sources = load_sources(None, index=place / "alpha.csv", tasks=project.tasks, skills=project.skills)
        found[name] = {number: dict(zip(*(build_table(number, sources).frame[column] for column in ("quantity", "codex_primary")), strict=True)) for number in ("10", "11")}
    assert found["package"] == found["runs"]
    assert found["package"]["10"]["trace.jsonl"] == 8 and found["package"]["10"]["output.csv"] == 8
    assert found["package"]["11"]["Output tokens"] == 8 * 12_345

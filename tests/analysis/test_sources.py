"""Finding and reading run indexes in every layout, and clear sentences when they are damaged or absent."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

from m4lib.analysis import check
from m4lib.analysis.sources import default_folder, load_sources, read_index
from m4lib.analysis.table import build_table
from m4lib.errors import M4Error
from m4lib.project import Project

PUBLISHED = {"primary": 760, "sentinel": 190, "oss": 110, "followup": 340}


@pytest.mark.parametrize("layout", ["", "run-indexes", "metadata/run-indexes", "pkg/submission/metadata/run-indexes"])
def test_layouts(layout: str, evidence_dir: Path, tmp_path: Path) -> None:
    target = tmp_path / layout
    target.mkdir(parents=True, exist_ok=True)
    for path in (evidence_dir / "run-indexes").glob("*.csv"):
        shutil.copy(path, target / path.name)
    sources = load_sources(tmp_path)
    assert {role: len(sources[role]) for role in PUBLISHED} == PUBLISHED
    assert not sources.has("replication") and not sources.has("probe") and sources.expected is None


def test_files_are_known_by_what_they_hold(evidence_dir: Path, tmp_path: Path) -> None:
    for number, path in enumerate(sorted((evidence_dir / "run-indexes").glob("*.csv"))):
        read_index(path).drop(columns="_reward_blank").to_parquet(tmp_path / f"{number}.parquet")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    sources = load_sources(tmp_path)
    assert {role: len(sources[role]) for role in PUBLISHED} == PUBLISHED


def test_a_part_of_the_files_is_enough_for_its_tables(evidence_dir: Path, tmp_path: Path, project: Project) -> None:
    shutil.copy(evidence_dir / "run-indexes" / "final_oss_runs.csv", tmp_path)
    sources = load_sources(tmp_path, tasks=project.tasks)
    assert check.compare(build_table("28", sources))["equal"].all()
    blank = build_table("3", sources)
    assert "final_codex_runs.csv" in blank.notes[0] and (blank.printed_form()["delta"] == "").all() and len(blank.frame) == 5
    assert build_table("11", sources).printed_form()["codex_primary"].tolist()[:3] == ["", "", ""]


def test_printed_values_of_the_library_stand_in(evidence_dir: Path) -> None:
    mine, theirs = check.printed_folder(), evidence_dir / "expected"
    names = {path.name for path in theirs.glob("*.csv")}
    assert len(names) == 16
    for name in names:
        assert (mine / name).read_bytes() == (theirs / name).read_bytes(), name


def test_numbers_are_read_exactly(tmp_path: Path) -> None:
    path = tmp_path / "i.csv"
    path.write_text("task,condition,schema,model,trial,reward,publishable\nt,no-skill,,m,1,0.30000000000000004,True\n"
                    "t,no-skill,native,m,2,,\n", encoding="utf-8")
    frame = read_index(path)
    assert frame["reward"].tolist() == [0.30000000000000004, 0.0] and frame["schema"].tolist() == ["native", "native"]
    assert frame["publishable"].tolist() == [True, False] and frame["_reward_blank"].tolist() == [False, True]


def test_key_f1_is_rebuilt_from_the_counts(evidence_dir: Path, tmp_path: Path) -> None:
    whole = pd.read_csv(evidence_dir / "run-indexes" / "final_codex_runs.csv", float_precision="round_trip")
    whole.drop(columns=["key_f1", "key_recall"]).to_csv(tmp_path / "x.csv", index=False)
    assert (read_index(tmp_path / "x.csv")["key_f1"] - whole["key_f1"]).abs().max() < 1e-12


@pytest.mark.parametrize(("text", "words"), [
    ("task,condition,schema,model\nt,no-skill,native,m\n", "lacks the column(s) trial, reward"),
    ("task,condition,schema,model,trial,reward\nt,a,native,m,1,0.5\nt,a,native,m,1,0.6\n", "t / a / native / m / 1 more than once"),
    ("", "cannot be read"),
])
def test_damaged_index(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "i.csv").write_text(text, encoding="utf-8")
    with pytest.raises(M4Error, match=r"i\.csv") as error:
        read_index(tmp_path / "i.csv")
    assert words in str(error.value)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(M4Error, match="no evidence folder"):
        load_sources(tmp_path / "absent")
    with pytest.raises(M4Error, match="No run index below"):
        load_sources(tmp_path)
    with pytest.raises(M4Error, match="no run index at"):
        load_sources(None, index=tmp_path / "x.csv")


def test_default_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("M4_EVIDENCE", raising=False)
    assert default_folder(tmp_path, lambda: tmp_path / "cache") == tmp_path / "cache"
    (tmp_path / "evidence").mkdir()
    assert default_folder(tmp_path, lambda: tmp_path / "cache") == tmp_path / "evidence"
    monkeypatch.setenv("M4_EVIDENCE", "/elsewhere")
    assert default_folder(tmp_path) == Path("/elsewhere")


def test_artifacts_are_counted_in_run_folders(evidence_dir: Path, tmp_path: Path, project: Project) -> None:
    index = evidence_dir / "run-indexes" / "final_codex_runs.csv"
    shutil.copy(index, tmp_path)
    for number, run in enumerate(pd.read_csv(index)["run_id"].head(3)):
        folder = tmp_path / "package" / run
        folder.mkdir(parents=True)
        for name in ("result.json", "trace.jsonl", "instruction.md", "output_summary.json" if number else "output.csv"):
            (folder / name).write_text("{}", encoding="utf-8")
    counts = build_table("15", load_sources(tmp_path, tasks=project.tasks)).frame.set_index("audit_quantity")["count"]
    assert counts.filter(like="Retained").tolist() == [3, 3, 3, 0]


def test_artifacts_are_counted_inside_an_archive(evidence_dir: Path, tmp_path: Path, project: Project) -> None:
    import io
    import tarfile

    import zstandard

    index = evidence_dir / "run-indexes" / "final_codex_runs.csv"
    shutil.copy(index, tmp_path)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for run in [*pd.read_csv(index)["run_id"].head(2), "some-other-run"]:
            for name in ("result.json", "output_summary.json", "trace.jsonl"):
                archive.addfile(tarfile.TarInfo(f"codex/{run}/{name}"))
    (tmp_path / "p.tar.zst").write_bytes(zstandard.compress(packed.getvalue()))
    counts = build_table("15", load_sources(tmp_path, tasks=project.tasks)).frame.set_index("audit_quantity")["count"]
    assert counts.filter(like="Retained").tolist() == [2, 2, 0, 0]

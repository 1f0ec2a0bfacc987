"""What an agent leaves is taken with suspicion: links, devices, databases, sizes, modes."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from m4lib.cards import load_cards
from m4lib.harness.collect import Collected, collect, output_summary, remove_tree
from m4lib.harness.isolation import Limits
from m4lib.harness.supervise import TraceFile, disk_usage
from m4lib.project import Project


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def take(work: Path, **limits: int) -> Collected:
    target = work.parent / "kept"
    target.mkdir(exist_ok=True)
    return collect(work, target, {"instruction.md"}, **{"output_limit": 1000, "file_limit": 1000, **limits})


def test_output_and_scripts_are_kept(work: Path) -> None:
    (work / "output.csv").write_text("a,b\n1,2\n")
    (work / "sub").mkdir()
    (work / "sub" / "solve.py").write_text("x")
    (work / "instruction.md").write_text("given")
    (work / ".codex").mkdir()
    (work / ".codex" / "auth.json").write_text("never kept")
    (work / "copy.DB").write_text("x")
    found = take(work)
    assert found.output is not None and found.kept == ["sub/solve.py"] and found.databases == ["copy.DB"]
    assert not (work.parent / "kept" / "files" / ".codex").exists()


def test_links_are_not_followed(work: Path) -> None:
    secret = work.parent / "secret"
    secret.write_text("host")
    (work / "output.csv").symlink_to(secret)
    (work / "other.txt").symlink_to(secret)
    (work / "folder").symlink_to(work.parent)
    found = take(work)
    assert found.output is None and found.output_problem == "a link"
    assert found.left_out == {"other.txt": "a link"} and not list((work.parent / "kept").rglob("*secret*"))


def test_pipes_folders_and_sizes(work: Path) -> None:
    os.mkfifo(work / "output.csv")
    assert take(work).output_problem == "not a regular file"
    (work / "output.csv").unlink()
    with open(work / "output.csv", "wb") as handle:
        handle.truncate(5000)
    found = take(work)
    assert found.output is None and "too large" in found.output_problem and found.output_bytes == 5000
    (work / "output.csv").unlink()
    (work / "output.csv").mkdir()
    assert take(work).output_problem == "missing"


def test_disk_usage_counts_blocks_not_names(work: Path) -> None:
    with open(work / "sparse", "wb") as handle:
        handle.truncate(1 << 30)
    (work / "real").write_bytes(b"x" * 100_000)
    used, count = disk_usage(work)
    assert 100_000 <= used < 1_000_000 and count == 2


def test_folders_that_were_locked(work: Path) -> None:
    (work / "locked" / "deep").mkdir(parents=True)
    (work / "locked" / "deep" / "f").write_bytes(b"x" * 5000)
    (work / "locked").chmod(0)
    assert disk_usage(work)[0] >= 5000
    (work / "locked").chmod(0)
    remove_tree(work)
    assert not work.exists()


@pytest.mark.parametrize(("text", "columns", "rows"), [
    ("a,b\n1,2\n3,4\n", ["a", "b"], 2), ("a,b\n", ["a", "b"], 0), ("", [], 0), ('a\n"x\ny"\n', ["a"], 1),
])
def test_output_summary(tmp_path: Path, text: str, columns: list[str], rows: int) -> None:
    path = tmp_path / "output.csv"
    path.write_text(text)
    found = output_summary(path)
    assert found["columns"] == columns and found["rows"] == rows and len(found["sha256"]) == 64


def test_output_summary_of_bytes_that_are_no_csv(tmp_path: Path) -> None:
    path = tmp_path / "output.csv"
    path.write_bytes(os.urandom(5000) + b"\0" * 10)
    assert output_summary(path)["bytes"] == 5010


@pytest.mark.parametrize("content", [b"34100191,2196-02-25 03:00:00,127.0,0.24278215223097113\n", b"1", b"1,", b'"1\n",'])
def test_a_large_output_is_never_in_memory_whole(work: Path, content: bytes) -> None:
    """Rows, or a line, cell or row that does not end."""
    size = 32 << 20
    with open(work / "output.csv", "wb") as handle:
        handle.write(b"a,b,c,d\n")
        for _ in range(32):
            handle.write(content * (size // 32 // len(content)))
    tracemalloc.start()
    try:
        found = take(work, output_limit=2 * size)
        assert found.output is not None
        summary = output_summary(found.output)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert summary["bytes"] == found.output_bytes > 31 << 20 and summary["columns"] == ["a", "b", "c", "d"]
    assert peak < size // 2, peak


def test_the_limit_lets_every_right_answer_through(project: Project) -> None:
    """The largest reference with a double of 18 characters in each column that is neither stay nor time."""
    sizes = [
        card.paper["reference_rows"] * (8 + 1 + 19 + 1 + 19 * (len(card.evaluation["required_columns"]) - 2))
        for card in load_cards(project.tasks).values()
    ]
    limits = Limits()
    assert 900 << 20 < max(sizes) < limits.output < limits.file < limits.work


def test_trace_keeps_head_and_tail(tmp_path: Path) -> None:
    limit = 10 << 20
    trace = TraceFile(tmp_path / "trace.jsonl", limit)
    line = b"x" * 999 + b"\n"
    for number in range(40_000):
        trace.add(b"first\n" if number == 0 else b"last\n" if number == 39_999 else line)
    trace.close()
    data = (tmp_path / "trace.jsonl").read_bytes()
    assert data.startswith(b"first\n") and data.endswith(b"last\n") and b"harness.truncated" in data
    assert len(data) < limit + 2000 and trace.bytes > 39_000_000 and trace.dropped > 0
    assert (tmp_path / "trace.times.csv").read_text().startswith("line,seconds\n1,")


def test_short_trace_is_kept_byte_for_byte(tmp_path: Path) -> None:
    trace = TraceFile(tmp_path / "trace.jsonl", 1 << 20)
    parts = [b"a\xff\n", b"no newline", b"\n", b"end"]
    for part in parts:
        trace.add(part)
    trace.close()
    assert (tmp_path / "trace.jsonl").read_bytes() == b"".join(parts) and trace.dropped == 0

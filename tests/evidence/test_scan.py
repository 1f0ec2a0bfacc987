"""The second look: what it finds in a corpus that nobody cleaned, where it says it is, and that it is independent."""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from pathlib import Path

import pytest

from m4lib.evidence import scan as room
from m4lib.evidence.scan import scan


def found(tmp_path, name, text):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text, encoding="utf-8")
    return list(scan(tmp_path))


def test_recall_on_the_corpus_before_it_is_cleaned(corpus):
    folder, made = corpus
    lines = defaultdict(set)
    for finding in scan(folder):
        lines[finding.file].add(finding.line)
    kinds = defaultdict(list)
    for plant in made.plants:
        kinds[plant.kind].append(any(line in lines[f"{plant.form}.jsonl"] for line in range(plant.line, plant.line + 8)))
    recall = {kind: sum(hits) / len(hits) for kind, hits in kinds.items()}
    assert min(recall.values()) > 0.93, recall
    assert sum(map(sum, kinds.values())) / len(made.plants) > 0.97


def test_it_shares_no_code_with_the_sanitiser():
    tree = ast.parse(Path(room.__file__).read_text())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)} | {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert not any(module and module.startswith("m4lib") for module in modules)


@pytest.mark.parametrize("text, reason", [
    ("stay 30999003 is long", "a MIMIC-IV identifier"), ("patientunitstayid = 1410999", "an eICU identifier"), ("uniquepid 002-10999", "an eICU person"),
    ("on 2151-03-04 at noon", "a shifted time"), ("4 March 2151", "a shifted time"), ("epoch 5716000000", "an epoch of a shifted time"), ("a 71-year-old man", "an age"),
    ("age: 71", "an age"), ("key ghp_abcdefghij0123456789abcdefghij012345", "a credential"), ("-----BEGIN RSA PRIVATE KEY-----", "a private key"),
    ("password = 'hunter2hunter'", "a credential by its name"), ("/home/jane/x", "a home folder"), ("jane@ward.org", "an e-mail address"),
    ("192.168.0.7", "an address of a private network"), ("stay-abcdefghij,4,1.2", "a row that starts with a pseudonym"),
])
def test_each_rule_in_each_dress(tmp_path, text, reason):
    dresses = [text] if reason.startswith("a row") else [text, json.dumps({"t": text}), json.dumps({"t": json.dumps({"t": text})})]
    for number, dressed in enumerate(dresses):
        (finding, *_) = [item for item in found(tmp_path / str(number), "notes.md", f"fine\n{dressed}\n") if item.reason == reason] or [None]
        assert finding is not None, dressed
        assert (finding.file, finding.line) == ("notes.md", 2) and text not in finding.shown


@pytest.mark.parametrize("text", [
    "itemid IN (220045, 223761, 51222)", "Vincent 1996;22:707-710", "12345678 tokens", "wrote 200859 rows", "t1_20260504_053051", "0.20108586", "age >= 18", "age 40-59",
    "2150 mL", "sha256 84c502c6dd234cd7652217e34256d898666e02d998a7630953837ad288456ea3", "2.1.119", "[output withheld: 12 characters, keyed hash abcdefghijklmnop]",
    "37a582ba-0faf-4d8f-8eac-10000032dce9", "stay-abcdefghij had SOFA 4", "limit 4294967296", "risk-adjusted-mortality-of-the-unit",
])
def test_innocents_are_not_found(tmp_path, text):
    assert found(tmp_path, "notes.md", text) == []


def test_the_published_seeds_are_innocent_only_where_a_seed_is_spoken_of(tmp_path):
    for number, text in enumerate(["seeded anew for every interval (20260504, 20260505 or 20260506)", "The seeds are 20260504 and 20260506."]):
        assert found(tmp_path / f"fine{number}", "notes.md", text) == []
    for number, text in enumerate(["20260504", "rows of 20260505", "hadm_id 20260506", "the seed of stay 20260504", "seeded anew (20260507)", "reseeding 20260504"]):
        assert [item.reason for item in found(tmp_path / str(number), "notes.md", text)] == ["a MIMIC-IV identifier"], text


def test_shapes(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/output.csv").write_text("a\n1\n")
    (tmp_path / "runs/x.parquet").write_bytes(b"PAR1")
    (tmp_path / "runs/blob.txt").write_bytes(b"a\0b")
    (tmp_path / "runs/link").symlink_to("/etc/passwd")
    (tmp_path / "runs/trace.jsonl").write_text("\n".join(json.dumps(event) for event in [
        {"type": "item.completed", "item": {"type": "command_execution", "aggregated_output": "a row"}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": "a row"}]}},
        {"type": "tool_result", "output": "a row"}, {"type": "tool_execution_end", "result": {"content": []}},
        {"type": "message", "role": "assistant", "content": "stay 309", "delta": True}, {"type": "message", "role": "assistant", "content": "99003", "delta": True},
    ]) + "\nnot json\n")
    reasons = {(item.file, item.line): item.reason for item in scan(tmp_path)}
    assert reasons["runs/output.csv", 0].startswith("a data file") and reasons["runs/x.parquet", 0].startswith("a data file")
    assert reasons["runs/blob.txt", 0] == "a binary file" and reasons["runs/link", 0] == "a link or a device"
    assert [reasons.get(("runs/trace.jsonl", line)) for line in (1, 2, 3, 4)] == ["aggregated_output is not withheld", "a tool's content is not withheld",
                                                                                  "a tool's output is not withheld", "a tool's result is not withheld"]
    assert reasons["runs/trace.jsonl", 6] == "a MIMIC-IV identifier, cut in two" and reasons["runs/trace.jsonl", 7] == "a line that is not JSON"

"""Integrity and resources of the campaigns: retained artifacts (10), compute (11), audit of the primary runs (15)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from m4lib.analysis.metrics import strict_passes
from m4lib.analysis.sources import METADATA, PACKAGE_WHERE, Sources
from m4lib.analysis.table import table
from m4lib.analysis.tables.transformed import FLAGS, flag_failures, nonzero_exits

ARTIFACTS = ("result.json", "output.csv", "instruction.md", "trace.jsonl", "egress.jsonl")
CAMPAIGNS = (("codex_primary", "Codex primary", "primary"), ("claude_sentinel", "Claude sentinel", "sentinel"))
EXPECTED_PRIMARY_RUNS = 760  # 28 tasks x 2 arms x 2 models x 5 trials, and two controls of 10 tasks
GIB = 1024**3
FIRST_ROWS = ("Canonical runs", "Provenance-only dirs", "Retained dirs")


def _summary(sources: Sources) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Published sums by campaign label, else those of the run folders at hand, and a note that says so."""
    content = sources.json(METADATA)
    if content is not None:
        return {entry["label"]: entry for entry in content}, []
    counted = {label: entry for _, label, role in CAMPAIGNS if (entry := _counted(sources, role))}
    if counted:
        return counted, [f"{METADATA} is not at hand ({PACKAGE_WHERE}); counts and sums are those of the run folders at hand."]
    return {}, [f"{METADATA} is not at hand ({PACKAGE_WHERE}); its counts and sums stay blank."]


def _counted(sources: Sources, role: str) -> dict[str, Any]:
    """Files, seconds and tokens of an index's runs, where their folders or an unpacked package lie beside it."""
    from m4lib.evidence.inventory import inventory

    if not sources.has(role) or "run_id" not in sources[role]:
        return {}
    for place in _run_folders(sources):
        found = inventory(place, only=sources[role]["run_id"].dropna())
        if found["runs"]:
            return {name: value for name, value in found.items() if name not in ("runs", "campaigns", "bytes")}
    return {}


def _size(size: float | None) -> str | None:
    """Bytes in powers of 1,024, one decimal, labelled GB as in the paper."""
    return None if size is None else f"{size / GIB:.1f} GB"


def _campaign_table(rows: dict[str, list[Any]]) -> pd.DataFrame:
    return pd.DataFrame([{"quantity": name, "codex_primary": values[0], "claude_sentinel": values[1]}
                         for name, values in rows.items()], dtype=object)


def _first_rows(sources: Sources, summary: dict[str, dict[str, Any]]) -> dict[str, list[Any]]:
    entries = [summary.get(label, {}) for _, label, _ in CAMPAIGNS]
    runs = [len(sources[role]) if sources.has(role) else entry.get("canonical_runs")
            for (_, _, role), entry in zip(CAMPAIGNS, entries, strict=True)]
    return {"Canonical runs": runs, "Provenance-only dirs": [entry.get("provenance_only_dirs") for entry in entries],
            "Retained dirs": [entry.get("retained_dirs") for entry in entries]}


@table("table10_retained_artifacts", "Retained artifacts", columns="quantity codex_primary claude_sentinel",
       keys="quantity", formats="codex_primary:int claude_sentinel:int",
       caption="Counts are of existing files, empty ones included. Sizes in powers of 1,024.")
def retained_artifacts(sources: Sources) -> tuple[pd.DataFrame, list[str]]:
    summary, notes = _summary(sources)
    entries = [summary.get(label, {}) for _, label, _ in CAMPAIGNS]
    rows = _first_rows(sources, summary)
    for artifact in ARTIFACTS:
        rows[artifact] = [entry.get("artifact_counts", {}).get(artifact) for entry in entries]
    rows["Retained size"] = [_size(entry.get("artifact_bytes")) for entry in entries]
    return _campaign_table(rows), notes


@table("table11_compute_resources", "Compute resources", columns="quantity codex_primary claude_sentinel",
       keys="quantity", formats="codex_primary:int claude_sentinel:int",
       caption="Codex counts cached tokens within its input, so its 'uncached input' is the whole prompt. Hours and "
               "tokens of the Codex campaign cover all retained directories.")
def compute_resources(sources: Sources) -> tuple[pd.DataFrame, list[str]]:
    from m4lib.analysis.tables.static import paper_texts

    summary, notes = _summary(sources)
    entries = [summary.get(label, {}) for _, label, _ in CAMPAIGNS]
    rows = _first_rows(sources, summary)
    hardware = None if sources.own is not None else paper_texts()["hardware"]
    rows["Hardware"] = [hardware, hardware]
    rows["Agent wall-clock h"] = [_hours(entry.get("elapsed_seconds")) for entry in entries]
    for position, (_, _, role) in enumerate(CAMPAIGNS):
        # the sentinel index holds every retained run, the primary index does not
        if rows["Agent wall-clock h"][position] is None and sources.has(role) and (
                role == "sentinel" or sources.own is not None) and "elapsed_seconds" in sources[role]:
            rows["Agent wall-clock h"][position] = _hours(sources[role]["elapsed_seconds"].sum())
    for name, field in (("Uncached input", "input_tokens"), ("Cached input", "cached_input_tokens"),
                        ("Output tokens", "output_tokens")):
        rows[name] = [entry.get(field) for entry in entries]
    rows["Selected dirs"] = [_size(entry.get("source_root_bytes")) for entry in entries]
    return _campaign_table(rows), notes


def _hours(seconds: float | None) -> str | None:
    return None if seconds is None else f"{seconds / 3600:.1f}"


def count_artifacts(folder: Path, run_ids: Iterable[str]) -> dict[str, int] | None:
    """How many of these runs have each artifact, from run folders or evidence packages (unpacked or not) below `folder`.

    A withheld output counts when its summary is there. None when no run is found.
    """
    wanted = set(run_ids)
    found: dict[str, set[str]] = {artifact: set() for artifact in ARTIFACTS}
    for run, name in _run_files(folder):
        artifact = "output.csv" if name == "output_summary.json" else name
        if run in wanted and artifact in found:
            found[artifact].add(run)
    return {artifact: len(runs) for artifact, runs in found.items()} if found["result.json"] else None


def _run_files(folder: Path) -> Iterator[tuple[str, str]]:
    """(run id, file name) of every file in a run's folder, on disk and inside archives."""
    for result in folder.rglob("result.json"):
        yield from ((result.parent.name, path.name) for path in result.parent.iterdir())
    for archive in folder.rglob("*.tar.zst"):
        import tarfile

        import zstandard

        with open(archive, "rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw) as stream:
            with tarfile.open(fileobj=stream, mode="r|") as members:
                for member in members:
                    parts = member.name.split("/")
                    if len(parts) > 1 and member.isfile():
                        yield parts[-2], parts[-1]


def _run_folders(sources: Sources) -> list[Path]:
    """Where run folders may lie: the evidence folder, or `runs/` beside a campaign's own index."""
    if sources.own is None:
        return [sources.folder] if sources.folder else []
    own = sources.own.resolve()
    return [base / "runs" for base in (own.parent, own.parent.parent) if (base / "runs").is_dir()]


INTEGRITY_ROWS = (
    "Runs", "Expected primary/supplementary runs", "Task/condition/schema/model cells", *(name for name, _ in FLAGS),
    "Nonzero agent exits", "Missing rewards", "Fully passing diagnostic runs",
    "Runs with semantic diagnostic failures", "Retained output.csv artifacts", "Retained trace.jsonl artifacts",
    "Retained instruction.md artifacts", "Retained egress.jsonl artifacts",
)


@table("table15_codex_integrity", "Integrity of the primary Codex runs", needs=["primary"],
       columns="audit_quantity count", keys="audit_quantity", formats="count:int",
       rows=[(name,) for name in INTEGRITY_ROWS])
def codex_integrity(sources: Sources) -> tuple[pd.DataFrame, list[str]]:
    index = sources["primary"]
    passes = int(strict_passes(index).sum()) if "failed" in index else None
    failures = int(index["diagnostics_failed"].sum()) if "diagnostics_failed" in index else None
    counts: list[int | None] = [
        len(index), EXPECTED_PRIMARY_RUNS if sources.own is None else None,
        index.groupby(["task", "condition", "schema", "model"]).ngroups,
        *(flag_failures(index, flag) for _, flag in FLAGS),
        nonzero_exits(index), int(index["_reward_blank"].sum()), passes, failures,
    ]
    files = next(filter(None, (count_artifacts(place, index["run_id"]) for place in _run_folders(sources))), None) \
        if "run_id" in index else None
    counts += [None if files is None else files[name]
               for name in ("output.csv", "trace.jsonl", "instruction.md", "egress.jsonl")]
    notes = [] if files else ["Neither run folders nor an unpacked evidence package is at hand, so the retained "
                              "files cannot be counted."]
    return pd.DataFrame({"audit_quantity": INTEGRITY_ROWS, "count": pd.Series(counts, dtype=object)}), notes

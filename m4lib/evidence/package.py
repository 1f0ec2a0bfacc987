"""Sanitise and pack what campaigns left: `NAME.tar.zst`, its checksum and manifest, run indexes, a Croissant record.

    make_package("outputs/runs", "evidence", name="my-evidence", key=key)

Nothing appears in the output folder before everything is made, searched (scan.py) and checked (verify.py); a package that
does not pass is not written. The same runs and the same key give the same bytes. The key stays in memory.
"""

from __future__ import annotations

import io
import json
import os
import re
import secrets
import shutil
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from m4lib.errors import M4Error
from m4lib.evidence import records, scan, verify
from m4lib.evidence.croissant import write_croissant
from m4lib.evidence.redact import Redactor
from m4lib.evidence.traces import TraceReport, sanitise_trace
from m4lib.files import read_json, sha256_file, write_text

LEVEL = 12  # of the compression; part of the bytes
WITHHELD_FILES = "files/"


@dataclass
class Package:
    """What was made: the archive and its sums."""

    archive: Path
    sha256: str
    runs: int
    files: int
    withheld_events: dict[str, int]
    changed: dict[str, int]
    campaigns: list[str] = field(default_factory=list)


def load_key(path: str | os.PathLike[str] | None, *, outside: tuple[Path, ...] = ()) -> bytes:
    """The key in a user's file, made there when there is none; without a file a fresh key that nobody will know.

    Raises M4Error when the file lies in one of the folders `outside`, or is too short.
    """
    if path is None:
        return secrets.token_bytes(32)
    file = Path(path).resolve()
    for folder in outside:
        if file.is_relative_to(folder.resolve()):
            raise M4Error(f"The key {file} must not lie in {folder}: it would be published or found there.")
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as writing:
            writing.write(secrets.token_hex(32) + "\n")
    key = file.read_bytes().strip()
    if len(key) < 16:
        raise M4Error(f"The key in {file} is too short; it needs at least 16 bytes.")
    return key


def campaign_folders(root: str | os.PathLike[str]) -> dict[str, Path]:
    """Campaign name -> folder: `root` itself when runs lie in it, else the folders in it that hold runs.

    Raises M4Error when there are no runs at all.
    """
    root = Path(root)
    if not root.is_dir():
        raise M4Error(f"There is no folder of runs at {root}.")
    if any(_run_folders(root)):
        return {_safe(root.resolve().name): root}
    found = {_safe(folder.name): folder for folder in sorted(root.iterdir())
             if folder.is_dir() and not folder.is_symlink() and not folder.name.startswith(".") and any(_run_folders(folder))}
    if not found:
        raise M4Error(f"{root} holds no runs: neither <run>/result.json nor <campaign>/<run>/result.json is there.")
    return found


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-") or "campaign"


def _run_folders(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.is_dir() and not path.is_symlink() and not path.name.startswith(".")
            and (path / "result.json").is_file()]


def make_package(
    root: str | os.PathLike[str], out: str | os.PathLike[str], *, name: str | None = None, key: bytes | None = None,
    plain_text: bool = False, note: Callable[[str], None] = lambda _: None,
) -> Package:
    """Pack all runs below `root` into `out`. Raises M4Error when there is nothing to pack, or when the result has findings.

    name: of the archive; default: the root's. key: for hashes and pseudonyms; default: a fresh one.
    plain_text: keep lines of traces that are not JSON, redacted, instead of withholding them.
    """
    campaigns = campaign_folders(root)
    name = _safe(name or f"{Path(root).resolve().name}-evidence")
    out = Path(out)
    if any(out.resolve().is_relative_to(folder.resolve()) for folder in campaigns.values()):
        raise M4Error(f"The output folder {out} must not lie within the runs.")
    out.parent.mkdir(parents=True, exist_ok=True)
    key = key or secrets.token_bytes(32)
    with tempfile.TemporaryDirectory(prefix=".evidence-", dir=out.parent) as scratch:
        staged = Path(scratch) / name
        builder = _Builder(staged, key, plain_text)
        for campaign, folder in campaigns.items():
            note(f"{campaign}: {len(_run_folders(folder))} runs")
            builder.campaign(campaign, folder)
        builder.finish(name)
        _require_clean(staged, key)
        published = Path(scratch) / "published"
        archive = _pack(staged, published, name)
        _publish(published, out)
        facts = read_json(staged / verify.MANIFEST)
    return Package(out / archive.name, sha256_file(out / archive.name), facts["counts"]["runs"], facts["counts"]["files"],
                   facts["withheld_events"], facts["changed"], sorted(campaigns))


class _Builder:
    """Writes the unpacked package file by file and keeps its manifest."""

    def __init__(self, staged: Path, key: bytes, plain_text: bool) -> None:
        self.staged, self.key, self.plain_text = staged, key, plain_text
        self.entries: list[dict[str, Any]] = []
        self.withheld: Counter[str] = Counter()
        self.changed: Counter[str] = Counter()
        self.left_out = 0
        self.original: list[tuple[str, dict[str, Any], list[str]]] = []

    def campaign(self, campaign: str, folder: Path) -> None:
        from m4lib.evaluation.index import build_index

        found: dict[str, dict[str, Any]] = {}
        for run in _run_folders(folder):
            try:
                record = read_json(run / "result.json")
                key = verify.key_of(record)
            except (ValueError, KeyError, TypeError) as error:
                raise M4Error(f"{run / 'result.json'} is not a run's record ({type(error).__name__}: {error}).") from error
            if record.get("run_id") != run.name:
                raise M4Error(f"{run} holds the record of another run, {record.get('run_id')}.")
            found[run.name] = record
            redactor = Redactor(self.key, records.neutral_places(record, folder), records.hosts_of(record))
            names = self._run(campaign, run, record, redactor)
            self.original.append((campaign, record, names))
            self.changed.update(redactor.counts)
            del key
        index = build_index(folder)
        index["path"] = [f"{campaign}/{run_id}" for run_id in index["run_id"]]
        neutral = Redactor(self.key, records.neutral_places(next(iter(found.values())), folder))
        index["publishable_reason"] = [neutral.text(text) if isinstance(text, str) else text for text in index["publishable_reason"]]
        self._write(f"metadata/run-indexes/{campaign}.csv", index.to_csv(index=False, lineterminator="\n"), None, "one row a run key, from the records")
        source = folder / "campaign_manifest.json"
        manifest = read_json(source) if source.is_file() else {"campaign": campaign}
        keys = {verify.key_of(record) for record in found.values()}
        planned = planned_keys(manifest, keys) | keys
        counted = set(index["run_id"])
        public = records.public_manifest(manifest, neutral) | {
            "planned": [list(key) for key in sorted(planned)], "missing": [list(key) for key in sorted(planned - keys)],
            "superseded": sorted(set(found) - counted), "run_folders": len(found),
        }
        self._write(f"metadata/run-manifests/{campaign}.json", verify.canonical(public), source if source.is_file() else None,
                    "planned run keys listed; host left out", folder.parent)

    def _run(self, campaign: str, run: Path, record: dict[str, Any], redactor: Redactor) -> list[str]:
        """One run's public files; returns their names, which its original files imply."""
        base, root = f"runs/{campaign}/{run.name}", run.parent.parent
        self._write(f"{base}/result.json", _in_order(records.public_record(record, redactor)), run / "result.json",
                    "texts redacted, raw outputs withheld, places neutral", root)
        names = ["result.json", "instruction.md", "trace.jsonl", "output_summary.json"]
        prompt = run / "instruction.md"
        text = prompt.read_text(encoding="utf-8", errors="replace") if _plain_file(prompt) else ""
        public = redactor.text(text)
        self._write(f"{base}/instruction.md", public, prompt if _plain_file(prompt) else None, "none" if public == text and text else "redacted", root)
        self._trace(base, run, record, redactor, root)
        output = run / "output.csv"
        stated = run / "output_summary.json"
        if _plain_file(output):
            self._write(f"{base}/output_summary.json", verify.canonical(records.public_summary(output, redactor)), output,
                        "columns, row count and SHA-256 of the withheld output", root)
        elif _plain_file(stated):  # packed before: the output is withheld already
            kept = {name: read_json(stated).get(name) for name in records.NO_OUTPUT}
            kept["columns"] = [redactor.text(str(name)) for name in kept["columns"] or []]
            self._write(f"{base}/output_summary.json", verify.canonical(kept), stated, "redacted", root)
        else:
            self._write(f"{base}/output_summary.json", verify.canonical(records.NO_OUTPUT), None, "there was no output")
        egress = run / "egress.jsonl"
        if _plain_file(egress):
            names.append("egress.jsonl")
            self._write(f"{base}/egress.jsonl", records.public_egress(egress, redactor), egress, "known fields, redacted", root)
        published = {"result.json", "instruction.md", "trace.jsonl", "output.csv", "output_summary.json", "egress.jsonl"}
        self.left_out += sum(path.relative_to(run).as_posix() not in published for path in run.rglob("*") if path.is_file())
        return sorted(names)

    def _trace(self, base: str, run: Path, record: Mapping[str, Any], redactor: Redactor, root: Path) -> None:
        source, target = run / "trace.jsonl", self.staged / base / "trace.jsonl"
        if not _plain_file(source):
            self._write(f"{base}/trace.jsonl", "", None, "there was no trace")
            return
        report: TraceReport = sanitise_trace(source, target, str(record.get("agent")), redactor, plain_text=self.plain_text)
        self.withheld.update(report.withheld)
        self._enter(f"{base}/trace.jsonl", source.relative_to(root).as_posix(), report.source_sha256,
                    f"outputs withheld, texts redacted; {sum(report.withheld.values())} events withheld whole")

    def _write(self, name: str, text: str, source: Path | None, transform: str, root: Path | None = None) -> None:
        target = self.staged / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode("utf-8", "replace"))
        stated = source.relative_to(root).as_posix() if source is not None and root is not None else None
        if stated is None and source is not None:
            stated = source.name
        self._enter(name, stated, None if source is None else sha256_file(source), transform)

    def _enter(self, name: str, source: str | None, digest: str | None, transform: str) -> None:
        target = self.staged / name
        self.entries.append({"path": name, "bytes": target.stat().st_size, "public_sha256": sha256_file(target),
                             "source": source, "source_sha256": digest, "transform": transform})

    def finish(self, name: str) -> None:
        """Tables, the checker, the manifest and the sums."""
        for table, text in verify.tables(self.original).items():
            self._write(f"metadata/tables/{table}", text, None, "computed from the original records by verify.py")
        self._write("verify.py", Path(verify.__file__).read_text(encoding="utf-8"), None, "the checker")
        self._write("README.md", _README.format(name=name, runs=len(self.original)), None, "written for this package")
        entries = sorted(self.entries, key=lambda entry: entry["path"])
        content = {
            "format": "m4bench-evidence-1", "name": name, "files": entries, "counts": verify.count([entry["path"] for entry in entries]),
            "withheld_events": dict(sorted(self.withheld.items())), "changed": dict(sorted(self.changed.items())),
            "left_out_files": self.left_out, "plain_text_kept": self.plain_text,
        }
        write_text(self.staged / verify.MANIFEST, verify.canonical(content))
        write_text(self.staged / verify.SUMS, verify.sums_text(str(self.staged), verify.listing(str(self.staged), verify.Report())))


_README = """# {name}

{runs} runs of the benchmark. Each run has its record (`result.json`), what the agent wrote (`trace.jsonl`), its prompt
(`instruction.md`), columns, row count and SHA-256 of its withheld output (`output_summary.json`) and its network log
(`egress.jsonl`, where there was one). Tool and command outputs are withheld: a placeholder states length and a keyed hash.
Identifiers are pseudonyms, the same one everywhere in this package; credentials, shifted times, ages and result rows are
removed. `metadata/public_artifact_manifest.json` says of every file where it came from and what was done to it.

Check it with Python 3.9 or newer and nothing else: `python verify.py .`
"""


def _in_order(record: Mapping[str, Any]) -> str:
    """JSON with the keys as they came: the index spells match rates in the record's order."""
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


def _plain_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def planned_keys(manifest: Mapping[str, Any], found: set[tuple[Any, ...]]) -> set[tuple[Any, ...]]:
    """The run keys that a campaign's manifest plans; empty when it names no tiers or its tasks are unknown here.

    A manifest of the harness states the number of runs but not of trials; that number follows from it.
    """
    from m4lib.cards import load_cards
    from m4lib.harness.campaign import expand, load_task_sets, parse_campaign
    from m4lib.project import find_project

    if not manifest.get("tiers") or not manifest.get("agent"):
        return set()
    try:
        project = find_project()
        cards = load_cards(project.tasks)
        sets = project.params / "task_sets.yaml"
        task_sets = load_task_sets(sets, cards) if sets.is_file() else {}
        most = max([int(manifest.get("trials") or 0), *(key[4] for key in found), 1])
        for trials in range(1, max(most, 10) + 1):
            plan = expand(parse_campaign({**manifest, "trials": trials}), cards, task_sets)
            keys = {(run.key.task, run.key.condition, run.key.schema, run.key.model, run.key.trial) for run in plan}
            if len(keys) == manifest.get("runs") or (manifest.get("runs") is None and trials == most):
                return set(keys)
    except M4Error:
        return set()
    return set()


def _require_clean(staged: Path, key: bytes) -> None:
    """Fail closed: whatever the second look finds keeps the package from being written."""
    for path in staged.rglob("*"):
        if path.is_file() and path.stat().st_size < 1 << 28:
            data = path.read_bytes()
            if key in data or key.hex().encode() in data:
                raise M4Error(f"The key is in {path.relative_to(staged)}; nothing was written.")
    findings = list(scan.scan(staged))
    if findings:
        shown = "; ".join(f"{item.file}:{item.line}: {item.reason}" for item in findings[:5])
        raise M4Error(f"The sanitised package still has {len(findings)} private-looking places, so nothing was written: {shown}.")
    report = verify.verify_package(str(staged))
    if report.problems:
        raise M4Error(f"The package does not pass its own check, so nothing was written: {report.problems[0]}.")


def _pack(staged: Path, published: Path, name: str) -> Path:
    """The folder to publish: archive, checksum, manifest, indexes, Croissant record, checker, sums."""
    import zstandard

    published.mkdir()
    archive = published / f"{name}.tar.zst"
    names = verify.listing(str(staged), verify.Report())
    # one thread and a fixed level: the same bytes wherever it runs with this library
    with open(archive, "wb") as raw, zstandard.ZstdCompressor(level=LEVEL, threads=0).stream_writer(raw) as packed, \
            tarfile.open(fileobj=packed, mode="w|", format=tarfile.GNU_FORMAT) as tar:
        for relative in names:
            info = tarfile.TarInfo(f"{name}/{relative}")
            info.size, info.mode, info.mtime = (staged / relative).stat().st_size, 0o644, 0
            with open(staged / relative, "rb") as reading:
                tar.addfile(info, reading)
    digest = sha256_file(archive)
    facts = read_json(staged / verify.MANIFEST)
    write_text(Path(f"{archive}.sha256"), f"{digest}  {archive.name}\n")
    write_text(Path(f"{archive}.manifest.json"), verify.canonical({
        "archive": archive.name, "bytes": archive.stat().st_size, "sha256": digest, "files": len(names), "counts": facts["counts"],
        "unpacked_bytes": sum((staged / relative).stat().st_size for relative in names), "withheld_events": facts["withheld_events"],
        "manifest_sha256": sha256_file(staged / verify.MANIFEST),
    }))
    for relative in [*(name for name in names if name.startswith("metadata/run-indexes/")), "verify.py"]:
        (published / relative).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(staged / relative, published / relative)
    return archive


def _publish(published: Path, out: Path) -> None:
    """Join with the packages that are in `out` already, then rename into place; the sums come last."""
    kept = [name for name in verify.listing(str(out), verify.Report()) if not name.startswith(".")] if out.is_dir() else []
    mine = set(verify.listing(str(published), verify.Report()))
    merged = published.with_name("merged")
    merged.mkdir()
    for name in kept:
        if name not in mine and name not in (verify.SUMS, "m4bench_evidence.croissant.json"):
            _link(out / name, merged / name)
    for name in mine:
        _link(published / name, merged / name)
    write_croissant(merged)
    write_text(merged / verify.SUMS, verify.sums_text(str(merged), verify.listing(str(merged), verify.Report())))
    if not out.exists():
        os.replace(merged, out)
        return
    changed = [*sorted(mine), "m4bench_evidence.croissant.json", verify.SUMS]
    for name in changed:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(merged / name, out / name)


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def read_members(data: bytes) -> dict[str, bytes]:
    """Name -> content of a small archive; for tests and notebooks."""
    import zstandard

    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)) as plain, tarfile.open(fileobj=plain, mode="r|") as tar:
        return {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}  # type: ignore[union-attr]

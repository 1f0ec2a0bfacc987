"""Check an evidence package with nothing but Python 3.9 or newer: `python verify.py FOLDER`.

FOLDER is an unpacked package (it holds metadata/ and runs/) or the folder that a package was published in (it holds
NAME.tar.zst; the archives' checksums are compared, their inside is checked after unpacking: `tar --zstd -xf NAME.tar.zst`).

Checked: that no file is missing, added or changed by a byte; every line and count of the manifest; the run keys against
the campaigns; the run indexes against the records, field by field; the tables, computed again from the records.
Exit status 0: all of it holds; 1: something does not, and each problem is a line; 2: there is nothing to check.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
import re
import sys

MANIFEST = "metadata/public_artifact_manifest.json"
SUMS = "SHA256SUMS"
ARTIFACTS = ("result.json", "output_summary.json", "instruction.md", "trace.jsonl", "egress.jsonl")
KEY = ("task", "condition", "schema", "model", "trial")
HEX = re.compile(r"[0-9a-f]{64}")


class Report:
    """Problems found and checks made."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.checks: list[str] = []
        self.notes: list[str] = []

    def expect(self, holds: bool, problem: str) -> bool:
        if not holds:
            self.problems.append(problem)
        return holds


def sha256(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as handle:
        for block in iter(lambda: handle.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def canonical(value) -> str:
    """The one spelling of a JSON file of a package."""
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def listing(folder: str, report: Report) -> list[str]:
    """Relative paths of all files; anything that is neither a file nor a folder is a problem."""
    found = []
    for place, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(place, name)
            relative = os.path.relpath(path, folder).replace(os.sep, "/")
            if os.path.islink(path) or not (os.path.isdir(path) or os.path.isfile(path)):
                report.problems.append(f"{relative} is a link or a device")
            elif name in files:
                found.append(relative)
        folders[:] = [name for name in folders if not os.path.islink(os.path.join(place, name))]
    return sorted(found)


def sums_text(folder: str, names: list[str]) -> str:
    return "".join(f"{sha256(os.path.join(folder, name))}  {name}\n" for name in sorted(names) if name != SUMS)


def check_sums(folder: str, report: Report) -> None:
    """SHA256SUMS names every file with its checksum and is spelled exactly so."""
    names = listing(folder, report)
    if not report.expect(SUMS in names, f"{SUMS} is missing"):
        return
    with open(os.path.join(folder, SUMS), "rb") as handle:
        text = handle.read()
    listed = {}
    for line in text.decode("utf-8", "replace").splitlines():
        digest, _, name = line.partition("  ")
        report.expect(bool(HEX.fullmatch(digest)) and name not in listed, f"{SUMS}: the line {line[:80]!r} is not of its form")
        listed[name] = digest
    for name in sorted(set(listed) - set(names)):
        report.problems.append(f"{name} is missing")
    for name in names:
        if name == SUMS:
            continue
        if report.expect(name in listed, f"{name} is not listed in {SUMS}"):
            report.expect(listed[name] == sha256(os.path.join(folder, name)), f"{name} has changed: its checksum differs")
    if not report.problems:
        report.expect(text == sums_text(folder, names).encode(), f"{SUMS} is not spelled as it was written")
    report.checks.append(f"{len(names) - 1} files against {SUMS}")


def check_manifest(folder: str, report: Report) -> dict:
    """The manifest names every file but itself and the sums, with sizes, checksums and counts; returns its content."""
    path = os.path.join(folder, MANIFEST)
    with open(path, encoding="utf-8") as handle:
        text = handle.read()
    content = json.loads(text)
    report.expect(canonical(content) == text, f"{MANIFEST} is not spelled as it was written")
    names = set(listing(folder, Report())) - {MANIFEST, SUMS}
    seen, entries = set(), content["files"]
    for entry in entries:
        name = entry["path"]
        report.expect(name not in seen, f"{MANIFEST}: {name} is named twice")
        seen.add(name)
        if not report.expect(name in names, f"{MANIFEST}: {name} does not exist"):
            continue
        full = os.path.join(folder, name)
        report.expect(entry["public_sha256"] == sha256(full), f"{MANIFEST}: the checksum of {name} differs")
        report.expect(entry["bytes"] == os.path.getsize(full), f"{MANIFEST}: the size of {name} differs")
        source = entry["source"]
        report.expect(bool(entry["transform"]) and (source is None) == (entry["source_sha256"] is None), f"{MANIFEST}: the line of {name} is incomplete")
        if source is not None:
            inside = not source.startswith("/") and ".." not in source.split("/")
            report.expect(inside and bool(HEX.fullmatch(str(entry["source_sha256"]))), f"{MANIFEST}: the source of {name} is not of its form")
            if entry["transform"] == "none":
                report.expect(entry["source_sha256"] == entry["public_sha256"], f"{MANIFEST}: {name} is said to be unchanged and is not")
    for name in sorted(names - seen):
        report.problems.append(f"{MANIFEST} does not name {name}")
    report.expect(content["counts"] == count(names), f"{MANIFEST}: its counts are not those of its files")
    report.checks.append(f"{len(entries)} manifest lines")
    return content


def count(names) -> dict:
    """Numbers of files by name, of runs and of campaigns."""
    runs = [name.split("/") for name in names if name.startswith("runs/")]
    counts = {artifact: sum(parts[-1] == artifact for parts in runs) for artifact in ARTIFACTS}
    return {"files": len(list(names)), "runs": counts["result.json"], "campaigns": len({parts[1] for parts in runs}), "artifacts": counts}


def records(folder: str):
    """(campaign, run id, record, names of its files) of every run, in order."""
    base = os.path.join(folder, "runs")
    for campaign in sorted(os.listdir(base)) if os.path.isdir(base) else []:
        for run in sorted(os.listdir(os.path.join(base, campaign))):
            place = os.path.join(base, campaign, run)
            with open(os.path.join(place, "result.json"), encoding="utf-8") as handle:
                yield campaign, run, json.load(handle), sorted(os.listdir(place))


def key_of(record: dict) -> tuple:
    return (record["task"], record["condition"], record["schema"], str(record.get("model") or "default"), int(record["trial"]))


def known_rows(record: dict):
    return (record.get("test_results") or {}).get("reference_rows") or (record.get("evaluation") or {}).get("reference_rows")


def index_row(record: dict, path: str, rows) -> dict:
    """The index row that a record stands for; `rows`: of the reference, when the record does not say."""
    agent, tests = record.get("agent_result") or {}, record.get("test_results") or {}
    reached = bool(tests.get("match_rates"))
    truth = known_rows(record) or rows
    precision, unique, extra = [tests.get(name) if reached else None for name in ("key_precision", "agent_unique_keys", "extra_keys")]
    recall = max((unique or 0) - (extra or 0), 0) / int(truth) if truth else 0.0
    total = (precision or 0.0) + recall
    passed = lambda check: bool(check.get("passed", True)) if isinstance(check, dict) else check is not False  # noqa: E731
    isolated = bool(record.get("isolated", False))
    return {
        "_legacy_skill_priority": 0, "_source_priority": 0, "agent": record.get("agent"), "agent_returncode": agent.get("returncode"),
        "agent_status": None, "agent_unique_keys": unique, "condition": record.get("condition"), "containerized_agent": isolated,
        "contamination_lint": passed(record.get("contamination_lint")), "diagnostics_failed": bool(tests.get("diagnostics_failed")) and reached,
        "elapsed_seconds": agent.get("elapsed_seconds"), "errors": tests.get("errors", 1), "extra_keys": extra, "failed": tests.get("failed", 0),
        "filesystem_canary": passed(record.get("filesystem_canary")), "isolated": isolated, "key_precision": precision, "key_recall": recall,
        "key_f1": 2 * (precision or 0.0) * recall / total if total else 0.0, "legacy_condition": None,
        "match_rates": str(dict(tests.get("match_rates") or {})), "model": record.get("model"),
        "ordered_value_columns": tests.get("ordered_value_columns") or 0, "ordered_value_nmae": tests.get("ordered_value_nmae"),
        "passed": tests.get("passed", 0), "path": path, "publishable": bool(record.get("publishable", False)),
        "publishable_reason": record.get("publishable_reason"),
        "reasoning_effort": record.get("resolved_reasoning_effort") or record.get("reasoning_effort"), "reward": tests.get("reward", 0.0),
        "reward_uncapped": tests.get("reward_uncapped", tests.get("reward")) if reached else None, "run_id": record.get("run_id"),
        "schema": record.get("schema"), "task": record.get("task"), "tier": None, "tier_name": None, "total_tests": tests.get("total", 1),
        "trial": record.get("trial"), "truth_rows": truth,
    }


def same(value, text: str) -> bool:
    """Whether a field of a CSV file says what a value says."""
    if value is None or value == "":
        return text == ""
    if isinstance(value, bool):
        return text == str(value)
    if isinstance(value, (int, float)):
        try:
            return float(text) == float(value)
        except ValueError:
            return False
    return text == str(value)


def check_runs(folder: str, report: Report) -> None:
    """Keys against campaigns, indexes against records, tables against both."""
    by_campaign: dict = {}
    everything = []
    for campaign, run, record, names in records(folder):
        where = f"runs/{campaign}/{run}"
        report.expect(record.get("run_id") == run, "{}: its record has the run id {!r}".format(where, record.get("run_id")))
        for name in ("instruction.md", "trace.jsonl", "output_summary.json"):
            report.expect(name in names, f"{where}: {name} is missing")
        unknown = sorted(set(names) - set(ARTIFACTS))
        report.expect(not unknown, "{}: unexpected {}".format(where, ", ".join(unknown)))
        by_campaign.setdefault(campaign, {})[run] = record
        everything.append((campaign, record, names))
    for kind, suffix in (("run-manifests", ".json"), ("run-indexes", ".csv")):
        place = os.path.join(folder, "metadata", kind)
        found = {name[: -len(suffix)] for name in os.listdir(place) if name.endswith(suffix)} if os.path.isdir(place) else set()
        report.expect(found == set(by_campaign), f"metadata/{kind}: campaigns are {sorted(found)}, runs are there of {sorted(by_campaign)}")
        by_campaign = {name: runs for name, runs in by_campaign.items() if name in found}
    for campaign, runs in sorted(by_campaign.items()):
        with open(os.path.join(folder, "metadata", "run-manifests", campaign + ".json"), encoding="utf-8") as handle:
            manifest = json.load(handle)
        check_keys(campaign, runs, manifest, report)
        check_index(folder, campaign, runs, manifest, report)
    place = os.path.join(folder, "metadata", "tables")
    made = tables(everything)
    stored = set(os.listdir(place)) if os.path.isdir(place) else set()
    report.expect(stored == set(made), f"metadata/tables holds {sorted(stored)}, not {sorted(made)}")
    for name in sorted(stored & set(made)):
        with open(os.path.join(place, name), encoding="utf-8", newline="") as handle:
            report.expect(handle.read() == made[name], f"metadata/tables/{name} is not what the records give")
    report.checks.append(f"{len(made)} tables computed again from the records")


def check_keys(campaign: str, runs: dict, manifest: dict, report: Report) -> None:
    keys = [key_of(record) for record in runs.values()]
    planned = {tuple(key) for key in manifest["planned"]}
    missing = {tuple(key) for key in manifest["missing"]}
    superseded = set(manifest["superseded"])
    report.expect(len(planned) == len(manifest["planned"]), f"campaign {campaign}: a planned run key is repeated")
    for key in sorted(set(keys) - planned):
        report.problems.append("campaign {}: the run {} was not planned".format(campaign, "/".join(map(str, key))))
    for key in sorted(planned - set(keys) - missing):
        report.problems.append("campaign {}: the run {} is missing".format(campaign, "/".join(map(str, key))))
    report.expect(not missing & set(keys), f"campaign {campaign}: a run that is said to be missing is there")
    counted = [key_of(record) for run, record in runs.items() if run not in superseded]
    report.expect(len(counted) == len(set(counted)), f"campaign {campaign}: a run key counts twice")
    report.expect(superseded <= set(runs), f"campaign {campaign}: a superseded run is not there")
    if missing:
        report.notes.append(f"campaign {campaign} was packed incomplete: {len(missing)} of {len(planned)} planned runs are missing, as its manifest says")
    report.checks.append(f"campaign {campaign}: {len(set(keys))} run keys of {len(planned)} planned")


def check_index(folder: str, campaign: str, runs: dict, manifest: dict, report: Report) -> None:
    name = f"metadata/run-indexes/{campaign}.csv"
    with open(os.path.join(folder, name), encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    rows_of = {}
    counting = {run: record for run, record in runs.items() if run not in set(manifest["superseded"])}
    for run in sorted(counting):
        if known_rows(counting[run]):
            rows_of[counting[run]["task"]] = int(known_rows(counting[run]))
    report.expect(sorted(row.get("run_id", "") for row in rows) == sorted(counting), f"{name}: its runs are not those of the campaign")
    for row in rows:
        record = counting.get(row.get("run_id", ""))
        if record is None:
            continue
        expected = index_row(record, "{}/{}".format(campaign, record["run_id"]), rows_of.get(record["task"]))
        report.expect(set(row) == set(expected), f"{name}: its columns are not those of a run index")
        for column, value in expected.items():
            text = row.get(column)
            report.expect(text is not None and same(value, text), "{}: {} of {} is {!r}, the record says {!r}".format(name, column, row["run_id"], text, value))
    report.checks.append(f"campaign {campaign}: {len(rows)} index rows against their records")


# --- tables ----------------------------------------------------------------------------------------------------------
def tables(runs) -> dict:
    """Name -> CSV text of every table, from (campaign, record, names of the run's files).

    The same function made the tables from the original run folders, where a withheld `output.csv` counts as its summary.
    """
    runs = sorted(runs, key=lambda item: (item[0], key_of(item[1]), item[1]["run_id"]))
    cells: dict = {}
    for campaign, record, _ in runs:
        cells.setdefault((campaign, *key_of(record)[:4]), []).append(record)
    made = []
    means = {}
    for cell, members in sorted(cells.items()):
        rewards = [float((record.get("test_results") or {}).get("reward") or 0.0) for record in members]
        tests = [record.get("test_results") or {} for record in members]
        means[cell] = math.fsum(rewards) / len(rewards)
        precision = [float(test["key_precision"]) for test in tests if test.get("key_precision") is not None]
        made.append((*cell, len(rewards), means[cell], deviation(rewards), min(rewards), median(rewards), max(rewards), math.fsum(precision) / len(precision) if precision else None, sum(int(test.get("failed") or 0) for test in tests), sum(int(test.get("errors") or 0) for test in tests), sum(int(test.get("extra_keys") or 0) for test in tests)))
    deltas = []
    for cell in sorted(means):
        campaign, task, condition, schema, model = cell
        base = (campaign, task, "no-skill", schema, model)
        if condition != "no-skill" and base in means:
            deltas.append((campaign, task, condition, schema, model, len(cells[base]), len(cells[cell]), means[base], means[cell], means[cell] - means[base]))
    groups: dict = {}
    for campaign, task, condition, schema, _model, _, _, _, _, delta in deltas:
        groups.setdefault((campaign, condition, schema), {}).setdefault(task, []).append(delta)
    effects = []
    for group, tasks in sorted(groups.items()):  # models within tasks first, then tasks
        balanced = [math.fsum(values) / len(values) for _, values in sorted(tasks.items())]
        effects.append((*group, len(balanced), math.fsum(balanced) / len(balanced), sum(value > 0 for value in balanced)))
    return {
        "cells.csv": as_csv("campaign task condition schema model runs mean_reward sd_reward min_reward median_reward max_reward "
                            "mean_key_precision failed errors extra_keys", made),
        "task_deltas.csv": as_csv("campaign task condition schema model runs_no_skill runs mean_no_skill mean delta", deltas),
        "effects.csv": as_csv("campaign condition schema tasks mean_delta positive_tasks", effects),
        "integrity.csv": as_csv("campaign quantity count", integrity(runs)),
        "resources.csv": as_csv("campaign runs agent_seconds input_tokens cached_input_tokens output_tokens", resources(runs)),
    }


def integrity(runs) -> list:
    lines = []
    passed = lambda check: not isinstance(check, dict) or bool(check.get("passed", True))  # noqa: E731
    for campaign in sorted({item[0] for item in runs}):
        mine = [(record, names) for name, record, names in runs if name == campaign]
        found = [record for record, _ in mine]
        tests = [record.get("test_results") or {} for record in found]
        reached = [bool(test.get("match_rates")) for test in tests]
        numbers = [
            ("runs", len(found)), ("cells", len({key_of(record)[:4] for record in found})),
            ("publishable failures", sum(not record.get("publishable") for record in found)),
            ("isolation failures", sum(not record.get("isolated") for record in found)),
            ("filesystem canary failures", sum(not passed(record.get("filesystem_canary")) for record in found)),
            ("contamination lint failures", sum(not passed(record.get("contamination_lint")) for record in found)),
            ("nonzero agent exits", sum((record.get("agent_result") or {}).get("returncode") not in (0, None) for record in found)),
            ("missing rewards", sum(test.get("reward") is None for test in tests)),
            ("fully passing runs", sum(ok and not test.get("failed") and not test.get("errors") for test, ok in zip(tests, reached, strict=False))),
            ("runs with diagnostic failures", sum(ok and bool(test.get("diagnostics_failed")) for test, ok in zip(tests, reached, strict=False))),
        ]
        numbers += [("retained " + artifact, sum(artifact in names for _, names in mine)) for artifact in ARTIFACTS]
        lines += [(campaign, name, number) for name, number in numbers]
    return lines


def resources(runs) -> list:
    lines = []
    for campaign in sorted({item[0] for item in runs}):
        found = [record for name, record, _ in runs if name == campaign]
        usage = [record.get("token_usage") or {} for record in found]
        seconds = math.fsum(float((record.get("agent_result") or {}).get("elapsed_seconds") or 0) for record in found)
        lines.append((campaign, len(found), seconds, *tuple(sum(int(use.get(name) or 0) for use in usage) for name in ("input_tokens", "cached_input_tokens", "output_tokens"))))
    return lines


def deviation(values):
    """Sample standard deviation; None of a single value."""
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def median(values):
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def as_csv(header: str, rows) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header.split())
    for row in rows:
        writer.writerow(["" if value is None else repr(round(value, 10)) if isinstance(value, float) else value for value in row])
    return out.getvalue()


# --- the folder that a package was published in ----------------------------------------------------------------------
def check_published(folder: str, report: Report) -> list[str]:
    """Archives, their checksums and manifests; returns the names of the archives."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(".tar.zst"))
    if os.path.exists(os.path.join(folder, SUMS)):
        check_sums(folder, report)
    else:
        report.notes.append(f"no {SUMS}: only the archives' own checksums are compared")
    for name in names:
        path = os.path.join(folder, name)
        digest = sha256(path)
        if report.expect(os.path.isfile(path + ".sha256"), f"{name}.sha256 is missing"):
            with open(path + ".sha256", encoding="utf-8") as handle:
                report.expect(handle.read() == f"{digest}  {name}\n", f"{name}.sha256 does not state the archive's checksum")
        if report.expect(os.path.isfile(path + ".manifest.json"), f"{name}.manifest.json is missing"):
            with open(path + ".manifest.json", encoding="utf-8") as handle:
                text = handle.read()
            content = json.loads(text)
            report.expect(canonical(content) == text, f"{name}.manifest.json is not spelled as it was written")
            report.expect(content.get("sha256") == digest, f"{name}.manifest.json states another checksum")
            report.expect(content.get("bytes") == os.path.getsize(path), f"{name}.manifest.json states another size")
    report.checks.append(f"{len(names)} archives")
    return names


def verify_package(folder: str) -> Report:
    """Every check of an unpacked package."""
    report = Report()
    for check in (check_sums, check_manifest, check_runs):
        try:
            check(folder, report)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            report.problems.append("{}: {}: {}".format(check.__name__.replace("_", " "), type(error).__name__, error))
    return report


def is_package(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, *MANIFEST.split("/")))


def packages_in(folder: str) -> list[str]:
    """The folder itself, or the unpacked packages in it."""
    if is_package(folder):
        return [folder]
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if is_package(os.path.join(folder, name))]


def show(name: str, report: Report, out=None) -> int:
    out = out or sys.stdout
    for line in report.checks:
        print(f"checked  {name}: {line}", file=out)
    for line in report.notes:
        print(f"note     {name}: {line}", file=out)
    for line in report.problems:
        print(f"PROBLEM  {name}: {line}", file=out)
    verdict = f"{len(report.problems)} problems" if report.problems else "all of it holds"
    print(f"{name}: {verdict}", file=out)
    return 1 if report.problems else 0


def main(argv=None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if len(words) != 1 or words[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if words and words[0] in ("-h", "--help") else 2
    folder = words[0]
    if not os.path.isdir(folder):
        print(f"There is no folder {folder}.", file=sys.stderr)
        return 2
    status, found = 0, packages_in(folder)
    archives = [name for name in os.listdir(folder) if name.endswith(".tar.zst")]
    if not found and not archives:
        print(f"{folder} holds neither an unpacked evidence package nor an archive of one.", file=sys.stderr)
        return 2
    if archives:
        report = Report()
        check_published(folder, report)
        report.notes.append("the inside of an archive is checked after unpacking it: tar --zstd -xf NAME.tar.zst")
        status |= show(os.path.basename(os.path.abspath(folder)), report)
    for package in found:
        status |= show(os.path.basename(os.path.abspath(package)), verify_package(package))
    return status


if __name__ == "__main__":
    sys.exit(main())

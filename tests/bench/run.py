"""`make bench`: every stage at several sizes, each beside a baseline of the same run; a table, a JSON file and two plots.

    python -m tests.bench.run --sizes 1,10            # 1 is 945 ICU stays, a hundredth of MIMIC-IV 3.1
    python -m tests.bench.run --sizes 1,10,100        # the full number of stays: an hour or more and 60 GB of disk

A stage that cannot run (no Docker, no published indexes, no room) is named with its reason, not left out in silence.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from m4lib.files import atomic_path, write_json
from m4lib.project import find_project

STAYS = 945  # at size 1; MIMIC-IV 3.1 has 94,458
# stage -> (baseline stage, what the baseline is, the ratio that is the target or None)
PLAN: dict[str, tuple[str | None, str, float | None]] = {
    "generate": (None, "", None),
    "ingest": ("floor_read", "DuckDB parses the same files once", 1.5),
    "pandas_read": ("floor_read", "DuckDB parses the same files once", None),
    "concepts": ("floor_scan", "DuckDB scans both event tables once", None),
    "one_concept": ("pandas_vitals", "pandas, six of its items pivoted", None),
    "references": ("floor_scan", "DuckDB scans both event tables once", None),
    "taskdbs": ("floor_export", "DuckDB writes every table to Parquet once", None),
    "transformed": ("floor_export", "DuckDB writes every table to Parquet once", None),
    "evaluate": ("pandas_evaluate", "pandas reads, merges and compares", None),
}
ORDER = ("generate", "floor_read", "pandas_read", "ingest", "floor_scan", "pandas_vitals", "one_concept", "concepts", "references",
         "floor_export", "taskdbs", "transformed", "pandas_evaluate", "evaluate")
PANDAS_MOST = 10  # pandas holds whole files in memory: not beyond this size


def stage(name: str, folder: Path, *rest: str) -> dict[str, Any]:
    """One measurement in a fresh process; `error` instead of numbers when it fails."""
    done = subprocess.run([sys.executable, "-m", "tests.bench.stages", name, str(folder), *rest], cwd=find_project().root,
                          capture_output=True, text=True, env={**os.environ, "TQDM_DISABLE": "1"})
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1][:200]}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def measure(size: int, work: Path) -> list[dict[str, Any]]:
    """All data stages at one size; rows of the result table."""
    stays = STAYS * size
    need = stays * 700_000  # raw, database, Parquet and outputs together, from measurements
    free = shutil.disk_usage(work).free
    if free < need:
        return [{"size": size, "stays": stays, "stage": name, "error": f"needs {need >> 30} GiB of disk, {free >> 30} are free"} for name in PLAN]
    folder = work / str(size)
    folder.mkdir()
    found: dict[str, dict[str, Any]] = {}
    for name in ORDER:
        if name.startswith("pandas") and size > PANDAS_MOST:
            found[name] = {"error": f"pandas is not asked beyond size {PANDAS_MOST}"}
            continue
        found[name] = stage(name, folder, *([str(stays)] if name == "generate" else []))
        print(f"size {size:>3}  {name:<16} {show(found[name])}", flush=True)
    rows = []
    for name, (baseline, what, target) in PLAN.items():
        row = {"size": size, "stays": stays, "stage": name, **found[name]}
        base = found.get(baseline or "", {})
        if "seconds" in row and "seconds" in base:
            row |= {"baseline": what, "baseline_seconds": base["seconds"], "ratio": row["seconds"] / base["seconds"], "target": target}
        rows.append(row)
    shutil.rmtree(folder)
    return rows


def show(entry: dict[str, Any]) -> str:
    if "error" in entry:
        return entry["error"]
    return f"{entry['seconds']:8.1f} s  {entry['peak_bytes'] / 2**30:5.2f} GiB"


def paper_and_runs(work: Path, evidence: Path | None) -> list[dict[str, Any]]:
    """The paper from its indexes, and the overhead of a run beside `docker run`."""
    rows: list[dict[str, Any]] = []
    if evidence is None:
        rows.append({"stage": "paper", "error": "the published run indexes are not at hand"})
    else:
        row = {"stage": "paper", **stage("paper", work, str(evidence))}
        base = stage("pandas_indexes", work, str(evidence))
        if "seconds" in row and "seconds" in base:
            row |= {"baseline": "pandas reads the run indexes once", "baseline_seconds": base["seconds"], "ratio": row["seconds"] / base["seconds"]}
        rows.append(row)
    try:
        from tests.bench.bench_harness import overhead
    except ImportError as error:
        rows.append({"stage": "run overhead", "error": str(error)})
    else:
        try:
            found = overhead()
            rows.append({"stage": "run overhead", "seconds": found["run_seconds"], "peak_bytes": 0, "baseline": "docker run of the same command",
                         "baseline_seconds": found["docker_seconds"], "ratio": found["run_seconds"] / found["docker_seconds"],
                         "added_seconds": found["run_seconds"] - found["docker_seconds"]})
        except Exception as error:
            rows.append({"stage": "run overhead", "error": str(error).splitlines()[0][:200]})
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    lines = [f"{'size':>4} {'stays':>7} {'stage':<14}{'seconds':>9}{'peak GiB':>10}{'ratio':>8}  baseline"]
    for row in rows:
        head = f"{row.get('size', ''):>4} {row.get('stays', ''):>7} {row['stage']:<14}"
        if "error" in row:
            lines.append(f"{head}  not measured: {row['error']}")
            continue
        ratio = f"{row['ratio']:.2f}" if "ratio" in row else ""
        lines.append(f"{head}{row['seconds']:>9.1f}{row['peak_bytes'] / 2**30:>10.2f}{ratio:>8}  {row.get('baseline', '')}")
    return "\n".join(lines)


def draw(rows: list[dict[str, Any]], folder: Path) -> None:
    """Time and memory against size, both axes logarithmic, with a line of linear growth."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
    chosen = ["ingest", "concepts", "references", "taskdbs", "transformed", "evaluate", "generate"]
    for what, unit, name in (("seconds", 1.0, "time"), ("peak_bytes", 2.0**30, "memory")):
        figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
        for colour, stage_name in zip(colours, chosen, strict=True):
            points = [(row["stays"], row[what] / unit) for row in rows if row["stage"] == stage_name and what in row]
            if points:
                axis.plot(*zip(*points, strict=True), "o-", color=colour, label=stage_name, linewidth=1.4, markersize=4)
        if what == "seconds":
            low, high = min(row["stays"] for row in rows if "stays" in row), max(row["stays"] for row in rows if "stays" in row)
            start = min((row["seconds"] for row in rows if row.get("size") == 1 and "seconds" in row), default=1.0)
            axis.plot([low, high], [start, start * high / low], ":", color="#888888", label="linear growth")
        axis.set(xscale="log", yscale="log", xlabel="ICU stays", ylabel="seconds" if what == "seconds" else "peak memory, GiB")
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(fontsize=8, frameon=False)
        with atomic_path(folder / f"{name}.png") as beside:
            figure.savefig(beside, dpi=150)
        plt.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1,10", help="multiples of a hundredth of MIMIC-IV (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=None, help="default: outputs/bench")
    parser.add_argument("--work", type=Path, default=None, help="folder for the data (default: a temporary one)")
    arguments = parser.parse_args()
    project = find_project()
    out = arguments.out or project.outputs / "bench"
    evidence = project.shared / "evidence"
    with tempfile.TemporaryDirectory(prefix="m4-bench-", dir=arguments.work) as name:
        rows = [row for size in map(int, arguments.sizes.split(",")) for row in measure(size, Path(name))]
        rows += paper_and_runs(Path(name), evidence if evidence.is_dir() else None)
    print("\n" + table(rows))
    write_json(out / "bench.json", {"cores": os.cpu_count(), "load": os.getloadavg(), "rows": rows})
    draw([row for row in rows if "stays" in row], out)
    print(f"\nWritten to {out}")
    missed = [row for row in rows if row.get("target") and row.get("ratio", 0) > row["target"]]
    for row in missed:
        print(f"{row['stage']} at size {row['size']}: ratio {row['ratio']:.2f} is above {row['target']}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())

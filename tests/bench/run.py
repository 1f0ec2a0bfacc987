"""`make bench`: every stage at several sizes, each beside a baseline of the same run; a table, a JSON file and two plots.

    python -m tests.bench.run                                     # sizes 1 and 10 of both sources
    python -m tests.bench.run --sizes 1,10,100 --eicu-sizes 1,10  # MIMIC-IV in full: over an hour and 60 GB of disk

Size 100 is as large as the release itself: 94,458 ICU stays and 430 million chart rows for MIMIC-IV 3.1, 200,859 stays for
eICU 2.0. What does not run (no room, no Docker, no published indexes) is named with its reason, not left out in silence.
The results are written after every stage, so that an interrupted run keeps what it has.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from m4lib.files import atomic_path, read_json, write_json
from m4lib.project import find_project

Row = dict[str, Any]
STAYS = {"mimic-iv": 945, "eicu": 2009}  # at size 1
LABELS = {"mimic-iv": "MIMIC-IV", "eicu": "eICU"}
DISK = {"mimic-iv": 600_000, "eicu": 150_000}  # bytes a stay: raw files, database, Parquet and outputs together
# stage -> (baseline stage, what the baseline is, the ratio that is the target or None)
PLAN: dict[str, tuple[str | None, str, float | None]] = {
    "generate": (None, "", None),
    "ingest": ("floor_read", "DuckDB parses the same files once", 1.5),
    "plain_create": ("floor_read", "DuckDB parses the same files once", None),
    "pandas_read": ("floor_read", "DuckDB parses the same files once", None),
    "concepts": ("floor_scan", "DuckDB scans the two largest tables once", None),
    "one_concept": ("pandas_vitals", "pandas, six of its items pivoted", None),
    "references": ("floor_scan", "DuckDB scans the two largest tables once", None),
    "taskdbs": ("floor_export", "DuckDB writes every table to Parquet once", None),
    "transformed": ("floor_export", "DuckDB writes every table to Parquet once", None),
    "evaluate": ("pandas_evaluate", "pandas reads, merges and compares", None),
}
ORDER = ("generate", "floor_read", "plain_create", "pandas_read", "ingest", "floor_scan", "pandas_vitals", "one_concept", "concepts",
         "references", "floor_export", "taskdbs", "transformed", "pandas_evaluate", "evaluate")
MIMIC_ONLY = ("pandas_vitals", "one_concept", "concepts", "transformed")
# pandas holds whole files as objects in memory, and the plain way of ingest is known after two sizes
MOST = {"pandas_read": 1, "pandas_vitals": 10, "plain_create": 10}


def stage(name: str, folder: Path, *rest: str) -> Row:
    """One measurement in a fresh process; `error` instead of numbers when it fails."""
    done = subprocess.run([sys.executable, "-m", "tests.bench.stages", name, str(folder), *rest], cwd=find_project().root,
                          capture_output=True, text=True, env={**os.environ, "TQDM_DISABLE": "1"})
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1][:200]}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


class Bench:
    """Collects rows; `save` writes the JSON and the plots of what there is so far."""

    def __init__(self, out: Path, work: Path, density: str, only: list[str], keep: bool) -> None:
        self.out, self.work, self.density, self.only, self.keep = out, work, density, only, keep
        self.measured: dict[tuple[str, int, str], Row] = {}
        if only:  # what was measured before stands beside it
            held = read_json(out / "bench.json")
            self.density = held["density"]
            self.add(held["rows"])

    def add(self, rows: list[Row]) -> None:
        """A row takes the place of the earlier one of its source, size and stage."""
        self.measured |= {(row.get("source", ""), row.get("size", 0), row["stage"]): row for row in rows}

    @property
    def rows(self) -> list[Row]:
        """The paper and the run, then each source by size, its stages in the order of the plan."""
        sources, stages = ["", *STAYS], ["paper", "run overhead", *PLAN]
        return [row for _, row in sorted(self.measured.items(), key=lambda one: (sources.index(one[0][0]), one[0][1], stages.index(one[0][2])))]

    def save(self) -> None:
        write_json(self.out / "bench.json", {"cores": os.cpu_count(), "load": os.getloadavg(), "density": self.density, "rows": self.rows})
        draw(self.rows, self.out)

    def measure(self, source: str, size: int) -> None:
        """All data stages of one source at one size."""
        stays = STAYS[source] * size
        common = {"source": source, "size": size, "stays": stays}
        order = [name for name in ORDER if (source == "mimic-iv" or name not in MIMIC_ONLY) and (not self.only or name in self.only)]
        free = shutil.disk_usage(self.work).free
        folder = self.work / str(size) / source
        if not folder.exists() and free < stays * DISK[source]:
            reason = f"needs {stays * DISK[source] >> 30} GiB of disk, {free >> 30} are free"
            self.add([{**common, "stage": name, "error": reason} for name in order if name in PLAN])
            return self.save()
        folder.mkdir(parents=True, exist_ok=self.keep)
        found: dict[str, Row] = {}
        for name in order:
            if size > MOST.get(name, size):
                found[name] = {"error": f"not asked beyond size {MOST[name]}"}
            else:
                found[name] = stage(name, folder, *([str(stays), self.density] if name == "generate" else []))
            print(f"{LABELS[source]:<8} size {size:>3}  {name:<16} {show(found[name])}", flush=True)
            generated = found.get("generate") or self.measured.get((source, size, "generate"), {})
            self.add([{**common, "raw_rows": generated.get("rows"), **row} for row in compared(found)])
            self.save()
        if not self.keep:
            shutil.rmtree(folder)

    def paper_and_runs(self, evidence: Path | None) -> None:
        """The paper from its indexes, and the overhead of a run beside `docker run`."""
        if evidence is None:
            self.add([{"stage": "paper", "error": "the published run indexes are not at hand"}])
        else:
            row = {"stage": "paper", **stage("paper", self.work, str(evidence))}
            base = stage("pandas_indexes", self.work, str(evidence))
            self.add([beside(row, base, "pandas reads the run indexes once")])
        try:
            from tests.bench.bench_harness import overhead

            found = overhead()
            row = {"stage": "run overhead", "seconds": found["run_seconds"], "added_seconds": found["run_seconds"] - found["docker_seconds"]}
            self.add([beside(row, {"seconds": found["docker_seconds"]}, "docker run of the same command")])
        except Exception as error:  # whatever keeps containers from running is a result of its own
            self.add([{"stage": "run overhead", "error": (str(error).splitlines() or [repr(error)])[0][:200]}])
        self.save()


def beside(row: Row, base: Row, what: str, target: float | None = None) -> Row:
    if "seconds" not in row or "seconds" not in base:
        return row
    return {**row, "baseline": what, "baseline_seconds": base["seconds"], "ratio": row["seconds"] / base["seconds"], "target": target}


def compared(found: dict[str, Row]) -> list[Row]:
    """A row for each planned stage that was reached, with its ratio to the baseline."""
    return [
        beside({"stage": name, **found[name]}, found.get(baseline or "", {}), what, target)
        for name, (baseline, what, target) in PLAN.items() if name in found
    ]


def show(entry: Row) -> str:
    if "error" in entry:
        return str(entry["error"])
    return f"{entry['seconds']:8.1f} s {entry['processor_seconds']:8.1f} s of processor  {entry['peak_bytes'] / 2**30:5.2f} GiB"


def table(rows: list[Row]) -> str:
    lines = [f"{'source':<9}{'size':>4} {'stays':>7} {'stage':<14}{'seconds':>9}{'s / M rows':>11}{'peak GiB':>10}{'ratio':>8}  baseline"]
    for row in rows:
        head = f"{LABELS.get(row.get('source', ''), ''):<9}{row.get('size', ''):>4} {row.get('stays', ''):>7} {row['stage']:<14}"
        if "error" in row:
            lines.append(f"{head}  not measured: {row['error']}")
            continue
        per = f"{1e6 * row['seconds'] / row['raw_rows']:.3f}" if row.get("raw_rows") else ""
        peak = f"{row['peak_bytes'] / 2**30:.2f}" if "peak_bytes" in row else ""
        ratio = f"{row['ratio']:.2f}" if "ratio" in row else ""
        lines.append(f"{head}{row['seconds']:>9.1f}{per:>11}{peak:>10}{ratio:>8}  {row.get('baseline', '')}")
    return "\n".join(lines)


def draw(rows: list[Row], folder: Path) -> None:
    """Time and memory against the rows of the raw files, logarithmic, a panel a source, with lines of linear growth."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib import ticker

    styles = {
        "generate": ("#000000", "s", "synthetic data"), "ingest": ("#0072B2", "o", "ingest"), "concepts": ("#D55E00", "^", "63 concepts"),
        "references": ("#009E73", "v", "references"), "taskdbs": ("#CC79A7", "D", "task databases"),
        "transformed": ("#E69F00", "P", "transformed task databases"), "evaluate": ("#56B4E9", "X", "evaluation of every family"),
    }
    measured = [row for row in rows if "seconds" in row and row.get("raw_rows")]
    sources = [source for source in STAYS if any(row["source"] == source for row in measured)]
    if not sources:
        return
    for what, unit, name, label in (("seconds", 1.0, "time", "seconds"), ("peak_bytes", 2.0**30, "memory", "peak memory, GiB")):
        figure, axes = plt.subplots(1, len(sources), figsize=(4.2 * len(sources) + 2.4, 4), layout="constrained", sharex=True, sharey=True, squeeze=False)
        for axis, source in zip(axes[0], sources, strict=True):
            for stage_name, (colour, marker, text) in styles.items():
                points = sorted((row["raw_rows"], row[what] / unit) for row in measured if (row["source"], row["stage"]) == (source, stage_name))
                if points:
                    axis.plot(*zip(*points, strict=True), marker=marker, color=colour, label=text, linewidth=1.4, markersize=5)
            axis.set(xscale="log", yscale="log", title=LABELS[source], xlabel="rows of the raw files")
            axis.spines[["top", "right"]].set_visible(False)
            axis.xaxis.set_major_formatter(ticker.EngFormatter(sep=" "))
            axis.yaxis.set_major_locator(ticker.LogLocator(subs=(1.0,) if what == "seconds" else (1.0, 2.0, 5.0)))
            axis.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
            for side in (axis.xaxis, axis.yaxis):
                side.set_minor_formatter(ticker.NullFormatter())
        for axis in axes[0]:  # shared by now
            if what == "seconds":  # guides a factor of ten apart; a stage whose time is linear in rows runs along them
                (left, right), (low, high) = axis.get_xlim(), axis.get_ylim()
                for power in range(-10, -3):
                    axis.plot([left, right], [left * 10.0**power, right * 10.0**power], ":", color="#999999", linewidth=0.8, zorder=0,
                              label="linear growth" if power == -10 else None)
                axis.set(xlim=(left, right), ylim=(low, high))
        axes[0][0].set_ylabel(label)
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center", fontsize=9, frameon=False)
        with atomic_path(folder / f"{name}.png") as path:
            figure.savefig(path, dpi=150)
        plt.close(figure)


def sizes(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=sizes, default=[1, 10], help="hundredths of MIMIC-IV (default: 1,10)")
    parser.add_argument("--eicu-sizes", type=sizes, default=[1, 10], help="hundredths of eICU (default: 1,10)")
    parser.add_argument("--density", choices=["light", "full"], default="full", help="of the synthetic data (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=None, help="default: outputs/bench")
    parser.add_argument("--only", type=lambda text: text.split(","), default=[], metavar="STAGE,...",
                        help="measure these again, on the data that --keep left in --work; the others stay as they are in bench.json")
    parser.add_argument("--keep", action="store_true", help="leave the data in --work (default: they are deleted)")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a ratio is above its target (default: it is only said)")
    parser.add_argument("--work", type=Path, default=None, help="folder for the data (default: a temporary one)")
    arguments = parser.parse_args()
    project = find_project()
    out = arguments.out or project.outputs / "bench"
    evidence = project.shared / "evidence"
    if (arguments.keep or arguments.only) and not arguments.work:
        parser.error("--keep and --only need --work")
    strange = sorted(set(arguments.only) - set(ORDER))
    if strange:
        parser.error(f"there is no stage {strange[0]}; there are: {', '.join(ORDER)}")
    if arguments.only and not (out / "bench.json").is_file():
        parser.error(f"--only adds to {out / 'bench.json'}, which is not there; measure everything first")
    keep = arguments.keep or bool(arguments.only)
    if arguments.work:
        arguments.work = arguments.work.resolve()
        arguments.work.mkdir(parents=True, exist_ok=True)
    with nullcontext(arguments.work) if keep else tempfile.TemporaryDirectory(prefix="m4-bench-", dir=arguments.work) as name:
        bench = Bench(out, Path(name), arguments.density, arguments.only, keep)
        if not arguments.only:
            bench.paper_and_runs(evidence if evidence.is_dir() else None)
        wanted = [(size, "mimic-iv") for size in arguments.sizes] + [(size, "eicu") for size in arguments.eicu_sizes]
        for size, source in sorted(wanted):
            bench.measure(source, size)
    print("\n" + table(bench.rows))
    print(f"\nWritten to {out}")
    missed = [row for row in bench.rows if row.get("target") and row.get("ratio", 0) > row["target"]]
    for row in missed:
        print(f"{row['stage']} of {LABELS[row['source']]} at size {row['size']}: ratio {row['ratio']:.2f} is above {row['target']}")
    return 1 if missed and arguments.strict else 0


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except KeyboardInterrupt:
        print("interrupted; what was measured is in bench.json", file=sys.stderr)
        raise SystemExit(130) from None

"""Speed of the analysis: the headline bootstrap, all notebooks at once, one table alone, the whole paper.

    python tests/bench/bench_analysis.py [--evidence DIR] [--workers 2]

Each line gives the measured seconds, the limit, and a plain baseline where there is one. The exit status is 1 when a
limit is missed; run it on an idle machine.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from m4lib.project import find_project

SMALL = "tables/table16_largest_gains.ipynb"


def seconds(function: Callable[[], object]) -> float:
    begun = time.perf_counter()
    function()
    return time.perf_counter() - begun


def plain_bootstrap(values: list[float], seed: int, resamples: int) -> tuple[float, float]:
    """The published rule as a loop over the standard library."""
    source, count = random.Random(seed), len(values)
    means = sorted(sum(values[source.randrange(count)] for _ in values) / count for _ in range(resamples))
    return means[int(resamples * 0.025)], means[int(resamples * 0.975)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    project = find_project()
    parser.add_argument("--evidence", type=Path, default=project.shared / "evidence")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    from m4lib.analysis.intervals import task_bootstrap
    from m4lib.analysis.metrics import task_deltas
    from m4lib.analysis.sources import load_sources
    from m4lib.analysis.tables.effects import native_arms
    from m4lib.pipeline.execute import run_notebook
    from m4lib.pipeline.warm import run_many

    missed = 0

    def report(name: str, measured: float, limit: float, baseline: str = "") -> None:
        nonlocal missed
        missed += measured > limit
        print(f"{name:<58} {measured:7.2f} s   limit {limit:5.1f} s   {'ok' if measured <= limit else 'MISSED'}   {baseline}",
              flush=True)

    change = task_deltas(native_arms(load_sources(arguments.evidence)["primary"]))
    loop = seconds(lambda: plain_bootstrap(list(change), 20260504, 10_000)) * 10
    report("headline, 100,000 resamples", seconds(lambda: task_bootstrap(change, resamples=100_000)), 1.0,
           f"plain loop {loop:.1f} s")
    given = {"evidence_dir": str(arguments.evidence)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cold = seconds(lambda: run_notebook(project.notebooks / SMALL, folder / "cold.ipynb", given, cwd=project.root))
        names = [path for kind in ("tables", "figures") for path in sorted((project.notebooks / kind).glob("*.ipynb"))]
        jobs = [(path, folder / path.name, {**given, "out_dir": str(folder / "out")}) for path in names]
        report(f"{len(jobs)} table and figure notebooks, {arguments.workers} at once, cold",
               seconds(lambda: run_many(jobs, workers=arguments.workers, cwd=project.root)), 30.0,
               f"fresh kernels one by one about {cold * len(jobs):.0f} s")
        command = [sys.executable, "-m", "papermill", str(project.notebooks / SMALL), str(folder / "one.ipynb"),
                   "-p", "evidence_dir", str(arguments.evidence)]
        report("one table by the papermill command",
               seconds(lambda: subprocess.run(command, check=True, capture_output=True)), 5.0)
        command = [sys.executable, "-m", "m4lib", "paper", "--evidence", str(arguments.evidence), "--out", str(folder / "paper")]
        report("python -m m4lib paper, without notebooks",
               seconds(lambda: subprocess.run(command, check=True, capture_output=True)), 15.0)
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())

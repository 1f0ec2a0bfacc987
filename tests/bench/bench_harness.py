"""What the harness adds to a container, and whether many runs leave anything: `python -m tests.bench.bench_harness`.

Prints two tables: the median of 20 runs beside `docker run` of the same command with the same limits, turn by turn, for
an agent that does nothing and for one whose answer is evaluated; and 200 runs of a campaign at parallel 4 (dispatcher,
Dask workers, containers, evaluation) with what was left afterwards. The exit status is 1 when a run costs more than 1.5 s
above `docker run`, or when anything is left.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from m4lib.harness import images
from m4lib.harness.agents.local import run_sql
from m4lib.harness.docker_host import Engine
from m4lib.harness.isolation import HOME
from m4lib.project import find_project
from tests.harness.lab import Lab, Watch, campaign, make_lab
from tests.harness.site import QUERY, Site, make_site

MOST_SECONDS, MOST_GROWTH = 1.5, 8 << 20
HARDENED = ("--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--user=10001:10001", "--pids-limit=256", "--memory=512m",
            "--memory-swap=512m", "--cpus=2", "--tmpfs=/tmp", "--log-driver=none", "--network=none")


def compare(repeats: int, bare: Callable[[], object], whole: Callable[[int], object]) -> tuple[float, float]:
    """Median seconds of each, turn by turn, so that both meet the same load."""
    first, second = [], []
    for trial in range(repeats):
        begun = time.perf_counter()
        bare()
        middle = time.perf_counter()
        whole(trial)
        first.append(middle - begun)
        second.append(time.perf_counter() - middle)
    return statistics.median(first), statistics.median(second)


def docker_run(tag: str, *words: str, options: tuple[str, ...] = ()) -> None:
    subprocess.run(["docker", "run", "--rm", *HARDENED, *options, "--entrypoint", words[0], tag, *words[1:]], check=True, capture_output=True)


def overhead(repeats: int = 20) -> dict[str, float]:
    """Median seconds of a whole `nop` run (canary, record, lint, clean-up) and of `docker run /bin/true`."""
    with tempfile.TemporaryDirectory() as folder, Engine() as engine:
        site, tag = make_site(Path(folder), find_project()), images.agent_image(engine, None).tag
        bare, whole = compare(repeats, lambda: docker_run(tag, "/bin/true"), lambda trial: site.run("nop", engine=engine, trial=trial))
    return {"run_seconds": whole, "docker_seconds": bare, "repeats": repeats}


def overhead_evaluated(repeats: int = 20) -> dict[str, float]:
    """The same for an agent that runs a query and whose output.csv is evaluated."""
    with tempfile.TemporaryDirectory() as name, Engine() as engine:
        folder = Path(name)
        site, tag = make_site(folder, find_project()), images.agent_image(engine, None).tag
        (folder / "home").mkdir()
        for path, text in run_sql([QUERY]).files.items():
            (folder / "home" / Path(path).name).write_text(text)
        options = (f"--volume={site.settings.taskdb_dir / 'toy-score'}:/data:ro", f"--volume={folder / 'home'}:{HOME}:ro",
                   f"--volume={_work(folder)}:/work", "--workdir=/work")

        def checked(trial: int) -> None:
            record = solve(site, engine, trial)
            assert record["test_results"]["reward"] == 1.0, record["agent_result"]

        bare, whole = compare(repeats, lambda: docker_run(tag, "/opt/venv/bin/python3", f"{HOME}/run_sql.py", options=options), checked)
    return {"run_seconds": whole, "docker_seconds": bare, "repeats": repeats}


def _work(folder: Path) -> Path:
    work = folder / "work"
    work.mkdir()
    (work / "database.duckdb").symlink_to("/data/database.duckdb")
    os.chmod(work, 0o777)
    return work


def solve(site: Site, engine: Engine, trial: int) -> dict[str, Any]:
    return site.run("scripted", script=QUERY, engine=engine, trial=trial)


def endurance(runs: int = 200, parallel: int = 4) -> dict[str, Any]:
    """A campaign of `runs` nop runs: how long, what is left, and how much the worker that grew most grew after a fifth."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name, Engine() as engine:
        lab: Lab = make_lab(Path(name) / "lab", find_project())
        bench = lab.bench(Path(name) / "bench")
        os.environ["M4_SCRATCH"] = str(bench.scratch)
        bench.job(campaign(trials=1)).run(show=False)  # imports, pools and caches are made by the first
        shutil.rmtree(bench.results)
        begun = time.perf_counter()
        with Watch(bench) as watch:
            summary = bench.job(campaign(trials=runs), parallel=parallel).run()
        seconds = time.perf_counter() - begun
        return {
            "runs": runs, "parallel": parallel, "seconds": seconds, "complete": summary["finished"],
            "left": watch.left(engine), "growth_bytes": watch.growth(runs // 5, runs),
        }


def rows(repeats: int, runs: int, parallel: int) -> list[dict[str, Any]]:
    """All measurements; each row says what was measured and whether it is good."""
    found: list[dict[str, Any]] = []
    for name, measure in (("nop", overhead), ("a query, evaluated", overhead_evaluated)):
        row: dict[str, Any] = {"what": name, **measure(repeats)}
        row["added_seconds"] = row["run_seconds"] - row["docker_seconds"]
        found.append({**row, "good": row["added_seconds"] <= MOST_SECONDS, "load": os.getloadavg()[0]})
        print(f"{name:20}{row['docker_seconds']:>14.2f}{row['run_seconds']:>12.2f}{row['added_seconds']:>10.2f}   load {os.getloadavg()[0]:.1f}", flush=True)
    many = endurance(runs, parallel)
    kept = {name: count for name, count in many["left"].items() if count > (4 if name == "descriptors" else 0)}
    good = many["complete"] == runs and not kept and many["growth_bytes"] <= MOST_GROWTH
    return [*found, {"what": "endurance", **many, "good": good, "load": os.getloadavg()[0]}]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--parallel", type=int, default=4)
    arguments = parser.parse_args()
    print(f"{'median seconds':20}{'docker run':>14}{'run':>12}{'added':>10}")
    found = rows(arguments.repeats, arguments.runs, arguments.parallel)
    last = found[-1]
    print(f"\n{last['complete']} of {last['runs']} runs at parallel {last['parallel']} in {last['seconds']:.0f} s "
          f"({last['seconds'] / last['runs']:.2f} s a run, load {last['load']:.1f})")
    print("left: " + ", ".join(f"{count} {name}" for name, count in last["left"].items()))
    print(f"a worker grew by at most {last['growth_bytes'] / 2**20:.1f} MiB after the first fifth")
    return 0 if all(row["good"] for row in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())

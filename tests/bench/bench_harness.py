"""What the harness adds to a container, and whether many runs leave anything: `python -m tests.bench.bench_harness`.

Prints one JSON object: the median of 20 `nop` runs beside `docker run` of the same command, and 200 runs at parallel 4
with the containers, networks, folders and memory that were left afterwards.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil

from m4lib.harness import images
from m4lib.harness.docker_host import Engine
from m4lib.project import find_project
from tests.harness.site import Site, make_site


def overhead(repeats: int = 20) -> dict[str, float]:
    """Median seconds of a whole run (canary, record, lint, evaluation, clean-up) and of `docker run`, turn by turn."""
    bare, whole = [], []
    with tempfile.TemporaryDirectory() as folder, Engine() as engine:
        site = make_site(Path(folder), find_project())
        tag = images.agent_image(engine, None).tag
        for trial in range(repeats):
            begun = time.monotonic()
            subprocess.run(["docker", "run", "--rm", "--network", "none", "--entrypoint", "/bin/true", tag], check=True)
            bare.append(time.monotonic() - begun)
            begun = time.monotonic()
            site.run("nop", engine=engine, trial=trial)
            whole.append(time.monotonic() - begun)
    return {"run_seconds": statistics.median(whole), "docker_seconds": statistics.median(bare), "repeats": repeats}


def endurance(runs: int = 200, parallel: int = 4) -> dict[str, Any]:
    """`runs` nop runs at once in one process: how long, and what is left."""
    process = psutil.Process()
    with tempfile.TemporaryDirectory() as folder, Engine() as engine:
        site = make_site(Path(folder), find_project())
        many(site, engine, 20, parallel, 1000)  # imports, pools and caches are made by the first runs
        memory, files = process.memory_info().rss, process.num_fds()
        begun = time.monotonic()
        records = many(site, engine, runs, parallel, 0)
        seconds = time.monotonic() - begun
        labels = site.settings.labels()
        return {
            "runs": runs, "parallel": parallel, "seconds": round(seconds, 1), "complete": sum(record["test_results"]["reward"] == 0.0 for record in records),
            "containers_left": len(engine.containers(labels)), "networks_left": len(engine.networks(labels)),
            "folders_left": len(list(site.settings.scratch_root().iterdir())) + len(list(site.settings.results_root.glob(".partial-*"))),
            "files_open_more": process.num_fds() - files, "memory_more_bytes": process.memory_info().rss - memory,
        }


def many(site: Site, engine: Engine, runs: int, parallel: int, first: int) -> list[dict[str, Any]]:
    with ThreadPoolExecutor(parallel) as pool:
        return list(pool.map(lambda trial: site.run("nop", engine=engine, trial=trial), range(first, first + runs)))


if __name__ == "__main__":
    print(json.dumps({"overhead": overhead(), "endurance": endurance(int(sys.argv[1]) if len(sys.argv) > 1 else 200)}, indent=1))

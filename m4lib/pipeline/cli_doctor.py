"""`python -m m4lib doctor`: what is installed, which data is there, whether Docker answers, what to do next."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import re
import shutil
import sys
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--params", default="params/demo.yaml", metavar="FILE", help="whose data and outputs to look at (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Print one line a check; status 1 when something that everything needs is missing."""
    from m4lib.data.sources import resolve_raw
    from m4lib.errors import M4Error
    from m4lib.pipeline.batch import docker_answers, evidence_folder
    from m4lib.pipeline.params import load_params

    params = load_params(args.params)
    advice: list[str] = []
    fatal = False

    def line(ok: bool, what: str, found: str, todo: str = "") -> None:
        print(f"[{'ok' if ok else '--'}] {what:<22} {found}")
        if not ok and todo:
            advice.append(todo)

    line(sys.version_info >= (3, 11), "Python", sys.version.split()[0], "Install Python 3.11 or newer.")
    missing = []
    for requirement in importlib.metadata.requires("m4lib") or []:
        if "extra ==" in requirement:
            continue
        name = re.split(r"[^A-Za-z0-9_.-]", requirement, maxsplit=1)[0]
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    fatal |= bool(missing)
    line(not missing, "packages", f"missing: {', '.join(missing)}" if missing else "all installed", "Run `make env`.")
    line(True, "DuckDB", importlib.metadata.version("duckdb"))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    free = shutil.disk_usage(params.project.root).free / 2**30
    line(memory >= 4, "memory", f"{memory:.0f} GiB, {os.cpu_count()} cores", "The demo wants 4 GiB of memory.")
    line(free >= 5, "disk", f"{free:.0f} GiB free", "Free at least 5 GiB of disk.")
    for source in ("mimic-iv", "eicu"):
        try:
            raw = resolve_raw(source, (params.data.get(source) or {}).get("raw"), shared=params.project.shared,
                              allow_download=False, allow_synthetic=False)
            line(True, f"data {source}", f"{raw.path} ({raw.origin})")
        except M4Error:
            line(False, f"data {source}", "none on this machine",
                 f"{source}: set M4_DATA to a PhysioNet folder, or let `make demo` download the open demo (else it generates synthetic data).")
        database = params.database(source)
        line(database.is_file(), f"database {source}", str(database) if database.is_file() else "not built yet",
             "Run `make demo`, or `python -m m4lib build`.")
    evidence = evidence_folder(params)
    line(evidence is not None, "published indexes", str(evidence or "none"), "Run `python -m m4lib evidence fetch`.")
    answers = docker_answers()
    line(answers, "Docker Engine", "answers" if answers else "does not answer",
         "Docker: install it (Debian: docker.io), start it and let your user use it; without it agent runs are skipped.")
    report = Path(params.outputs) / "report" / "index.html"
    line(report.is_file(), "report", str(report) if report.is_file() else "not made yet", "Run `make demo`.")
    if advice:
        print("\nNext:")
        for text in dict.fromkeys(advice):
            print(f"  - {text}")
    else:
        print("\nNothing is missing.")
    return 1 if fatal else 0

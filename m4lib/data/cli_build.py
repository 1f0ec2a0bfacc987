"""`python -m m4lib build`: a raw folder into a database with all derived concepts."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from m4lib.data.manifest import manifest_path
from m4lib.errors import M4Error


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--source", required=True, choices=["mimic-iv", "eicu"], help="which database the files are of")
    parser.add_argument("--raw", required=True, metavar="DIR", help="folder in PhysioNet layout (.csv.gz or .csv)")
    parser.add_argument("--db", required=True, metavar="FILE", help="the DuckDB file to write")
    parser.add_argument("--threads", type=int, metavar="N", help="processor threads (default: all)")
    parser.add_argument("--memory", metavar="SIZE", help="memory limit of DuckDB, e.g. 4GB (default: 6GB at most)")
    parser.add_argument("--no-concepts", action="store_true", help="base tables only")
    parser.add_argument("--force", action="store_true", help="build anew even where nothing changed, and over any other file")
    parser.add_argument("--ignore-extra-columns", action="store_true", help="leave columns out that no release has")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from m4lib.data.build import build

    if args.threads is not None and args.threads < 1:
        raise M4Error("--threads must be 1 or more.")
    start = time.perf_counter()
    result = build(
        args.source,
        args.raw,
        args.db,
        threads=args.threads,
        memory_limit=args.memory,
        progress=not args.quiet and sys.stderr.isatty(),
        concepts=not args.no_concepts,
        force=args.force,
        ignore_extra_columns=args.ignore_extra_columns,
    )
    for line in summary(result):
        print(line)
    print(f"{args.db} is ready ({time.perf_counter() - start:.1f} s); manifest: {manifest_path(Path(args.db))}")
    return 0


def summary(result: dict[str, Any]) -> list[str]:
    """What was built, in a few lines."""
    tables = result["tables"]
    lines = [f"{len(tables)} tables, {sum(one['rows'] for one in tables.values()):,} rows from {result['raw']}"]
    if result["reused"]:
        lines.append(f"unchanged and kept: {len(result['reused'])} tables")
    if result["absent_tables"]:
        lines.append("absent and not needed: " + ", ".join(result["absent_tables"]))
    for name, one in tables.items():
        if one["filled"]:
            lines.append(f"{name}: this release has no {', '.join(one['filled'])}; filled with NULL")
        if one["ignored"]:
            lines.append(f"{name}: left out {', '.join(one['ignored'])}")
    if result["unknown_files"]:
        lines.append("not read, no table has that name: " + ", ".join(result["unknown_files"]))
    if result["concepts"]:
        lines.append(f"{len(result['concepts']['tables'])} derived concepts")
    return lines

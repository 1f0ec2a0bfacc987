"""`python -m m4lib build`: a raw folder into a database with all derived concepts."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from m4lib.data.manifest import manifest_path


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--source", required=True, choices=["mimic-iv", "eicu"], help="which database the files are of")
    parser.add_argument("--raw", required=True, metavar="DIR", help="folder in PhysioNet layout (.csv.gz or .csv)")
    parser.add_argument("--db", required=True, metavar="FILE", help="the DuckDB file to write")
    parser.add_argument("--threads", type=int, metavar="N", help="threads that DuckDB may use (default: all processors)")
    parser.add_argument("--memory-limit", "--memory", metavar="SIZE",
                        help="memory that DuckDB may use, e.g. 4GB (default: 6GB, on a small machine less)")
    parser.add_argument("--no-concepts", action="store_true", help="base tables only (default: also the derived concepts, of MIMIC-IV)")
    parser.add_argument("--force", action="store_true", help="build anew even where nothing changed, and over any other file (default: keep both)")
    parser.add_argument("--ignore-extra-columns", action="store_true", help="leave columns out that no release has (default: they are an error)")
    parser.add_argument("--quiet", action="store_true", help="no progress bars (default: shown on a terminal)")


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from m4lib.data.build import build

    start = time.perf_counter()
    result = build(
        args.source,
        args.raw,
        args.db,
        threads=args.threads,
        memory_limit=args.memory_limit,
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

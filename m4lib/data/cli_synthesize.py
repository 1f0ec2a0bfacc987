"""`python -m m4lib synthesize`: a synthetic raw folder of any size."""

from __future__ import annotations

import argparse
import sys
import time


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--source", required=True, choices=["mimic-iv", "eicu"], help="whose layout to write")
    parser.add_argument("--stays", type=int, default=200, metavar="N", help="number of ICU stays (default: 200)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="the same seed gives the same files (default: 1)")
    parser.add_argument("--density", choices=["light", "full"], default="light",
                        help="full: as many admissions and charted rows a stay as the whole release (default: light)")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder to write; must not exist or be empty")
    parser.add_argument("--gzip", action="store_true", help="write .csv.gz (default: .csv)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar (default: shown on a terminal)")


def run(args: argparse.Namespace) -> int:
    from m4lib.data.synthetic import synthesize

    start = time.perf_counter()
    rows = synthesize(
        args.source, args.out, args.stays, args.seed, density=args.density, gz=args.gzip, progress=not args.quiet and sys.stderr.isatty()
    )
    seconds = time.perf_counter() - start
    print(f"{args.stays} synthetic stays, {len(rows)} tables, {sum(rows.values()):,} rows in {args.out} ({seconds:.1f} s)")
    return 0

"""`python -m m4lib paper`: every table and figure, beside the printed numbers."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--evidence", type=Path, metavar="DIR",
                        help="folder with the published run indexes (default: M4_EVIDENCE, else the one beside the checkout, else the cached download)")
    parser.add_argument("--index", type=Path, metavar="FILE",
                        help="a campaign's own run index, CSV or Parquet (default: the published ones)")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for tables/, figures/, report/ and paper_check.csv")
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: one a core)")
    parser.add_argument("--strict", action="store_true", help="status 1 when a number that can be computed is not as printed (default: only said)")
    parser.add_argument("--quiet", action="store_true", help="say only the end (default: a line for every table and figure)")


def run(args: argparse.Namespace) -> int:
    """0 when everything that the data allow came out, 1 when something failed or, with --strict, is not as printed."""
    from m4lib.analysis.batch import Piece, make_paper
    from m4lib.analysis.paper import open_sources
    from m4lib.analysis.report import status

    sources = open_sources(args.evidence, args.index)

    def on_done(piece: Piece) -> None:
        if not args.quiet:
            print(f"{piece.id}: {piece.verdict}", flush=True)

    pieces = make_paper(sources, args.out, workers=args.workers, on_done=on_done)
    for piece in pieces:
        if piece.error:
            print(f"{piece.id} failed: {piece.error}", file=sys.stderr)
    for note in dict.fromkeys(note for piece in pieces for note in piece.notes):
        print(f"missing: {note}", file=sys.stderr)
    failed = any(piece.error for piece in pieces)
    bad = [piece.id for piece in pieces if status(piece) == "bad" and not piece.error]
    if bad:
        print(f"Not as printed: {', '.join(bad)}; see {args.out / 'paper_check.csv'}.", file=sys.stderr)
    print(f"{len(pieces)} tables and figures in {args.out}; open {args.out / 'report' / 'index.html'}")
    return 1 if failed or (bad and args.strict) else 0

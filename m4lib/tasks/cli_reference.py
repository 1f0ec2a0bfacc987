"""`python -m m4lib reference --task TASK|all --db FILE --out DIR`."""

from __future__ import annotations

import argparse
import sys

from m4lib.cards import load_cards
from m4lib.duck import connect
from m4lib.project import find_project
from m4lib.tasks import reference, source


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--task", required=True, help="a task's name, or all (every task of the database's own source)")
    parser.add_argument("--db", required=True, metavar="FILE", help="database made by `python -m m4lib build`")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder for <task>.parquet and manifest.json")
    parser.add_argument("--threads", type=int, metavar="N", help="threads that DuckDB may use (default: all processors)")
    parser.add_argument("--memory-limit", metavar="SIZE", help="memory that DuckDB may use, e.g. 4GB (default: 80 %% of the machine's)")
    parser.add_argument("--force", action="store_true", help="compute again also what is up to date (default: it is kept)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar (default: shown on a terminal)")


def run(args: argparse.Namespace) -> int:
    cards = load_cards(find_project().tasks)
    con = connect(args.db, read_only=True)
    try:
        chosen = source.choose(cards, args.task, source.sources(source.relations(con)), args.db)
    finally:
        con.close()
    manifest = reference.write_references(
        chosen, args.db, args.out, threads=args.threads, memory_limit=args.memory_limit,
        progress=not args.quiet and sys.stderr.isatty(), force=args.force,
    )
    duplicates = 0
    for card in chosen:
        record = manifest["references"][card.name]
        state = "written" if card.name in manifest["written"] else "up to date"
        print(f"{card.name:36} {record['rows']:>9,} rows  {record['seconds']:7.2f} s  {state}")
        if record["duplicate_keys"]:
            duplicates += 1
            print(f"{card.name}: {record['duplicate_keys']} rows repeat a key; no output can be scored against this file.", file=sys.stderr)
    return 1 if duplicates else 0

"""`python -m m4lib taskdb --task TASK|all --schema native|obfuscated|restructured --db FILE --out DIR`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tqdm import tqdm

from m4lib.cards import load_cards
from m4lib.errors import M4Error
from m4lib.files import write_text
from m4lib.project import find_project
from m4lib.tasks import source, taskdb
from m4lib.tasks.schemas.codebook import codebook
from m4lib.tasks.store import open_store


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--task", required=True, help="a task's name, or all (every task of the database's own source)")
    parser.add_argument("--schema", choices=taskdb.NAMES, default="native", help="names and layout of the tables (default: %(default)s)")
    parser.add_argument("--db", required=True, metavar="FILE", help="database made by `python -m m4lib build`")
    parser.add_argument(
        "--out", required=True, metavar="DIR",
        help="DIR/<task>/database.duckdb, or DIR/<schema>/<task>/database.duckdb; the shared files go to DIR/.store",
    )
    parser.add_argument("--store", metavar="DIR", help="folder of the shared files (default: DIR/.store below --out)")
    parser.add_argument("--data-prefix", metavar="PATH", help="absolute path where the folder will be mounted, e.g. /data (default: where it lies)")
    parser.add_argument("--seed", type=int, metavar="S", help="deal the codes of a transformed schema out at random (default: the published codes)")
    parser.add_argument(
        "--codebook", metavar="FILE", help="write native name -> code there as JSON (never where an agent can read it; default: not written)"
    )
    parser.add_argument("--threads", type=int, metavar="N", help="threads that DuckDB may use (default: all processors)")
    parser.add_argument("--memory-limit", metavar="SIZE", help="memory that DuckDB may use, e.g. 4GB (default: 80 %% of the machine's)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar (default: shown on a terminal)")


def run(args: argparse.Namespace) -> int:
    cards = load_cards(find_project().tasks)
    if args.schema == "native" and (args.seed is not None or args.codebook):
        raise M4Error("--seed and --codebook belong to the transformed schemas; the native one has no codes.")
    taskdb.check_prefix(args.data_prefix)
    progress = not args.quiet and sys.stderr.isatty()
    if args.task != "all" and args.task in cards:
        taskdb.check_schema(cards[args.task], args.schema)
    store = open_store(
        args.db, args.store or Path(args.out) / ".store", threads=args.threads, memory_limit=args.memory_limit, progress=progress
    )
    chosen = source.choose(cards, args.task, source.sources(store.relations), args.db)
    if args.schema != "native":
        chosen = [card for card in chosen if card.database == "mimic-iv"]
        if not chosen:
            raise M4Error(f"{args.db} holds eICU, which exists in the native schema only.")
    codes = None if args.schema == "native" else codebook(seed=args.seed)
    for card in tqdm(chosen, desc="task databases", unit="task", disable=not progress):
        made = taskdb.build(
            card, args.schema, args.db, args.out, store=store, data_prefix=args.data_prefix, codebook=codes
        )
        tqdm.write(f"{card.name:36} {len(made.files) - 1:>3} relations  {made.path}", file=sys.stdout)
    if codes and args.codebook:
        write_text(args.codebook, codes.to_json())
    return 0

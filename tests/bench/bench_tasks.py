"""Time, peak memory and disk of references and task databases.

    python tests/bench/bench_tasks.py --stays 20000                     # on a synthetic MIMIC-IV made for the occasion
    python tests/bench/bench_tasks.py --db outputs/db/mimic-iv.duckdb   # on a database that exists; it is only read

Prints one line a reference (slowest first), then the export of the shared store and the 26 task databases of each schema
with the room that they take, hard-linked files counted once. The exit status is 1 when the references take longer than
--minutes, memory goes above --memory, or a limit of disk or time of the task databases is not kept.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

from bench_concepts import GIB, Peak  # beside this file

from m4lib.cards import load_cards
from m4lib.project import find_project
from m4lib.tasks import taskdb
from m4lib.tasks.reference import write_references
from m4lib.tasks.schemas.verify import disk_use
from m4lib.tasks.store import open_store

DISK = {"native": 1.2, "obfuscated": 1.5, "restructured": 1.5}  # of the source, for all databases so far


def source(arguments: argparse.Namespace, folder: Path) -> Path:
    """The database of --db, or a synthetic release of --stays ICU stays with all concepts."""
    if arguments.db:
        return Path(arguments.db)
    from m4lib.data.build import build
    from m4lib.data.synthetic import synthesize

    start = time.perf_counter()
    synthesize("mimic-iv", folder / "raw", arguments.stays, arguments.seed)
    build("mimic-iv", folder / "raw", folder / "bench.duckdb", threads=arguments.threads, progress=False)
    shutil.rmtree(folder / "raw")
    print(f"synthetic release of {arguments.stays} stays, built: {time.perf_counter() - start:.0f} s", flush=True)
    return folder / "bench.duckdb"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", type=Path)
    parser.add_argument("--stays", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory-limit", default="5GB", help="DuckDB's own limit")
    parser.add_argument("--minutes", type=float, default=10, help="for all references; half of it for 52 transformed databases")
    parser.add_argument("--memory", type=float, default=6, help="GiB")
    arguments = parser.parse_args()
    cards = [card for card in load_cards(find_project().tasks).values() if card.database == "mimic-iv"]
    good = True
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        db = source(arguments, folder)
        size, peak = db.stat().st_size, Peak()
        unique, lines, total = {card.reference_id: card for card in cards}, [], 0.0
        for key, card in unique.items():
            made = write_references(
                [card], db, folder / "references", threads=arguments.threads, memory_limit=arguments.memory_limit
            )["references"][card.name]
            lines.append((made["seconds"], key, made["rows"], peak.take() / GIB))
            total += made["seconds"]
        print(f"{'reference':28}{'rows':>12}{'seconds':>10}{'peak GiB':>10}")
        for seconds, key, rows, memory in sorted(lines, reverse=True):
            print(f"{key:28}{rows:>12,}{seconds:>10.2f}{memory:>10.2f}")
        print(f"{'all':40}{total:>10.1f}{max(line[3] for line in lines):>10.2f}\n")
        good &= total <= arguments.minutes * 60 and max(line[3] for line in lines) <= arguments.memory

        start = time.perf_counter()
        store = open_store(
            db, folder / "tasks" / ".store", threads=arguments.threads, memory_limit=arguments.memory_limit
        )
        print(f"{'store (once a source)':40}{time.perf_counter() - start:>10.1f}{peak.take() / GIB:>10.2f}")
        transformed = 0.0
        for schema in taskdb.NAMES:
            start = time.perf_counter()
            for card in cards:
                taskdb.build(card, schema, db, folder / "tasks", store=store, data_prefix="/data")
            seconds, share = time.perf_counter() - start, disk_use(folder / "tasks") / size
            transformed += seconds if schema != "native" else 0
            print(f"{f'26 databases, {schema}':40}{seconds:>10.1f}{peak.take() / GIB:>10.2f}   disk so far {share:.2f} of the source")
            good &= share <= DISK[schema]
        good &= transformed <= arguments.minutes * 30
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())

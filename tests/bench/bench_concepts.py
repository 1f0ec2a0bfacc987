"""Time and peak memory of every derived concept, slowest first.

    python tests/bench/bench_concepts.py --stays 20000              # on a synthetic MIMIC-IV made for the occasion
    python tests/bench/bench_concepts.py --db outputs/db/mimic.duckdb   # on a copy of a database that exists

Peak memory is that of the whole process while the concept was built, DuckDB's buffers included. The exit status is 1
when the total is above --minutes or the peak above --memory.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import threading
import time
from pathlib import Path

import psutil

from m4lib.concepts import build_concepts
from m4lib.concepts.engine import ConceptResult
from m4lib.duck import connect

GIB = 1 << 30


class Peak:
    """Samples the memory of this process; `take` gives the highest value since the last call, in bytes."""

    def __init__(self, every: float = 0.01) -> None:
        self.process, self.every, self.highest = psutil.Process(), every, 0
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self) -> None:
        while True:
            self.highest = max(self.highest, self.process.memory_info().rss)
            time.sleep(self.every)

    def take(self) -> int:
        highest, self.highest = max(self.highest, self.process.memory_info().rss), 0
        return highest


def source(arguments: argparse.Namespace, folder: Path) -> Path:
    """A database that may be changed: a copy of --db, or base tables of a synthetic release of --stays ICU stays."""
    target = folder / "bench.duckdb"
    if arguments.db:
        shutil.copyfile(arguments.db, target)
        return target
    from m4lib.data.build import ingest
    from m4lib.data.synthetic import synthesize

    start = time.perf_counter()
    synthesize("mimic-iv", folder / "raw", arguments.stays, arguments.seed)
    print(f"synthetic release of {arguments.stays} stays: {time.perf_counter() - start:.0f} s", flush=True)
    start = time.perf_counter()
    ingest("mimic-iv", folder / "raw", target, threads=arguments.threads, progress=False)
    print(f"ingest: {time.perf_counter() - start:.0f} s", flush=True)
    shutil.rmtree(folder / "raw")
    return target


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", type=Path)
    parser.add_argument("--stays", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory-limit", default="5GB", help="DuckDB's own limit")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--memory", type=float, default=6, help="GiB")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        con = connect(source(arguments, Path(name)), threads=arguments.threads, memory_limit=arguments.memory_limit)
        for table in ("chartevents", "icustays"):
            print(f"{con.execute(f'SELECT count(*) FROM mimiciv_icu.{table}').fetchall()[0][0]:>12,} rows of {table}")
        peak, seen = Peak(), list[tuple[ConceptResult, int]]()
        start = time.perf_counter()
        build_concepts(con, force=True, progress=lambda result: seen.append((result, peak.take())))
        total = time.perf_counter() - start
        con.close()
    print(f"\n{'concept':32}{'rows':>12}{'seconds':>10}{'peak GiB':>10}")
    for result, memory in sorted(seen, key=lambda pair: -pair[0].seconds):
        print(f"{result.name:32}{result.rows:>12,}{result.seconds:>10.2f}{memory / GIB:>10.2f}")
    highest = max(memory for _, memory in seen) / GIB
    print(f"{'all, fingerprints included':44}{total:>10.1f}{highest:>10.2f}")
    return 0 if total <= arguments.minutes * 60 and highest <= arguments.memory else 1


if __name__ == "__main__":
    raise SystemExit(main())

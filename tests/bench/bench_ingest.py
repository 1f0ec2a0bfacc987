"""Ingest beside DuckDB reading the same files once, and beside pandas reading the largest of them.

    python tests/bench/bench_ingest.py --stays 2000                        # synthetic MIMIC-IV made for the occasion
    python tests/bench/bench_ingest.py --source eicu --stays 2000 --json outputs/bench/ingest.json
    python tests/bench/bench_ingest.py --raw /data/mimiciv/3.1 --rounds 1  # files that exist

The floor decompresses every file and converts every column to its stated type, writing nothing. Ingest does the same,
checks the gzip checksums, hashes the files and writes the database. Rounds alternate, the best of each counts, and the
exit status is 1 when ingest takes more than --limit times the floor.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from m4lib.data.build import ingest
from m4lib.data.layout import Layout, find_files
from m4lib.data.schema import Table, source
from m4lib.data.stream import RawFile
from m4lib.data.synthetic import synthesize
from m4lib.data.tables import select_sql
from m4lib.duck import connect


def timed(work: Callable[[], Any]) -> tuple[float, float, int]:
    """(seconds, processor seconds of all threads, highest memory of this process in bytes) of one call."""
    process, stop, highest = psutil.Process(), threading.Event(), 0

    def watch() -> None:
        nonlocal highest
        while not stop.wait(0.02):
            highest = max(highest, process.memory_info().rss)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    start, used = time.perf_counter(), time.process_time()
    work()
    seconds, used = time.perf_counter() - start, time.process_time() - used
    stop.set()
    watcher.join()
    return seconds, used, highest


def floor_sql(table: Table, path: Path) -> str:
    """Read one file with DuckDB alone, every column in its type, and keep nothing but an aggregate."""
    raw = RawFile(path, path.name)
    header = raw.header()
    raw.close()
    return f"SELECT max(COLUMNS(*)) FROM ({select_sql(table, header, str(path))})"


def read_all(layout: Layout, threads: int, memory: str) -> None:
    con = connect(threads=threads, memory_limit=memory)
    for table, path in layout.files.items():
        con.execute(floor_sql(table, path)).fetchall()
    con.close()


def measure(raw: Path, name: str, *, rounds: int = 3, threads: int = 2, memory: str = "4GB", pandas: bool = True) -> dict[str, Any]:
    """Seconds, ratios and peak memory of ingest, floor and pandas on the files in `raw`."""
    layout = find_files(source(name), raw)
    total = sum(path.stat().st_size for path in layout.files.values())
    floor: list[tuple[float, float]] = []
    ingested: list[tuple[float, float]] = []
    peak = 0
    rows = 0
    for _ in range(rounds):
        floor.append(timed(lambda: read_all(layout, threads, memory))[:2])
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "bench.duckdb"
            seconds, used, highest = timed(lambda target=target: ingest(name, raw, target, threads=threads, memory_limit=memory, progress=False))  # type: ignore[misc]
            size = target.stat().st_size
            rows = sum(one["rows"] for one in json.loads(target.with_name("bench.duckdb.manifest.json").read_text())["tables"].values())
        ingested.append((seconds, used))
        peak = max(peak, highest)
    result = {
        "source": name, "bytes": total, "rows": rows, "database_bytes": size, "threads": threads,
        "floor_seconds": min(floor)[0], "ingest_seconds": min(ingested)[0], "ratio": min(ingested)[0] / min(floor)[0],
        "floor_processor_seconds": min(used for _, used in floor), "ingest_processor_seconds": min(used for _, used in ingested),
        "peak_bytes": peak,
    }
    if pandas:
        import pandas as pd

        largest = max(layout.files.values(), key=lambda path: path.stat().st_size)
        table = next(table for table, path in layout.files.items() if path == largest)
        result["pandas_file"] = table.full_name
        result["pandas_seconds"], _, result["pandas_peak_bytes"] = timed(lambda: pd.read_csv(largest, low_memory=False))
        one = timed(lambda: connect(threads=threads).execute(floor_sql(table, largest)).fetchall())[0]
        result["pandas_ratio"] = result["pandas_seconds"] / one
    result["processor_ratio"] = result["ingest_processor_seconds"] / result["floor_processor_seconds"]
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default="mimic-iv", choices=["mimic-iv", "eicu"])
    parser.add_argument("--raw", type=Path, help="a raw folder (default: synthetic)")
    parser.add_argument("--stays", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--limit", type=float, default=1.5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        raw = arguments.raw or Path(folder) / "raw"
        if not arguments.raw:
            seconds = timed(lambda: synthesize(arguments.source, raw, arguments.stays, gz=True))[0]
            print(f"synthetic {arguments.source}, {arguments.stays} stays: {seconds:.1f} s")
        result = measure(raw, arguments.source, rounds=arguments.rounds, threads=arguments.threads, memory=arguments.memory)
    print(f"{result['rows']:,} rows in {result['bytes'] / 1e6:.0f} MB of files, {result['database_bytes'] / 1e6:.0f} MB of database")
    print(f"floor  {result['floor_seconds']:8.2f} s   DuckDB reads and types the same files")
    print(f"ingest {result['ingest_seconds']:8.2f} s   {result['ratio']:.2f} times the floor, {result['processor_ratio']:.2f} in processor time, peak {result['peak_bytes'] / 1e9:.2f} GB")
    print(f"pandas {result['pandas_seconds']:8.2f} s   {result['pandas_file']} alone, {result['pandas_ratio']:.2f} times DuckDB's reading of it, "
          f"peak {result['pandas_peak_bytes'] / 1e9:.2f} GB")
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if result["ratio"] <= arguments.limit else 1


if __name__ == "__main__":
    raise SystemExit(main())

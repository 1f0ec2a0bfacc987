"""The evaluator beside pandas: read both files whole, merge, compare column by column (tests/evaluation/oracle.py).

    python tests/bench/bench_evaluation.py                      # all three sizes of the benchmark's largest tasks
    python tests/bench/bench_evaluation.py --size charlson --rows 50000

Each measurement runs in a process of its own, the two in turn on the same files; time is the best of the rounds, memory
the peak of the process. The exit status is 1 when a Charlson-sized comparison misses a target: 5 times faster with a
Parquet reference, 2.5 times with a gzip CSV, 1.5 GB.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[2]
ROWS = {"charlson": 546_028, "suspicion": 949_901, "urine-output": 4_126_485}
CARDS = {"charlson": "mimic-charlson-raw", "suspicion": "mimic-suspicion-infection", "urine-output": "mimic-urine-output-rate"}
PARQUET, GZIP, MEMORY = 5.0, 2.5, 1.5e9


def reference(size: str, rows: int) -> pa.Table:
    """Columns of the task with plausible contents, ordered by key."""
    rng = np.random.default_rng(0)
    if size == "charlson":
        columns = contract(size)["value_columns"]
        keys = np.sort(rng.choice(10_000_000, rows, replace=False)) + 20_000_000
        return pa.table({"hadm_id": keys, **{name: rng.integers(0, 2, rows) for name in columns}})
    if size == "suspicion":
        stays = np.sort(rng.integers(10_000_000, 20_000_000, rows // 8 + 1))
        subject = np.sort(rng.choice(stays, rows))
        order = _place_in_group(subject) + 1
        time_ = _times(rng, rows)
        gap = rng.random(rows) < 0.6
        return pa.table({
            "subject_id": subject, "ab_id": order, "antibiotic": rng.choice(["Vancomycin", "CefePIME", "Meropenem", "CefTRIAXone"], rows),
            "antibiotic_time": time_, "suspected_infection": (~gap).astype(int),
            "suspected_infection_time": pa.array(_times(rng, rows), mask=gap), "culture_time": pa.array(_times(rng, rows), mask=gap),
            "specimen": pa.array(rng.choice(["BLOOD CULTURE", "URINE", "SPUTUM", "FLUID,OTHER"], rows), mask=gap),
            "positive_culture": pa.array(rng.integers(0, 2, rows), mask=gap),
        })
    stay = np.sort(rng.integers(30_000_000, 30_000_000 + rows // 50 + 1, rows))
    admitted = np.datetime64("2110-01-01", "s") + (stay % 90) * np.timedelta64(365 * 86_400, "s")
    return pa.table({
        "stay_id": stay, "charttime": admitted + _place_in_group(stay) * np.timedelta64(1800, "s"),
        **{name: rng.gamma(2, 60, rows).round(4 if "ml" in name else 2) for name in contract(size)["required_columns"][2:]},
    })


def _place_in_group(keys: np.ndarray) -> np.ndarray:
    """0, 1, 2, ... within each run of equal keys."""
    first = np.r_[True, keys[1:] != keys[:-1]]
    return np.arange(len(keys)) - np.maximum.accumulate(np.where(first, np.arange(len(keys)), 0))


def _times(rng: np.random.Generator, rows: int) -> np.ndarray:
    return np.datetime64("2110-01-01", "s") + rng.integers(0, 90 * 365 * 1440, rows) * np.timedelta64(60, "s")


def contract(size: str) -> dict:
    from m4lib.cards import get_card

    return dict(get_card(ROOT / "tasks", CARDS[size]).evaluation)


def write(size: str, rows: int, folder: Path) -> None:
    """reference.parquet, reference.csv.gz, and output.csv with one value column off in a tenth of the rows."""
    truth = reference(size, rows)
    options = pa_csv.WriteOptions(quoting_style="needed" if size == "suspicion" else "none")  # a label with a comma
    pq.write_table(truth, folder / "reference.parquet", compression="zstd")
    with pa.CompressedOutputStream(str(folder / "reference.csv.gz"), "gzip") as sink:
        pa_csv.write_csv(_as_text(truth), sink, options)
    name = contract(size)["value_columns"][0]
    column = truth[name].to_numpy()
    place = truth.schema.get_field_index(name)
    output = truth.set_column(place, name, pa.array(np.where(np.arange(rows) % 10 == 0, column + 1, column)))
    pa_csv.write_csv(_as_text(output), folder / "output.csv", options)


def _as_text(table: pa.Table) -> pa.Table:
    import pyarrow.compute as pc

    for at, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(at, field.name, pc.strftime(table.column(at), "%Y-%m-%d %H:%M:%S"))
    return table


def one(how: str, output: str, truth: str, rules: dict) -> dict:
    """In a fresh process: seconds (imports left out), peak bytes, reward."""
    sys.path.insert(0, str(ROOT))
    if how == "pandas":
        from tests.evaluation.oracle import evaluate
    else:
        from m4lib.evaluation import evaluate_files as evaluate
    started, busy = time.perf_counter(), time.process_time()
    result = evaluate(output, truth, rules)
    return {
        "seconds": time.perf_counter() - started, "processor": time.process_time() - busy, "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "reward": result["reward"], "precision": result["key_precision"], "rates": result["match_rates"],
    }


def measure(size: str, rows: int, rounds: int) -> list[dict]:
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(size, rows, folder)
        runs = [("pandas", "reference.csv.gz"), ("m4lib", "reference.parquet"), ("m4lib", "reference.csv.gz")]
        best: dict = {}
        for _ in range(rounds):
            for how, file in runs:
                command = [sys.executable, "-W", "ignore", __file__, "--one", how, str(folder / "output.csv"), str(folder / file), json.dumps(contract(size))]
                done = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                if (how, file) not in best or done["seconds"] < best[how, file]["seconds"]:
                    best[how, file] = done
        base = best["pandas", "reference.csv.gz"]
        for how, file in runs:
            done = best[how, file]
            same = all(done[what] == base[what] for what in ("reward", "precision", "rates"))
            found.append({
                "size": size, "rows": rows, "how": how, "reference": file, "seconds": round(done["seconds"], 3),
                "times_faster": round(base["seconds"] / done["seconds"], 1), "processor_seconds": round(done["processor"], 2),
                "gigabytes": round(done["bytes"] / 1e9, 2), "same_result": same,
            })
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=ROWS, action="append")
    parser.add_argument("--rows", type=int, help="other than the task's own number")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--out", type=Path, help="also write the measurements as JSON")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(one(*args.one[:3], json.loads(args.one[3]))))
        return 0
    found = [line for size in args.size or ROWS for line in measure(size, args.rows or ROWS[size], args.rounds)]
    for line in found:
        print("{size:13} {rows:>9,} {how:7} {reference:18} {seconds:8.2f} s {times_faster:5.1f}x {processor_seconds:7.2f} s of processor {gigabytes:5.2f} GB  same: {same_result}".format(**line))
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(found, indent=1))
    ours = [line for line in found if line["how"] == "m4lib" and line["size"] == "charlson"]
    fine = all(line["times_faster"] >= (PARQUET if line["reference"].endswith("parquet") else GZIP) for line in ours)
    return 0 if fine and all(line["same_result"] for line in found) and all(line["gigabytes"] <= MEMORY / 1e9 for line in ours) else 1


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    raise SystemExit(main())

"""One measurement in a process of its own, so that its memory is its own: `python -m tests.bench.stages NAME FOLDER [options]`.

Prints one JSON object: seconds, processor_seconds, peak_bytes, rows, and what the stage adds. The folder is
named after its source and holds one size of it: raw/, the database, references, task databases and outputs.
"""

from __future__ import annotations

import json
import resource
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

MEMORY = "5GB"
THREADS = 2
EVENTS = {
    "mimic-iv": ("mimiciv_icu.chartevents", "mimiciv_hosp.labevents"),
    "eicu": ("eicu_crd.nursecharting", "eicu_crd.vitalperiodic"),
}


def cards(folder: Path) -> list[Any]:
    """The tasks on the folder's source."""
    from m4lib.cards import load_cards
    from m4lib.project import find_project

    return [card for card in load_cards(find_project().tasks).values() if card.database == folder.name]


def distinct(folder: Path) -> dict[str, Any]:
    """One task for each reference, by the reference's name."""
    return {card.reference_id: card for card in cards(folder)}


def database(folder: Path) -> Path:
    """The folder is named after its source."""
    return folder / f"{folder.name}.duckdb"


def generate(folder: Path, stays: int, density: str) -> dict[str, Any]:
    """The synthetic release itself, gzip included: one core for the rows, at times a second one for gzip."""
    from m4lib.data.synthetic import synthesize
    from m4lib.tasks.schemas.verify import disk_use

    shutil.rmtree(folder / "raw", ignore_errors=True)
    made = synthesize(folder.name, folder / "raw", stays, 1, density=density, gz=True)
    return {"rows": sum(made.values()), "largest": dict(sorted(made.items(), key=lambda one: -one[1])[:3]), "bytes": disk_use(folder / "raw")}


def floor_read(folder: Path) -> dict[str, Any]:
    """Baseline of ingest: DuckDB decompresses and parses the same files once, typed, and keeps an aggregate."""
    from m4lib.data.layout import find_files
    from m4lib.data.schema import source
    from tests.bench.bench_ingest import read_all

    read_all(find_files(source(folder.name), folder / "raw"), THREADS, MEMORY)
    return {}


def plain_create(folder: Path) -> dict[str, Any]:
    """What ingest could cost at the least with DuckDB's own tools: CREATE TABLE from its own gzip reader, nothing checked."""
    from m4lib.data.build import create
    from m4lib.data.layout import find_files
    from m4lib.data.schema import source
    from m4lib.data.stream import RawFile
    from m4lib.data.tables import select_sql
    from m4lib.duck import connect

    target = folder / "plain.duckdb"
    create(target)
    con = connect(target, threads=THREADS, memory_limit=MEMORY)
    for table, path in find_files(source(folder.name), folder / "raw").files.items():
        raw = RawFile(path, path.name)
        con.execute(f"CREATE TABLE {table.name} AS {select_sql(table, raw.header(), str(path))}")
        raw.close()
    con.close()
    target.unlink()
    return {}


def pandas_read(folder: Path) -> dict[str, Any]:
    """Baseline of ingest: pandas reads the same files, one after the other."""
    import pandas as pd

    rows = 0
    for path in sorted((folder / "raw").rglob("*.csv*")):
        rows += len(pd.read_csv(path, low_memory=False))
    return {"rows": rows}


def ingest(folder: Path) -> dict[str, Any]:
    from m4lib.data.build import ingest as run

    made = run(folder.name, folder / "raw", database(folder), threads=THREADS, memory_limit=MEMORY, progress=False, force=True)
    return {"rows": sum(table["rows"] for table in made["tables"].values()), "bytes": database(folder).stat().st_size}


def floor_scan(folder: Path) -> dict[str, Any]:
    """Baseline of concepts and references: every column of the source's two largest tables is read from the database once."""
    from m4lib.duck import connect

    con = connect(database(folder), read_only=True, threads=THREADS, memory_limit=MEMORY)
    for table in EVENTS[folder.name]:
        con.execute(f"SELECT max(COLUMNS(*)) FROM {table}").fetchall()
    return {}


def pandas_vitals(folder: Path) -> dict[str, Any]:
    """The obvious pandas for one concept (hourly vital signs) from the same table, as a yardstick of the SQL."""
    from m4lib.duck import connect

    con = connect(database(folder), read_only=True, threads=THREADS)
    frame = con.execute("SELECT subject_id, stay_id, charttime, itemid, valuenum FROM mimiciv_icu.chartevents WHERE stay_id IS NOT NULL").df()
    items = {220045: "heart_rate", 220210: "resp_rate", 220277: "spo2", 220179: "sbp", 220180: "dbp", 220181: "mbp"}
    frame = frame[frame["itemid"].isin(items)]
    frame["name"] = frame["itemid"].map(items)
    wide = frame.pivot_table(index=["subject_id", "stay_id", "charttime"], columns="name", values="valuenum", aggfunc="mean")
    return {"rows": len(wide)}


def one_concept(folder: Path) -> dict[str, Any]:
    """The vital-sign concept alone, all of its items and plausibility limits, to stand beside the pandas one."""
    from m4lib.concepts import graph
    from m4lib.duck import connect

    con = connect(database(folder), read_only=True, threads=THREADS, memory_limit=MEMORY)
    found = con.execute(f"SELECT count(*) FROM ({graph.load()['vitalsign'].sql})").fetchone()
    assert found is not None
    return {"rows": found[0]}


def concepts(folder: Path) -> dict[str, Any]:
    from m4lib.concepts.engine import build_concepts
    from m4lib.duck import connect

    con = connect(database(folder), threads=THREADS, memory_limit=MEMORY)
    results = build_concepts(con, force=True)
    con.close()
    return {"rows": sum(one.rows for one in results), "bytes": database(folder).stat().st_size, "each": {one.name: one.seconds for one in results}}


def references(folder: Path) -> dict[str, Any]:
    from m4lib.tasks.reference import write_references

    made = write_references(cards(folder), database(folder), folder / "reference", threads=THREADS, memory_limit=MEMORY, force=True)["references"]
    unique = distinct(folder).items()
    return {"rows": sum(made[card.name]["rows"] for _, card in unique), "each": {key: made[card.name]["seconds"] for key, card in unique}}


def _taskdbs(folder: Path, schemas: tuple[str, ...]) -> dict[str, Any]:
    from m4lib.tasks.schemas.verify import disk_use
    from m4lib.tasks.store import open_store
    from m4lib.tasks.taskdb import build

    store = open_store(database(folder), folder / "taskdb" / ".store", threads=THREADS, memory_limit=MEMORY)
    for schema in schemas:
        for card in cards(folder):
            build(card, schema, database(folder), folder / "taskdb", store=store, data_prefix="/data")
    return {"databases": len(schemas) * len(cards(folder)), "disk_share": disk_use(folder / "taskdb") / database(folder).stat().st_size}


def floor_export(folder: Path) -> dict[str, Any]:
    """Baseline of task databases: every table written to Parquet once."""
    from m4lib.duck import connect, literal, quote

    con = connect(database(folder), read_only=True, threads=THREADS, memory_limit=MEMORY)
    target = folder / "export"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    names = con.execute("SELECT schema_name, table_name FROM duckdb_tables() WHERE schema_name LIKE 'mimiciv%' OR schema_name LIKE 'eicu%'").fetchall()
    for schema, table in names:
        con.execute(f"COPY {quote(schema)}.{quote(table)} TO {literal(str(target / f'{schema}.{table}.parquet'))} (FORMAT parquet, COMPRESSION zstd)")
    shutil.rmtree(target)
    return {}


def taskdbs(folder: Path) -> dict[str, Any]:
    shutil.rmtree(folder / "taskdb", ignore_errors=True)
    return _taskdbs(folder, ("native",))


def transformed(folder: Path) -> dict[str, Any]:
    from m4lib.files import read_json, write_json

    for place in (folder / "taskdb").glob(".store/*/index.json"):  # merged files of an earlier measurement
        index = read_json(place)
        for entry in index["extra"].values():
            (place.parent / entry["file"]).unlink(missing_ok=True)
        write_json(place, {**index, "extra": {}})
    for name in ("obfuscated", "restructured"):
        shutil.rmtree(folder / "taskdb" / name, ignore_errors=True)
    return _taskdbs(folder, ("obfuscated", "restructured"))


def evaluate(folder: Path) -> dict[str, Any]:
    """Every reference of the source evaluated against itself as a CSV output; the CSVs are written before the clock."""
    from m4lib.evaluation import evaluate_files

    files = {key: (_as_csv(folder, card.name), folder / "reference" / f"{card.name}.parquet", card.evaluation) for key, card in distinct(folder).items()}
    begun, each = time.perf_counter(), {}
    for key, (output, reference, contract) in files.items():
        one = time.perf_counter()
        result = evaluate_files(output, reference, contract)
        assert result["reward"] == 1.0, (key, result["reward"])
        each[key] = time.perf_counter() - one
    return {"seconds": time.perf_counter() - begun, "each": each}


def pandas_evaluate(folder: Path) -> dict[str, Any]:
    """Baseline of evaluation: pandas reads both sides, merges on the keys and compares column by column."""
    import pandas as pd

    files = {key: (_as_csv(folder, card.name), folder / "reference" / f"{card.name}.parquet", card) for key, card in distinct(folder).items()}
    begun, each = time.perf_counter(), {}
    for name, (output, reference, card) in files.items():
        one = time.perf_counter()
        keys = card.evaluation["key_columns"]
        left, right = pd.read_parquet(reference), pd.read_csv(output, low_memory=False)
        for key in keys:
            if pd.api.types.is_datetime64_any_dtype(left[key]):
                right[key] = pd.to_datetime(right[key])
        both = left.merge(right, on=keys, how="left", suffixes=("", "_out"), indicator=True)
        for column in card.scored_columns:
            a, b = both[column], both[f"{column}_out"]
            if pd.api.types.is_datetime64_any_dtype(a):
                b = pd.to_datetime(b)
            ((a == b) | (a.isna() & b.isna())).mean()
        each[name] = time.perf_counter() - one
    return {"seconds": time.perf_counter() - begun, "each": each}


def _as_csv(folder: Path, task: str) -> Path:
    from m4lib.duck import connect, literal

    path = folder / "output" / f"{task}.csv"
    if not path.is_file():
        path.parent.mkdir(exist_ok=True)
        connect(memory_limit=MEMORY).execute(f"COPY (FROM read_parquet({literal(str(folder / 'reference' / f'{task}.parquet'))})) TO {literal(str(path))} (HEADER)")
    return path


def paper(folder: Path, evidence: str) -> dict[str, Any]:
    from m4lib.cli import main

    status = main(["paper", "--evidence", evidence, "--out", str(folder / "paper")])
    assert status == 0, f"paper ended with {status}"
    return {}


def pandas_indexes(folder: Path, evidence: str) -> dict[str, Any]:
    """Baseline of the paper: pandas reads the run indexes once."""
    import pandas as pd

    return {"rows": sum(len(pd.read_csv(path, low_memory=False)) for path in Path(evidence).rglob("*_runs.csv"))}


STAGES: dict[str, Callable[..., dict[str, Any]]] = {
    stage.__name__: stage for stage in (
        generate, floor_read, plain_create, pandas_read, ingest, floor_scan, pandas_vitals, one_concept, concepts, references, floor_export,
        taskdbs, transformed, evaluate, pandas_evaluate, paper, pandas_indexes,
    )
}


def own_peak() -> int:
    """Highest memory of this process in bytes; ru_maxrss would be no less than that of the process which started it."""
    status = Path("/proc/self/status")
    if status.is_file():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main(argv: list[str]) -> int:
    name, folder, *rest = argv
    begun = time.perf_counter()
    found = STAGES[name](Path(folder), *(int(value) if value.isdigit() else value for value in rest))
    seconds, used = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)  # of the paper: one process a core
    print(json.dumps({"seconds": seconds, "processor_seconds": used.ru_utime + used.ru_stime + children.ru_utime + children.ru_stime,
                      "peak_bytes": max(own_peak(), children.ru_maxrss * 1024), **found}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

"""The build stage: raw folders -> databases with all concepts -> references -> task databases, and what to look at."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from m4lib.cards import Card, load_cards
from m4lib.duck import connect, quote
from m4lib.files import read_json, write_json
from m4lib.pipeline.params import Params

ORIGINS = {
    "given": "the folder named in the params", "M4_DATA": "the folder named by M4_DATA", "shared": "the open demo beside the checkout",
    "cache": "the open demo, downloaded earlier", "download": "the open demo, downloaded from PhysioNet", "synthetic": "SYNTHETIC data, not patients",
}


def build_databases(params: Params) -> pd.DataFrame:
    """Build the database of every source in the params; unchanged tables and concepts are kept.

    Returns a row a source: source, origin, tables, rows, concepts, duckdb. The origin also goes into the manifest, for
    the report.
    """
    from m4lib.data.build import build
    from m4lib.data.manifest import manifest_path
    from m4lib.data.sources import resolve_raw

    rows = []
    for source, options in params.data.items():
        raw = resolve_raw(source, (options or {}).get("raw"), shared=params.project.shared)
        database = params.database(source)
        manifest = build(source, raw.path, database, threads=params.build.get("threads"), memory_limit=params.build.get("memory_limit"),
                         progress=not os.environ.get("TQDM_DISABLE"))
        origin = ORIGINS[raw.origin] + (f" ({raw.reason})" if raw.reason else "")
        path = manifest_path(database)
        held = read_json(path)
        if held.get("origin") != origin:
            write_json(path, {**held, "origin": origin})
        tables = manifest["tables"].values()
        rows.append({
            "source": source, "origin": origin, "tables": len(tables), "rows": sum(table["rows"] for table in tables),
            "concepts": len((manifest.get("concepts") or {}).get("tables") or []), "duckdb": manifest["duckdb"],
        })
    return pd.DataFrame(rows)


def concept_table(database: Path) -> pd.DataFrame:
    """A row a concept: group, concept, rows, null_share (mean over all columns), seconds of its last build."""
    manifest = read_json(database.with_name(database.name + ".manifest.json"))
    con = connect(database, read_only=True)
    try:
        columns: dict[str, list[str]] = {}
        for table, column in con.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'mimiciv_derived' ORDER BY ordinal_position"
        ).fetchall():
            columns.setdefault(table, []).append(column)
        rows = []
        for entry in manifest["concepts"]["tables"]:
            nulls = " + ".join(f"count(*) - count({quote(column)})" for column in columns[entry["name"]])
            found = con.execute(f"SELECT count(*), ({nulls}) FROM mimiciv_derived.{quote(entry['name'])}").fetchone()
            assert found is not None
            rows.append({
                "group": entry["group"], "concept": entry["name"], "rows": found[0],
                "null_share": found[1] / (found[0] * len(columns[entry["name"]])) if found[0] else None,
                "seconds": entry["seconds"],
            })
    finally:
        con.close()
    return pd.DataFrame(rows).sort_values(["group", "concept"], ignore_index=True)


def cards_at_hand(params: Params) -> dict[str, Card]:
    """The tasks whose database the params build."""
    return {name: card for name, card in load_cards(params.project.tasks).items() if card.database in params.data}


def write_references(params: Params) -> pd.DataFrame:
    """Reference outputs of all tasks at hand; a row a task: task, rows, paper_rows, columns, seconds."""
    from m4lib.tasks.reference import write_references as write

    cards = cards_at_hand(params)
    manifest: Mapping[str, Any] = {}
    for source in params.data:
        chosen = [card for card in cards.values() if card.database == source]
        manifest = write(chosen, params.database(source), params.references, threads=params.build.get("threads"),
                         memory_limit=params.build.get("memory_limit"))
    return pd.DataFrame([
        {"task": name, "rows": manifest["references"][name]["rows"], "paper_rows": card.paper["reference_rows"],
         "columns": len(manifest["references"][name]["columns"]), "seconds": manifest["references"][name]["seconds"]}
        for name, card in cards.items()
    ])


def build_task_databases(params: Params) -> pd.DataFrame:
    """The databases that agents receive (made for the container), for every schema of the params, and again with the
    codes of each campaign that deals them out at random (`codes_seed`).

    A row a schema: schema, databases, relations (range), disk_share (bytes on disk, hard links once, against the
    sources).
    """
    from m4lib.harness.workspace import seeded_folder
    from m4lib.tasks.schemas import codebook
    from m4lib.tasks.store import open_store
    from m4lib.tasks.taskdb import build as build_taskdb

    rows = []
    cards = cards_at_hand(params)
    threads, memory = params.build.get("threads"), params.build.get("memory_limit")
    stores = {
        source: open_store(params.database(source), params.taskdb / ".store" / source, threads=threads, memory_limit=memory)
        for source in params.data
    }
    source_bytes = sum(params.database(source).stat().st_size for source in params.data)
    seeds = sorted({campaign["codes_seed"] for campaign in params.campaigns if campaign.get("codes_seed") is not None})
    wanted = [(schema, None) for schema in params.schemas] + [(schema, seed) for seed in seeds for schema in params.schemas if schema != "native"]
    for schema, seed in wanted:
        out, codes = (params.taskdb, None) if seed is None else (seeded_folder(params.taskdb, seed), codebook(seed=seed))
        built = [
            build_taskdb(card, schema, params.database(card.database), out, store=stores[card.database], data_prefix="/data", codebook=codes)
            for card in cards.values() if schema == "native" or card.database == "mimic-iv"
        ]
        inodes = {(stat.st_dev, stat.st_ino): stat.st_blocks * 512 for db in built for stat in (file.stat() for file in db.files)}
        rows.append({"schema": schema if seed is None else f"{schema}, codes {seed}", "databases": len(built), "files": f"{min(len(db.files) for db in built)} to {max(len(db.files) for db in built)}",
                     "disk_share": sum(inodes.values()) / source_bytes})
    return pd.DataFrame(rows)


def score_distributions(params: Params) -> dict[str, pd.DataFrame]:
    """For every reference: value counts of its first value column that varies (columns value, n, share)."""
    con = connect()
    found = {}
    seen: set[str] = set()
    for name, card in cards_at_hand(params).items():
        if card.reference_id in seen:
            continue
        seen.add(card.reference_id)
        path = str(params.references / f"{name}.parquet")
        for column in card.paper.get("ordered_columns") or card.evaluation["value_columns"]:
            frame = con.execute(
                f"SELECT {quote(column)} AS value, count(*) AS n FROM read_parquet(?) WHERE value IS NOT NULL GROUP BY ALL ORDER BY ALL", [path]
            ).df()
            if len(frame) > 1:
                break
        frame["share"] = frame["n"] / max(frame["n"].sum(), 1)
        found[f"{card.reference_id}: {column}"] = frame
    con.close()
    return found


def draw_distributions(found: Mapping[str, pd.DataFrame]) -> Any:
    """Small multiples of the distributions: bars for scores and labels, a histogram for measurements."""
    import matplotlib.pyplot as plt
    import seaborn as sns
    from matplotlib.ticker import MaxNLocator

    columns, colour = 4, sns.color_palette("colorblind")[0]
    lines = -(-len(found) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(11, 1.9 * lines), layout="constrained", squeeze=False)
    for axis, (title, frame) in zip(axes.flat, found.items(), strict=False):
        axis.set_title(title.replace("_", " ").replace(": ", "\n"), fontsize=8, loc="left")
        axis.tick_params(labelsize=7)
        sns.despine(ax=axis)
        axis.set_ylabel("% of rows", fontsize=7)
        if frame.empty:
            axis.text(0.5, 0.5, "no rows", ha="center", va="center", fontsize=8, transform=axis.transAxes)
        elif not pd.api.types.is_numeric_dtype(frame["value"]):
            top = frame.sort_values("share").tail(6)
            axis.barh(top["value"].astype(str), 100 * top["share"], color=colour)
            axis.set_xlabel("% of rows", fontsize=7)
            axis.set_ylabel("")
        elif ((values := frame["value"].astype(float)) % 1 == 0).all():
            axis.bar(values, 100 * frame["share"], width=0.85, color=colour)
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        else:
            high = values[frame["share"].cumsum() <= 0.99].max()  # a long tail would hide the rest
            sns.histplot(x=values.clip(upper=high), bins=30, weights=100 * frame["share"], color=colour, alpha=1, linewidth=0, ax=axis)
            axis.set(xlabel="", ylabel="")
            axis.set_ylabel("% of rows", fontsize=7)
            if values.max() > high:
                axis.set_xlabel("top 1 % drawn at the edge", fontsize=6)
    for axis in list(axes.flat)[len(found):]:
        axis.set_visible(False)
    return figure

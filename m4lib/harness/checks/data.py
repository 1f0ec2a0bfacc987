"""Checks of what was generated: reference outputs and task databases, against their cards and against each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import duckdb

from m4lib.cards import Card
from m4lib.errors import M4Error
from m4lib.evaluation import evaluate_files
from m4lib.files import read_json, sha256_file, sha256_text
from m4lib.harness.campaign import PlannedRun
from m4lib.harness.checks.texts import MAIN
from m4lib.harness.workspace import seeded_folder, taskdb_folder
from m4lib.tasks.reference import reference_sql
from m4lib.tasks.schemas import Codebook, codebook, distinctive_names, mimic_catalogue
from m4lib.tasks.schemas.layout import MERGED_ORIGINALS, coded_column
from m4lib.tasks.taskdb import open_taskdb

PARQUET = re.compile(r"'/([^/']+\.parquet)'")
DERIVED = "mimiciv_derived"

# What these tasks must not have at the very least, whatever their cards say (names in mimiciv_derived).
REQUIRED_DROPS = {
    "mimic-creatinine-baseline-raw": "age apsiii chemistry creatinine_baseline first_day_lab kdigo_creatinine kdigo_stages meld oasis sofa",
    "mimic-suspicion-infection": "sepsis3 suspicion_of_infection",
    "mimic-suspicion-infection-raw": "antibiotic sepsis3 suspicion_of_infection",
    "mimic-urine-output-rate": "kdigo_stages kdigo_uo urine_output_rate",
    "mimic-urine-output-rate-raw": (
        "first_day_urine_output first_day_weight icustay_detail icustay_hourly icustay_times kdigo_creatinine kdigo_stages "
        "kdigo_uo urine_output urine_output_rate weight_durations"
    ),
    "mimic-kdigo-48h-raw": (
        "apsiii charlson chemistry creatinine_baseline crrt first_day_lab first_day_rrt first_day_sofa first_day_urine_output "
        "first_day_weight icustay_detail icustay_hourly icustay_times kdigo_creatinine kdigo_stages kdigo_uo lods meld oasis "
        "rrt sapsii sepsis3 sofa urine_output urine_output_rate weight_durations"
    ),
    "mimic-meld-24h-raw": (
        "apsiii bg chemistry coagulation creatinine_baseline crrt enzyme first_day_bg first_day_bg_art first_day_lab "
        "first_day_rrt first_day_sofa kdigo_creatinine kdigo_stages meld rrt sapsii sofa"
    ),
    "mimic-vasopressor-equivalents-raw": (
        "dobutamine dopamine epinephrine first_day_sofa milrinone norepinephrine norepinephrine_equivalent_dose phenylephrine "
        "sofa vasoactive_agent vasopressin weight_durations"
    ),
}

# No name of a computed table or of its columns may give these tasks away; `=` marks a whole word.
SHORTCUTS = {
    "mimic-creatinine-baseline-raw": ("creat", "scr", "mdrd", "=age"),
    "mimic-suspicion-infection": ("sepsis3", "suspicion_of_infection", "suspected_infection", "positive_culture", "culture_time"),
    "mimic-suspicion-infection-raw": ("sepsis3", "suspicion_of_infection", "suspected_infection", "positive_culture", "culture_time", "antibiotic"),
    "mimic-vasopressor-equivalents-raw": ("vaso", "norepi", "epinephrine", "dopamine", "phenylephrine", "vasopressin", "dobutamine", "milrinone"),
    "mimic-kdigo-48h-raw": ("aki", "creat", "crrt", "dialysis", "kdigo", "renal", "rrt", "urine", "uo", "weight"),
    "mimic-meld-24h-raw": ("meld", "bilirubin", "creat", "crrt", "dialysis", "inr", "rrt", "sodium"),
}


def contracts(chosen: Iterable[Card]) -> Iterator[str]:
    """Cards remove at least what is known to give their task away."""
    for card in chosen:
        for name in REQUIRED_DROPS.get(card.name, "").split():
            if f"{DERIVED}.{name}" not in card.drop:
                yield f"{card.name}: the card does not remove {DERIVED}.{name}"


def references(chosen: Iterable[Card], reference_dir: Path, self_check: bool) -> Iterator[str]:
    """Reference outputs are there, made by the query and of the content that the manifest says; optionally score 1."""
    manifest_path = reference_dir / "manifest.json"
    try:
        held = read_json(manifest_path)["references"]
    except FileNotFoundError:
        held = {}
    except (OSError, ValueError, KeyError, TypeError):
        yield f"{manifest_path} cannot be read; run `python -m m4lib reference` again"
        held = {}
    for card in chosen:
        path = reference_dir / f"{card.name}.parquet"
        entry = held.get(card.name)
        if not path.is_file() or entry is None:
            yield f"{card.name}: there is no reference output; run `python -m m4lib reference --task {card.name}`"
            continue
        missing = [name for name in ("sql_sha256", "sha256", "duckdb", "sorted_by", "database_fingerprint") if not entry.get(name)]
        if missing:
            yield f"{card.name}: the manifest of references lacks {', '.join(missing)}"
        sql = reference_sql(card)
        if entry.get("sql_sha256") != sha256_text(sql):
            yield f"{card.name}: the reference query has changed since the output was made"
        found = MAIN.search(sql)
        if found:
            yield f"{card.name}: the reference query names {found.group(0)}"
        if entry.get("sha256") != sha256_file(path):
            yield f"{card.name}: the reference output is not the file that the manifest describes"
            continue
        if entry.get("duplicate_keys"):
            yield f"{card.name}: {entry['duplicate_keys']} keys of the reference are not unique, so it cannot be scored against"
        if self_check:
            reward = evaluate_files(path, path, card.evaluation)["reward"]
            if reward != 1.0:
                yield f"{card.name}: the reference scores {reward} against itself"


def databases(
    cards: Mapping[str, Card], planned: Sequence[PlannedRun], taskdb_dir: Path, reference_dir: Path, codes_seed: int | None = None
) -> Iterator[str]:
    """Task databases are there and whole, from the references' source, and show nothing that was to be removed."""
    for task, schema in sorted({(run.key.task, run.key.schema) for run in planned}):
        try:
            folder = taskdb_folder(taskdb_dir, task, schema, codes_seed)
        except M4Error as error:
            yield str(error)
            continue
        where = f"{task} ({schema})"
        yield from (f"{where}: {text}" for text in files(folder))
        yield from (f"{where}: {text}" for text in origin(folder, task, taskdb_dir, reference_dir))
        try:
            found = Relations(folder)
        except (duckdb.Error, M4Error) as error:
            yield f"{where}: {folder / 'database.duckdb'} cannot be opened: {str(error).splitlines()[0]}"
            continue
        yield from (f"{where}: {text}" for text in found.missing_files())
        shown = found.columns
        if schema != "native":
            yield from (f"{where}: {text}" for text in found.spelled())
            shown, problems = decode(shown, schema, codebook(seed=codes_seed))
            if problems:
                seed = "" if codes_seed is None else f" --seed {codes_seed}"
                place = seeded_folder(taskdb_dir, codes_seed)
                yield (f"{where}: {problems[0]} is not in the campaign's codes; build it with `python -m m4lib taskdb --schema {schema}{seed} "
                       f"--out {place} --store {taskdb_dir / '.store'} --data-prefix /data`")
                continue
        yield from (f"{where}: {text}" for text in gives_away(cards[task], shown))


def files(folder: Path) -> Iterator[str]:
    """The folder holds exactly the files that the builder noted beside it."""
    try:
        noted = read_json(folder.with_name(f"{folder.name}.json"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return  # not made by the builder here; the views are checked all the same
    here = {path.name: path.stat().st_size for path in folder.iterdir()}
    yield from (f"{name} is missing" for name in sorted(set(noted) - set(here)))
    yield from (f"{name} does not belong there" for name in sorted(set(here) - set(noted)))
    changed = [name for name, entry in noted.items() if name in here and entry["bytes"] != here[name]]
    if "database.duckdb" in here and "database.duckdb" not in changed and noted["database.duckdb"]["sha256"] != sha256_file(folder / "database.duckdb"):
        changed.append("database.duckdb")
    yield from (f"{name} is not the file that was built" for name in sorted(changed))


def origin(folder: Path, task: str, taskdb_dir: Path, reference_dir: Path) -> Iterator[str]:
    """Task database and reference come from the same state of the same source database."""
    try:
        mark = read_json(reference_dir / "manifest.json")["references"][task]["database_fingerprint"]
    except (OSError, ValueError, KeyError, TypeError):
        return  # said by `references`
    stores = [path.parent for base in (taskdb_dir, folder.parent, folder.parent.parent) for path in (base / ".store").glob("**/index.json")]
    own = {path.name for path in folder.glob("*.parquet")}
    if own and stores and not any(store.name == mark and own <= {path.name for path in store.iterdir()} for store in stores):
        yield "it was not made from the database that the reference was made from; build one of them again"


class Relations:
    """What a task database shows: `schema.name` -> columns, and the text of its views."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.columns: dict[str, list[str]] = {}
        con = open_taskdb(folder / "database.duckdb")
        try:
            for schema, name, column in con.execute(
                "SELECT schema_name, table_name, column_name FROM duckdb_columns() "
                "WHERE database_name = current_database() AND NOT internal ORDER BY ALL"
            ).fetchall():
                self.columns.setdefault(f"{schema}.{name}", []).append(column)
            self.texts = dict(con.execute("SELECT schema_name || '.' || view_name, sql FROM duckdb_views() WHERE NOT internal").fetchall())
        finally:
            con.close()

    def missing_files(self) -> Iterator[str]:
        for name, sql in sorted(self.texts.items()):
            for file in PARQUET.findall(sql):
                if not (self.folder / file).is_file():
                    yield f"the view {name} reads {file}, which is not there"

    def spelled(self) -> Iterator[str]:
        """Native names in the text of a transformed view."""
        pattern = re.compile(rf"\b({'|'.join(map(re.escape, distinctive_names()))})\b")
        for name, sql in sorted(self.texts.items()):
            found = pattern.search(sql)
            if found:
                yield f"the view {name} spells {found.group(1)}"


def decode(shown: Mapping[str, list[str]], schema: str, codes: Codebook) -> tuple[dict[str, list[str]], list[str]]:
    """Relations under their native names, and those that the codes do not explain. Merged tables keep their code."""
    catalogue = mimic_catalogue()
    merged = {code: name for name, code in codes.restructured_tables.items()} if schema == "restructured" else {}
    marks = set(codes.restructured_columns.values())
    found, problems = {}, []
    for name, columns in shown.items():
        native = codes.native_tables.get(name)
        if name in merged:
            coded = {coded_column(column, codes) for original in MERGED_ORIGINALS for column in catalogue[original]}
            wrong = sorted(set(columns) - coded - marks)
            found[name] = columns
        elif native is None or (schema == "restructured" and native in MERGED_ORIGINALS):
            problems.append(name)
            continue
        else:
            wrong = sorted(set(columns) - {codes.column(column) for column in catalogue[native]})
            found[native] = [codes.native_columns.get(column, column) for column in columns]
        problems += [f"{name}.{column}" for column in wrong]
    return found, problems


def gives_away(card: Card, shown: Mapping[str, list[str]]) -> Iterator[str]:
    """Relations (native names) that were to be removed, or whose names are known to tell the answer."""
    present = {name.lower() for name in shown}
    for relation in card.drop:
        if relation.lower() in present:
            yield f"{relation} is still in the database"
    derived = sorted(name for name in present if name.startswith(f"{DERIVED}."))
    if card.drops_all_derived and derived:
        yield f"computed tables are still in the database ({', '.join(derived[:3])}{', ...' if len(derived) > 3 else ''})"
    for name, columns in shown.items():
        if name.lower().startswith(f"{DERIVED}."):
            words = [name.partition(".")[2].lower(), *(column.lower() for column in columns)]
            for term in SHORTCUTS.get(card.name, ()):
                if any(word == term[1:] if term.startswith("=") else term in word for word in words):
                    yield f"{name} gives away {term.removeprefix('=')!r}"

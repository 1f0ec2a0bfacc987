"""What lies where in a transformed database: renamed relations, and nine base tables merged into four.

Merged rows are written once, into files of their own, so that the nine originals are not even reachable as files.
Nothing is lost: each original can be taken out of its merged table again (`original_sql`), patients without an admission
included, and a merge that would lose rows is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from m4lib.duck import connect, literal, quote
from m4lib.errors import M4Error
from m4lib.tasks.schemas.codebook import Codebook, codebook
from m4lib.tasks.store import Store, Stored

SHARED_BY_EVENTS = ("subject_id", "hadm_id", "itemid", "charttime", "storetime", "value", "valuenum", "valueuom")
ITEMS = "mimiciv_icu.d_items"
LINKS = "linksto"  # column of the item dictionary that spells native table names


@dataclass(frozen=True)
class Stack:
    """Two tables one above the other. `mark` is the column that tells them apart, `values` its value for each."""

    mark: str
    tables: tuple[str, str]
    values: tuple[str, str]
    shared_first: tuple[str, ...] | None = None  # order of the shared columns; default: that of the first table


STACKS = {
    "observations": Stack("source", ("mimiciv_icu.chartevents", "mimiciv_hosp.labevents"), ("chart", "lab"), SHARED_BY_EVENTS),
    "flows": Stack("direction", ("mimiciv_icu.inputevents", "mimiciv_icu.outputevents"), ("in", "out")),
    "item_reference": Stack("item_type", ("mimiciv_icu.d_items", "mimiciv_hosp.d_labitems"), ("chart", "lab")),
}
# the fourth merge: one row per admission and ICU stay, plus one for each patient without any admission
ENCOUNTERS = ("mimiciv_hosp.patients", "mimiciv_hosp.admissions", "mimiciv_icu.icustays")
ENCOUNTER_IDS = ("subject_id", "hadm_id", "stay_id")
# a row holds one of the original's rows when any of these is there
ENCOUNTER_PRESENT = {
    "mimiciv_hosp.patients": ("gender", "anchor_age", "anchor_year"),
    "mimiciv_hosp.admissions": ("admittime", "admission_type"),
    "mimiciv_icu.icustays": ("stay_id",),
}


def merged_into(name: str) -> str | None:
    """The merged table that holds `schema.table`, or None."""
    if name in ENCOUNTERS:
        return "encounters"
    return next((merged for merged, stack in STACKS.items() if name in stack.tables), None)


MERGED_ORIGINALS = tuple(sorted([*ENCOUNTERS, *(name for stack in STACKS.values() for name in stack.tables)]))


def layout(
    schema: str, names: list[str], store: Store, codes: Codebook | None = None
) -> list[tuple[str, Stored, dict[str, str]]]:
    """(coded `schema.table`, file, stored column -> coded column) for each relation of a transformed database.

    names: the native relations that are allowed. Raises M4Error for a table or column that the catalogue does not know.
    """
    codes = codes or codebook()
    found: list[tuple[str, Stored, dict[str, str]]] = []
    for name in names:
        if schema == "restructured" and merged_into(name):
            continue
        stored = store.relations[name]
        if name == ITEMS:
            stored = store.add(f"{ITEMS}\n{codes.sha256}", neutral_items(store, codes, schema))
        found.append((codes.table(name), stored, {column: codes.column(column) for column in stored.columns}))
    if schema == "restructured":
        for merged, code in sorted(codes.restructured_tables.items()):
            stored = merged_file(merged, store, codes)
            found.append((code, stored, {column: coded_column(column, codes) for column in stored.columns}))
    return found


def coded_column(column: str, codes: Codebook) -> str:
    return codes.restructured_columns.get(column, "") if column in codes.restructured_columns else codes.column(column)


def merged_file(merged: str, store: Store, codes: Codebook) -> Stored:
    """The file of one merged table; only the item dictionary depends on the codes, through its links."""
    originals = ENCOUNTERS if merged == "encounters" else STACKS[merged].tables
    missing = [name for name in originals if name not in store.relations]
    if missing:
        raise M4Error(f"The restructured schema merges {', '.join(missing)}, which the database lacks.")
    sql = encounters_sql(store) if merged == "encounters" else stack_sql(merged, store, codes)
    key = f"merged {merged}" + (f"\n{codes.sha256}" if merged == "item_reference" else "")
    return store.add(key, sql, check=lambda stored: check_lossless(originals, stored, store))


def stack_sql(merged: str, store: Store, codes: Codebook) -> str:
    """Two tables one above the other: shared columns, those of the first, those of the second, then the mark.

    Both files are read in one scan, first the one and then the other. UNION ALL reads them at the same time, and has to
    hold back the second until the first is written: more than twenty gigabytes for a full chart.
    """
    stack = STACKS[merged]
    files = [store.relations[name] for name in stack.tables]
    types = [dict(zip(stored.columns, stored.types, strict=True)) for stored in files]
    shared = [c for c in (stack.shared_first or files[0].columns) if c in types[0] and c in types[1]]
    columns = [*shared, *(c for stored in files for c in stored.columns if c not in shared)]
    same_types = all(types[0][c] == types[1][c] for c in shared)  # of our ingest they are
    if ITEMS not in stack.tables and same_types:
        values = [
            f"COALESCE({', '.join(stored.value(c) for stored, own in zip(files, types, strict=True) if c in own)}) AS {quote(c)}"
            for c in columns
        ]
        first, second = (literal(str(store.path(stored))) for stored in files)
        mark = f"CASE filename WHEN {first} THEN {literal(stack.values[0])} ELSE {literal(stack.values[1])} END AS {quote(stack.mark)}"
        return f"SELECT {', '.join(values)}, {mark} FROM read_parquet([{first}, {second}], union_by_name = true, filename = true)"
    parts = []
    for name, stored, own, value in zip(stack.tables, files, types, stack.values, strict=True):
        chosen = [
            quote(c) if c in own else f"CAST(NULL AS {types[0].get(c) or types[1][c]}) AS {quote(c)}" for c in columns
        ]
        rows = f"({neutral_items(store, codes, 'restructured')})" if name == ITEMS else store.scan(stored)
        parts.append(f"SELECT {', '.join(chosen)}, {literal(value)} AS {quote(stack.mark)} FROM {rows}")
    return " UNION ALL ".join(parts)


def encounters_sql(store: Store) -> str:
    """Patients, their admissions and their ICU stays side by side; full joins, so that none is lost."""
    patients, admissions, stays = (store.relations[name] for name in ENCOUNTERS)
    own = [
        f"{alias}.{quote(c)}"
        for alias, stored in (("p", patients), ("a", admissions), ("s", stays))
        for c in stored.columns if c not in ENCOUNTER_IDS
    ]
    return (
        "SELECT COALESCE(p.subject_id, a.subject_id, s.subject_id) AS subject_id, "
        f"COALESCE(a.hadm_id, s.hadm_id) AS hadm_id, s.stay_id, {', '.join(own)} "
        f"FROM {store.scan(patients)} AS p "
        f"FULL JOIN {store.scan(admissions)} AS a ON a.subject_id = p.subject_id "
        f"FULL JOIN {store.scan(stays)} AS s ON s.hadm_id = a.hadm_id AND s.subject_id = a.subject_id"
    )


def link_names(codes: Codebook, schema: str) -> dict[str, str]:
    """Native event table -> what the item dictionary says instead; merged tables are named with their mark."""
    names = {}
    for name, code in codes.tables.items():
        merged = merged_into(name) if schema == "restructured" else None
        if merged and merged in STACKS:
            stack = STACKS[merged]
            names[name.partition(".")[2]] = f"{codes.restructured_tables[merged]}:{stack.values[stack.tables.index(name)]}"
        elif not merged and not name.startswith("mimiciv_derived."):
            names[name.partition(".")[2]] = code
    return names


def neutral_items(store: Store, codes: Codebook, schema: str) -> str:
    """The item dictionary with codes in place of the native event tables that its items link to."""
    stored = store.relations[ITEMS]
    cases = " ".join(f"WHEN {literal(name)} THEN {literal(code)}" for name, code in sorted(link_names(codes, schema).items()))
    columns = [
        f"CASE lower({LINKS}) {cases} ELSE {LINKS} END AS {LINKS}" if c == LINKS else quote(c) for c in stored.columns
    ]
    return f"SELECT {', '.join(columns)} FROM {store.scan(stored)}"


def original_sql(
    name: str, columns: Mapping[str, str], relation: str, marks: Mapping[str, str] | None = None
) -> str:
    """SELECT that takes the original table `name` out of the merged `relation`.

    columns: original column -> column of `relation`, in the order wanted; marks: discriminator -> its column there.
    """
    chosen = ", ".join(quote(code) for code in columns.values())
    if name in ENCOUNTERS:
        present = " OR ".join(f"{quote(columns[c])} IS NOT NULL" for c in ENCOUNTER_PRESENT[name] if c in columns)
        # one stay has one row, but an admission or a patient has one for each of its stays
        distinct = "" if name == "mimiciv_icu.icustays" else "DISTINCT "
        return f"SELECT {distinct}{chosen} FROM {relation} WHERE {present}"
    stack = STACKS[merged_into(name) or ""]
    mark = (marks or {}).get(stack.mark, stack.mark)
    value = stack.values[stack.tables.index(name)]
    return f"SELECT {chosen} FROM {relation} WHERE {quote(mark)} = {literal(value)}"


def check_lossless(originals: tuple[str, ...], stored: Stored, store: Store) -> None:
    """Raise M4Error unless every original can be taken out of the merged table with its number of rows."""
    con = connect(**store.limits)
    try:
        for name in originals:
            source = store.relations[name]
            taken = original_sql(name, {c: c for c in source.columns}, store.scan(stored))
            found = con.execute(f"SELECT count(*) FROM ({taken})").fetchone()
            if not found or found[0] != source.rows:
                raise M4Error(
                    f"Merging {name} would lose rows ({source.rows} before, {found and found[0]} after): it holds "
                    f"repeated or empty rows, so the restructured schema cannot be made from this database."
                )
    finally:
        con.close()

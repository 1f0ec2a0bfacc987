"""What an agent reads on a transformed schema: dictionary section, instruction, and (on request) mapped skills.

Descriptions are clinical and never spell a native name. Output columns keep their native names everywhere, because they
are the contract.
"""

from __future__ import annotations

import re

from m4lib.tasks.schemas.codebook import Codebook, codebook, mimic_catalogue
from m4lib.tasks.schemas.layout import ENCOUNTER_PRESENT, ENCOUNTERS, STACKS, merged_into
from m4lib.tasks.schemas.rewrite import rewrite

SCHEMAS = (
    ("mimiciv_derived", "computed clinical tables"),
    ("mimiciv_hosp", "hospital-wide records"),
    ("mimiciv_icu", "intensive-care records"),
)
TABLES = (
    ("mimiciv_hosp.patients", "persons, one row each"),
    ("mimiciv_hosp.admissions", "hospital stays, one row each"),
    ("mimiciv_icu.icustays", "intensive-care stays, one row each"),
    ("mimiciv_icu.chartevents", "bedside observations"),
    ("mimiciv_hosp.labevents", "laboratory results"),
    ("mimiciv_icu.inputevents", "infusions and other fluids given"),
    ("mimiciv_icu.outputevents", "fluids lost, such as urine and drains"),
    ("mimiciv_icu.procedureevents", "bedside procedures with start and end"),
    ("mimiciv_icu.d_items", "dictionary of bedside items"),
    ("mimiciv_hosp.d_labitems", "dictionary of laboratory tests"),
    ("mimiciv_hosp.services", "clinical service in charge over time"),
    ("mimiciv_hosp.diagnoses_icd", "coded diagnoses of a hospital stay"),
    ("mimiciv_hosp.procedures_icd", "coded operations of a hospital stay"),
    ("mimiciv_hosp.transfers", "moves between wards"),
)
MERGED = (
    ("observations", "bedside observations and laboratory results, one above the other"),
    ("encounters", "persons, hospital stays and intensive-care stays side by side"),
    ("flows", "fluids given and fluids lost, one above the other"),
    ("item_reference", "dictionaries of bedside items and laboratory tests, one above the other"),
)
COLUMNS = (
    ("subject_id", "person identifier"), ("hadm_id", "hospital-stay identifier"), ("stay_id", "intensive-care-stay identifier"),
    ("itemid", "code of what was observed or given"), ("charttime", "time of an observation"),
    ("starttime", "begin of an interval"), ("endtime", "end of an interval"), ("storetime", "time of entry or validation"),
    ("value", "result as written"), ("valuenum", "result as a number"), ("valueuom", "unit of the result"),
    ("intime", "arrival on the unit"), ("outtime", "departure from the unit"), ("admittime", "arrival in hospital"),
    ("dischtime", "departure from hospital"), ("label", "name of an item"), ("category", "group of an item"),
    ("gender", "sex of the person"), ("anchor_age", "years of life in the reference year"),
    ("los", "length of an intensive-care stay in days"), ("admission_type", "urgency of the hospital stay"),
    ("hospital_expire_flag", "death in hospital, 1 or 0"), ("icd_code", "diagnosis or operation code, without dot"),
    ("icd_version", "edition of the code, 9 or 10"), ("rate", "speed of an infusion"), ("rateuom", "unit of that speed"),
    ("amount", "quantity given"), ("amountuom", "unit of that quantity"), ("patientweight", "body weight in kg used for dosing"),
    ("curr_service", "service in charge from then on"), ("seq_num", "rank within the hospital stay"),
    ("flag", "mark of an abnormal result"), ("specimen_id", "sample identifier"), ("labevent_id", "result identifier"),
    ("caregiver_id", "identifier of the member of staff"), ("warning", "mark of an alert, 1 or 0"),
    ("ref_range_lower", "lower limit of normal"), ("ref_range_upper", "upper limit of normal"),
    ("abbreviation", "short name of an item"), ("linksto", "table that an item occurs in"), ("unitname", "usual unit of an item"),
    ("param_type", "kind of content of an item"), ("fluid", "material of a laboratory test"), ("dod", "date of death"),
    ("deathtime", "time of death in hospital"), ("first_careunit", "unit at the begin of the stay"),
    ("last_careunit", "unit at the end of the stay"),
)

# base tables that are everyday words; in running text only backticks make them names
EVERYDAY = {"admissions", "caregiver", "patients", "pharmacy", "prescriptions", "provider", "services", "transfers"}


def distinctive_names() -> list[str]:
    """Native names that give the schema away wherever they stand: schemas, base tables, compound concept names.

    Left out: base tables that are everyday words, and concepts that share their name with an output column or are a
    single clinical word (sofa, gcs), which an instruction has to use.
    """
    names = {schema for schema, _ in SCHEMAS}
    columns = {column for found in mimic_catalogue().values() for column in found}
    for name in mimic_catalogue():
        schema, _, table = name.partition(".")
        if schema != "mimiciv_derived" and table not in EVERYDAY:
            names.add(table)
        if schema == "mimiciv_derived" and "_" in table and table not in columns:
            names.add(table)
    return sorted(names)


def dictionary_section(schema: str, codes: Codebook | None = None, *, derived: bool = True) -> str:
    """The part of the prompt that explains the names: "description, database name" as Markdown tables.

    derived: whether the task's database holds computed tables at all. '' for the native schema.
    """
    if schema == "native":
        return ""
    codes = codes or codebook()
    restructured = schema == "restructured"
    parts = ["## Names in this database\n", "Schemas, tables and columns carry neutral names. Data values are unchanged.\n"]
    schemas = [(text, codes.schemas[name]) for name, text in SCHEMAS if derived or name != "mimiciv_derived"]
    parts.append(_table("Schemas", "Schema", schemas))
    rows = []
    for name, text in TABLES:
        place = f"`{codes.table(name)}`"
        if restructured and merged_into(name):
            place = f"`{codes.restructured_tables[merged_into(name) or '']}` where {_condition(name, codes)}"
        rows.append((text, place))
    parts.append(_table("Key tables", "Table", rows, code=False))
    columns = [(text, codes.column(name)) for name, text in COLUMNS]
    if restructured:
        parts.append(_table("Merged tables", "Table", [
            (text, _merged_text(name, codes)) for name, text in MERGED
        ], code=False))
        parts.append(
            "Nine of the key tables above have no table of their own: their rows lie in the merged tables, and columns that "
            "one side lacks are empty there. Look at a merged table's columns in `information_schema.columns`. Where a row "
            "of a person or hospital stay repeats, take distinct rows.\n"
        )
        columns += [
            (f"origin of a row: {' or '.join(STACKS[merged].values)}", codes.restructured_columns[STACKS[merged].mark])
            for merged, _ in MERGED if merged in STACKS
        ]
    parts.append(_table("Key columns", "Column", columns))
    parts.append(
        "A name stands for the same thing in every table. The list is not complete: explore the database for the rest. "
        "The output columns are named as the task says, not by these codes.\n"
    )
    return "\n".join(parts)


def _table(title: str, head: str, rows: list[tuple[str, str]], code: bool = True) -> str:
    lines = [f"### {title}\n", f"| Description | {head} |", "|---|---|"]
    lines += [f"| {text} | {f'`{name}`' if code else name} |" for text, name in rows]
    return "\n".join(lines) + "\n"


def _merged_text(merged: str, codes: Codebook) -> str:
    place = f"`{codes.restructured_tables[merged]}`"
    if merged not in STACKS:
        return f"{place}, one row per hospital stay and intensive-care stay, and one per person without any hospital stay"
    stack = STACKS[merged]
    values = " or ".join(f"'{value}'" for value in stack.values)
    return f"{place}, told apart by `{codes.restructured_columns[stack.mark]}` = {values}"


def transform_instruction(text: str, schema: str, codes: Codebook | None = None) -> str:
    """An instruction without the database's name and without native schema and table names.

    Output columns stay, so a concept that shares its name with one is left alone unless its schema stands before it.
    """
    if schema == "native":
        return text
    return _neutral(_map_tables(text, schema, codes or codebook(), concepts=False))


def map_skill(text: str, schema: str, codes: Codebook | None = None) -> str:
    """A skill's text with the table names of the transformed schema: the same content, without familiar names.

    Column names in prose stay: they are part of what the skill teaches, and the output contract uses them. Fenced SQL is
    rewritten whole, columns included, so that it still runs.
    """
    if schema == "native":
        return text
    chosen = codes or codebook()
    parts = re.split(r"(?<=^```sql\n)(.*?)(?=^```)", text, flags=re.MULTILINE | re.DOTALL)
    for i, part in enumerate(parts):
        mapped = rewrite(part, schema, chosen) + "\n" if i % 2 else _map_tables(part, schema, chosen, concepts=True)
        parts[i] = _neutral(mapped)
    return re.sub(r"\bmimic-(?=[a-z0-9]+(?:-[a-z0-9]+)*\b)", "", "".join(parts))  # names of tasks


def _map_tables(text: str, schema: str, codes: Codebook, *, concepts: bool) -> str:
    """Replace table names: with schema everywhere, bare where they cannot be anything else.

    concepts: also bare names of computed tables, where they are compound or on a line that lists computed tables.
    """
    def place(name: str, tick: str = "") -> str:
        merged = merged_into(name) if schema == "restructured" else None
        if not merged:
            return f"{tick}{codes.table(name)}{tick}"
        return f"{tick}{codes.restructured_tables[merged]}{tick} where " + _condition(name, codes, tick)

    bases = {name.partition(".")[2]: name for name in codes.tables if not name.startswith("mimiciv_derived.")}
    computed = {name.partition(".")[2]: name for name in codes.tables if name.startswith("mimiciv_derived.")}
    quoted = bases | ({table: computed[table] for table in distinctive_names() if table in computed} if concepts else {})
    bare = {table: name for table, name in quoted.items() if table not in EVERYDAY}

    def ticked(line: str, names: dict[str, str]) -> str:
        return re.sub(r"`([a-z_0-9]+)`", lambda m: place(names[m[1]], "`") if m[1] in names else m[0], line)

    text = re.sub(
        r"(`?)\b(mimiciv_(?:derived|hosp|icu)\.[a-z_0-9]+)\b\1",
        lambda m: place(m[2].lower(), m[1]) if m[2].lower() in codes.tables else m[0], text, flags=re.IGNORECASE,
    )
    text = re.sub(r"\bmimiciv_(?:derived|hosp|icu)\b", lambda m: codes.schemas[m[0].lower()], text, flags=re.IGNORECASE)
    text = ticked(text, quoted)
    if concepts:  # such a line has nothing else in backticks
        text = re.sub(r"^- Ready-made: .*$", lambda line: ticked(line[0], computed), text, flags=re.MULTILINE)
    words = "|".join(sorted(map(re.escape, bare), key=len, reverse=True))
    return re.sub(rf"(?<![\w.-])({words})(?![\w-])", lambda m: place(bare[m[1]]), text)


def _condition(name: str, codes: Codebook, tick: str = "`") -> str:
    """Which rows of its merged table an original has."""
    if name in ENCOUNTERS:
        return f"{tick}{codes.column(ENCOUNTER_PRESENT[name][0])}{tick} is given"
    stack = STACKS[merged_into(name) or ""]
    return f"{tick}{codes.restructured_columns[stack.mark]}{tick} = '{stack.values[stack.tables.index(name)]}'"


NAME = r"MIMIC[-‑ ]?(?:IV|III|4)?(?:[- ]?(?:Demo|Clinical Database))?(?:,? (?:version |v)?\d\.\d)?"
NOUNS = "data|databases?|concepts?|tables?|items?|bins|part|text|section|release|stays?|tasks?|rules?|definitions?|schemas?"


def _neutral(text: str) -> str:
    """Without the name of the database and of its public code base, in grammatical sentences."""
    text = re.sub(r"\b(?:MIT-LCP[/ ]?)?mimic[- ]code\b|\bMIT-LCP\b", "public", text, flags=re.IGNORECASE)
    text = re.sub(r"\bpublic public\b", "public", text)
    text = re.sub(rf"\b{NAME} (?=(?:{NOUNS})\b)", "", text)
    return re.sub(rf"\b{NAME}\b(?!-[a-z0-9])", "this database", text)

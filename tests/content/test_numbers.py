"""Every number in a skill is the number of the definition: points, items, codes and texts against the SQL and the cards.

The tables of the skills are parsed and compared with the reference queries and the concepts they rest on. A changed
threshold, a lost item or a wrong code in either place fails here.
"""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pandas as pd
import pytest
import sqlglot

from m4lib.cards import Card
from m4lib.harness.skills import Skill
from m4lib.project import Project

from .texts import (
    Branch,
    Points,
    condition_tests,
    point_tables,
    same_points,
    sql_items,
    sql_points,
    sql_strings,
    tables,
    text_items,
)

# file of a skill -> where its point tables are computed, and how many tables it has
POINTS = {
    "sofa-score/SKILL.md": ("tasks/sofa/reference.sql", 6),
    "sapsii-score/SKILL.md": ("tasks/sapsii/reference.sql", 13),
    "apsiii-score/SKILL.md": ("tasks/apsiii/reference.sql", 17),
    "oasis-score/SKILL.md": ("tasks/oasis/reference.sql", 8),
    "oasis-score/eicu-oasis.md": ("tasks/oasis/reference_eicu.sql", 9),
    "sepsis-3-cohort/SKILL.md": ("m4lib/concepts/score/sofa.sql", 6),
    "kdigo-aki-staging/SKILL.md": ("m4lib/concepts/organfailure/kdigo_stages.sql", 2),
    "comorbidity-score/SKILL.md": ("m4lib/concepts/comorbidity/charlson.sql", 1),
}
# file of the library -> concepts whose item ids it must name, all of them (True) or a part (False)
ITEMS = {
    "_shared/routine-labs.md": (
        ["measurement/chemistry", "measurement/complete_blood_count", "measurement/coagulation", "measurement/enzyme",
         "measurement/blood_differential"], True),
    "_shared/vital-signs.md": (["measurement/vitalsign"], False),
    "_shared/glasgow-coma-scale.md": (["measurement/gcs"], True),
    "_shared/urine-volume.md": (["measurement/urine_output"], True),
    "_shared/body-weight.md": (["demographics/weight_durations"], True),
    "_shared/rolling-urine-output.md": (["measurement/urine_output_rate"], True),
    "_shared/ventilation-episodes.md": (["measurement/oxygen_delivery", "measurement/ventilator_setting"], True),
    "_shared/vasoactive-infusions.md": (
        ["medication/norepinephrine", "medication/epinephrine", "medication/dopamine", "medication/dobutamine",
         "medication/phenylephrine", "medication/vasopressin", "medication/milrinone"], True),
    "meld-score/SKILL.md": (["treatment/rrt"], True),
    "kdigo-aki-staging/SKILL.md": (["organfailure/kdigo_creatinine", "treatment/crrt"], False),
}


def read(project: Project, file: str) -> str:
    return (project.skills / file).read_text(encoding="utf-8")


def concept(project: Project, name: str) -> Path:
    return project.root / "m4lib/concepts" / f"{name}.sql"


@pytest.mark.parametrize("file", POINTS)
def test_point_tables_decide_as_the_query(project: Project, file: str) -> None:
    query, count = POINTS[file]
    ours, theirs = point_tables(read(project, file)), sql_points(project.root / query)
    assert len(ours) == count
    for table in ours:
        assert any(same_points(table, case) for case in theirs), (table.where, table.branches)


@pytest.mark.parametrize("file", ITEMS)
def test_items_are_those_of_the_concepts(project: Project, file: str) -> None:
    names, complete = ITEMS[file]
    ours, theirs = text_items(read(project, file)), sql_items(*(concept(project, name) for name in names))
    assert ours and ours <= theirs, ours - theirs
    assert not complete or ours == theirs, theirs - ours


def test_blood_gas_items(project: Project) -> None:
    text = read(project, "_shared/blood-gases.md")
    assert "the items 50801 to 50825 except 50812" in text
    panel = {52033, *range(50801, 50826)} - {50812}
    assert panel | {223835, 220277} >= sql_items(concept(project, "measurement/bg")) >= text_items(text) - {50812}
    assert sql_items(concept(project, "measurement/bg")) >= panel


def test_labels_are_those_of_the_item_tables(project: Project, demo_mimic_raw: Path) -> None:
    """Wherever an item id is followed by words, they are the label (or its beginning) in the item tables."""
    con = duckdb.connect()
    labels: dict[int, str] = dict(con.execute(
        "SELECT itemid, label FROM read_csv(?) UNION ALL SELECT itemid, label FROM read_csv(?)",
        [str(demo_mimic_raw / "icu/d_items.csv.gz"), str(demo_mimic_raw / "hosp/d_labitems.csv.gz")],
    ).fetchall())
    labels = {item: " ".join(label.split()) for item, label in labels.items() if label}
    checked = 0
    for path in project.skills.glob("*/*.md"):
        text = " ".join(path.read_text(encoding="utf-8").split())
        inline = re.findall(r"(?<![\d.])((?:5[0-2]|22\d)\d{3}) (?=([A-Z0-9][^|;:]*))", text)
        cells = re.findall(r"\| ((?:5[0-2]|22\d)\d{3}) \| ([^|]*)", text)
        for item, words in inline + cells:
            label = labels[int(item)]
            # shared with the label up to a comma, the end of the cell or the next item
            stem = label.split(",")[0].split(" (Peritoneal")[0].split(" Fraction")[0]
            assert words.lower().startswith(stem.lower()), (path.name, item, words[:40], label)
            checked += 1
    assert checked > 100


def ranges(cell: str) -> list[tuple[str, str]]:
    """Codes of one cell: (first, last); a single code is its own range."""
    parts = [part.strip() for part in cell.split(",")]
    return [(part.split(" to ")[0], part.split(" to ")[-1]) for part in parts]


def matches(code: str, length: str, codes: str) -> bool:
    """The rule of the skill for one line: leading characters as text, ranges with both ends, single codes exactly."""
    start = code[: int(length)]
    return any(start == first if first == last else first <= start <= last for first, last in ranges(codes))


def test_charlson_codes_behave_as_the_concept(project: Project) -> None:
    """Flags from the skill's table and from the SQL, for every code in it, its neighbours and shorter forms."""
    lines = next(rows for rows in tables(read(project, "comorbidity-score/SKILL.md")) if rows[0][:2] == ["Flag", "ICD"])[1:]
    assert len({line[0] for line in lines}) == 17
    probes = set()
    for _, version, _, codes in lines:
        for code in {end for pair in ranges(codes) for end in pair}:
            for variant in (code, code[:-1], code + "0", code + "9", neighbour(code, -1), neighbour(code, 1)):
                probes |= {(variant, int(version)), (variant, 19 - int(version))}
    con = duckdb.connect()
    con.execute("CREATE SCHEMA mimiciv_hosp; CREATE SCHEMA mimiciv_derived")
    rows = [(number, *probe) for number, probe in enumerate(sorted(probes))]
    probe = pd.DataFrame(rows, columns=["hadm_id", "icd_code", "icd_version"])
    con.register("probe", probe)
    con.execute("CREATE TABLE mimiciv_hosp.admissions AS SELECT hadm_id AS subject_id, hadm_id FROM probe")
    con.execute("CREATE TABLE mimiciv_hosp.diagnoses_icd AS SELECT hadm_id AS subject_id, 1 AS seq_num, * FROM probe")
    con.execute("CREATE TABLE mimiciv_derived.age AS SELECT hadm_id AS subject_id, hadm_id, 40.0 AS age FROM probe")
    frame = con.execute(concept(project, "comorbidity/charlson").read_text(encoding="utf-8")).df().set_index("hadm_id")
    hits = 0
    for number, (code, icd) in enumerate(sorted(probes)):
        ours = {flag for flag, version, length, codes in lines if int(version) == icd and matches(code, length, codes)}
        theirs = {flag for flag in {line[0] for line in lines} if frame.at[number, flag] == 1}
        assert ours == theirs, (code, icd)
        hits += bool(ours)
    assert hits > 300


def neighbour(code: str, step: int) -> str:
    """The code whose last digit is one lower or higher."""
    return code[:-1] + chr(ord(code[-1]) + step) if code[-1].isdigit() else code


def test_sapsii_codes(project: Project) -> None:
    lines = next(rows for rows in tables(read(project, "sapsii-score/SKILL.md")) if rows[0][0] == "Group")[1:]
    ours = {end for line in lines for pair in ranges(line[3]) for end in pair}
    theirs = {text for text in sql_strings(project.root / "tasks/sapsii/reference.sql") if re.fullmatch(r"[A-Z]?\d{3,5}|[A-Z]\d\d", text)}
    assert ours == theirs


def test_antibiotic_names_and_exclusions(project: Project) -> None:
    text = read(project, "_shared/systemic-antibiotics.md")
    names = set(re.findall(r"`([^`]+)`", text.split("Names (")[1].split("The spelling")[0]))
    conditions = set(re.findall(r"`([^`]+)`", text.split("Names (")[0].split("Source:")[1]))
    theirs = sql_strings(concept(project, "medication/antibiotic"))
    assert len(names) == 152 and names | conditions == {value.strip("%") for value in theirs}


def test_ventilation_texts(project: Project) -> None:
    text = read(project, "_shared/ventilation-episodes.md")
    step = text.split("**Step 3")[1].split("Each list is tested")[0]
    ours = {value.replace("␠", " ") for value in re.findall(r"`([^`]+)`", step)}
    theirs = {value for value in sql_strings(concept(project, "treatment/ventilation")) if not value.isdigit()}
    assert ours == theirs, ours ^ theirs


def test_eicu_labels(project: Project) -> None:
    """Charting labels, names, paths and urine labels of both eICU parts are those of the reference queries."""
    for file, query in (("oasis-score/eicu-oasis.md", "oasis"), ("gcs-calculation/eicu-gcs.md", "gcs")):
        text = read(project, file)
        ours = set(re.findall(r"`([^`]+)`", text)) - {"> 89", "nursingchartoffset"}
        theirs = {value.rstrip("%_") for value in sql_strings(project.root / f"tasks/{query}/reference_eicu.sql")}
        folded = {part for value in theirs for part in (value, *value.split("%"))} | {value.strip("%") for value in theirs}
        assert ours <= folded, (file, ours - folded)
    labels = set(re.findall(r"`([^`]+)`", read(project, "oasis-score/eicu-oasis.md").split("behind the prefix.")[1]))
    assert len(labels) == 125


def test_apsiii_reference_values_and_acid_base(project: Project) -> None:
    query = project.root / "tasks/apsiii/reference.sql"
    skill = tables(read(project, "apsiii-score/SKILL.md"))
    worst = next(rows for rows in skill if rows[0] == ["Component", "Reference value"])[1:]
    assert len(worst) == 10
    for component, value in worst:
        assert re.search(rf"- {value}\)", query.read_text(encoding="utf-8")), component
    cases = [case.branches for case in sql_points(query)]
    acid = next(rows for rows in skill if rows[0][0] == "pH")[1:]
    assert len(acid) == 7
    for _, bins in acid:
        pairs = [part.split(":") for part in bins.split(";")]
        assert [Branch(condition_tests(limit.strip()), points.strip()) for limit, points in pairs[:-1]] in cases, bins


def test_apsiii_consciousness_matrix_behaves_as_the_query(project: Project) -> None:
    """Every combination of eyes, verbal, motor and the unable flag, missing values included."""
    rows = next(rows for rows in tables(read(project, "apsiii-score/SKILL.md")) if rows[0][:2] == ["Eyes", "Verbal"])
    matrix = {}
    for eyes, verbal, *points in rows[1:]:
        for e in {"1": [1], "> 1": [2, 3, 4]}[eyes]:
            for v in {"1": [1], "2-3": [2, 3], "≥ 4": [4, 5], "4": [4], "5": [5]}[verbal]:
                for m, value in zip((1, 2, 3, 4, 5, 6), [points[0]] * 2 + [points[1]] * 2 + points[2:], strict=True):
                    matrix[e, v, m] = int(value)
    tree = sqlglot.parse_one((project.root / "tasks/apsiii/reference.sql").read_text(encoding="utf-8"), dialect="duckdb")
    query = next(cte.this for cte in tree.find_all(sqlglot.exp.CTE) if "gcs_motor" in cte.this.sql())
    con = duckdb.connect()
    con.execute("CREATE SCHEMA mimiciv_derived")
    con.execute(
        "CREATE TABLE mimiciv_derived.first_day_gcs AS SELECT row_number() OVER () AS stay_id, gcs_eyes, gcs_verbal, gcs_motor, "
        "gcs_unable FROM (SELECT UNNEST([NULL, 1, 2, 3, 4]) AS gcs_eyes), (SELECT UNNEST([NULL, 0, 1, 2, 3, 4, 5]) AS gcs_verbal), "
        "(SELECT UNNEST([NULL, 1, 2, 3, 4, 5, 6]) AS gcs_motor), (SELECT UNNEST([0, 1]) AS gcs_unable)")
    results = con.execute(
        f"SELECT gcs_unable, gcs_eyes, gcs_verbal, gcs_motor, COALESCE(points, 0) FROM mimiciv_derived.first_day_gcs "
        f"JOIN ({query.sql(dialect='duckdb')}) USING (stay_id)").fetchall()
    assert len(results) == 490
    for unable, eyes, verbal, motor, points in results:
        assert points == (0 if unable else matrix.get((eyes, verbal, motor), 0)), (unable, eyes, verbal, motor)


def test_meld_coefficients(project: Project) -> None:
    text, sql = read(project, "meld-score/SKILL.md"), (project.root / "tasks/meld/reference.sql").read_text(encoding="utf-8")
    sql += concept(project, "organfailure/meld").read_text(encoding="utf-8")
    for value in ("0.957", "0.378", "1.120", "0.643", "1.32", "0.033", "137", "125", "12", "4.0", "40", "11"):
        assert re.search(rf"(?<![\d.]){re.escape(value)}(?!\d)", text.split("## Formula")[1]), value
        assert re.search(rf"(?<![\d.]){re.escape(value.rstrip('0')) if '.' in value else value}0*(?!\d)", sql), value


def test_vasopressor_factors(project: Project) -> None:
    sql = (project.root / "tasks/vasopressor-equivalents/reference.sql").read_text(encoding="utf-8")
    rows = next(rows for rows in tables(read(project, "vasopressor-equivalents/SKILL.md")) if rows[0][0] == "Drug")[1:]
    for drug, unit, dose, _ in rows:
        factor = re.sub("× 1$", "", dose).replace("×", "*").replace(" ", r"\s*").replace("*\\s", r"\*\s")
        assert re.search(rf"{drug.lower()}\s*{factor}", sql), (drug, dose)
        assert unit in ("mcg/kg/min", "units/h")


def test_baseline_creatinine_constants(project: Project) -> None:
    text = read(project, "baseline-creatinine/SKILL.md")
    sql = (project.root / "tasks/creatinine-baseline/reference.sql").read_text(encoding="utf-8")
    sql += concept(project, "measurement/creatinine_baseline").read_text(encoding="utf-8")
    for value in ("75", "186", "0.203", "0.742", "1.154", "1.1", "585", "N18", "18"):
        assert re.search(rf"(?<![\w.]){re.escape(value)}(?![\d])", text), value
        assert re.search(rf"(?<![\w.]){re.escape(value)}(?:\.0)?(?![\d])", sql), value


def test_ranges_of_vital_signs(project: Project) -> None:
    """Open limits of the plausible ranges are the comparisons of the concept."""
    sql = concept(project, "measurement/vitalsign").read_text(encoding="utf-8")
    for row in tables(read(project, "_shared/vital-signs.md"))[0][1:]:
        for low, high in re.findall(r"\((\d+), (\d+)\)", row[3]):
            assert re.search(rf"valuenum > {low}\b.*valuenum < {high}\b", sql), row[0]


def test_numbers_in_charted_text(project: Project) -> None:
    """The rule for eICU text, as the skill words it, is the cast of the reference queries."""
    rule = " ".join(read(project, "_shared/eicu-charted-text.md").split())
    assert "white space around it (blanks, tabs, line ends)" in rule and "one `_` between two digits" in rule and "sign directly before" in rule
    number = re.compile(r"\s*[+-]?(?:\d(?:_?\d)*\.?(?:\d(?:_?\d)*)?|\.\d(?:_?\d)*)(?:[eE][+-]?\d+)?\s*", re.ASCII)
    con = duckdb.connect()
    texts = ("5", " 5  ", "\t5", "5\r\n", "+5", "-5", "- 5", "5.", ".5", ".", "1e2", "1E-1", "1e", "1_000", "1__0", "_1", "1_", "1,0",
             "> 89", "NaN", "inf", "", " ", "5 5", "5\u00a0", "0x10", "1.0005", "-1.0005")
    for text in texts:
        (cast,) = con.execute("SELECT TRY_CAST(? AS DECIMAL(18, 3))", [text]).fetchone() or (None,)
        assert (cast is not None) == bool(number.fullmatch(text)), repr(text)
    assert [con.execute("SELECT TRY_CAST(? AS DECIMAL(18, 3))::DOUBLE", [text]).fetchone() for text in ("1.0005", "-1.0005", "1e2", "1_0")] \
        == [(1.001,), (-1.001,), (100.0,), (10.0,)]
    for query in ("gcs", "oasis"):
        assert "TRY_CAST(nursingchartvalue AS DECIMAL(18, 3))" in (project.root / f"tasks/{query}/reference_eicu.sql").read_text(encoding="utf-8")


def test_the_comparison_can_fail(project: Project, library: dict[str, Skill], cards: dict[str, Card]) -> None:
    query = project.root / POINTS["sofa-score/SKILL.md"][0]
    for right, wrong in (("< 150 | 1", "< 140 | 1"), ("< 150 | 1", "≤ 150 | 1"), ("≥ 12.0 | 4", "≥ 12.0 | 3"), ("| < 50 | 3 |\n", "")):
        text = library["sofa-score"].text
        assert right in text
        changed = point_tables(text.replace(right, wrong, 1))
        assert not all(any(same_points(table, case) for case in sql_points(query)) for table in changed), wrong
    assert condition_tests("dopamine > 5, or 0 < epinephrine ≤ 0.1") == {(">", 5.0), (">", 0.0), ("<=", 0.1)}
    assert condition_tests("max 107 to 125") == {(">=", 107.0), ("<=", 125.0)}
    assert condition_tests("≥ 3.0 × low7") == {("", 3.0)} and condition_tests("otherwise") == frozenset()
    assert not same_points(Points("a", [Branch(frozenset({("<", 1.0)}), "2")], "0"), Points("b", [], "0"))

"""Transformed schemas: published names, equal meaning, nothing lost in merging, nothing native in sight of the agent."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
import sqlglot
from sqlglot import exp

from m4lib import cli
from m4lib.cards import Card
from m4lib.errors import M4Error
from m4lib.files import sha256_text
from m4lib.project import Project
from m4lib.tasks import reference, source, taskdb
from m4lib.tasks.schemas import (
    codebook,
    dictionary_section,
    distinctive_names,
    map_skill,
    mimic_catalogue,
    show,
    transform_instruction,
)
from m4lib.tasks.schemas.layout import MERGED_ORIGINALS, coded_column, layout, link_names, merged_into, stack_sql
from m4lib.tasks.schemas.prompt import COLUMNS, TABLES
from m4lib.tasks.schemas.rewrite import normal, parse, restore, rewrite
from m4lib.tasks.schemas.verify import disk_use, equivalence, lost_rows, rebuild_sql, whole_database
from m4lib.tasks.store import Store, open_store

TRANSFORMED = ("obfuscated", "restructured")
NATIVE = re.compile(r"(?<![a-z0-9_])(" + "|".join(map(re.escape, distinctive_names())) + r")(?![a-z0-9_])", re.IGNORECASE)


@pytest.fixture(scope="session")
def tiny_store(tiny_mimic_db: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    return open_store(tiny_mimic_db, tmp_path_factory.mktemp("tiny-store"))


@pytest.fixture(scope="module")
def transformed(mimic_cards: list[Card], demo_mimic_db: Path, tmp_path_factory) -> tuple[Path, dict[tuple[str, str], taskdb.TaskDB]]:
    """All 52 transformed task databases of the demo."""
    out = tmp_path_factory.mktemp("transformed")
    store = open_store(demo_mimic_db, out / ".store")
    return out, {
        (schema, card.name): taskdb.build(card, schema, demo_mimic_db, out, store=store, data_prefix="/data")
        for schema in TRANSFORMED for card in mimic_cards
    }


# --- names


def test_the_published_dictionary_is_reproduced_byte_for_byte(facts_dir: Path) -> None:
    published = (facts_dir / "harness" / "schema-dictionary.json").read_text(encoding="utf-8")
    codes = codebook()
    assert codes.to_json() == published
    assert codes.sha256 == sha256_text(published) == "d24a2e4534a69d1a2972770b9c3137e26c5d74fb1cfb070bc3ffc3940a932a01"
    assert (len(codes.schemas), len(codes.tables), len(codes.columns)) == (3, 94, 629)


def test_the_catalogue_is_that_of_a_built_database(demo_mimic_db: Path) -> None:
    with duckdb.connect(str(demo_mimic_db), read_only=True, config={"preserve_insertion_order": False}) as con:
        found = {name: tuple(column for column, _ in columns) for name, columns in source.relations(con).items()}
    assert found == mimic_catalogue()


def test_numbering_is_alphabetical_by_bytes_and_columns_share_one_map() -> None:
    codes = codebook({"b.t_x": ["k", "Zeit"], "b.tax": ["k"], "a.one": ["k"]})
    assert codes.schemas == {"a": "ds_1", "b": "ds_2"}
    assert codes.tables == {"a.one": "ds_1.t_001", "b.t_x": "ds_2.t_001", "b.tax": "ds_2.t_002"}
    assert codes.columns == {"k": "c_001", "zeit": "c_002"}


def test_seeded_codes_are_a_repeatable_permutation_of_the_published_ones() -> None:
    plain, one, again, two = codebook(), codebook(seed=1), codebook(seed=1), codebook(seed=2)
    assert one.to_json() == again.to_json() != two.to_json()
    assert sorted(one.columns.values()) == sorted(plain.columns.values())
    assert sorted(one.tables.values()) != sorted(one.tables) and len(set(one.tables.values())) == 94
    moved = sum(one.columns[name] != code for name, code in plain.columns.items())
    assert moved > 600
    for name, code in one.tables.items():
        assert code.startswith(one.schemas[name.partition(".")[0]] + ".")
    assert len(set(one.restructured_tables.values()) | set(one.tables.values())) == 98


def test_a_column_that_the_catalogue_lacks_is_an_error(tiny_store: Store) -> None:
    with pytest.raises(M4Error, match="knows no column called extra"):
        codebook().column("extra")
    with pytest.raises(M4Error, match=r"knows no table called mimiciv_icu\.extra"):
        codebook().table("mimiciv_icu.extra")


# --- meaning


def test_all_references_agree_in_all_schemas_on_the_demo(mimic_cards: list[Card], demo_store: Store) -> None:
    found = equivalence(mimic_cards, demo_store)
    assert len(found) == 30 and len({one.reference_id for one in found}) == 15
    assert [one for one in found if not one.equal] == []
    assert sum(one.rows == 0 for one in found) == 0


def test_all_references_agree_on_invented_rows_with_odd_cases_and_random_codes(
    mimic_cards: list[Card], tiny_store: Store
) -> None:
    found = equivalence(mimic_cards, tiny_store, codes=codebook(seed=7))
    assert [one for one in found if not one.equal] == []
    assert {one.reference_id for one in found if one.rows} >= {"sofa-24h", "apsiii-24h", "charlson", "urine-output-rate"}


def test_equivalence_sees_a_rewriting_that_forgets_the_origin_of_a_row(
    mimic_cards: list[Card], demo_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control: without the grain filter, the merged table has too many rows for every stay-level reference."""
    from m4lib.tasks.schemas import verify

    def careless(sql: str, schema: str, codes) -> str:
        tree = parse(rewrite(sql, schema, codes))
        for subquery in tree.find_all(exp.Subquery):
            if any(table.name == "t_901" for table in subquery.find_all(exp.Table)):
                subquery.this.set("where", None)
        return tree.sql(dialect="duckdb")

    monkeypatch.setattr(verify, "rewrite", careless)
    chosen = [card for card in mimic_cards if card.name == "mimic-sirs-24h-raw"]
    found = equivalence(chosen, demo_store, schemas=["restructured"])
    assert [one.equal for one in found] == [False]


def test_an_obfuscated_query_maps_back_to_the_native_tree(mimic_cards: list[Card]) -> None:
    for codes in (codebook(), codebook(seed=7)):
        for card in {card.reference_id: card for card in mimic_cards}.values():
            native = reference.reference_sql(card)
            coded = rewrite(native, "obfuscated", codes)
            assert normal(parse(restore(coded, codes))) == normal(parse(native)), card.name


def test_literals_comments_and_output_names_stay(mimic_cards: list[Card]) -> None:
    for card in {card.reference_id: card for card in mimic_cards}.values():
        native = parse(reference.reference_sql(card))
        for schema in TRANSFORMED:
            text = rewrite(reference.reference_sql(card), schema)
            tree = parse(text)
            assert tree.named_selects == card.evaluation["required_columns"]
            written = [literal.this for literal in native.find_all(exp.Literal)]
            kept = [literal.this for literal in tree.find_all(exp.Literal)]
            if schema == "obfuscated":
                assert kept == written, card.name
            assert set(written) <= set(kept)
            assert "Source: " in text
            names = " ".join(identifier.name for identifier in tree.find_all(exp.Identifier))
            assert not NATIVE.search(names), (card.name, NATIVE.findall(names))


def test_rewriting_follows_references_to_tables_without_alias_and_using() -> None:
    sql = (
        "SELECT icustays.stay_id, value AS v, 'stay_id' AS label FROM mimiciv_icu.icustays "
        "JOIN mimiciv_icu.outputevents USING (stay_id) WHERE outputevents.value > 1"
    )
    codes = codebook()
    coded = rewrite(sql, "obfuscated")
    assert "icustays" not in coded and "outputevents" not in coded and "'stay_id'" in coded
    assert f"USING ({codes.columns['stay_id']})" in coded
    assert sqlglot.parse_one(coded, read="duckdb").named_selects == ["stay_id", "v", "label"]
    assert normal(parse(restore(coded))) == normal(parse(sql))


def test_a_broken_or_unknown_query_is_an_error() -> None:
    with pytest.raises(M4Error, match="cannot be parsed"):
        rewrite("SELECT FROM WHERE (", "obfuscated")
    with pytest.raises(M4Error, match="knows no table"):
        rewrite("SELECT a FROM mimiciv_icu.nothing", "obfuscated")
    with pytest.raises(M4Error, match=r"no native name for ds_9\.t_001"):
        restore("SELECT c_001 FROM ds_9.t_001")


# --- merging


def test_nine_originals_come_back_from_four_merged_tables(demo_store: Store, tiny_store: Store) -> None:
    for store in (demo_store, tiny_store):
        assert lost_rows(store) == dict.fromkeys(MERGED_ORIGINALS, 0)


def test_patients_without_an_admission_and_orphan_stays_are_kept(tiny_store: Store) -> None:
    codes = codebook()
    with whole_database("restructured", tiny_store, codes) as con:
        taken = {name: con.execute(rebuild_sql(name, tiny_store, codes)).fetchall() for name in MERGED_ORIGINALS}
        encounters = con.execute(f"SELECT count(*) FROM {codes.restructured_tables['encounters']}").fetchone()
        relations = con.execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchone()
    assert sorted(row[0] for row in taken["mimiciv_hosp.patients"]) == [1, 2, 3, 4, 5]
    assert sorted(row[1] for row in taken["mimiciv_hosp.admissions"]) == [10, 11, 20, 40]
    assert sorted(row[2] for row in taken["mimiciv_icu.icustays"]) == [100, 101, 400, 500]
    # 10 x 2 stays, 11, 20, 40 with its stay, patients 3, 4 and 5, and the stay without an admission
    assert encounters == (9,)
    assert relations == (94 - 9 + 4,)


def test_repeated_chart_rows_survive_and_origins_do_not_mix(tiny_store: Store) -> None:
    codes = codebook()
    item, mark = codes.columns["itemid"], codes.restructured_columns["source"]
    with whole_database("restructured", tiny_store, codes) as con:
        rows = con.execute(
            f"SELECT {mark}, {item}, count(*) FROM {codes.restructured_tables['observations']} GROUP BY ALL ORDER BY ALL"
        ).fetchall()
        described = con.execute(f"DESCRIBE {codes.restructured_tables['observations']}").fetchall()
    assert rows == [("chart", 220045, 3), ("chart", 226512, 1), ("lab", 50912, 3)]
    shared = ["subject_id", "hadm_id", "itemid", "charttime", "storetime", "value", "valuenum", "valueuom"]
    assert [row[0] for row in described][:9] == [codes.columns[c] for c in [*shared, "stay_id"]]
    assert described[-1][0] == mark


def test_a_merge_that_would_lose_rows_is_refused(tiny_mimic_db: Path, tmp_path: Path) -> None:
    db = tmp_path / "db.duckdb"
    db.write_bytes(tiny_mimic_db.read_bytes())
    with duckdb.connect(str(db)) as con:
        con.execute("INSERT INTO mimiciv_hosp.patients SELECT * FROM mimiciv_hosp.patients WHERE subject_id = 1")
    store = open_store(db, tmp_path / "store")
    for _ in range(2):  # the refused file is not taken for a good one the next time
        with pytest.raises(M4Error, match=r"Merging mimiciv_hosp\.patients would lose rows \(6 before, 5 after\)"):
            layout("restructured", list(store.relations), store)


def test_item_links_name_codes_and_can_be_read_back(demo_store: Store) -> None:
    codes = codebook()
    for schema in TRANSFORMED:
        names = link_names(codes, schema)
        back = {code: name for name, code in names.items()}
        assert len(back) == len(names)
        place = codes.table("mimiciv_icu.d_items") if schema == "obfuscated" else codes.restructured_tables["item_reference"]
        item, link = codes.columns["itemid"], codes.columns["linksto"]
        with whole_database(schema, demo_store, codes) as con:
            links = con.execute(f"SELECT {item}, {link} FROM {place} WHERE {link} IS NOT NULL ORDER BY ALL").fetchall()
        with duckdb.connect() as con:
            native = con.execute(
                f"SELECT itemid, linksto FROM {demo_store.scan(demo_store.relations['mimiciv_icu.d_items'])} AS d "
                "WHERE linksto IS NOT NULL ORDER BY ALL"
            ).fetchall()
        assert {code for _, code in links} <= set(names.values())
        assert sorted((number, back[code]) for number, code in links) == native


def test_nothing_but_names_links_and_merging_changes(demo_store: Store) -> None:
    codes = codebook()
    for schema in TRANSFORMED:
        for code, stored, columns in layout(schema, list(demo_store.relations), demo_store, codes):
            native = codes.native_tables.get(code)
            assert (native is None) == (code in codes.restructured_tables.values())
            if native and native != "mimiciv_icu.d_items":
                assert stored == demo_store.relations[native]  # the very same file
                assert columns == {column: codes.columns[column] for column in stored.columns}


# --- what the agent gets


def test_nothing_native_is_in_any_file_of_a_transformed_task(
    transformed: tuple[Path, dict[tuple[str, str], taskdb.TaskDB]], mimic_cards: list[Card]
) -> None:
    _, made = transformed
    forbidden = set(distinctive_names()) | {name for name in codebook().columns if "_" in name}
    for (schema, task), one in made.items():
        content = one.path.read_bytes().lower()
        words = {word.decode() for word in set(re.findall(rb"[a-z0-9_]+", content))}
        assert not words & forbidden, (schema, task, words & forbidden)
        assert not re.search(rb"mimic|obfuscat|restructur", content) and task.encode() not in content
        for path in one.files:
            if path.suffix == ".parquet":
                assert all(re.fullmatch(rf"c{path.stem[:8]}_\d+", name) for name in pq.read_schema(path).names)
    seen: set[int] = set()
    con = duckdb.connect()
    for one in made.values():
        for path in one.files:
            inode = path.stat().st_ino
            if path.suffix != ".parquet" or inode in seen:
                continue
            seen.add(inode)
            for column, kind, *_ in con.execute(f"DESCRIBE SELECT * FROM read_parquet('{path}')").fetchall():
                if kind != "VARCHAR":
                    continue
                hits = con.execute(
                    f"SELECT DISTINCT {column} FROM read_parquet('{path}') WHERE regexp_matches({column}, ?, 'i') LIMIT 3",
                    [r"(^|[^a-z0-9_])(mimiciv_\w+|chartevents|labevents|inputevents|outputevents|procedureevents|datetimeevents|"
                     r"ingredientevents|d_items|d_labitems|icustays|microbiologyevents|diagnoses_icd)([^a-z0-9_]|$)"],
                ).fetchall()
                assert not hits, (path, column, hits)


def test_targets_are_gone_and_merged_originals_are_not_even_there_as_files(
    transformed: tuple[Path, dict[tuple[str, str], taskdb.TaskDB]], mimic_cards: list[Card], demo_mimic_db: Path
) -> None:
    out, made = transformed
    store = open_store(demo_mimic_db, out / ".store")
    codes = codebook()
    base = [name for name in store.relations if not name.startswith("mimiciv_derived.")]
    for (schema, task), one in made.items():
        card = next(card for card in mimic_cards if card.name == task)
        con = taskdb.open_taskdb(one)
        shown = {row[0] for row in con.execute(
            "SELECT schema_name || '.' || view_name FROM duckdb_views() WHERE NOT internal").fetchall()}
        con.close()
        allowed = set(taskdb.allowed(card, list(store.relations)))
        expected = {codes.tables[name] for name in allowed}
        if schema == "restructured":
            expected = expected - {codes.tables[name] for name in MERGED_ORIGINALS} | set(codes.restructured_tables.values())
            linked = {path.name for path in one.files}
            assert not linked & {store.relations[name].file for name in MERGED_ORIGINALS}
        assert shown == expected, (schema, task)
        if card.mode == "raw":
            assert not any(name.startswith(codes.schemas["mimiciv_derived"] + ".") for name in shown)
            assert f"{codes.schemas['mimiciv_derived']}".encode() not in one.path.read_bytes()
    assert len(base) == 31


def test_fifty_two_databases_fit_in_half_as_much_again_as_the_source(
    transformed: tuple[Path, dict[tuple[str, str], taskdb.TaskDB]], demo_mimic_db: Path
) -> None:
    out, made = transformed
    assert len(made) == 52
    assert disk_use(out) <= 1.5 * demo_mimic_db.stat().st_size


def test_an_agent_can_answer_from_a_transformed_standard_database(
    transformed: tuple[Path, dict[tuple[str, str], taskdb.TaskDB]], mimic_cards: list[Card], demo_mimic_db: Path
) -> None:
    with duckdb.connect(str(demo_mimic_db), read_only=True, config={"preserve_insertion_order": False}) as native:
        for card in mimic_cards:
            if card.name not in ("mimic-apsiii-24h", "mimic-sapsii-24h", "mimic-creatinine-baseline"):
                continue
            expected = reference.reference(card, native).fetchall()
            for schema in TRANSFORMED:
                con = taskdb.open_taskdb(transformed[1][schema, card.name])
                got = reference.reference(card, con, rewrite(reference.reference_sql(card), schema)).fetchall()
                con.close()
                assert got == expected, (schema, card.name)


@pytest.mark.parametrize("schema", TRANSFORMED)
def test_prompts_and_mapped_skills_carry_no_native_name(schema: str, project: Project, mimic_cards: list[Card]) -> None:
    texts = {"dictionary": dictionary_section(schema), "raw dictionary": dictionary_section(schema, derived=False)}
    for card in mimic_cards:
        for path in (card.instruction_path, card.spec_path):
            if path.is_file():
                texts[str(path)] = transform_instruction(path.read_text(encoding="utf-8"), schema)
    skills = {str(path): map_skill(path.read_text(encoding="utf-8"), schema) for path in project.skills.glob("*/*.md")}
    assert len(texts) >= 28 and skills
    for name, text in (texts | skills).items():
        found = [*NATIVE.findall(text), *re.findall(r"mimic|MIT-LCP", text, re.IGNORECASE)]
        assert not found, (name, found)


def test_an_instruction_keeps_its_contract(mimic_cards: list[Card]) -> None:
    for card in mimic_cards:
        native = card.instruction_path.read_text(encoding="utf-8")
        for schema in TRANSFORMED:
            text = transform_instruction(native, schema)
            assert all(f"`{column}`" in text for column in card.evaluation["required_columns"]), card.name
            assert "./database.duckdb" in text and "./output.csv" in text
            assert "()" not in text and "  " not in text.replace("\n  ", "\n")
    assert transform_instruction("`mimiciv_icu.chartevents` in MIMIC-IV v3.1, see mimic-code.", "native").startswith("`mimiciv")


def test_instruction_and_skill_texts_are_mapped_by_hand_checked_examples() -> None:
    text = "Read `mimiciv_icu.chartevents` and `d_items` of mimiciv_icu in MIMIC-IV, not mimiciv_derived.sofa; `sofa` is the output."
    assert transform_instruction(text, "obfuscated") == (
        "Read `ds_3.t_002` and `ds_3.t_003` of ds_3 in this database, not ds_1.t_054; `sofa` is the output."
    )
    assert transform_instruction(text, "restructured") == (
        "Read `ds_3.t_901` where `c_901` = 'chart' and `ds_3.t_903` where `c_903` = 'chart' of ds_3 in this database, "
        "not ds_1.t_054; `sofa` is the output."
    )
    skill = "Charted events (chartevents) of patients, by `services`.\n- Ready-made: `chemistry`, `first_day_lab`.\nSee MIMIC-IV data."
    assert map_skill(skill, "obfuscated") == (
        "Charted events (ds_3.t_002) of patients, by `ds_2.t_021`.\n- Ready-made: `ds_1.t_009`, `ds_1.t_022`.\nSee data."
    )
    assert transform_instruction("following the public mimic-code concept", "obfuscated") == "following the public concept"
    assert map_skill(skill, "native") == skill


def test_fenced_sql_of_a_skill_is_rewritten_and_still_runs(mimic_cards: list[Card], tiny_store: Store) -> None:
    card = next(card for card in mimic_cards if card.name == "mimic-sapsii-24h")
    sql = reference.reference_sql(card)
    skill = f"Query on `icustays` of {card.name}:\n\n```sql\n{sql}\n```\n\nAdapt it to MIMIC-IV."
    for schema in TRANSFORMED:
        text = map_skill(skill, schema)
        fenced = re.search(r"^```sql\n(.*?)^```\n", text, re.MULTILINE | re.DOTALL)
        assert fenced and not NATIVE.search(text) and "mimic" not in text.lower() and text.endswith("Adapt it to this database.")
        with whole_database(schema, tiny_store) as con:
            assert len(con.execute(fenced[1]).fetchall()) == 3  # the stay without an admission is not scored


@pytest.mark.parametrize("schema", TRANSFORMED)
def test_the_dictionary_section_describes_and_never_names(schema: str) -> None:
    codes = codebook()
    text = dictionary_section(schema, codes)
    described = [cell for cell, _ in TABLES] + [cell for cell, _ in COLUMNS]
    assert (len(TABLES), len(COLUMNS)) == (14, 47)
    for name in described:
        word = name.rpartition(".")[2]
        assert not re.search(rf"(?<![a-z0-9_]){word}(?![a-z0-9_])", text), word
    for name, _ in COLUMNS:
        assert f"`{codes.columns[name]}`" in text
    for name, _ in TABLES:
        there = schema == "obfuscated" or not merged_into(name)
        assert (f"`{codes.tables[name]}`" in text) == there, name
    for merged in codes.restructured_tables.values():
        assert (f"`{merged}`" in text) == (schema == "restructured")
    for mark in codes.restructured_columns.values():
        assert (f"`{mark}`" in text) == (schema == "restructured")
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| Description")]
    assert len(rows) == (3 + 14 + 47 if schema == "obfuscated" else 3 + 14 + 4 + 50)
    assert f"`{codes.schemas['mimiciv_derived']}`" in text
    assert f"`{codes.schemas['mimiciv_derived']}`" not in dictionary_section(schema, codes, derived=False)
    assert dictionary_section("native") == ""


def test_dictionary_descriptions_are_distinct(facts_dir: Path) -> None:
    for section in (TABLES, COLUMNS):
        assert len({text for _, text in section}) == len(section)
    published = json.loads((facts_dir / "harness" / "schema-dictionary.json").read_text(encoding="utf-8"))
    assert all(name in published["columns"] for name, _ in COLUMNS) and all(name in published["tables"] for name, _ in TABLES)


def test_random_codes_are_recorded_and_used(tiny_mimic_db: Path, tmp_path: Path, cards: Mapping[str, Card]) -> None:
    book = tmp_path / "private" / "codebook.json"
    status = cli.main([
        "taskdb", "--task", "mimic-meld-24h", "--schema", "restructured", "--seed", "5", "--codebook", str(book),
        "--db", str(tiny_mimic_db), "--out", str(tmp_path / "out"), "--quiet",
    ])
    assert status == 0 and book.read_text() == codebook(seed=5).to_json()
    made = tmp_path / "out" / "restructured" / "mimic-meld-24h"
    con = taskdb.open_taskdb(made / "database.duckdb")
    card = cards["mimic-meld-24h"]
    rows = reference.reference(card, con, rewrite(reference.reference_sql(card), "restructured", codebook(seed=5))).fetchall()
    con.close()
    assert len(rows) == 4
    # the published codes are not even in the view texts, where they would undo the dealing
    files = {path.name for path in made.iterdir()}
    assert "codebook.json" not in files
    published = codebook().columns["subject_id"]
    dealt = codebook(seed=5)
    content = (made / "database.duckdb").read_bytes()
    assert dealt.columns["subject_id"].encode() in content
    assert published not in {coded_column("subject_id", dealt)}


def test_merged_columns_take_the_type_of_the_side_that_has_them(tiny_store: Store) -> None:
    sql = stack_sql("flows", tiny_store, codebook())
    with duckdb.connect() as con:
        kinds = {row[0]: row[1] for row in con.execute(f"DESCRIBE {sql}").fetchall()}
    assert kinds["starttime"] == kinds["charttime"] == "TIMESTAMP" and kinds["rate"] == kinds["value"] == "DOUBLE"
    assert kinds["direction"] == "VARCHAR" and list(kinds)[-1] == "direction"


def test_drawings_show_what_the_files_hold(tiny_store: Store) -> None:
    codes = codebook(seed=4)
    shown = {code: [columns[c] for c in stored.columns] for code, stored, columns in layout("restructured", list(tiny_store.relations), tiny_store, codes)}
    for merged, code in codes.restructured_tables.items():
        assert list(show.merged_columns(merged, codes)["code"]) == shown[code], merged
    went = show.where_it_went(codes, derived=True)
    assert set(went["restructured"]) == set(shown) and len(went) == 94
    assert (went["rows"] != "all").sum() == 9
    for figure in (show.draw_moves(codes), show.draw_merged(codes)):
        drawn = {text.get_text() for axes in figure.axes for text in axes.texts} | {axes.get_title("left") for axes in figure.axes}
        assert any(codes.restructured_tables["flows"] in text for text in drawn)

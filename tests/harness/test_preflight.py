"""Every check of the preflight, shown to fail on a copy in which one thing was changed, and on that alone."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from m4lib.errors import M4Error
from m4lib.files import read_json, write_json
from m4lib.harness import images
from m4lib.harness.campaign import parse_campaign
from m4lib.harness.campaign_run import Job
from m4lib.harness.checks import host
from m4lib.harness.docker_host import Engine
from m4lib.harness.isolation import Limits
from m4lib.harness.preflight import Check, require
from m4lib.project import Project
from tests.harness.lab import RAW, SEED, TASK, Bench, Lab, campaign, small_disk

FOLDER = Path("meld") / TASK


@pytest.fixture
def bench(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    place = lab.bench(tmp_path / "bench", own_inputs=True)
    monkeypatch.setenv("M4_SCRATCH", str(place.scratch))
    return place


@pytest.fixture
def copy(project: Project, tmp_path: Path) -> Project:
    """The texts of the project, to be changed."""
    root = tmp_path / "checkout"
    for name in ("tasks", "skills", "params"):
        shutil.copytree(project.root / name, root / name)
    return Project(root)


def failed(job: Job, **options: bool) -> dict[str, str]:
    """Names of the checks that fail, with what they found."""
    checks = job.preflight(**{"docker": False, **options})
    return {check.name: "\n".join(check.details) for check in checks if not check.ok}


def everything(**more: object) -> dict[str, object]:
    conditions = ["no-skill", "with-skill", "with-skill-all", "with-skill-decoy", "with-skill-rawsql"]
    return campaign("nop", 1, conditions=conditions, tasks=[TASK, RAW], **more)


def transformed(**more: object) -> dict[str, object]:
    return campaign("nop", 1, conditions=["no-skill", "with-skill", "with-skill-mapped"], schemas=["obfuscated", "restructured"], **more)


def test_a_good_campaign_passes_every_check(bench: Bench) -> None:
    for entry in (everything(), transformed(), transformed(codes_seed=SEED)):
        assert failed(bench.job(entry), self_check=True) == {}


def replace(path: Path, pattern: str, text: str) -> None:
    changed, count = re.subn(pattern, text, path.read_text(), count=1, flags=re.MULTILINE)
    assert count == 1
    path.write_text(changed)


Change = Callable[[Path], object]
TEXTS: dict[str, tuple[str, str, Change]] = {
    "an item id in an instruction": ("instructions are sparse", "says '220045'", lambda root: _append(root / "tasks" / FOLDER / "instruction.md", "Heart rate is 220045.")),
    "a schema's name in an instruction": ("instructions are sparse", "says 'mimiciv_icu'", lambda root: _append(root / "tasks" / FOLDER / "instruction.md", "See mimiciv_icu.icustays.")),
    "a query in an instruction": ("instructions are sparse", "says 'SELECT'", lambda root: _append(root / "tasks" / FOLDER / "instruction.md", "SELECT 1")),
    "a raw task that claims base tables only": ("instructions are sparse", f"{RAW}: the instruction says 'only base tables'", lambda root: _append(root / "tasks" / "meld" / RAW / "instruction.md", "There are only base tables.")),
    "a missing instruction": ("instructions are sparse", "there is no instruction.md", lambda root: (root / "tasks" / FOLDER / "instruction.md").unlink()),
    "a file beside a task": ("task folders hold nothing else", f"{FOLDER}/notes.md does not belong", lambda root: (root / "tasks" / FOLDER / "notes.md").write_text("the answer")),
    "a file beside a family": ("task folders hold nothing else", "meld/answers.csv does not belong", lambda root: (root / "tasks" / "meld" / "answers.csv").write_text("1")),
    "a folder beside a task": ("task folders hold nothing else", f"{FOLDER}/design does not belong", lambda root: (root / "tasks" / FOLDER / "design").mkdir()),
    "SQL in a skill": ("skills", "skill meld-score, SKILL.md: holds SQL", lambda root: _append(root / "skills" / "meld-score" / "SKILL.md", "select stay_id from labs")),
    "a layout's name in a skill": ("skills", "names main.labs", lambda root: _append(root / "skills" / "meld-score" / "SKILL.md", "Look at main.labs.")),
    "a script in a skill": ("skills", "scripts/run.py is linked from nowhere", lambda root: _script(root / "skills" / "meld-score")),
    "a skill that points to a removed table": ("conditions", "the skill points to mimiciv_derived.meld, which is removed", lambda root: _append(root / "skills" / "meld-score" / "SKILL.md", "The table mimiciv_derived.meld has it.")),
    "a card that removes too little": ("removed tables", f"{RAW}: the card does not remove mimiciv_derived.crrt", lambda root: replace(root / "tasks" / "meld" / RAW / "task.toml", r'"mimiciv_derived\.crrt", ', "")),
    "a query that was changed": ("reference outputs", "the reference query has changed", lambda root: _append(root / "tasks" / "meld" / "reference.sql", "-- rounded differently")),
    "a query of another layout": ("reference outputs", "names main.labs", lambda root: _append(root / "tasks" / "meld" / "reference.sql", "-- main.labs")),
}


def _append(path: Path, text: str) -> None:
    path.write_text(path.read_text() + f"\n{text}\n")


def _script(skill: Path) -> None:
    (skill / "scripts").mkdir()
    (skill / "scripts" / "run.py").write_text("print()")


@pytest.mark.parametrize("name", TEXTS)
def test_texts(bench: Bench, copy: Project, name: str) -> None:
    check, text, change = TEXTS[name]
    job = bench.job(everything(), project=copy)
    assert failed(job) == {}
    change(copy.root)
    found = failed(bench.job(everything(), project=copy))
    assert text in found.pop(check)
    assert set(found) <= {"conditions"}, found  # a condition that cannot be put together says so as well


def test_missing_and_bad_specs(bench: Bench, copy: Project) -> None:
    entry = campaign("nop", 1, tasks=["mimic-oasis-24h"], conditions=["operational-spec"])
    spec = copy.tasks / "oasis" / "mimic-oasis-24h" / "operational-spec.md"
    others = {"reference outputs", "task databases"}  # this task was not built
    assert set(failed(bench.job(entry, project=copy))) == others
    text = spec.read_text()
    for bad in ("item 2200451", "the itemid", "as in mimic-code", "```sql", "mimiciv_hosp.labevents"):
        spec.write_text(f"{text}\n{bad}\n")
        assert "the operational spec says" in failed(bench.job(entry, project=copy))["operational specs"], bad
    spec.write_text(" \n")
    found = failed(bench.job(entry, project=copy))
    assert "is missing or empty" in found["operational specs"] and "is empty" in found["conditions"]
    spec.unlink()
    assert "is missing or empty" in failed(bench.job(entry, project=copy))["operational specs"]


def test_conditions_that_lack_something(bench: Bench, copy: Project) -> None:
    shutil.rmtree(copy.skills / "kdigo-aki-staging")  # the decoy of this task
    found = failed(bench.job(everything(), project=copy))
    assert "'kdigo-aki-staging'" in found["skills"] and "'kdigo-aki-staging'" in found["conditions"]


def test_native_names_in_a_transformed_prompt(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from m4lib.tasks import schemas

    monkeypatch.setattr(schemas, "transform_instruction", lambda text, schema, codes=None: text + "\nRead chartevents.")
    monkeypatch.setattr(schemas, "map_skill", lambda text, schema, codes=None: text + "\nRead d_items.")
    found = failed(bench.job(transformed()))
    assert f"{TASK}, no-skill, obfuscated: the prompt says 'chartevents'" in found["conditions"]
    assert re.search(r"with-skill-mapped, restructured: \.skills/\S+ says ", found["conditions"])
    assert not re.search(r"with-skill, restructured: \.skills", found["conditions"])  # unmapped skills keep their names on purpose


def test_references(bench: Bench) -> None:
    job, folder = bench.job(everything()), bench.outputs / "reference"
    path = folder / f"{TASK}.parquet"
    held = path.read_bytes()
    with duckdb.connect() as con:
        path.unlink()
        con.execute(f"COPY (SELECT * REPLACE (stay_id + 1 AS stay_id) FROM '{folder / RAW}.parquet') TO '{path}'")
    assert f"{TASK}: the reference output is not the file" in failed(job)["reference outputs"]
    path.unlink()
    assert f"python -m m4lib reference --task {TASK}" in failed(job)["reference outputs"]
    path.write_bytes(held)
    manifest = read_json(folder / "manifest.json")
    manifest["references"][TASK] |= {"sorted_by": [], "duplicate_keys": 2}
    write_json(folder / "manifest.json", manifest)
    found = failed(job)["reference outputs"]
    assert "lacks sorted_by" in found and "2 keys of the reference are not unique" in found
    (folder / "manifest.json").write_text("{")
    assert "cannot be read" in failed(job)["reference outputs"]


def test_a_reference_that_does_not_score_one_against_itself(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from m4lib.harness.checks import data

    monkeypatch.setattr(data, "evaluate_files", lambda output, reference, contract: {"reward": 0.5})
    job = bench.job(everything())
    assert failed(job) == {}
    assert "scores 0.5 against itself" in failed(job, self_check=True)["reference outputs"]


def views(folder: Path, *statements: str, note: bool = True) -> None:
    """Change a task database, and the note beside it so that only the change is seen."""
    path = folder / "database.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(f"SET VARIABLE data_folder = '{folder}'")
        for statement in statements:
            con.execute(statement)
    if note:
        from m4lib.files import sha256_file

        beside = folder.with_name(f"{folder.name}.json")
        record = read_json(beside)
        record["files"]["database.duckdb"] = {"sha256": sha256_file(path), "bytes": path.stat().st_size}
        write_json(beside, record)


def any_view(folder: Path, name: str) -> str:
    with duckdb.connect(str(folder / "database.duckdb"), read_only=True) as con:
        [[sql]] = con.execute("SELECT sql FROM duckdb_views() WHERE schema_name || '.' || view_name = ?", [name]).fetchall()
    return str(sql)


@pytest.mark.parametrize(("schema", "task", "name", "text"), [
    ("native", TASK, "mimiciv_derived.meld", "mimiciv_derived.meld is still in the database"),
    ("native", RAW, "mimiciv_derived.anything", "computed tables are still in the database (mimiciv_derived.anything)"),
])
def test_a_removed_table_that_is_there(bench: Bench, schema: str, task: str, name: str, text: str) -> None:
    folder = bench.outputs / "taskdb" / task
    views(folder, "CREATE SCHEMA IF NOT EXISTS mimiciv_derived", f"CREATE VIEW {name} AS SELECT stay_id FROM mimiciv_icu.icustays")
    assert failed(bench.job(everything())) == {"task databases": f"{task} ({schema}): {text}"}


def test_names_that_give_an_answer_away() -> None:
    from m4lib.cards import load_cards
    from m4lib.harness.checks.data import gives_away
    from m4lib.project import find_project

    cards = load_cards(find_project().tasks)
    card = cards["mimic-suspicion-infection"]
    shown = {"mimiciv_derived.labs": ["stay_id", "Positive_Culture"], "mimiciv_hosp.microbiologyevents": ["culture_time"]}
    assert list(gives_away(card, shown)) == ["mimiciv_derived.labs gives away 'positive_culture'"]
    raw = cards["mimic-creatinine-baseline-raw"]
    assert any("gives away 'age'" in text for text in gives_away(raw, {"mimiciv_derived.x": ["age"]}))
    assert not any("gives away" in text for text in gives_away(raw, {"mimiciv_derived.x": ["dosage"]}))


def test_a_missing_file_of_a_view(bench: Bench) -> None:
    folder = bench.outputs / "taskdb" / TASK
    file = re.search(r"'/([0-9a-f]+\.parquet)'", any_view(folder, "mimiciv_icu.icustays"))
    assert file
    (folder / file.group(1)).unlink()
    found = failed(bench.job(everything()))["task databases"]
    assert f"{TASK} (native): {file.group(1)} is missing" in found
    assert f"the view mimiciv_icu.icustays reads {file.group(1)}, which is not there" in found


def test_files_that_were_changed_or_added(bench: Bench) -> None:
    folder = bench.outputs / "taskdb" / TASK
    (folder / "answers.parquet").write_bytes(b"PAR1")
    views(folder, "CREATE VIEW mimiciv_icu.more AS SELECT 1 AS x", note=False)
    found = failed(bench.job(everything()))["task databases"]
    assert "answers.parquet does not belong there" in found and "database.duckdb is not the file that was built" in found


def test_a_database_that_is_missing_open_or_broken(bench: Bench) -> None:
    folder, job = bench.outputs / "taskdb" / TASK, bench.job(everything())
    wal = folder / "database.duckdb.wal"
    wal.write_text("x")
    assert ".wal beside it" in failed(job)["task databases"]
    wal.unlink()
    (folder / "database.duckdb").write_bytes(b"/data" * 100)
    assert "cannot be opened" in failed(job)["task databases"]
    shutil.rmtree(folder)
    assert f"There is no native task database of {TASK}" in failed(job)["task databases"]


def test_databases_and_references_of_different_sources(bench: Bench) -> None:
    path = bench.outputs / "reference" / "manifest.json"
    manifest = read_json(path)
    manifest["references"][TASK]["database_fingerprint"] = "0" * 32
    write_json(path, manifest)
    assert failed(bench.job(everything())) == {
        "task databases": f"{TASK} (native): it was not made from the database that the reference was made from; build one of them again"
    }


def test_transformed_databases(bench: Bench) -> None:
    """A removed table under its code, a native name in a view's text, an original beside its merged table, other codes."""
    from m4lib.tasks.schemas import codebook

    codes, folder = codebook(), bench.outputs / "taskdb" / "obfuscated" / TASK
    stays = codes.table("mimiciv_icu.icustays")
    views(folder, f"CREATE VIEW {codes.table('mimiciv_derived.meld')} AS SELECT {codes.column('stay_id')} FROM {stays}")
    other = bench.outputs / "taskdb" / "restructured" / TASK
    merged = codes.restructured_tables["observations"]
    views(other, f"CREATE VIEW {codes.table('mimiciv_icu.chartevents')} AS SELECT * FROM {merged}")
    found = failed(bench.job(transformed()))
    assert set(found) == {"task databases"}
    assert f"{TASK} (obfuscated): mimiciv_derived.meld is still in the database" in found["task databases"]
    assert f"{TASK} (restructured): {codes.table('mimiciv_icu.chartevents')} is not in the campaign's codes" in found["task databases"]
    spelled = bench.outputs / "taskdb" / f"codes-{SEED}" / "obfuscated" / TASK
    seeded = codebook(seed=SEED)
    views(spelled, f"CREATE OR REPLACE VIEW {seeded.table('mimiciv_icu.icustays')} AS SELECT 1 AS {seeded.column('stay_id')}, 'icustays' AS {seeded.column('los')}")
    assert "spells icustays" in failed(bench.job(transformed(codes_seed=SEED)))["task databases"]


def test_a_database_with_other_codes(bench: Bench) -> None:
    """Published codes where the campaign asks for its own: the dictionary in the prompt would be wrong."""
    place = bench.outputs / "taskdb" / f"codes-{SEED}" / "obfuscated"
    shutil.rmtree(place)
    shutil.copytree(bench.outputs / "taskdb" / "obfuscated", place)
    found = failed(bench.job(transformed(codes_seed=SEED)))
    assert "is not in the campaign's codes" in found["task databases"] and f"--seed {SEED}" in found["task databases"]
    missing = failed(bench.job(transformed(codes_seed=SEED + 1)))["task databases"]
    assert f"There is no obfuscated task database of {TASK}" in missing and f"codes-{SEED + 1}" in missing


def test_a_results_root_of_another_plan(bench: Bench) -> None:
    write_json(bench.results / "campaign_manifest.json", {"campaign": "lab", "agent": "codex", "codes_seed": 3})
    record = {"task": TASK, "condition": "with-skill", "schema": "native", "model": None, "trial": 9, "agent": "nop"}
    write_json(bench.results / "other" / "result.json", record)
    found = failed(bench.job(campaign("nop", 1)))["results root"]
    assert "agent codex, this is nop" in found and "codes_seed 3, this is None" in found and "does not plan: other" in found
    (bench.results / "campaign_manifest.json").write_text("{")
    assert "cannot be read" in failed(bench.job(campaign("nop", 1)))["results root"]


def test_disk_space(bench: Bench) -> None:
    found = failed(bench.job(campaign("nop", 1), host_free=1 << 60))["disk space"]
    assert "the results of 1 runs want" in found and "2 runs at a time want" in found
    assert list(host.space(bench.results, bench.scratch, 1, Limits(host_free=1 << 20), [0])) == []
    # an answer of the size of the reference, ten times as large as CSV, for each run and for those at a time
    job = bench.job(campaign("nop", 3))
    sizes = host.answer_bytes(job.planned, job.site.reference_dir)
    assert sizes == [10 * (job.site.reference_dir / f"{run.key.task}.parquet").stat().st_size for run in job.planned] and min(sizes) > 0
    limits = Limits(host_free=1 << 60)
    [results, work] = host.space(bench.results, bench.scratch, 2, limits, [100 << 20, 300 << 20])
    assert f"want {(limits.host_free >> 20) + 2 * 2 + 400} MiB" in results
    assert work.endswith(f"want {(limits.host_free >> 20) + 2 * (256 + 300)} MiB")


def test_a_full_disk(bench: Bench, tmp_path: Path) -> None:
    limits = Limits(host_free=16 << 20)
    with small_disk(tmp_path / "small") as place:
        assert list(host.space(place / "runs" / "x", bench.scratch, 1, limits, [0] * 10)) == []
        (place / "ballast").write_bytes(bytes(40 << 20))
        [text] = host.space(place / "runs" / "x", bench.scratch, 1, limits, [0] * 10)
        assert f"MiB are free at {place}; the results of 10 runs want 36 MiB" in text


def codex(**more: object) -> dict[str, object]:
    return campaign("codex", 1, publishable=False, **more)


def test_credentials(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OPENAI_API_KEY", "CODEX_API_KEY", "MY_KEY"):
        monkeypatch.delenv(name, raising=False)
    found = failed(bench.job(codex()))["credentials"]
    assert "OPENAI_API_KEY" in found and "the agent never sees it" in found
    assert failed(bench.job(codex(replay=True))) == {}
    assert "set MY_KEY" in failed(bench.job(codex(model_access={"kind": "api-key", "key_env": "MY_KEY"})))["credentials"]
    monkeypatch.setenv("MY_KEY", "x")
    assert failed(bench.job(codex(model_access={"kind": "api-key", "key_env": "MY_KEY"}))) == {}
    login = codex(model_access={"kind": "login", "auth_dir": str(tmp_path / "login")})
    assert "there is no login of codex" in failed(bench.job(login))["credentials"]
    (tmp_path / "login" / ".codex").mkdir(parents=True)
    (tmp_path / "login" / ".codex" / "auth.json").write_text("{}")
    assert failed(bench.job(login)) == {}


def test_the_source_of_evidence(bench: Bench, copy: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    assert "no git checkout" in failed(bench.job(campaign("codex", 1), project=copy))["source"]

    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(copy.root), "-c", "user.name=x", "-c", "user.email=x@example.org", *words], check=True, capture_output=True)

    from m4lib.harness import record

    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "x")
    record.source_commit.cache_clear()
    assert failed(bench.job(campaign("codex", 1), project=copy)) == {}
    _append(copy.skills / "README.md", "changed")
    record.source_commit.cache_clear()
    assert "tracked files differ" in failed(bench.job(campaign("codex", 1), project=copy))["source"]
    assert failed(bench.job(campaign("codex", 1, publishable=False), project=copy)) == {}
    record.source_commit.cache_clear()


def test_no_engine(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{bench.root}/nothing.sock")
    assert "Docker does not answer" in failed(bench.job(campaign("nop", 1)), docker=True)["Docker Engine"]


@pytest.mark.docker
def test_images(bench: Bench, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert failed(bench.job(campaign("nop", 1)), docker=True) == {}
    plain = images.agent_image(engine, None).tag
    assert failed(bench.job(campaign("nop", 1), image=plain), docker=True) == {}
    assert "is not on this machine" in failed(bench.job(campaign("nop", 1), image="m4bench/none:1"), docker=True)["Docker Engine"]
    wrong = failed(bench.job(codex(replay=True), image=plain), docker=True)["Docker Engine"]
    assert f"the pinned version is {images.CLIS['codex'].version}" in wrong
    monkeypatch.setenv("M4_BASE_IMAGE", "m4bench/none:1")
    assert "M4_BASE_IMAGE names m4bench/none:1" in failed(bench.job(campaign("nop", 1)), docker=True)["Docker Engine"]


def test_one_report_for_all_and_nothing_is_started(bench: Bench, copy: Project) -> None:
    """Two checks fail, all are listed, long lists are cut, and there is no results root afterwards."""
    _append(copy.tasks / FOLDER / "instruction.md", "SELECT 1")
    for number in range(25):
        (copy.tasks / FOLDER / f"note{number}.md").write_text("x")
    with pytest.raises(M4Error) as caught:
        bench.job(everything(), project=copy).run(show=False)
    text = str(caught.value)
    assert text.startswith("Preflight: 2 of ") and "nothing was started" in text
    assert "[FAIL] instructions are sparse" in text and "[ok] skills" in text and "... and 5 more" in text
    assert not bench.results.exists()
    require([Check("fine", True)])


def test_a_native_campaign_asks_for_nothing_else(bench: Bench) -> None:
    for name in ("obfuscated", "restructured", f"codes-{SEED}", RAW):
        shutil.rmtree(bench.outputs / "taskdb" / name)
    assert failed(bench.job(campaign("nop", 1))) == {}
    assert parse_campaign(campaign("nop", 1)).codes_seed is None

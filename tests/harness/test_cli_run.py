"""`python -m m4lib run`: what it prints, its exit status, and mistakes as one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from m4lib.cli import main
from m4lib.harness.docker_host import Engine
from tests.harness.lab import SEED, TASK, Bench, Lab, campaign


@pytest.fixture
def bench(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    place = lab.bench(tmp_path)
    monkeypatch.setenv("M4_SCRATCH", str(place.scratch))
    monkeypatch.delenv("M4_OUTPUTS", raising=False)
    return place


def call(bench: Bench, *words: str) -> int:
    return main(["run", "--outputs", str(bench.outputs), *words])


def written(bench: Bench, text: str) -> str:
    path = bench.root / "given.yaml"
    path.write_text(text)
    return str(path)


def test_dry_run_of_a_published_campaign(bench: Bench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs, cells, time, tokens, and no cost without prices; needs neither Docker, databases nor a key, and leaves nothing."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    before = sorted(bench.root.rglob("*"))
    assert main(["run", "--params", "params/codex-primary.yaml", "--dry-run", "--outputs", str(bench.root / "none")]) == 0
    out = capsys.readouterr().out
    assert out.startswith("codex-primary: 760 runs in 152 cells; 0 done, 760 to do; about ")
    assert "586 M input (553 M cached) and 15.7 M output tokens" in out and "no `prices` in the params" in out
    assert sorted(bench.root.rglob("*")) == before


def test_dry_run_names_the_cost_when_prices_are_given(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    entry = {**campaign("codex", 5), "prices": {"default": {"input": 1.0, "cached": 0.0, "output": 10.0}}}
    assert call(bench, "--params", str(bench.params(entry)), "--dry-run") == 0
    # five published means: (771,438 - 727,130) fresh input and 20,701 output tokens each
    assert "about 1 USD" in capsys.readouterr().out


def test_only_some_campaigns(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    params = bench.params(*({**campaign("nop", n), "campaign": f"c{n}"} for n in (1, 2, 3)))
    assert call(bench, "--params", str(params), "--dry-run", "--only", "c1", "--only", "c3") == 0
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == ["c1", "c3"]
    assert call(bench, "--params", str(params), "--dry-run", "--only", "c4") == 2
    assert capsys.readouterr().err == "m4lib run: params.yaml has no campaign called c4; it has c1, c2, c3.\n"


def test_preflight_alone(bench: Bench, capsys: pytest.CaptureFixture[str], engine: Engine) -> None:
    """0 when all holds, 1 when a check fails; nothing is started in either case."""
    assert call(bench, "--params", str(bench.params(campaign("nop", 1))), "--preflight") == 0
    assert "[ok] reference outputs" in capsys.readouterr().out
    bad = campaign("nop", 1, tasks=["mimic-sofa-24h"])
    assert call(bench, "--params", str(bench.params(campaign("nop", 1), {**bad, "campaign": "other"})), "--preflight") == 1
    out = capsys.readouterr().out
    assert "[FAIL] task databases" in out and "There is no native task database of mimic-sofa-24h" in out
    assert not (bench.outputs / "runs").exists()


BASE: dict[str, Any] = {"campaign": "x", "agent": "nop", "tiers": [{"tasks": [TASK], "conditions": ["no-skill"]}]}


def tier(**changes: Any) -> dict[str, Any]:
    return {**BASE, "tiers": [{**BASE["tiers"][0], **changes}]}


MISTAKES: dict[str, tuple[Any, str]] = {
    "no yaml": ("a: [", "is not valid YAML"),
    "no mapping": ("- 1", "holds no parameters"),
    "nothing": ("", "holds no parameters"),
    "no campaign": ("name: x", "names no campaign"),
    "campaigns no list": ({"campaigns": {"a": 1}}, "`campaigns` must be a list"),
    "a campaign of text": ({"campaigns": ["x"]}, "is no campaign"),
    "no agent": ({"campaign": "x", "tiers": []}, "the entry `agent` is missing"),
    "unknown agent": ({**BASE, "agent": "gpt"}, "unknown agent 'gpt'"),
    "a name that is a path": ({**BASE, "campaign": "../x"}, "cannot name a campaign's folder"),
    "the same name twice": ({"campaigns": [BASE, BASE]}, "names the campaign x twice"),
    "tiers of text": ({**BASE, "tiers": "all"}, "`tiers` must be a list"),
    "a tier of text": ({**BASE, "tiers": ["all"]}, "tier 1 is 'all'"),
    "unknown tier entry": (tier(condition=["no-skill"]), "unknown entries: condition"),
    "no conditions": (tier(conditions=[]), "has no `conditions`"),
    "conditions of text": (tier(conditions="no-skill"), "`conditions` must be a list"),
    "models of text": (tier(models="gpt-5.5"), "`models` must be a list"),
    "unknown condition": (tier(conditions=["skill"]), "unknown condition 'skill'"),
    "unknown schema": (tier(schemas=["nativ"]), "unknown schema 'nativ'"),
    "mapped on native": (tier(conditions=["with-skill-mapped"]), "give it only transformed schemas"),
    "trials of text": (tier(trials="five"), "`trials` must be a whole number"),
    "no trials": ({**BASE, "trials": 0}, "`trials` must be a whole number from 1"),
    "a seed of text": ({**BASE, "codes_seed": "seven"}, "`codes_seed` must be a whole number"),
    "unknown effort": ({**BASE, "reasoning_effort": "huge"}, "no reasoning effort 'huge'"),
    "unknown task": (tier(tasks=["mimic-mood"]), "there is no task or task set 'mimic-mood'"),
    "eICU transformed": (tier(tasks=["eicu-gcs"], schemas=["obfuscated"]), "only MIMIC-IV tasks do"),
    "a misspelt entry": ({**BASE, "publishible": False}, "unknown entries: publishible"),
    "unknown limit": ({"campaigns": [BASE], "docker": {"memmory": 1}}, "Unknown entry `memmory`"),
    "a limit of text": ({"campaigns": [BASE], "docker": {"memory": "4g"}}, "`memory` of the params must be a whole number above 0"),
    "no attempts": ({"campaigns": [BASE], "docker": {"attempts": 0}}, "`attempts` of the params must be a whole number"),
    "parallel of text": ({"campaigns": [BASE], "docker": {"parallel": "many"}}, "`parallel` of the params must be"),
    "docker of text": ({"campaigns": [BASE], "docker": "yes"}, "`docker` must be a mapping"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_one_sentence_and_status_two(bench: Bench, capsys: pytest.CaptureFixture[str], name: str) -> None:
    given, text = MISTAKES[name]
    assert call(bench, "--params", written(bench, given if isinstance(given, str) else yaml.safe_dump(given)), "--dry-run") == 2
    err = capsys.readouterr().err
    assert err.startswith("m4lib run: ") and text in err and err.count("\n") == 1, err


def test_mistakes_on_the_command_line(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    params = str(bench.params(campaign("nop", 1)))
    assert call(bench, "--params", "params/nothing.yaml") == 2 and "There is no params file" in capsys.readouterr().err
    assert call(bench, "--params", params, "--parallel", "0") == 2 and "`parallel`" in capsys.readouterr().err
    with pytest.raises(SystemExit) as caught:
        call(bench, "--params", params, "--parallel", "x")
    assert caught.value.code == 2


def test_no_docker_is_one_report_and_no_traceback(bench: Bench) -> None:
    done = bench.call("--params", str(bench.params(campaign("nop", 1))), DOCKER_HOST=f"unix://{bench.root}/nothing.sock")
    assert done.returncode == 2 and "Docker does not answer" in done.stderr and "Traceback" not in done.stderr
    assert not (bench.outputs / "runs").exists()


@pytest.mark.docker
def test_campaigns_run_and_are_indexed(bench: Bench, engine: Engine) -> None:
    """One that cannot start does not stop the next; the status is 2 and its reason is named. Then all is well, and 0."""
    bad = {**campaign("nop", 1, tasks=["mimic-sofa-24h"]), "campaign": "first"}
    good = campaign("oracle", 2, conditions=["with-skill-rawsql"])
    done = bench.call("--params", str(bench.params(bad, good)))
    assert done.returncode == 2 and "first: Preflight: " in done.stderr and "Traceback" not in done.stderr
    assert "lab: 2 of 2 runs complete, 0 void, mean reward 1.000" in done.stdout
    index = pd.read_csv(bench.outputs / "index" / "lab.csv")
    assert list(index["trial"]) == [1, 2] and list(index["reward"]) == [1.0, 1.0] and not index["publishable"].any()
    assert not (bench.outputs / "index" / "first.csv").exists()
    again = bench.call("--params", str(bench.params(bad, good)), "--only", "lab")
    assert again.returncode == 0 and "2 done, 0 to do." in again.stdout
    bench.assert_clean(engine)


@pytest.mark.docker
@pytest.mark.parametrize("seed", [None, SEED])
def test_transformed_schemas_with_mapped_skills_and_dealt_codes(bench: Bench, engine: Engine, seed: int | None) -> None:
    """End to end: the oracle's rewritten query scores 1 on both schemas; the record tells codes and skills that were given."""
    from m4lib.harness.records import read_records
    from m4lib.tasks.schemas import codebook

    codes = codebook(seed=seed)
    entry = campaign("oracle", 1, conditions=["with-skill-mapped"], schemas=["obfuscated", "restructured"], **({} if seed is None else {"codes_seed": seed}))
    summary = bench.job(entry).run(show=False)
    assert summary["finished"] == 2 and summary["mean_reward"] == 1.0
    manifest = yaml.safe_load((bench.results / "campaign_manifest.json").read_text())
    assert manifest["codes_seed"] == seed and manifest["codes_sha256"] == codes.sha256
    for folder, record in read_records(bench.results):
        assert record["condition"] == "with-skill-mapped"
        given = record["provenance"]
        assert given["codes_seed"] == seed and given["codes_sha256"] == codes.sha256 and given["condition_files"]
        prompt = (folder / "instruction.md").read_text()
        assert codes.column("stay_id") in prompt and codes.table("mimiciv_icu.procedureevents") in prompt
    assert codebook(seed=SEED).column("stay_id") != codebook().column("stay_id")
    bench.assert_clean(engine)


def test_a_campaign_keeps_its_codes(bench: Bench) -> None:
    from m4lib.errors import M4Error
    from m4lib.harness.dispatch import write_manifest

    job = bench.job(campaign("nop", 1, schemas=["obfuscated"], codes_seed=SEED))
    job.site.root.mkdir(parents=True)
    write_manifest(job.site.root, job.campaign, job.planned)
    write_manifest(job.site.root, job.campaign, job.planned)
    other = bench.job(campaign("nop", 1, schemas=["obfuscated"]))
    with pytest.raises(M4Error, match=f"was begun with codes_seed {SEED}, not None"):
        write_manifest(other.site.root, other.campaign, other.planned)


"""The published campaigns, expanded from their params files, against the published run keys."""

from __future__ import annotations

import pandas as pd
import pytest

from m4lib.cards import load_cards
from m4lib.errors import M4Error
from m4lib.harness.campaign import (
    RunKey,
    cells,
    expand,
    load_campaigns,
    load_task_sets,
    parse_campaign,
    resolve_effort,
)
from m4lib.harness.conditions import materialize
from m4lib.tasks.schemas import codebook

PUBLISHED = {
    "codex-primary": ("final_codex_runs.csv", 760, 152),
    "claude-sentinel": ("final_claude_runs.csv", 190, 38),
    "oss-exploratory": ("final_oss_runs.csv", 110, 22),
    "codex-validity-followup": ("followup_canonical_runs.csv", 340, 68),
}


@pytest.fixture(scope="module")
def cards(project):
    return load_cards(project.tasks)


@pytest.fixture(scope="module")
def task_sets(project, cards):
    return load_task_sets(project.params / "task_sets.yaml", cards)


def plan(project, cards, task_sets, name):
    [campaign] = load_campaigns(project.params / f"{name}.yaml")
    return campaign, expand(campaign, cards, task_sets)


@pytest.mark.parametrize("name", PUBLISHED)
def test_expansion_equals_the_published_run_keys(project, cards, task_sets, evidence_dir, name):
    file, runs, n_cells = PUBLISHED[name]
    _, planned = plan(project, cards, task_sets, name)
    index = pd.read_csv(evidence_dir / "run-indexes" / file)
    published = {RunKey(*row) for row in index[["task", "condition", "schema", "model", "trial"]].itertuples(index=False)}
    assert {run.key for run in planned} == published
    assert len(planned) == runs and len(cells(planned)) == n_cells


@pytest.mark.parametrize(("name", "runs"), [
    ("claude-full-replication", 560), ("codex-powered", 769), ("claude-rerun", 760), ("gemini-provider-comparison", 190),
])
def test_other_campaigns_have_the_stated_size(project, cards, task_sets, name, runs):
    _, planned = plan(project, cards, task_sets, name)
    assert len(planned) == len({run.key for run in planned}) == runs


def test_task_sets_agree_with_the_cards(cards, task_sets):
    assert {t for t, c in cards.items() if c.paper["in_sentinel_set"]} == set(task_sets["sentinel8"])
    assert {t for t, c in cards.items() if c.paper["in_raw_sql_control"]} == set(task_sets["control10"])
    assert {t for t, c in cards.items() if c.paper["in_decoy_control"]} == set(task_sets["control10"])
    assert {t for t, c in cards.items() if c.operational_spec} == set(task_sets["sentinel8"])
    assert len(task_sets["noise9"]) == 9 and len(task_sets["powered_flat12"]) == 12


def test_slow_runs_come_first_within_a_tier(project, cards, task_sets):
    _, planned = plan(project, cards, task_sets, "codex-primary")
    for tier in (1, 2, 3):
        seconds = [run.expected_seconds for run in planned if run.tier == tier]
        assert seconds == sorted(seconds, reverse=True)
    assert planned[0].key.task == "mimic-sepsis3-raw" and planned[0].key.condition == "no-skill"


def test_effort_policy():
    assert resolve_effort("codex", "auto") == resolve_effort("claude", "auto") == "medium"
    assert resolve_effort("gemini", "auto") == resolve_effort("pi-ollama", "default") == "provider-default"
    assert resolve_effort("claude", "max") == "max"
    with pytest.raises(M4Error, match="no reasoning effort 'max'"):
        resolve_effort("codex", "max")


def test_mistakes_are_named(cards, task_sets):
    base = {"campaign": "x", "agent": "nop", "tiers": [{"tasks": ["eicu-gcs"], "conditions": ["no-skill"]}]}
    with pytest.raises(M4Error, match="unknown agent"):
        parse_campaign({**base, "agent": "gpt"})
    with pytest.raises(M4Error, match="unknown condition"):
        parse_campaign({**base, "tiers": [{"tasks": ["eicu-gcs"], "conditions": ["skill"]}]})
    with pytest.raises(M4Error, match="only MIMIC-IV tasks"):
        tier = {"tasks": ["eicu-gcs"], "conditions": ["no-skill"], "schemas": ["obfuscated"]}
        expand(parse_campaign({**base, "tiers": [tier]}), cards, task_sets)
    with pytest.raises(M4Error, match="no operational spec"):
        expand(parse_campaign({**base, "tiers": [{"tasks": ["eicu-gcs"], "conditions": ["operational-spec"]}]}), cards, task_sets)
    with pytest.raises(M4Error, match="no task or task set 'mimic-sofa'"):
        expand(parse_campaign({**base, "tiers": [{"tasks": "mimic-sofa", "conditions": ["no-skill"]}]}), cards, task_sets)


def test_agents_that_test_the_harness_are_never_publishable():
    campaign = parse_campaign({"campaign": "x", "agent": "oracle", "publishable": True,
                               "tiers": [{"tasks": ["eicu-gcs"], "conditions": ["with-skill-rawsql"]}]})
    assert not campaign.publishable and "oracle" in campaign.publishable_reason


def test_the_reason_for_not_publishing_is_the_campaigns_own_or_true():
    base = {"campaign": "x", "agent": "codex", "publishable": False, "tiers": [{"tasks": ["eicu-gcs"], "conditions": ["no-skill"]}]}
    for empty in ({}, {"publishable_reason": None}, {"publishable_reason": ""}):
        assert parse_campaign({**base, **empty}).publishable_reason == "the campaign is marked as not publishable"
    assert parse_campaign({**base, "publishable_reason": "a rehearsal"}).publishable_reason == "a rehearsal"
    assert parse_campaign({**base, "publishable": True}).publishable_reason == ""


@pytest.mark.parametrize("schema", ["obfuscated", "restructured"])
@pytest.mark.parametrize("seed", [None, 7])
def test_mapped_skills_follow_the_schema_and_its_codes(project, cards, schema, seed):
    """Table names of the schema in place of the native ones; prompt and skill with the same codes; nothing else changes."""
    codes, card = codebook(seed=seed), cards["mimic-meld-24h"]
    native, mapped = (materialize(card, name, schema, "codex", project, codes=codes) for name in ("with-skill", "with-skill-mapped"))
    before, after = ("\n".join(made.files.values()) for made in (native, mapped))
    assert list(native.files) == list(mapped.files) and native.prompt == mapped.prompt
    code = codes.table("mimiciv_derived.complete_blood_count")
    assert "`complete_blood_count`" in before and code not in before
    assert f"`{code}`" in after and "complete_blood_count" not in after
    assert codes.column("stay_id") in mapped.prompt and codes.table("mimiciv_icu.procedureevents") in mapped.prompt
    assert mapped.condition == "with-skill-mapped" and mapped.sha256 != native.sha256


def test_dealt_codes_are_others_than_the_published_ones(project, cards):
    card = cards["mimic-meld-24h"]
    prompts = {seed: materialize(card, "no-skill", "obfuscated", "codex", project, codes=codebook(seed=seed)).prompt for seed in (None, 7, 8)}
    assert len(set(prompts.values())) == 3
    assert materialize(card, "no-skill", "obfuscated", "codex", project).prompt == prompts[None]


def test_mapped_skills_exist_on_transformed_schemas_only(project, cards, task_sets):
    tier = {"tasks": ["mimic-meld-24h"], "conditions": ["with-skill", "with-skill-mapped"], "schemas": ["obfuscated"]}
    campaign = parse_campaign({"campaign": "x", "agent": "codex", "codes_seed": 7, "trials": 2, "tiers": [tier]})
    assert campaign.codes_seed == 7 and "codes_seed" not in campaign.options
    assert {run.key.condition for run in expand(campaign, cards, task_sets)} == {"with-skill", "with-skill-mapped"}
    with pytest.raises(M4Error, match="choose a transformed schema"):
        materialize(cards["mimic-meld-24h"], "with-skill-mapped", "native", "codex", project)


@pytest.mark.parametrize("entry", ["models", "schemas"])
def test_an_empty_list_is_refused(entry):
    with pytest.raises(M4Error, match=f"`{entry}` is empty"):
        parse_campaign({"campaign": "x", "agent": "nop", "tiers": [{"tasks": ["eicu-gcs"], "conditions": ["no-skill"], entry: []}]})

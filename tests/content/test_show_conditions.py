"""The side-by-side views: they show what differs and nothing else, and say when nothing does."""

from __future__ import annotations

from m4lib.cards import Card
from m4lib.harness.conditions import materialize
from m4lib.harness.show_conditions import difference, inventory, overview, side_by_side
from m4lib.project import Project


def test_a_specification_is_the_only_difference(project: Project, cards: dict[str, Card]) -> None:
    card = cards["mimic-creatinine-baseline-raw"]
    left, right = (materialize(card, name, project=project) for name in ("no-skill", "operational-spec"))
    diff = difference(left, right)
    assert "+# Operational specification" in diff and not [line for line in diff.splitlines()[2:] if line.startswith("-") and line != "--"]
    html = side_by_side(left, right)
    assert 'class="text only"># Operational specification' in html and 'class="text gone"' not in html and "equal lines" in html
    assert "&lt;" not in difference(left, right) and "<td" in html
    row = overview(left, right).iloc[0]
    assert row["text"] == "prompt" and row["lines removed"] == 0 and row["lines added"] > 20


def test_equal_inputs_show_nothing(project: Project, cards: dict[str, Card]) -> None:
    one = materialize(cards["mimic-meld-24h"], "with-skill", project=project)
    assert difference(one, one) == "" and "<td" not in side_by_side(one, one)
    # the agent's own folder is no difference
    assert difference(one, materialize(cards["mimic-meld-24h"], "with-skill", agent="codex", project=project)) == ""


def test_files_of_one_side_and_schemas(project: Project, cards: dict[str, Card]) -> None:
    card = cards["mimic-meld-24h"]
    none, some = (materialize(card, name, project=project) for name in ("no-skill", "with-skill"))
    frame = overview(none, some).set_index("text")
    assert frame.at["meld-score/SKILL.md", "no-skill chars"] == 0 and frame.at["prompt", "lines added"] == 0
    coded = materialize(card, "with-skill", "obfuscated", project=project)
    assert list(overview(some, coded).columns)[1:3] == ["with-skill (native) chars", "with-skill (obfuscated) chars"]
    assert "&lt; 1 or missing" in side_by_side(none, some)
    assert list(inventory([none, some])["files"]) == [0, 3]

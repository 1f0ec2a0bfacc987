"""The paper's tables from the published indexes: equal to print, to full precision where the facts give it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from m4lib.analysis import check, choices
from m4lib.analysis.metrics import cell_means, family_of, mode_of, task_deltas
from m4lib.analysis.render import to_csv, to_html, to_latex, to_markdown, typeset
from m4lib.analysis.sources import Sources, load_sources
from m4lib.analysis.table import Table, build_table, format_value, registered
from m4lib.analysis.tables.effects import native_arms
from m4lib.cards import load_cards
from m4lib.project import Project

NEED_REPLICATION = {"table05_claude_replication_task_sets", "table29_claude_replication_effect",
                    "table30_claude_replication_harness", "table31_claude_replication_task_deltas_first_six"}
PRINTED = ("table02_task_inventory", "table03_native_skill_effect", "table06_task_details", "table07_review_provenance",
           "table10_retained_artifacts", "table16_largest_gains", "table17_smallest_deltas",
           "table18_skill_effect_by_mode", "table24_followup_integrity", "table26_claude_sentinel_effect",
           "table28_oss_effect")


@pytest.fixture(scope="module")
def sources(evidence_dir: Path, project: Project) -> Sources:
    return load_sources(evidence_dir, tasks=project.tasks, skills=project.skills)


@pytest.mark.parametrize("id", PRINTED)
def test_every_printed_value_is_equal(id: str, sources: Sources) -> None:
    checked = check.compare(build_table(id, sources), sources.expected)
    assert len(checked) >= 7
    assert checked[~checked["equal"].astype(bool)].to_dict("records") == []


def test_integrity_counts_are_equal_but_for_the_files(sources: Sources) -> None:
    checked = check.compare(build_table("15", sources), sources.expected)
    different = checked[~checked["equal"].astype(bool)]
    assert len(checked) == 15 and different["row"].str.startswith("Retained").all() and (different["ours"] == "").all()


def test_all_31_tables_come_out_with_unique_rows(sources: Sources) -> None:
    tables = {id: builder(sources) for id, builder in registered().items()}
    assert [table.number for table in tables.values()] == list(range(1, 32))
    for id, table in tables.items():
        assert not table.frame.duplicated(list(table.keys)).any(), id
        assert table.keys and set(table.keys) <= set(table.frame.columns), id
        assert bool(table.notes) == (id in NEED_REPLICATION or table.number in (15, 23)), (id, table.notes)
        for text in (to_csv(table), to_markdown(table), to_latex(table), to_html(table), repr(table)):
            assert len(text) > 60 and "nan" not in text.lower().replace("provenance", "").replace("finance", ""), id


def test_absent_replication_leaves_blank_rows_and_says_where_the_file_is(sources: Sources) -> None:
    for id in NEED_REPLICATION:
        table = build_table(id, sources)
        values = table.printed_form().drop(columns=list(table.keys))
        assert len(values) and (values == "").all(axis=None)
        assert "final_claude_replication_runs.csv" in table.notes[0] and "hannesill/m4bench-evidence" in table.notes[0]


FULL_PRECISION = {
    ("Reward", "gpt-5.4-mini"): (0.639466, 0.801753, 0.162287, 0.099355, 0.232419),
    ("Reward", "gpt-5.5"): (0.766768, 0.875985, 0.109217, 0.060114, 0.166451),
    ("Reward", "task-balanced"): (0.703117, 0.838869, 0.135752, 0.085342, 0.191026),
    ("Key F1", "task-balanced"): (0.961723, 0.964595, 0.002871, -0.010081, 0.017611),
    ("Ordered nMAE", "task-balanced"): (0.115575, 0.059786, -0.055789, -0.085257, -0.029243),
}


def test_table_3_to_six_decimals(sources: Sources) -> None:
    frame = build_table("3", sources).frame.set_index(["measure", "scope"])
    for row, values in FULL_PRECISION.items():
        got = frame.loc[row, ["no_skill", "with_skill", "delta", "ci_low", "ci_high"]].tolist()
        assert got == pytest.approx(values, abs=5.1e-7), row


def test_known_full_precision_of_other_tables(sources: Sources) -> None:
    gains = build_table("16", sources).frame["mean_delta"].tolist()
    assert gains == pytest.approx([0.471342, 0.459732, 0.354435, 0.296129, 0.291083, 0.283226, 0.272370, 0.245853,
                                   0.221138, 0.180166], abs=5.1e-7)
    by_mode = build_table("18", sources).frame["mean_delta"].tolist()
    assert by_mode == pytest.approx([0.202860, 0.136033, 0.104572, 0.112223, 0.153716, 0.124128], abs=5.1e-7)
    oss = build_table("28", sources).frame.iloc[0]
    assert oss[["no_skill", "with_skill", "delta", "ci_low", "ci_high"]].tolist() == pytest.approx(
        [0.085493, 0.093738, 0.008245, -0.072154, 0.087622], abs=5.1e-7)
    clustered = build_table("19", sources).frame
    assert clustered["units"].tolist() == ["28 tasks", "15 families", "15 families"]
    assert clustered["mean_delta"].iloc[0] == clustered["mean_delta"].iloc[1] > clustered["mean_delta"].iloc[2]


def test_two_task_balanced_levels_equal_the_plain_mean_over_runs(sources: Sources) -> None:
    runs = native_arms(sources["primary"])
    row = build_table("3", sources).frame.iloc[2]
    assert row["no_skill"] == pytest.approx(runs.loc[runs["condition"] == "no-skill", "reward"].mean())


def test_membership_comes_from_the_indexes(sources: Sources) -> None:
    frame = build_table("13", sources).frame
    cards = load_cards(sources.tasks or "")
    assert set(frame.loc[frame["decoy_and_raw_sql"] == "yes", "task"]) == {
        name for name, card in cards.items() if card.paper["in_decoy_control"]}
    assert set(frame.loc[frame["operational_spec"] == "yes", "task"]) == {
        name for name, card in cards.items() if card.paper["in_sentinel_set"]}
    assert (frame["delta"].diff().dropna() <= 0).all() and frame["rank"].tolist() == list(range(1, 29))


def test_key_diagnostics(sources: Sources) -> None:
    frame = build_table("20", sources).frame
    primary = native_arms(sources["primary"])
    assert frame["n"].tolist() == [56, 56, 5, 5, 5, 5, 5]
    extra = primary.groupby("condition")["extra_keys"].sum()
    assert frame["extra_keys"].tolist()[:2] == [extra["no-skill"], extra["with-skill"]]
    top = frame["extra_keys"].tolist()[2:]
    assert top == sorted(top, reverse=True) and frame["row"].iloc[2] == "mimic-ventilation-raw / no-skill / gpt-5.4-mini"


def test_nmae_of_ventilation_is_na_and_counts_no_columns(sources: Sources) -> None:
    table = build_table("21", sources)
    printed = table.printed_form().set_index("task")
    assert printed.loc["mimic-ventilation", ["nmae_delta", "ordered_columns"]].tolist() == ["NA", "0"]
    assert (printed["nmae_delta"] == "NA").sum() == 2 and printed.loc["mimic-meld-24h", "ordered_columns"] == "1"


def test_transformed_rows_without_the_probe(sources: Sources) -> None:
    printed = build_table("23", sources).printed_form().set_index("schema")
    assert printed.loc["native", "robustness_ratio"] == "1.000" and (printed["tasks"] == "26").all()
    for schema in ("obfuscated", "restructured"):
        row = printed.loc[schema]
        assert row["with_skill"] and row["positive_of"] == "26"
        assert (row[["no_skill", "delta", "ci_low", "ci_high", "positive_tasks", "robustness_ratio"]] == "").all()


def test_sentinel_tables(sources: Sources) -> None:
    by_task = build_table("27", sources).frame
    assert by_task["task_label"].iloc[0] == "urine-output rate raw" and len(by_task) == 8
    assert by_task["mean_delta"].mean() == pytest.approx(0.165617, abs=5.1e-7)
    spec = build_table("25", sources).frame
    whole = build_table("4", sources).frame
    assert spec["spec_minus_no_skill"].mean() == pytest.approx(whole["delta"].iloc[0])
    assert whole["no_skill"].isna().tolist() == [False, True] and whole["targeted_skill"].isna().tolist() == [True, False]


def test_families_and_modes_follow_from_the_names(project: Project) -> None:
    for name, card in load_cards(project.tasks).items():
        assert (family_of(name), mode_of(name)) == (card.family, card.mode)


# ---- the irregularities that are known ------------------------------------------------------------------------------


def by_choice(frame: pd.DataFrame, headline: str) -> pd.DataFrame:
    return frame[frame["headline"] == headline].set_index("choice")


def test_choices_give_the_known_numbers(sources: Sources) -> None:
    narrow = by_choice(choices.value_columns(sources), "table 3, reward").loc["value columns only"]
    assert narrow[["no_skill", "with_skill", "delta"]].astype(float).round(3).tolist() == [0.697, 0.853, 0.156] and narrow["positive"] == 26
    errored = choices.errored_runs(sources)
    assert round(by_choice(errored, "table 3, reward").loc["errored runs dropped", "delta"], 3) == 0.144
    charged = by_choice(errored, "table 3, nMAE").loc["errored runs charged 1"]
    assert charged[["with_skill", "delta"]].astype(float).round(3).tolist() == [0.070, -0.046] and charged["positive"] == 23
    assert len(choices.uneven_tasks(sources["primary"])) == 5
    reruns = by_choice(choices.one_arm_reruns(sources), "table 3, reward")
    assert round(reruns.loc["without tasks rerun in one arm only", "delta"], 3) == 0.127
    container = choices.container_failures(sources).set_index(["headline", "choice"])
    step = container.loc["table 23, obfuscated", ["with_skill", "ratio"]].astype(float).diff().iloc[1]
    assert step["with_skill"] == pytest.approx(0.007, abs=5e-4) and step["ratio"] == pytest.approx(0.044, abs=5e-4)


def test_first_attempts(sources: Sources) -> None:
    every = choices.attempts(sources)
    assert len(every) == 363 and every["kept"].sum() == 340
    last = every.groupby(["task", "condition", "schema", "model", "trial"])["stamp"].transform("max") == every["stamp"]
    assert (last == every["kept"]).all()  # canonical is the latest
    firsts = every[(every["order"] == 0) & ~every["kept"]]
    assert len(firsts[firsts["schema"] == "restructured"]) == 14 and not (firsts["agent_returncode"] == 125).any()
    ratio = by_choice(choices.first_attempts(sources), "table 23, restructured")["ratio"]
    assert ratio["first attempts"] < 0.3 * ratio[choices.PUBLISHED]


def test_strict_passes_can_be_rebuilt_from_match_rates(sources: Sources) -> None:
    from m4lib.analysis.metrics import strict_passes

    runs = sources["primary"]
    assert sources.tasks is not None
    assert (choices.passes_at(runs, sources.tasks) == strict_passes(runs)).all() and strict_passes(runs).sum() == 87
    own = choices.thresholds(sources).set_index("accuracy threshold").loc["each task's own"]
    assert own.sum() == 38 and own["no-skill, standard"] == 0 and own["with-skill, standard"] == 2


def test_summary_starts_each_headline_with_the_published_choice(sources: Sources) -> None:
    rows, unanswered = choices.summary(sources)
    assert not unanswered and (rows.groupby("headline", sort=False)["choice"].first() == choices.PUBLISHED).all()
    assert rows.groupby("headline").size().min() >= 2


# ---- the small parts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "kind", "text"), [
    (0.0005, "3", "0.001"), (0.0125, "2", "0.01"), (-0.0001, "3", "-0.000"), (2.675, "2", "2.67"), (None, "3", ""),
    (float("nan"), "int", ""), ("NA", "3", "NA"), (26.0, "int", "26"), ("48.0 GB", "int", "48.0 GB"),
])
def test_numbers_print_by_ordinary_rounding_of_the_binary_float(value: object, kind: str, text: str) -> None:
    assert format_value(value, kind) == text


def test_comparison_is_numeric_and_says_why() -> None:
    assert check.same("0.000", "-0.000") and check.same("1,400", "1400") and not check.same("0.1", "") and check.same("yes", "yes")
    frame = pd.DataFrame({"model": ["a", "b"], "delta": [0.1, 0.2], "ci_low": [0.05, None]})
    table = Table("table29_claude_replication_effect", "t", frame, {"delta": "3", "ci_low": "3"}, ("model",))
    checked = check.compare(table)
    assert not checked["equal"].any() and set(checked["note"]) == {"no such row or column in our table"}
    assert "0 of 21 printed numbers equal" in check.verdict(checked)


def test_verdict_counts_differences(tmp_path: Path) -> None:
    (tmp_path / "table16_largest_gains.csv").write_text("rank,mean_delta,ci_low\n1,0.471,0.100\n2,0.460,0.1\n", encoding="utf-8")
    frame = pd.DataFrame({"rank": [1, 2], "mean_delta": [0.471, 0.455], "ci_low": [0.102, None]})
    table = Table("table16_largest_gains", "t", frame, {"rank": "int", "mean_delta": "3", "ci_low": "3"}, ("rank",))
    checked = check.compare(table, tmp_path)
    assert checked["equal"].tolist() == [True, False, False, False]
    assert check.verdict(checked).startswith("1 of 4 printed numbers equal; 2 differ by at most 0.005")
    assert "1 cannot be computed" in check.verdict(checked)


def test_typeset_brackets_fractions_and_signs(sources: Sources) -> None:
    shown = typeset(build_table("3", sources))
    assert shown.iloc[0].tolist() == ["Reward", "GPT 5.4 Mini", "0.639", "0.802", "0.162 [0.099, 0.232]", "26/28"]
    assert shown.iloc[4, 4] == "−0.056 [−0.085, −0.029]"
    assert "$-$0.056" in to_latex(build_table("3", sources))


def test_deltas_ignore_models_without_both_arms() -> None:
    runs = pd.DataFrame([
        {"task": "t", "condition": c, "schema": "native", "model": m, "trial": 1, "reward": r}
        for c, m, r in (("no-skill", "a", 0.2), ("with-skill", "a", 0.6), ("no-skill", "b", 0.9))])
    assert task_deltas(runs)["t"] == pytest.approx(0.4) and cell_means(runs).loc[("t", "b"), "no-skill"] == 0.9

"""Tables 5, 29, 30, 31 and 23 on constructed indexes, against answers that share no code with the library."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest

from m4lib.analysis.figures import task_delta_data
from m4lib.analysis.sources import Sources, load_sources
from m4lib.analysis.table import build_table
from m4lib.cards import load_cards
from m4lib.project import Project
from tests.analysis import constructed as made

PRIMARY_SEED, FOLLOWUP_SEED = 20260504, 20260506


@pytest.fixture(scope="module")
def tasks(project: Project) -> list[str]:
    return list(load_cards(project.tasks))


@pytest.fixture(scope="module")
def rows(tasks: list[str]) -> list[made.Row]:
    return made.replication_rows(tasks)


@pytest.fixture(scope="module")
def sources(rows: list[made.Row], tmp_path_factory: pytest.TempPathFactory, project: Project) -> Sources:
    folder = tmp_path_factory.mktemp("replication")
    made.write_rows(folder / "metadata" / "run-indexes" / "july_runs.csv", rows)  # found by what it holds
    return load_sources(folder, tasks=project.tasks)


def table(number: int, sources: Sources) -> list[dict[str, str]]:
    built = build_table(str(number), sources)
    assert built.notes == []
    return built.printed_form().to_dict("records")


def test_the_index_has_the_published_shape(rows: list[made.Row], sources: Sources) -> None:
    assert len(rows) == len(sources["replication"]) == 560


def test_table_29(rows: list[made.Row], tasks: list[str], sources: Sources) -> None:
    got = table(29, sources)
    for line, model, name in zip(got, ("opus", "sonnet"), ("Claude Opus", "Claude Sonnet"), strict=False):
        changes = [made.delta(rows, task, model) for task in tasks]
        low, high = made.bounds(changes, PRIMARY_SEED)
        level = {arm: fmean(row["reward"] for row in rows if (row["model"], row["condition"]) == (model, arm))
                 for arm in made.ARMS}
        assert line == {
            "model": name, "no_skill": made.fmt(level["no-skill"]), "with_skill": made.fmt(level["with-skill"]),
            "delta": made.fmt(fmean(changes)), "ci_low": made.fmt(low), "ci_high": made.fmt(high),
            "positive_tasks": str(sum(change > 1e-9 for change in changes)), "tasks": "28"}
    changes = [made.mean_delta(rows, task) for task in tasks]
    low, high = made.bounds(changes, PRIMARY_SEED)
    assert got[2]["model"] == "Task-balanced mean" and got[2]["delta"] == made.fmt(fmean(changes))
    assert (got[2]["ci_low"], got[2]["ci_high"]) == (made.fmt(low), made.fmt(high))
    assert got[2]["no_skill"] == made.fmt(fmean(row["reward"] for row in rows if row["condition"] == "no-skill"))


def test_table_5(rows: list[made.Row], tasks: list[str], sources: Sources) -> None:
    sets = {"All tasks": tasks, "CLI-version matched": [task for task in tasks if task not in made.MIXED_CLI],
            "CLI and routing matched": [task for task in tasks if task not in made.MIXED_CLI | made.MIXED_ROUTING]}
    got = table(5, sources)
    assert [line["task_set"] for line in got] == list(sets)
    for line, chosen in zip(got, sets.values(), strict=True):
        part = [row for row in rows if row["task"] in chosen]
        changes = [made.mean_delta(part, task) for task in chosen]
        low, high = made.bounds(changes, PRIMARY_SEED)
        strict = {arm: sum(row["failed"] == 0 and row["errors"] == 0 for row in part if row["condition"] == arm)
                  for arm in made.ARMS}
        assert line == {
            "task_set": line["task_set"], "tasks": str(len(chosen)), "runs": str(len(part)),
            "delta": made.fmt(fmean(changes)), "ci_low": made.fmt(low), "ci_high": made.fmt(high),
            "positive_tasks": str(sum(change > 1e-9 for change in changes)), "positive_of": str(len(chosen)),
            "strict_pass_no_skill": str(strict["no-skill"]), "runs_no_skill": str(len(part) // 2),
            "strict_pass_with_skill": str(strict["with-skill"]), "runs_with_skill": str(len(part) // 2),
            "key_f1_delta": made.fmt(fmean(made.mean_delta(part, task, made.key_f1) for task in chosen))}
    assert [len(chosen) for chosen in sets.values()] == [28, 23, 22]


def test_table_30(rows: list[made.Row], sources: Sources) -> None:
    for line, arm in zip(table(30, sources), made.ARMS, strict=True):
        part = [row for row in rows if row["condition"] == arm]
        assert line == {
            "condition": arm, "runs": "280",
            "cli_2_1_119_runs": str(sum(row["cli_version"] == "2.1.119" for row in part)),
            "cli_2_1_220_runs": str(sum(row["cli_version"] == "2.1.220" for row in part)),
            "overrides_recorded_runs": str(sum(row["overrides_recorded"] for row in part)),
            "haiku_usage_runs": str(sum(row["haiku_usage"] for row in part)),
            "haiku_turn_runs": str(sum(row["haiku_turns"] > 0 for row in part)),
            "agent_hours": f"{sum(row['elapsed_seconds'] for row in part) / 3600:.1f}"}


def test_table_31(rows: list[made.Row], tasks: list[str], sources: Sources) -> None:
    got = table(31, sources)
    order = sorted(tasks, key=lambda task: -made.mean_delta(rows, task))
    assert [line["task"] for line in got] == order and [line["rank"] for line in got] == [str(n) for n in range(1, 29)]
    for line in got:
        task = line["task"]
        mark = "CLI" if task in made.MIXED_CLI else "routing" if task in made.MIXED_ROUTING else "matched"
        assert line["harness"] == mark
        assert (line["opus_delta"], line["sonnet_delta"], line["mean_delta"]) == (
            made.fmt(made.delta(rows, task, "opus")), made.fmt(made.delta(rows, task, "sonnet")),
            made.fmt(made.mean_delta(rows, task)))


def test_figure_2_has_the_claude_series(rows: list[made.Row], tasks: list[str], sources: Sources) -> None:
    frame = task_delta_data(sources).frame
    claude = frame[frame["series"] == "claude replication"].set_index("task")
    assert list(claude.index) == tasks and claude["delta"].notna().all()
    assert claude.loc["eicu-gcs", "delta"] == pytest.approx(made.mean_delta(rows, "eicu-gcs"))
    assert (claude["ci_low"] <= claude["delta"]).all() and (claude["delta"] <= claude["ci_high"]).all()


@pytest.mark.parametrize("rename", [
    {"cli_version": "claude_code_version", "haiku_turns": "haiku_assistant_turns", "elapsed_seconds": "agent_elapsed_seconds"},
    {"overrides_recorded": "model_slot_overrides", "haiku_usage": "usage_names_haiku"},
])
def test_other_column_names_and_model_ids_are_understood(
    rename: dict[str, str], rows: list[made.Row], tmp_path: Path, project: Project, sources: Sources
) -> None:
    names = {"opus": "claude-opus-4-7", "sonnet": "claude-sonnet-4-6"}
    other = [{rename.get(key, key): value for key, value in row.items()} | {"model": names[row["model"]]} for row in rows]
    for row in other:
        if "claude_code_version" in row:
            row["claude_code_version"] += " (Claude Code)"
        if "model_slot_overrides" in row:
            row["model_slot_overrides"] = '{"haiku": "x"}' if row["model_slot_overrides"] else "{}"
    again = load_sources(made.write_rows(tmp_path / "x.csv", other).parent, tasks=project.tasks)
    for number in (5, 29, 30, 31):
        assert table(number, again) == table(number, sources)


def test_without_the_harness_columns_only_what_needs_them_is_blank(
    rows: list[made.Row], tmp_path: Path, project: Project
) -> None:
    bare = [{key: value for key, value in row.items() if key not in (
        "cli_version", "overrides_recorded", "haiku_usage", "haiku_turns")} for row in rows]
    sources = load_sources(made.write_rows(tmp_path / "bare.csv", bare).parent, tasks=project.tasks)
    sets = build_table("5", sources)
    assert sets.printed_form()["delta"].tolist()[1:] == ["", ""] and sets.printed_form()["delta"].iloc[0]
    assert "Claude Code version" in sets.notes[0]
    assert set(build_table("31", sources).printed_form()["harness"]) == {"NA"}
    assert build_table("30", sources).printed_form()["agent_hours"].str.len().gt(0).all()


def test_table_23_with_the_probe(evidence_dir: Path, project: Project, tasks: list[str], tmp_path: Path) -> None:
    import shutil

    mimic = [task for task in tasks if task.startswith("mimic-")]
    probe = made.probe_rows(mimic)
    for name in ("final_codex_runs.csv", "followup_canonical_runs.csv"):
        shutil.copy(evidence_dir / "run-indexes" / name, tmp_path / name)
    made.write_rows(tmp_path / "april.csv", probe)
    sources = load_sources(tmp_path, tasks=project.tasks)
    got = {line["schema"]: line for line in table(23, sources)}

    import csv

    def plain(name: str) -> list[dict[str, str]]:
        with open(tmp_path / name, encoding="utf-8", newline="") as handle:
            return list(csv.DictReader(handle))

    def levels(rows: list, schema: str, arm: str) -> list[float]:
        return [fmean(float(row["reward"]) for row in rows if (row["task"], row["schema"], row["condition"], row["model"]) == (
            task, schema, arm, "gpt-5.4-mini")) for task in mimic]

    codex, followup = plain("final_codex_runs.csv"), plain("followup_canonical_runs.csv")
    native = [b - a for a, b in zip(levels(codex, "native", "no-skill"), levels(codex, "native", "with-skill"), strict=True)]
    for schema in ("obfuscated", "restructured"):
        without, skilled = levels(probe, schema, "no-skill"), levels(followup, schema, "with-skill")
        change = [b - a for a, b in zip(without, skilled, strict=True)]
        low, high = made.bounds(change, FOLLOWUP_SEED)
        assert got[schema] == {
            "schema": schema, "tasks": "26", "no_skill": made.fmt(fmean(without)), "with_skill": made.fmt(fmean(skilled)),
            "delta": made.fmt(fmean(change)), "ci_low": made.fmt(low), "ci_high": made.fmt(high),
            "positive_tasks": str(sum(value > 1e-9 for value in change)), "positive_of": "26",
            "robustness_ratio": made.fmt(fmean(change) / fmean(native))}

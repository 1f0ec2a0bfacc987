"""The whole paper in one call, from the published indexes and from a campaign's own; figures; the page."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from m4lib.analysis import figures, paper
from m4lib.analysis.batch import make_paper
from m4lib.analysis.check import COLUMNS
from m4lib.analysis.sources import load_sources
from m4lib.analysis.table import registered
from m4lib.cli import main
from m4lib.errors import M4Error
from m4lib.project import Project

IDS = [*registered(), "figure01_pipeline", "figure02_task_deltas"]


@pytest.fixture(scope="module")
def out(evidence_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paper")
    status = main(["paper", "--evidence", str(evidence_dir), "--out", str(folder), "--quiet"])
    assert status == 0
    return folder


def test_every_file_is_there(out: Path) -> None:
    for id in IDS[:31]:
        for ending in ("csv", "md", "tex"):
            assert (out / "tables" / f"{id}.{ending}").stat().st_size > 40
    for id in IDS[31:]:
        assert (out / "figures" / f"{id}.pdf").read_bytes()[:5] == b"%PDF-"
        assert (out / "figures" / f"{id}.png").read_bytes()[:4] == b"\x89PNG"
    assert not list(out.rglob(".*"))  # no half-written leftovers


def test_a_file_in_the_folders_place_is_one_sentence(evidence_dir: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    sources = load_sources(evidence_dir)
    table = registered()[IDS[0]](sources)
    for place in (file, file / "in"):
        with pytest.raises(M4Error, match=f"{file} is no folder"):
            paper.save(table, sources, place)
        with pytest.raises(M4Error, match=f"{file} is no folder"):
            make_paper(sources, place, on_done=lambda piece: pytest.fail("computed before the folder was looked at"))
    assert paper.save(table, sources, tmp_path / "new").startswith("Wrote ")


def test_check_lists_every_printed_value(out: Path) -> None:
    checked = pd.read_csv(out / "paper_check.csv", dtype=str, keep_default_na=False)
    assert list(checked.columns) == COLUMNS and set(checked["equal"]) == {"True", "False"}
    wrong = checked[checked["equal"] == "False"]
    # what differs is what cannot be computed: the replication, the probe, and files that are not at hand
    assert (wrong["ours"] == "").all() and (wrong["note"] != "").all()
    assert set(wrong["table"].str[:7]) == {"table05", "table15", "table23", "table29", "table30", "table31", "figure0"}
    assert len(checked) - len(wrong) > 350


def test_csv_layout_is_the_published_one(out: Path, evidence_dir: Path) -> None:
    for path in (evidence_dir / "expected").glob("table*.csv"):
        printed = pd.read_csv(path, dtype=str, keep_default_na=False)
        ours = pd.read_csv(out / "tables" / path.name, dtype=str, keep_default_na=False)
        assert list(ours.columns) == list(printed.columns)
        labels = list(printed.columns[:1] if "rank" in printed or path.name[5:7] not in ("03", "18") else printed.columns[:2])
        assert ours[labels].head(len(printed)).equals(printed[labels]), path.name


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids.add(given.get("id") or "")
        self.targets += [value for name in ("href", "src") if (value := given.get(name))]


def test_page_is_static_and_its_links_lead_somewhere(out: Path) -> None:
    page = (out / "report" / "index.html").read_text(encoding="utf-8")
    links = Links()
    links.feed(page)
    assert len(links.targets) > 33 and "<script" not in page and "http" not in page
    for target in links.targets:
        assert target[1:] in links.ids if target.startswith("#") else (out / "report" / target).resolve().is_file(), target


def test_latex_compiles_in_structure(out: Path) -> None:
    for path in (out / "tables").glob("*.tex"):
        text = path.read_text(encoding="utf-8")
        assert text.count(r"\begin{") == text.count(r"\end{") and r"\midrule" in text
        body = text.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
        columns = text.split(r"\toprule")[1].split(r"\midrule")[0].count(" & ")
        assert all(line.count(" & ") == columns and line.endswith(r"\\") for line in body), path.name
        plain = "".join(body).replace(r"\_", "").replace(r"\%", "")
        assert not any(raw in plain for raw in "_%#"), path.name


def test_a_mistake_is_one_sentence_and_status_2(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "m4lib", "paper", "--evidence", str(tmp_path / "no"), "--out", str(tmp_path)],
                          capture_output=True, text=True)
    assert done.returncode == 2 and "Traceback" not in done.stderr and len(done.stderr.strip().splitlines()) == 1


def test_a_printed_value_that_differs_is_named(
    evidence_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import shutil

    shutil.copytree(evidence_dir, tmp_path / "e")
    subprocess.run(["chmod", "-R", "u+w", str(tmp_path / "e")], check=True)
    path = tmp_path / "e" / "expected" / "table16_largest_gains.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("0.471", "0.472"), encoding="utf-8")
    command = ["paper", "--evidence", str(tmp_path / "e"), "--out", str(tmp_path / "o"), "--quiet", "--workers", "1"]
    assert main([*command, "--strict"]) == 1
    assert "Not as printed: table16_largest_gains" in capsys.readouterr().err
    assert main(command) == 0  # everything came out; the check says what differs


# ---- a campaign's own index ---------------------------------------------------------------------------------------------


def own_index(folder: Path) -> Path:
    """A small campaign: two tasks, one model without a name, two trials, one errored run."""
    rows = [{"task": task, "condition": condition, "schema": "native", "agent": "scripted", "model": None, "trial": trial,
             "reward": reward - 0.1 * trial, "failed": 1, "errors": 0, "truth_rows": 140, "key_f1": 1.0}
            for task, condition, reward in (("mimic-sofa-24h", "no-skill", 0.5), ("mimic-sofa-24h", "with-skill", 0.9),
                                            ("mimic-meld-24h", "no-skill", 0.6), ("mimic-meld-24h", "with-skill", 0.6))
            for trial in (1, 2)]
    rows[0] |= {"reward": None, "errors": 1, "failed": 0, "key_f1": None}
    path = folder / "index" / "mine.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def test_own_index_goes_through_every_table(tmp_path: Path, project: Project) -> None:
    sources = load_sources(None, index=own_index(tmp_path), tasks=project.tasks, skills=project.skills)
    pieces = {piece.id: piece for piece in make_paper(sources, tmp_path / "out", workers=1)}
    assert [piece.error for piece in pieces.values()] == [None] * 33
    effect = pd.read_csv(tmp_path / "out" / "tables" / "table03_native_skill_effect.csv")
    balanced = effect[(effect["measure"] == "Reward") & (effect["scope"] == "task-balanced")].iloc[0]
    # sofa: (0.8 + 0.7)/2 - (0 + 0.3)/2; meld: 0
    assert balanced[["no_skill", "with_skill", "delta"]].tolist() == pytest.approx([0.3, 0.6, 0.3])
    assert (balanced["improved_tasks"], balanced["tasks"]) == (1, 2)
    largest = pd.read_csv(tmp_path / "out" / "tables" / "table16_largest_gains.csv")
    assert largest["task"].tolist() == ["mimic-sofa-24h", "mimic-meld-24h"]
    details = pd.read_csv(tmp_path / "out" / "tables" / "table06_task_details.csv").set_index("task")
    assert details.loc["mimic-sofa-24h", "reference_rows"] == 140 and np.isnan(details.loc["eicu-gcs", "reference_rows"])
    assert len(pd.read_csv(tmp_path / "out" / "paper_check.csv")) == 0
    assert "nothing printed" in (tmp_path / "out" / "report" / "index.html").read_text(encoding="utf-8")


def test_index_of_one_arm_gives_blanks_not_errors(tmp_path: Path, project: Project) -> None:
    path = own_index(tmp_path)
    frame = pd.read_csv(path)
    frame[frame["condition"] == "no-skill"].to_csv(path, index=False)
    sources = load_sources(None, index=path, tasks=project.tasks)
    pieces = make_paper(sources, tmp_path / "out", workers=1)
    assert [piece.id for piece in pieces if piece.error] == []


# ---- figures --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def drawn(evidence_dir: Path, project: Project):
    data = figures.task_delta_data(load_sources(evidence_dir, tasks=project.tasks))
    return data, figures.draw_task_deltas(data)


def test_figures_are_equal_on_every_run(drawn, tmp_path: Path) -> None:
    data, figure = drawn
    for name, made in (("a", figure), ("b", figures.draw_task_deltas(data)), ("c", figures.draw_pipeline()),
                       ("d", figures.draw_pipeline())):
        figures.save_figure(made, name, tmp_path)
    for first, second in (("a", "b"), ("c", "d")):
        for ending in ("png", "pdf"):
            assert (tmp_path / f"{first}.{ending}").read_bytes() == (tmp_path / f"{second}.{ending}").read_bytes()


def test_figure_2_is_readable_at_column_width(drawn) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    _, figure = drawn
    FigureCanvasAgg(figure).draw()
    assert figure.get_size_inches()[0] == pytest.approx(3.5)
    labels = figure.axes[0].get_yticklabels()
    assert len(labels) == 28 and min(label.get_fontsize() for label in labels) >= 6
    boxes = sorted((label.get_window_extent() for label in labels), key=lambda box: box.y0)
    assert all(upper.y0 >= lower.y1 - 0.5 for lower, upper in pairwise(boxes))
    ticks = sorted((tick.get_window_extent() for tick in figure.axes[0].get_xticklabels()), key=lambda box: box.x0)
    assert all(right.x0 > left.x1 + 2 for left, right in pairwise(ticks))
    canvas = figure.bbox
    every = [*boxes, *(text.get_window_extent() for text in figure.axes[0].texts)]
    assert all(box.x0 >= 0 and box.x1 <= canvas.x1 for box in every)


def test_figure_2_shows_the_data(drawn, evidence_dir: Path) -> None:
    data, figure = drawn
    frame = data.frame
    assert frame.groupby("series", sort=False).size().to_dict() == {
        "codex primary": 28, "claude replication": 28, "gpt-oss-20b exploratory": 8}
    assert frame[frame["series"] == "claude replication"]["delta"].isna().all()
    printed = pd.read_csv(evidence_dir / "expected" / "figure02_task_deltas.csv")
    assert set(zip(printed["series"], printed["task"], strict=True)) == set(zip(frame["series"], frame["task"], strict=True))
    lines = [line for line in figure.axes[0].get_lines() if line.get_linestyle() == "None"]
    assert [len(line.get_xdata()) for line in lines] == [28, 8]
    known = frame[frame["series"] == "codex primary"].set_index("task")["delta"]
    assert sorted(lines[0].get_xdata()) == pytest.approx(sorted(known)) and known["eicu-oasis"] == pytest.approx(0.27237, abs=5e-6)


def test_colours_stay_apart_for_colour_blind_readers() -> None:
    from matplotlib.colors import to_rgb

    # Viénot's reduction for deuteranopia and protanopia; distances in linear light
    reductions = (np.array([[0.2928, 0.7072, 0], [0.2928, 0.7072, 0], [-0.0223, 0.0223, 1]]),
                  np.array([[0.1124, 0.8876, 0], [0.1124, 0.8876, 0], [0.0040, -0.0040, 1]]))
    colours = [np.array(to_rgb(colour)) ** 2.2 for _, colour, _ in figures.SERIES.values()]
    for reduction in reductions:
        seen = [np.clip(reduction @ colour, 0, 1) ** (1 / 2.2) for colour in colours]
        assert min(np.linalg.norm(a - b) for i, a in enumerate(seen) for b in seen[:i]) > 0.15
    assert len({marker for _, _, marker in figures.SERIES.values()}) == 3

"""Pages of the report: what they show of the machine that made them."""

from __future__ import annotations

from pathlib import Path

import nbformat

from m4lib.pipeline.report import notebook_page, relative_folders


def test_folders_are_shown_as_seen_from_the_project() -> None:
    code = '# Parameters\nevidence_dir = "/home/a b/shared/evidence"\nout = "/home/a b/main/outputs"\nname = "x/y"\nquote = "a \\"/b\\""\nnone = None\n'
    assert relative_folders(code, "/home/a b/main") == (
        '# Parameters\nevidence_dir = "../shared/evidence"\nout = "outputs"\nname = "x/y"\nquote = "a \\"/b\\""\nnone = None\n'
    )


def test_a_page_shows_no_absolute_folder_and_leaves_the_notebook_as_it_is(tmp_path: Path) -> None:
    cell = nbformat.v4.new_code_cell(f'# Parameters\nout_dir = "{tmp_path}/outputs"\n', metadata={"tags": ["injected-parameters"]})
    source, target = tmp_path / "n.ipynb", tmp_path / "n.html"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# A title"), cell]), source)
    before = source.read_bytes()
    assert notebook_page(str(source), str(target), "index.html", str(tmp_path)) == "A title"
    page = target.read_text()
    assert str(tmp_path) not in page and "outputs" in page and source.read_bytes() == before

"""One corpus and one package for the whole folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from m4lib.evidence.package import make_package
from m4lib.evidence.unpack import unpack
from tests.evidence.corpus import Corpus, make_corpus
from tests.evidence.runs import make_runs

KEY = bytes(range(32))


@pytest.fixture(scope="session")
def corpus(tmp_path_factory) -> tuple[Path, Corpus]:
    folder = tmp_path_factory.mktemp("corpus")
    return folder, make_corpus(folder, seed=7, plants=2100)


@pytest.fixture(scope="session")
def runs(tmp_path_factory) -> Path:
    return make_runs(tmp_path_factory.mktemp("root") / "runs")


@pytest.fixture(scope="session")
def published(runs, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("published") / "out"
    make_package(runs, out, name="test-evidence", key=KEY)
    return out


@pytest.fixture(scope="session")
def package(published, tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("unpacked") / "here"
    unpack(published / "test-evidence.tar.zst", target)
    return target / "test-evidence"

"""Docker for the harness tests: the engine, a small made-up task, and the check that nothing is left behind."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from m4lib.errors import InfrastructureError
from m4lib.harness import images
from m4lib.harness.docker_host import Engine
from m4lib.project import Project
from tests.harness.lab import Lab, make_lab
from tests.harness.site import Site, make_site
from tests.needs import lacking


@pytest.fixture(scope="session")
def engine(project: Project) -> Iterator[Engine]:
    """A Docker Engine with a base image. Without one the test is skipped, or fails where Docker is required."""
    try:
        found = Engine()
    except InfrastructureError as error:
        lacking(str(error), "M4_REQUIRE_DOCKER")
    if not any(found.image(tag) for tag in (images.LOCAL_BASE, images.HUB_BASE)):
        subprocess.run(["bash", str(project.root / "tools" / "docker" / "base-image.sh")], check=True, timeout=600)
    with found:
        yield found


@pytest.fixture
def site(tmp_path: Path, project: Project) -> Site:
    """A made-up task with a database of five rows, ready for the container."""
    return make_site(tmp_path, project)


@pytest.fixture
def clean(engine: Engine, site: Site) -> Iterator[Site]:
    """The site, and after the test: no container, network, working folder or half-made result of it is left."""
    yield site
    labels = site.settings.labels()
    assert engine.containers(labels) == []
    assert engine.networks(labels) == []
    assert list(site.settings.scratch_root().iterdir()) == []
    assert list(site.settings.results_root.glob(".partial-*")) == []


@pytest.fixture(scope="session")
def lab(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A synthetic MIMIC-IV of twenty stays with references and task databases, for whole campaigns."""
    return make_lab(tmp_path_factory.mktemp("lab"), project)

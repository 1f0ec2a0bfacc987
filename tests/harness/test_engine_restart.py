"""The engine itself dies or is restarted in the middle of a run. A private engine stands in for it."""

from __future__ import annotations

import threading
import time

import pytest

from m4lib.errors import InfrastructureError
from m4lib.harness import images
from m4lib.harness.docker_host import Engine
from m4lib.harness.run import sweep
from tests.harness.private_engine import private_engine
from tests.harness.site import Site

pytestmark = [pytest.mark.docker, pytest.mark.slow]


def test_engine_killed_and_restarted(engine: Engine, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with private_engine() as private:
        tag = images.agent_image(engine, None).tag
        private.load(tag)
        monkeypatch.setenv("DOCKER_HOST", private.host)
        with Engine() as mine:
            thread = threading.Timer(3, private.kill)
            thread.start()
            begun = time.monotonic()
            with pytest.raises(InfrastructureError):
                site.run(script="import time\ntime.sleep(40)", engine=mine, image=tag)
            assert time.monotonic() - begun < 35
            thread.join()
        assert site.published() == [] and list(site.settings.scratch_root().iterdir()) == []
        with pytest.raises(InfrastructureError):
            site.run("nop", image=tag)
        private.start()
        with Engine() as mine:
            answer = "stay_id,score\\n" + "".join(f"{n},{2 * n}\\n" for n in range(5))
            record = site.run(script=f"open('output.csv', 'w').write('{answer}')", engine=mine, image=tag)
            assert record["test_results"]["reward"] == 1.0
            sweep(site.settings, mine)
            assert mine.containers(site.settings.labels()) == []

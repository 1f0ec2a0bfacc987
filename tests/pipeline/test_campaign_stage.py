"""What the run stage does when a machine lacks something: the campaign is skipped with its reason, the others go on."""

from __future__ import annotations

from types import SimpleNamespace

from m4lib.harness.failures import ToolMissing
from m4lib.pipeline import batch, campaign_stage


class Campaign:
    """Stands for a planned campaign: `trouble` is raised by its run."""

    def __init__(self, name: str, trouble: Exception | None = None) -> None:
        self.name, self.trouble = name, trouble

    def forecast(self):
        return SimpleNamespace(runs=2, done=0)

    def summary(self, finished: int, skipped: str | None) -> dict:
        return {"campaign": self.name, "agent": "codex", "planned": 2, "finished": finished, "void": 0,
                "mean_reward": None if skipped else 1.0, "skipped": skipped}

    def run(self, *, show: bool) -> dict:
        if self.trouble:
            raise self.trouble
        return self.summary(2, None)

    def skip(self, reason: str) -> dict:
        return self.summary(0, reason)


def test_a_missing_program_skips_its_campaign_alone(monkeypatch):
    monkeypatch.setattr(batch, "docker_answers", lambda: True)
    table = campaign_stage.dispatch_all([Campaign("a", ToolMissing("npm is needed once.")), Campaign("b")], show=False).set_index("campaign")
    assert table.loc["a", "skipped"] == "npm is needed once" and table.loc["a", "finished"] == 0
    assert table.loc["b", "skipped"] is None and table.loc["b", "finished"] == 2


def test_without_docker_every_campaign_is_skipped(monkeypatch):
    monkeypatch.setattr(batch, "docker_answers", lambda: False)
    table = campaign_stage.dispatch_all([Campaign("a"), Campaign("b")], show=False)
    assert list(table["skipped"]) == [campaign_stage.NO_DOCKER] * 2 and table["mean_reward"].isna().all()

"""What a campaign will do, before it does it: runs, cells, expected hours, tokens and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from m4lib.harness.campaign import TEST_AGENTS, Campaign, PlannedRun, cells

# Mean tokens of a published run, from the sums of the release metadata: (input, cached part of it, output).
TOKENS = {
    "codex": (586_293_569 / 760, 552_619_008 / 760, 15_732_394 / 760),
    "claude": ((16_657 + 307_338_270) / 190, 307_338_270 / 190, 3_641_390 / 190),
}


@dataclass(frozen=True)
class Forecast:
    """Totals of a plan. Seconds are agent time; `cost` is None where the params name no prices for a model."""

    runs: int
    done: int
    cells: int
    seconds: float
    wall_seconds: float
    input_tokens: float
    cached_tokens: float
    output_tokens: float
    cost: float | None

    def text(self, name: str) -> str:
        hours, wall = self.seconds / 3600, self.wall_seconds / 3600
        line = f"{name}: {self.runs} runs in {self.cells} cells; {self.done} done, {self.runs - self.done} to do"
        if self.runs > self.done:
            line += f"; about {hours:.1f} agent hours, {wall:.1f} h of wall time"
            if self.output_tokens:
                line += f"; about {self.input_tokens / 1e6:.0f} M input ({self.cached_tokens / 1e6:.0f} M cached) and {self.output_tokens / 1e6:.1f} M output tokens"
                line += f"; about {self.cost:,.0f} USD" if self.cost is not None else "; no `prices` in the params, so no cost"
        return line + "."


def forecast(campaign: Campaign, planned: Sequence[PlannedRun], todo: Sequence[PlannedRun], parallel: int) -> Forecast:
    """Expected size of what is left to do, from the published means.

    `prices` in the params maps a model to USD per million tokens: {input, cached, output}.
    """
    replayed = bool(campaign.options.get("replay"))
    quick = replayed or campaign.agent in TEST_AGENTS  # no model thinks
    seconds = sum(3.0 if quick else run.expected_seconds for run in todo)
    per_run = (0.0, 0.0, 0.0) if quick else TOKENS.get(campaign.agent, (0.0, 0.0, 0.0))
    prices: Mapping[str, Any] = campaign.options.get("prices") or {}
    cost: float | None = 0.0
    for run in todo:
        price = prices.get(run.key.model)
        if price is None or cost is None:
            cost = None
        else:
            fresh = per_run[0] - per_run[1]
            cost += (fresh * price["input"] + per_run[1] * price.get("cached", price["input"]) + per_run[2] * price["output"]) / 1e6
    n = len(todo)
    return Forecast(len(planned), len(planned) - n, len(cells(planned)), seconds, seconds / max(parallel, 1),
                    n * per_run[0], n * per_run[1], n * per_run[2], cost)

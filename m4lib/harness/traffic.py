"""What a run sent, as proxy and gateway saw it, and whether it was the provider that failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from m4lib.harness.failures import InfrastructureError, ProviderFailure
from m4lib.harness.supervise import Outcome
from m4lib.harness.traces import Trace


@dataclass
class Traffic:
    """What a run sent, as the proxy and the gateway saw it."""

    egress: list[dict[str, Any]]
    allowed: tuple[str, ...]
    secrets: tuple[str, ...]
    auth_method: str
    replayed: bool
    exception: str
    cli_version: str | None = None
    models: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.calls = [entry for entry in self.egress if entry.get("by") == "gateway"]
        for entry in self.calls:
            for name in (entry.get("served"), entry.get("model")):
                if name and name not in self.models:
                    self.models.append(name)

    @property
    def requests(self) -> dict[str, Any]:
        statuses: dict[str, int] = {}
        for entry in self.calls:
            statuses[str(entry.get("status"))] = statuses.get(str(entry.get("status")), 0) + 1
        return {
            "count": len(self.calls), "statuses": statuses, "up_bytes": sum(entry.get("up") or 0 for entry in self.calls),
            "down_bytes": sum(entry.get("down") or 0 for entry in self.calls),
        }

    @property
    def hosted_tools(self) -> list[dict[str, Any]]:
        """Requests for tools that would run on the provider's side; the gateway refused them."""
        return [{"kind": "hosted_tool", "tool": tool, "succeeded": False} for entry in self.calls for tool in entry.get("hosted_tools") or []]

    def raise_for_provider(self, trace: Trace, outcome: Outcome, has_output: bool) -> None:
        """Raise ProviderFailure when the run ended because of the model's side and not because of the agent."""
        if outcome.state == "finished" and outcome.returncode == 0 and not trace.failed and (has_output or trace.finished):
            return
        last = next((entry for entry in reversed(self.calls) if entry.get("allowed") and entry.get("status") is not None), None)
        if trace.rate_limited:
            raise ProviderFailure("rate_limit", "The provider limits the rate of requests.", trace.rate_limited_until)
        if last is None:
            if self.auth_method == "login":
                _raise_for_texts(trace)
                return
            if outcome.returncode != 0 and outcome.state == "finished":
                text = trace.errors[-1] if trace.errors else f"exit code {outcome.returncode}"
                raise InfrastructureError(f"The command line never reached its model ({text[:200]}).")
            return
        status, error = int(last.get("status") or 0), str(last.get("error") or "")[:200]
        if status in (401, 403):
            raise ProviderFailure("auth", f"The provider refuses the credential (status {status}: {error}).")
        if status in (429, 529):
            raise ProviderFailure("rate_limit", f"The provider limits the rate of requests (status {status}).", _retry_at(last))
        if status >= 500 or (last.get("error") and status < 400):
            raise ProviderFailure("unavailable", f"The provider failed (status {status}: {error}).")


def _raise_for_texts(trace: Trace) -> None:
    """With a login there is no gateway to ask: what the command line itself reports."""
    text = " ".join(trace.errors[-3:]).lower()
    if any(word in text for word in ("invalid api key", "not logged in", "401", "403", "please run /login", "authenticat")):
        raise ProviderFailure("auth", f"The provider refuses the login ({text[:200]}).")
    if any(word in text for word in ("rate limit", "usage limit", "quota", " 429", "resource_exhausted")):
        raise ProviderFailure("rate_limit", f"The provider limits the rate of requests ({text[:200]}).")


def _retry_at(entry: Mapping[str, Any]) -> float | None:
    try:
        return float(entry["ts"]) + float(entry["retry_after"])
    except (KeyError, TypeError, ValueError):
        return None

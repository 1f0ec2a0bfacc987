"""What can go wrong outside an agent. None of these is ever scored; the run is absent and is done again."""

from __future__ import annotations

from m4lib.errors import InfrastructureError, M4Error

__all__ = ["Cancelled", "EngineUnavailable", "InfrastructureError", "M4Error", "ProviderFailure", "ToolMissing"]


class EngineUnavailable(InfrastructureError):
    """Docker does not answer at all."""


class ToolMissing(InfrastructureError):
    """A program that this machine needs for some agents is not installed; other agents can still run."""


class ProviderFailure(InfrastructureError):
    """The model's provider refused or failed. `kind`: auth (waiting does not help), rate_limit or unavailable;
    `retry_at`: epoch seconds from which a new attempt makes sense, when the provider said so."""

    def __init__(self, kind: str, text: str, retry_at: float | None = None) -> None:
        super().__init__(text)
        self.kind = kind
        self.retry_at = retry_at

    def __reduce__(self) -> tuple[type, tuple[str, str, float | None]]:
        return (ProviderFailure, (self.kind, str(self), self.retry_at))


class Cancelled(InfrastructureError):
    """The dispatcher asked the run to stop; nothing is recorded."""

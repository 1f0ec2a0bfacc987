"""What an agent is to the harness: a command line in an image, seed files for its HOME, and a way to its model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from m4lib.cards import Card

PROXY = "http://egress:3128"  # the only door, when there is one
GATEWAY = "http://model:8000"  # stands behind the proxy and holds the key
PLACEHOLDER_KEY = "held-by-the-gateway"


@dataclass(frozen=True)
class Task:
    """What an agent may use to prepare its launch; all of it ends up in the container."""

    card: Card
    condition: str
    schema: str
    prompt: str
    model: str | None
    effort: str  # resolved
    files: Mapping[str, str]
    script: str = ""  # the program of a scripted agent, or SQL
    login: Mapping[str, str] = field(default_factory=dict)  # HOME-relative path -> text, for logins that live in HOME


@dataclass(frozen=True)
class Launch:
    """How to start an agent. `files` maps absolute paths in the container to text; they are written by process 1."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Agent:
    """One kind of agent. Agents without a provider get no network at all."""

    name: str
    cli: str | None = None  # name in images.CLIS
    provider: str | None = None
    test_only: bool = False  # proves the harness, is never evidence
    why_unpublishable: str = ""

    def launch(self, task: Task) -> Launch:
        raise NotImplementedError

    def restrictions(self) -> dict[str, Any]:
        """Tools taken away from this agent, for the record: agents differ in them."""
        return {}

"""The agents by name."""

from __future__ import annotations

from m4lib.errors import M4Error
from m4lib.harness.agents.base import Agent, Launch, Task
from m4lib.harness.agents.claude import CLAUDE
from m4lib.harness.agents.codex import CODEX
from m4lib.harness.agents.gemini import GEMINI
from m4lib.harness.agents.local import NOP, ORACLE, SCRIPTED
from m4lib.harness.agents.pi import PI

AGENTS: dict[str, Agent] = {agent.name: agent for agent in (CODEX, CLAUDE, GEMINI, PI, ORACLE, NOP, SCRIPTED)}

__all__ = ["AGENTS", "Agent", "Launch", "Task", "get_agent"]


def get_agent(name: str) -> Agent:
    """The agent called `name`; M4Error names those that exist."""
    if name not in AGENTS:
        raise M4Error(f"There is no agent called {name!r}; there are: {', '.join(sorted(AGENTS))}.")
    return AGENTS[name]

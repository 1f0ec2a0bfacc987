"""Claude Code in print mode."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from m4lib.harness.agents.base import GATEWAY, PLACEHOLDER_KEY, Agent, Launch, Task
from m4lib.harness.isolation import HOME

ALLOWED = ("Bash(*)", "Read", "Write", "Glob", "Grep", "Edit", "Skill")
# Web tools only: the published harness also took inline python and node away, from this agent alone.
DISALLOWED = ("WebFetch", "WebSearch", "Bash(curl:*)", "Bash(wget:*)")


@dataclass(frozen=True)
class Claude(Agent):
    """`claude -p --output-format stream-json`; skills are the project's own, in .claude/skills."""

    def launch(self, task: Task) -> Launch:
        argv = ["claude", "-p", "--allowedTools", ",".join(ALLOWED)]
        argv += ["--model", task.model] if task.model else []
        argv += ["--effort", task.effort] if task.effort != "provider-default" else []
        argv += ["--disallowedTools", ",".join(DISALLOWED), "--no-session-persistence", "--output-format", "stream-json", "--verbose", task.prompt]
        env = {
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_MAX_RETRIES": "5",
        }
        files = {f"{HOME}/{name}": text for name, text in task.login.items()}
        if not task.login:
            env |= {"ANTHROPIC_BASE_URL": GATEWAY, "ANTHROPIC_API_KEY": PLACEHOLDER_KEY}
            files[f"{HOME}/.claude.json"] = json.dumps({"hasCompletedOnboarding": True})
        return Launch(tuple(argv), env, files)

    def restrictions(self) -> dict[str, Any]:
        return {"allowed": list(ALLOWED), "disallowed": list(DISALLOWED)}


CLAUDE = Claude("claude", cli="claude", provider="anthropic")

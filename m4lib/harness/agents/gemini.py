"""Gemini CLI."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from m4lib.harness.agents.base import GATEWAY, PLACEHOLDER_KEY, Agent, Launch, Task
from m4lib.harness.isolation import HOME

OFF = ("google_web_search", "web_fetch")


@dataclass(frozen=True)
class Gemini(Agent):
    """`gemini -p --output-format stream-json`; skills are the project's own, in .gemini/skills."""

    def launch(self, task: Task) -> Launch:
        kind = "oauth-personal" if task.login else "gemini-api-key"
        settings = {
            "security": {"auth": {"selectedType": kind}, "blockGitExtensions": True, "folderTrust": {"enabled": False}},
            "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}, "ide": {"enabled": False},
            "general": {"disableAutoUpdate": True, "enableAutoUpdate": False, "previewFeatures": False},
            "skills": {"enabled": True}, "admin": {"extensions": {"enabled": False}, "mcp": {"enabled": False}, "skills": {"enabled": True}},
            "tools": {"exclude": list(OFF)},
        }
        model = ("-m", task.model) if task.model else ()
        argv = ("gemini", "--approval-mode", "yolo", "--skip-trust", *model, "--output-format", "stream-json", "-p", task.prompt)
        env = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "NO_COLOR": "1"}
        files = {f"{HOME}/{name}": text for name, text in task.login.items()}
        files |= {f"{HOME}/.gemini/settings.json": json.dumps(settings), f"{HOME}/.gemini/projects.json": '{"projects": {}}'}
        if not task.login:
            env |= {"GEMINI_API_KEY": PLACEHOLDER_KEY, "GOOGLE_GEMINI_BASE_URL": GATEWAY}
        return Launch(argv, env, files)

    def restrictions(self) -> dict[str, Any]:
        return {"off": list(OFF)}


GEMINI = Gemini("gemini", cli="gemini", provider="google")

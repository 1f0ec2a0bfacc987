"""Pi coding agent with a local model server that speaks chat completions (Ollama)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from m4lib.harness.agents.base import GATEWAY, PLACEHOLDER_KEY, Agent, Launch, Task
from m4lib.harness.isolation import HOME

DEFAULT_MODEL = "qwen3:4b"


@dataclass(frozen=True)
class Pi(Agent):
    """`pi -p --mode json`; skills are named explicitly."""

    def launch(self, task: Task) -> Launch:
        model = task.model or DEFAULT_MODEL
        provider = {
            "baseUrl": f"{GATEWAY}/v1", "api": "openai-completions", "apiKey": PLACEHOLDER_KEY,
            "compat": {"supportsDeveloperRole": False, "supportsReasoningEffort": False, "supportsUsageInStreaming": True},
            "models": [{"id": model, "contextWindow": 128000, "maxTokens": 8192}],
        }
        argv = (
            "pi", "--provider", "ollama", "--no-context-files", "--no-themes", "--no-prompt-templates", "--no-extensions",
            "--skill", ".pi/skills", "--model", model, "--mode", "json", "--no-session", "-p", task.prompt,
        )
        return Launch(argv, {"PI_OFFLINE": "1"}, {f"{HOME}/.pi/agent/models.json": json.dumps({"providers": {"ollama": provider}})})

    def restrictions(self) -> dict[str, Any]:
        return {"tools": ["read", "bash", "edit", "write"]}


PI = Pi("pi-ollama", cli="pi", provider="ollama")

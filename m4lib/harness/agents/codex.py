"""Codex CLI. Its own sandbox needs user namespaces, which the container does not give; the container is the sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from m4lib.harness.agents.base import GATEWAY, PLACEHOLDER_KEY, Agent, Launch, Task
from m4lib.harness.isolation import WORK

INSTRUCTIONS = "Use local files only. No web search, no downloads, no installing of packages."

# Web tools, plugins, connectors and start-up traffic are off; `web_search` is also refused by the gateway.
CONFIG = """\
check_for_update_on_startup = false
web_search = "disabled"
[analytics]
enabled = false
[features]
plugins = false
apps = false
goals = false
"""
PROVIDER = f"""\
[model_providers.gateway]
name = "gateway"
base_url = "{GATEWAY}/v1"
env_key = "MODEL_KEY"
wire_api = "responses"
request_max_retries = 3
stream_max_retries = 3
"""


@dataclass(frozen=True)
class Codex(Agent):
    """`codex exec --json`; skills and configuration lie in CODEX_HOME, inside the working folder."""

    def launch(self, task: Task) -> Launch:
        overrides = ['web_search="disabled"', "tools.web_search=false", 'sandbox_mode="danger-full-access"', f'developer_instructions="{INSTRUCTIONS}"']
        if task.effort != "provider-default":
            overrides.append(f'model_reasoning_effort="{task.effort}"')
        model = ("-m", task.model) if task.model else ()
        settings = tuple(word for value in overrides for word in ("-c", value))
        argv = ("codex", "exec", "--skip-git-repo-check", "--ephemeral", *settings, "--disable", "plugins", *model, "--json", "-C", WORK, task.prompt)
        home = f"{WORK}/.codex"
        files = {f"{home}/config.toml": ("" if task.login else 'model_provider = "gateway"\n') + CONFIG + ("" if task.login else PROVIDER)}
        files |= {f"{home}/auth.json": text for name, text in task.login.items() if name == ".codex/auth.json"}
        return Launch(argv, {"CODEX_HOME": home, **({} if task.login else {"MODEL_KEY": PLACEHOLDER_KEY})}, files)

    def restrictions(self) -> dict[str, Any]:
        return {"off": ["web_search", "plugins", "apps", "goals"], "sandbox": "container", "developer_instructions": INSTRUCTIONS}


CODEX = Codex("codex", cli="codex", provider="openai")

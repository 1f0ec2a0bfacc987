"""Model providers: where their API is, how they take a key, which paths and hosts an agent needs; and how runs reach them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Provider:
    """Where a provider's API is, how it takes the key, which paths an agent needs, and its hosts for a login."""

    upstream: str
    header: str
    prefix: str  # before the key in the header
    paths: tuple[str, ...]
    key_names: tuple[str, ...]
    login_hosts: tuple[str, ...] = ()
    login_files: tuple[str, ...] = ()  # relative to HOME
    keyless: bool = False
    exception: str = ""  # why such a run is never publishable


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(
        "https://api.openai.com", "Authorization", "Bearer ", ("/v1/responses", "/v1/responses/compact"), ("CODEX_API_KEY", "OPENAI_API_KEY"),
        ("api.openai.com:443", "auth.openai.com:443", "chatgpt.com:443"), (".codex/auth.json",),
    ),
    "anthropic": Provider(
        "https://api.anthropic.com", "x-api-key", "", ("/v1/messages", "/v1/messages/count_tokens"), ("ANTHROPIC_API_KEY",),
        ("api.anthropic.com:443", "platform.claude.com:443"), (".claude.json", ".claude/.credentials.json", ".claude/credentials.json"),
    ),
    "google": Provider(
        "https://generativelanguage.googleapis.com", "x-goog-api-key", "", ("/v1beta/models/*", "/v1/models/*"), ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ("cloudcode-pa.googleapis.com:443", "generativelanguage.googleapis.com:443", "oauth2.googleapis.com:443"),
        (".gemini/oauth_creds.json", ".gemini/google_accounts.json", ".gemini/state.json", ".gemini/installation_id"),
    ),
    "ollama": Provider(
        "http://host.docker.internal:11434", "", "", ("/v1/chat/completions", "/v1/models"), (), keyless=True,
        exception="local Ollama host exception enabled",
    ),
}


@dataclass(frozen=True)
class ModelAccess:
    """How agents reach their model. Holds names and places, never a credential, so it can be pickled and logged.

    kind: "api-key" (the environment variable `key_env`, or the provider's usual ones, of the dispatching process),
    "login" (the provider's files below `auth_dir`, seeded into the agent's HOME), or "replay" (a script, no provider).
    upstream: another address of the provider's API. conversation: the script, {"steps": [...]}; by default one that
    solves the task (see m4lib.harness.replay).
    """

    kind: str = "api-key"
    upstream: str = ""
    key_env: str = ""
    auth_dir: Path | None = None
    conversation: Mapping[str, Any] | None = None

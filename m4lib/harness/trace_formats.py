"""One parser a trace format; each takes the events one by one and fills a Trace. Used through m4lib.harness.traces."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class ToolCall:
    """One call. `text` is everything that the agent wrote into it, `output` what came back; `ok` is None while unknown."""

    tool: str
    text: str
    command: str = ""  # of a shell tool
    output: str = ""
    ok: bool | None = None


@dataclass
class Trace:
    """What a trace says. Token counts are None where the format has none."""

    messages: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    turns: int = 0
    models: list[str] = field(default_factory=list)
    cli_version: str | None = None
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    rate_limited_until: float | None = None
    rate_limited: bool = False
    memory_paths: list[str] = field(default_factory=list)
    skills_listed: list[str] = field(default_factory=list)
    finished: bool = False  # the closing event was seen
    failed: bool = False  # the closing event says error
    events: int = 0
    skipped_lines: int = 0
    truncated: bool = False

    def model(self, name: Any) -> None:
        if isinstance(name, str) and name and name not in self.models:
            self.models.append(name)

    def usage(self) -> dict[str, Any]:
        """The record's `token_usage`; zeros where the format gives none, as in the published records."""
        counts = {
            "input_tokens": self.input_tokens, "cached_input_tokens": self.cached_input_tokens,
            "output_tokens": self.output_tokens, "cache_write_tokens": self.cache_write_tokens,
        }
        return {key: value or 0 for key, value in counts.items()} | {
            "turns": self.turns, "model_strings": list(self.models), "reported": self.output_tokens is not None,
        }


def _add(old: int | None, more: Any) -> int:
    return (old or 0) + int(more or 0)


def _text(value: Any) -> str:
    """The text of a tool result: a string, or a list of {type: text, text}."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(_text(part.get("text", part.get("content", ""))) if isinstance(part, Mapping) else str(part) for part in value)
    return "" if value is None else json.dumps(value, ensure_ascii=False)


class _Parser:
    """A parser keeps the calls that are still open; `send` takes one event."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.open: dict[str, ToolCall] = {}

    def send(self, event: dict[str, Any]) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """After the last event."""

    def call(self, key: Any, tool: str, arguments: Any, command: str = "") -> ToolCall:
        made = ToolCall(tool, arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False), command)
        self.trace.calls.append(made)
        if key is not None:
            self.open[str(key)] = made
        return made


class _Codex(_Parser):
    def send(self, event: dict[str, Any]) -> None:
        kind = event.get("type", "")
        trace = self.trace
        if kind == "thread.started":
            trace.model(event.get("model") or event.get("model_id"))
        elif kind == "turn.completed":
            usage = event.get("usage") or {}
            trace.input_tokens = _add(trace.input_tokens, usage.get("input_tokens"))
            trace.cached_input_tokens = _add(trace.cached_input_tokens, usage.get("cached_input_tokens"))
            trace.output_tokens = _add(trace.output_tokens, usage.get("output_tokens"))
            trace.turns += 1
            trace.finished, trace.failed = True, False
        elif kind == "turn.failed":
            trace.errors.append(str((event.get("error") or {}).get("message", "")))
            trace.finished = trace.failed = True
        elif kind == "error":
            trace.errors.append(str(event.get("message", "")))
        elif kind in ("item.started", "item.updated", "item.completed"):
            self._item(event.get("item") or {}, kind == "item.completed")

    def _item(self, item: dict[str, Any], completed: bool) -> None:
        kind, trace = item.get("type", ""), self.trace
        if kind == "agent_message":
            if completed:
                trace.messages.append(str(item.get("text", "")))
        elif kind == "error":
            if completed:  # a warning: a run that went well has them too
                trace.warnings.append(str(item.get("message", "")))
        elif kind in ("command_execution", "mcp_tool_call", "web_search", "file_change", "collab_tool_call"):
            key = str(item.get("id"))
            call = self.open.get(key)
            if call is None:
                command = str(item.get("command", "")) if kind == "command_execution" else ""
                detail = command or json.dumps({k: item.get(k) for k in ("server", "tool", "arguments", "query", "changes") if k in item})
                name = f"{item.get('server', '')}.{item.get('tool', '')}" if kind == "mcp_tool_call" else kind
                call = self.call(key, name, detail, command)
            if completed:
                call.output = _text(item.get("aggregated_output", item.get("result")))
                code = item.get("exit_code")
                call.ok = code == 0 if code is not None else item.get("status") == "completed"


class _Claude(_Parser):
    def __init__(self, trace: Trace) -> None:
        super().__init__(trace)
        self.by_message: dict[str, Mapping[str, Any]] = {}

    def send(self, event: dict[str, Any]) -> None:
        kind, trace = event.get("type", ""), self.trace
        if kind == "system" and event.get("subtype") == "init":
            trace.cli_version = event.get("claude_code_version") or trace.cli_version
            trace.memory_paths += list(_leaves(event.get("memory_paths")))
            trace.skills_listed += [str(s.get("name") if isinstance(s, Mapping) else s) for s in event.get("skills") or []]
            trace.model(event.get("model"))
        elif kind == "system" and event.get("subtype") == "api_retry":
            trace.warnings.append(f"api retry {event.get('attempt')}")
        elif kind == "assistant":
            self._assistant(event.get("message") or {})
        elif kind == "user":
            content = (event.get("message") or {}).get("content")
            for block in content if isinstance(content, list) else []:
                if isinstance(block, Mapping) and block.get("type") == "tool_result":
                    call = self.open.get(str(block.get("tool_use_id")))
                    if call is not None:
                        call.output, call.ok = _text(block.get("content")), not block.get("is_error")
        elif kind == "rate_limit_event":
            info = event.get("rate_limit_info") or {}
            if info.get("status") not in ("allowed", "allowed_warning", None):
                trace.rate_limited = True
                trace.rate_limited_until = max(trace.rate_limited_until or 0, float(info.get("resetsAt") or 0)) or None
        elif kind == "result":
            self._result(event)

    def _assistant(self, message: Mapping[str, Any]) -> None:
        self.trace.model(message.get("model"))
        if message.get("usage"):
            # one response comes as several events that repeat its usage; the last of an id counts
            self.by_message[str(message.get("id"))] = message["usage"]
        for block in message.get("content") or []:
            if block.get("type") == "text":
                self.trace.messages.append(str(block.get("text", "")))
            elif block.get("type") == "tool_use":
                arguments = block.get("input") or {}
                command = str(arguments.get("command", "")) if block.get("name") == "Bash" else ""
                self.call(block.get("id"), str(block.get("name")), arguments, command)

    def _result(self, event: Mapping[str, Any]) -> None:
        trace = self.trace
        trace.finished, trace.failed = True, bool(event.get("is_error"))
        trace.turns = int(event.get("num_turns") or 0)
        if trace.failed:
            trace.errors.append(str(event.get("result") or event.get("subtype") or ""))
        for name in event.get("modelUsage") or {}:
            trace.model(name)
        self._count([event.get("usage") or {}])
        extra = (event.get("usage") or {}).get("server_tool_use") or {}
        for tool, key in (("web_search", "web_search_requests"), ("web_fetch", "web_fetch_requests")):
            if extra.get(key):
                self.call(None, tool, {"server_side": extra[key]})

    def _count(self, usages: list[Mapping[str, Any]]) -> None:
        trace = self.trace
        names = {"input_tokens": "input_tokens", "cached_input_tokens": "cache_read_input_tokens",
                 "cache_write_tokens": "cache_creation_input_tokens", "output_tokens": "output_tokens"}
        for ours, theirs in names.items():
            setattr(trace, ours, sum(int(usage.get(theirs) or 0) for usage in usages))

    def close(self) -> None:
        if not self.trace.finished and self.by_message:  # ended by us: no result event
            self._count(list(self.by_message.values()))
            self.trace.turns = len(self.by_message)


class _Gemini(_Parser):
    def send(self, event: dict[str, Any]) -> None:
        kind, trace = event.get("type", ""), self.trace
        if kind == "init":
            trace.model(event.get("model"))
        elif kind == "message" and event.get("role") == "assistant":
            text = str(event.get("content", ""))
            if event.get("delta") and trace.messages:
                trace.messages[-1] += text
            else:
                trace.messages.append(text)
        elif kind == "tool_use":
            arguments = event.get("parameters") or {}
            command = str(arguments.get("command", "")) if event.get("tool_name") == "run_shell_command" else ""
            self.call(event.get("tool_id"), str(event.get("tool_name")), arguments, command)
            trace.messages.append("")  # what follows is a new message
        elif kind == "tool_result":
            call = self.open.get(str(event.get("tool_id")))
            if call is not None:
                call.output, call.ok = _text(event.get("output") or (event.get("error") or {}).get("message")), event.get("status") == "success"
        elif kind == "error":
            (trace.errors if event.get("severity") != "warning" else trace.warnings).append(str(event.get("message", event)))
        elif kind == "result":
            stats = event.get("stats") or {}
            trace.input_tokens, trace.output_tokens = int(stats.get("input_tokens") or 0), int(stats.get("output_tokens") or 0)
            trace.cached_input_tokens = int(stats.get("cached") or 0)
            trace.turns += 1
            trace.finished, trace.failed = True, event.get("status") not in ("success", None)
            if trace.failed:
                trace.errors.append(_text(event.get("error")))

    def close(self) -> None:
        self.trace.messages[:] = [text for text in self.trace.messages if text]


class _Pi(_Parser):
    def send(self, event: dict[str, Any]) -> None:
        kind, trace = event.get("type", ""), self.trace
        if kind == "tool_execution_start":
            arguments = event.get("args") or {}
            command = str(arguments.get("command", "")) if event.get("toolName") == "bash" else ""
            self.call(event.get("toolCallId"), str(event.get("toolName")), arguments, command)
        elif kind == "tool_execution_end":
            call = self.open.get(str(event.get("toolCallId")))
            if call is not None:
                result = event.get("result")
                call.output = _text(result.get("content") if isinstance(result, Mapping) else result)
                call.ok = not event.get("isError")
        elif kind == "message_end" and (event.get("message") or {}).get("role") == "assistant":
            message = event["message"]
            trace.model(message.get("model"))
            usage = message.get("usage") or {}
            trace.input_tokens = _add(trace.input_tokens, usage.get("input"))
            trace.cached_input_tokens = _add(trace.cached_input_tokens, usage.get("cacheRead"))
            trace.cache_write_tokens = _add(trace.cache_write_tokens, usage.get("cacheWrite"))
            trace.output_tokens = _add(trace.output_tokens, usage.get("output"))
            trace.turns += 1
            for block in message.get("content") or []:
                if block.get("type") == "text":
                    trace.messages.append(str(block.get("text", "")))
            if message.get("stopReason") == "error":
                trace.failed = True
                trace.errors.append(str(message.get("errorMessage", "the model request failed")))
            else:
                trace.failed = False
        elif kind == "agent_end":
            trace.finished = True
        elif event.get("errorMessage"):
            trace.warnings.append(str(event["errorMessage"]))


PARSERS: dict[str, Callable[[Trace], _Parser]] = {"codex": _Codex, "claude": _Claude, "gemini": _Gemini, "pi": _Pi, "pi-ollama": _Pi}


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part)

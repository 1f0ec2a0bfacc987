"""A trace for publication: what the agent wrote, redacted; what came back from tools, withheld. Streaming, line by line.

Every event is rebuilt from the fields that its format is known to have; an unknown field keeps its name and loses its value.

| in the trace | in the public trace |
|---|---|
| agent messages, reasoning, tool arguments | redacted (redact.py) |
| tool and command outputs, injected texts, unknown fields | placeholder with length and keyed hash |
| lines that are not JSON, events cut off at the start or too long, unknown formats | `evidence.withheld` with reason, bytes and keyed hash |
| deltas of one text over consecutive events | one event with the whole text, `merged_events` says of how many |
| text of an unfinished item (`item.updated`, `message_start`) | withheld; the finished item has it |

The deltas are joined because a number that is cut in two passes every rule.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

from m4lib.evidence.redact import Redactor

LONGEST_LINE = 16 << 20  # bytes; parsing needs about ten times as much
LONGEST_TEXT = 8 << 20  # characters of deltas that are joined

ASIDES = {"rate_limit_event", "system", "error", "ping"}  # events that may come in the middle of a text

Handler = Callable[[Any], Any]
Shape = Mapping[str, Handler]


@dataclass
class TraceReport:
    """What became of a trace. `withheld`: whole events by reason; `changed`: pieces within kept events by kind."""

    events: int
    written: int
    withheld: dict[str, int]
    source_sha256: str
    source_bytes: int


def sanitise_trace(
    source: str | os.PathLike[str], target: str | os.PathLike[str], form: str, redactor: Redactor, *, plain_text: bool = False,
    longest_line: int = LONGEST_LINE,
) -> TraceReport:
    """Write the public version of `source` to `target`; counts of what was changed are added to `redactor.counts`.

    form: codex, claude, gemini, pi or pi-ollama; of anything else every line is withheld.
    plain_text: keep lines that are not JSON, redacted (for agents that print nothing but their own words).
    """
    digest, size = hashlib.sha256(), 0
    with open(source, "rb") as reading, open(target, "wb") as writing:
        run = _Run(form, redactor, writing, plain_text)
        for line in _lines(reading, redactor, longest_line, digest.update):
            size += line.size
            run.line(line)
        run.flush()
    return TraceReport(run.events, run.written, dict(run.withheld), digest.hexdigest(), size)


@dataclass
class _Line:
    data: bytes | None  # None: too long to be held
    size: int
    keyed: str | None = None  # keyed hash of a line that is too long


def _lines(handle: IO[bytes], redactor: Redactor, longest: int, seen: Callable[[bytes], None]) -> Iterator[_Line]:
    """Lines of bounded length; of a longer one only its size and keyed hash."""
    while data := handle.readline(longest):
        seen(data)
        if len(data) < longest or data.endswith(b"\n"):
            yield _Line(data, len(data))
            continue
        running, size = redactor.mac(), len(data)
        running.update(data)
        while not data.endswith(b"\n") and (data := handle.readline(1 << 20)):
            seen(data)
            running.update(data)
            size += len(data)
        yield _Line(None, size, running.hexdigest()[:16])


class _Run:
    """The state of one trace: its format's rules and the deltas that are being joined."""

    def __init__(self, form: str, redactor: Redactor, writing: IO[bytes], plain_text: bool) -> None:
        self.redactor, self.writing, self.plain_text = redactor, writing, plain_text
        made = FORMATS.get(form)
        self.clean = made(redactor) if made else None
        self.events = self.written = self.lines = 0
        self.withheld: Counter[str] = Counter()
        self.pending: tuple[tuple[Any, ...], dict[str, Any], list[str], Callable[[dict[str, Any], str], None]] | None = None
        self.merged = self.pending_size = 0
        self.tails: dict[tuple[Any, ...], str] = {}

    def line(self, line: _Line) -> None:
        if line.data is not None and not line.data.strip():
            return
        self.lines += 1
        if line.data is None:
            return self._withhold(line, "too long")
        try:
            event = json.loads(line.data)
        except (ValueError, RecursionError):
            if self.plain_text and not line.data.lstrip().startswith(b"{"):
                self.flush()
                self._write({"type": "text", "text": self.redactor.text(line.data.decode("utf-8", "replace").rstrip("\r\n"))})
                return None
            return self._withhold(line, "truncated at the start" if self.lines == 1 and b'"' in line.data else "not JSON")
        if not isinstance(event, dict):
            return self._withhold(line, "not an event")
        self.events += 1
        if event.get("type") == "harness.truncated":
            self.flush()
            return self._write({"type": "harness.truncated", "dropped_bytes": int(event.get("dropped_bytes") or 0)})
        if self.clean is None:
            return self._withhold(line, "unknown format")
        try:
            delta = self.clean.delta(event)
            if delta is not None:
                return self._delta(event, *delta)
            self.flush()
            if event.get("type") not in ASIDES:
                self.tails.clear()
            self._write(self.clean.event(event))
        except (TypeError, ValueError, AttributeError, KeyError, RecursionError):
            self._withhold(line, "malformed event")
        return None

    def _delta(self, event: dict[str, Any], key: tuple[Any, ...], text: str, put: Callable[[dict[str, Any], str], None]) -> None:
        if self.pending is not None and self.pending[0] != key:
            self.flush()
        if self.pending is None:
            assert self.clean is not None
            carrier = self.clean.event(event)
            self.pending, self.merged, self.pending_size = (key, carrier, [], put), 0, 0
            text = self._resumed(key, text)
        self.merged += 1
        if self.pending_size <= LONGEST_TEXT:
            self.pending[2].append(text)
        self.pending_size += len(text)

    def _resumed(self, key: tuple[Any, ...], text: str) -> str:
        """A text that another event interrupted: what only the two halves together reveal is withheld in the second."""
        tail, head = self.tails.get(key, ""), re.match(r"\S{0,60}", text)
        if tail and head and head.group():
            both, apart = self.redactor.text(tail + head.group()), self.redactor.text(tail) + self.redactor.text(head.group())
            if both != apart:
                return "[withheld]" + text[head.end():]
        return text

    def flush(self) -> None:
        """Write the joined deltas as one event."""
        if self.pending is None:
            return
        key, carrier, parts, put = self.pending
        text = "".join(parts)
        found = re.search(r"\S{1,60}\Z", text)
        self.tails[key] = found.group() if found else ""
        put(carrier, self.redactor.text(text) + (" [rest withheld: too long]" if self.pending_size > LONGEST_TEXT + len(parts[-1]) else ""))
        if self.merged > 1:
            carrier["merged_events"] = self.merged
        self.pending = None
        self._write(carrier)

    def _withhold(self, line: _Line, reason: str) -> None:
        self.flush()
        self.withheld[reason] += 1
        keyed = line.keyed or self.redactor.digest(line.data or b"")
        self._write({"type": "evidence.withheld", "reason": reason, "bytes": line.size, "keyed_hash": keyed})

    def _write(self, event: dict[str, Any]) -> None:
        text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        try:
            data = text.encode()
        except UnicodeEncodeError:  # half of a surrogate pair
            data = json.dumps(event, separators=(",", ":")).encode()
        self.writing.write(data + b"\n")
        self.written += 1


class _Format:
    """Handlers of values, and the events built of them."""

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor

    def event(self, event: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def delta(self, event: dict[str, Any]) -> tuple[tuple[Any, ...], str, Callable[[dict[str, Any], str], None]] | None:
        """(which text, its next part, how to put the whole into the cleaned event) when the event is part of a text."""
        return None

    # -- handlers -------------------------------------------------------------------------------------------------------
    def text(self, value: Any) -> Any:
        """The agent's own words, wherever they are in a structure; a number that is an identifier becomes a string."""
        if isinstance(value, str):
            return self.redactor.text(value)
        if isinstance(value, dict):
            return self._arguments(value)
        if isinstance(value, list):
            if value and not any(isinstance(part, (str, dict, list)) for part in value):
                whole = json.dumps(value)
                return value if self.redactor.text(whole) == whole else [self.redactor.text(whole)]
            return [self.text(part) for part in value]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            changed = self.redactor.text(str(value))
            return value if changed == str(value) else changed
        return value

    def _arguments(self, value: Mapping[str, Any]) -> dict[str, Any]:
        made = {}
        for key, part in value.items():
            if isinstance(part, (str, int, float)) and not isinstance(part, bool) and len(str(part)) < 60:
                # a name and its value together say more: {"age": 67}, {"password": "..."}
                front = f"{key}: "
                whole = self.redactor.text(f"{front}{part}")
                if whole != f"{front}{part}":
                    made[self.redactor.text(key)] = whole[len(front):] if whole.startswith(front) else whole
                    continue
            made[self.redactor.text(key)] = self.text(part)
        return made

    def out(self, value: Any) -> Any:
        """Not the agent's words: only whether there is something, how long, and a keyed hash."""
        if value in (None, "", [], {}) or isinstance(value, bool):
            return value
        return self.redactor.withheld(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True))

    def number(self, value: Any) -> Any:
        """Counts and sizes as they are; strings among them redacted."""
        if isinstance(value, dict):
            return {self.redactor.text(key): self.number(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self.number(part) for part in value]
        return self.redactor.text(value) if isinstance(value, str) else value

    def build(self, value: Any, shape: Shape) -> Any:
        """A mapping by its shape; what the shape does not name is withheld. Not a mapping at all: withheld."""
        if not isinstance(value, dict):
            return self.out(value)
        return {self.redactor.text(key): shape.get(key, self.out)(part) for key, part in value.items()}

    def each(self, handler: Handler) -> Handler:
        return lambda value: [handler(part) for part in value] if isinstance(value, list) else self.out(value)

    def of(self, shape: Shape) -> Handler:
        return lambda value: self.build(value, shape)

    def named(self, keys: str, handler: Handler) -> dict[str, Handler]:
        return dict.fromkeys(keys.split(), handler)


class _Codex(_Format):
    def __init__(self, redactor: Redactor) -> None:
        super().__init__(redactor)
        self.started = {**self.named("id type status server tool command query changes items arguments message", self.text), "exit_code": self.number}
        self.item = {**self.started, "text": self.text}
        self.shape = {
            **self.named("type thread_id model model_id message", self.text), "usage": self.number, "error": self.of({"message": self.text}),
        }

    def event(self, event: dict[str, Any]) -> dict[str, Any]:
        shape = self.item if event.get("type") == "item.completed" else self.started
        return self.build(event, {**self.shape, "item": self.of(shape)})


class _Claude(_Format):
    def __init__(self, redactor: Redactor) -> None:
        super().__init__(redactor)
        self.common = self.named("type subtype uuid session_id parent_tool_use_id timestamp", self.text)
        self.message = {**self.named("id type role model stop_reason stop_sequence", self.text), "usage": self.number}
        self.block = {**self.named("type id name text thinking input", self.text)}
        self.kinds: dict[str, Shape] = {
            "system": {**self.named("cwd tools mcp_servers model permissionMode slash_commands apiKeySource claude_code_version output_style "
                                    "agents skills plugins memory_paths fast_mode_state error", self.text),
                       **self.named("attempt max_retries retry_delay_ms error_status", self.number)},
            "assistant": {"message": self.of({**self.message, "content": self.each(self._block)})},
            "user": {"message": self.of({"role": self.text, "content": self._returned})},
            "result": {**self.named("result permission_denials errors stop_reason terminal_reason structured_output fast_mode_state", self.text),
                       **self.named("usage modelUsage duration_ms duration_api_ms ttft_ms ttft_stream_ms time_to_request_ms num_turns "
                                    "total_cost_usd is_error api_error_status", self.number)},
            "rate_limit_event": {"rate_limit_info": self.number},
            "stream_event": {"event": self._part},
        }

    def event(self, event: dict[str, Any]) -> dict[str, Any]:
        return self.build(event, {**self.common, **self.kinds.get(str(event.get("type")), {})})

    def _block(self, block: Any) -> Any:
        known = isinstance(block, dict) and block.get("type") in ("text", "thinking", "tool_use", "server_tool_use")
        return self.build(block, self.block if known else {"type": self.text})

    def _returned(self, content: Any) -> Any:
        """What a `user` event brings: results and injected texts, none of it the agent's."""
        if not isinstance(content, list):
            return self.out(content)
        return [self.build(block, {**self.named("type tool_use_id", self.text), "is_error": self.number}) for block in content]

    def _part(self, part: Any) -> Any:
        return self.build(part, {
            **self.named("type", self.text), "index": self.number, "usage": self.number, "message": self.of(self.message),
            "content_block": self.of(self.named("type id name", self.text)), "delta": self.of(self.named("type stop_reason stop_sequence", self.text)),
        })

    def delta(self, event: dict[str, Any]) -> tuple[tuple[Any, ...], str, Callable[[dict[str, Any], str], None]] | None:
        part = event.get("event")
        if event.get("type") != "stream_event" or not isinstance(part, dict) or not isinstance(part.get("delta"), dict):
            return None
        for name in ("text", "partial_json", "thinking"):
            if isinstance(part["delta"].get(name), str):
                def put(carrier: dict[str, Any], text: str, name: str = name) -> None:
                    carrier["event"]["delta"][name] = text
                return (part.get("index"), name), part["delta"][name], put
        return None


class _Gemini(_Format):
    def __init__(self, redactor: Redactor) -> None:
        super().__init__(redactor)
        self.shape: Shape = {
            **self.named("type timestamp session_id model role tool_name tool_id status severity message parameters", self.text),
            "delta": self.number, "stats": self.number,
        }

    def event(self, event: dict[str, Any]) -> dict[str, Any]:
        shape = dict(self.shape)
        if event.get("type") == "message" and event.get("role") == "assistant":
            shape["content"] = self.text
        if event.get("type") == "result":
            shape["error"] = self.text
        if event.get("type") == "tool_result":
            shape["error"] = self.of({"type": self.text})
        return self.build(event, shape)

    def delta(self, event: dict[str, Any]) -> tuple[tuple[Any, ...], str, Callable[[dict[str, Any], str], None]] | None:
        if event.get("type") != "message" or event.get("role") != "assistant" or not event.get("delta"):
            return None
        content = event.get("content")
        return (("message",), content, lambda carrier, text: carrier.update(content=text)) if isinstance(content, str) else None


class _Pi(_Format):
    def __init__(self, redactor: Redactor) -> None:
        super().__init__(redactor)
        self.shape: Shape = {
            **self.named("type id timestamp cwd provider model toolCallId toolName args reason errorMessage", self.text),
            **self.named("version isError attempt maxAttempts delayMs success willRetry aborted", self.number),
            "message": self._message, "messages": self.each(self._message), "assistantMessageEvent": self._part,
        }
        self.block = self.named("type id name text thinking arguments", self.text)

    def event(self, event: dict[str, Any]) -> dict[str, Any]:
        shape = dict(self.shape)
        if event.get("type") in ("message_update", "message_start"):
            shape["message"] = self.out  # unfinished: a number may be cut
        return self.build(event, shape)

    def _message(self, message: Any) -> Any:
        shape: dict[str, Handler] = {
            **self.named("role api provider model stopReason errorMessage toolCallId toolName responseId", self.text),
            **self.named("usage timestamp isError", self.number),
        }
        if isinstance(message, dict) and message.get("role") == "assistant":
            shape["content"] = self.each(self.of(self.block))
        return self.build(message, shape)

    def _part(self, part: Any) -> Any:
        shape: dict[str, Handler] = {**self.named("type reason", self.text), "contentIndex": self.number}
        if isinstance(part, dict) and str(part.get("type")).endswith("_end"):
            shape |= self.named("content toolCall", self.text)
        if isinstance(part, dict) and part.get("type") in ("done", "error"):
            shape |= {"message": self._message, "error": self._message}
        return self.build(part, shape)

    def delta(self, event: dict[str, Any]) -> tuple[tuple[Any, ...], str, Callable[[dict[str, Any], str], None]] | None:
        part = event.get("assistantMessageEvent")
        if event.get("type") != "message_update" or not isinstance(part, dict) or not isinstance(part.get("delta"), str):
            return None

        def put(carrier: dict[str, Any], text: str) -> None:
            carrier["assistantMessageEvent"]["delta"] = text

        return (part.get("type"), part.get("contentIndex")), part["delta"], put


FORMATS: dict[str, type[_Format]] = {"codex": _Codex, "claude": _Claude, "gemini": _Gemini, "pi": _Pi, "pi-ollama": _Pi}

"""Read the traces of every agent into one shape: messages, tool calls with their results, tokens, models, errors.

| agent | form | tokens counted from |
|---|---|---|
| codex | `exec --json` | the sum over `turn.completed` (input includes the cached part) |
| claude | `stream-json` | the closing `result` event, else each assistant message once (input excludes cache reads) |
| gemini | `stream-json` | the closing `result` event |
| pi | `--mode json` | the assistant messages at `message_end` |
| others | plain text | none |

Lines that are blank, do not begin with an opening brace or do not parse are counted and skipped. Tool outputs stay apart
from what the agent wrote: they hold rows of the database.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from m4lib.harness.trace_formats import PARSERS, ToolCall, Trace

__all__ = ["ToolCall", "Trace", "read_trace", "skill_reads"]


def read_trace(form: str, path: str | os.PathLike[str]) -> Trace:
    """Parse the trace at `path`; `form` is codex, claude, gemini, pi or anything else for plain text."""
    trace = Trace()
    parser = PARSERS.get(form)
    if parser is None or not Path(path).is_file():
        return trace
    reader = parser(trace)
    for event in _events(path, trace):
        if event.get("type") == "harness.truncated":
            trace.truncated = True
            continue
        try:
            reader.send(event)
        except (AttributeError, TypeError, ValueError, KeyError):
            trace.skipped_lines += 1  # a malformed event must not hide the ones behind it
    reader.close()
    return trace


def _events(path: str | os.PathLike[str], trace: Trace) -> Iterator[dict[str, Any]]:
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if not line.startswith("{"):
                trace.skipped_lines += bool(line.strip())
                continue
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                trace.skipped_lines += 1
                continue
            trace.events += 1
            if isinstance(event, dict):
                yield event


def skill_reads(trace: Trace, files: Mapping[str, str]) -> dict[str, Any]:
    """Evidence that the agent opened the skills it was given: which files, how, and whether their text came back.

    files: the condition's files, path relative to the working folder -> text.
    """
    found: dict[str, dict[str, Any]] = {}
    for path, text in files.items():
        skill = Path(path).parent.name
        name = Path(path).name
        # a line of the text that stands for the file: long, and beyond the frontmatter that a CLI may list by itself
        body = text.split("\n---", 1)[-1]
        sign = max((line.strip() for line in body.splitlines()), key=len, default="")
        for call in trace.calls:
            if call.tool.lower() in ("skill", "activate_skill") and skill in call.text:
                how = "skill tool"
            elif sign and len(sign) >= 20 and sign in call.output:
                how = call.tool
            elif f"{skill}/{name}" in call.text:
                how = f"{call.tool} (named)"
            else:
                continue
            item = found.setdefault(path, {"by": how, "content_seen": False})
            item["content_seen"] = item["content_seen"] or (len(sign) >= 20 and sign in call.output)
    return {"given": len(files), "read": len(found), "files": found, "any": bool(found), "listed_by_cli": list(trace.skills_listed)}

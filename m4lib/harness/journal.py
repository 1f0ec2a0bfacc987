"""Attempts of a run key: what was begun, how it ended, also when the process died without a word."""

from __future__ import annotations

import contextlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from m4lib.harness import lint
from m4lib.harness.failures import InfrastructureError


class Journal:
    """Attempts of one run key, appended line by line; what a killed process began stays visible."""

    def __init__(self, root: Path, key: str) -> None:
        self.path = root / ".attempts" / f"{key}.jsonl"

    def _write(self, **values: Any) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a", encoding="utf-8") as handle:
            handle.write(json.dumps({"time": _utc(), **values}) + "\n")

    def begin(self) -> None:
        try:
            self._write(event="begin", process=os.getpid(), host=os.uname().nodename)
        except OSError as error:
            raise InfrastructureError(f"The results root cannot be written: {error}.") from error

    def end(self, state: str, detail: str) -> None:
        with contextlib.suppress(OSError):  # a full disk is already what is being reported
            self._write(event="end", state=state, detail=lint.redact(detail)[:500])

    def attempts(self) -> list[dict[str, Any]]:
        """Every attempt so far, the running one last: when it began, how it ended (None: without a word)."""
        found: list[dict[str, Any]] = []
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except OSError:
            return found
        for line in lines:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if entry.get("event") == "begin":
                found.append({"ordinal": len(found) + 1, "began": entry["time"], "ended": None, "state": None, "detail": None})
            elif found:
                found[-1] |= {"ended": entry["time"], "state": entry.get("state"), "detail": entry.get("detail")}
        return found


def _utc() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

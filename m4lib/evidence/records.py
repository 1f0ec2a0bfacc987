"""The small files of a run for publication: its record, its egress log, its prompt, the summary of its output."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from m4lib.evidence.redact import Redactor
from m4lib.harness.collect import output_summary

# what a record may quote of the data or of the agent's raw output
_WITHHELD = {"stdout", "stderr", "pytest_output", "pytest_stderr", "examples", "wrong_rows", "sample_rows", "evidence"}
_EGRESS = ("by", "ts", "method", "host", "port", "path", "allowed", "benign", "status", "model", "served", "up", "down", "seconds", "error", "reason")
_HEX = re.compile(r"(?:sha256:)?[0-9a-f]{16,64}|[0-9a-f]{40}")
_STAMP = re.compile(r"20\d{6}_\d{6}|20\d\d-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)")


def neutral_places(record: Mapping[str, Any], root: Path) -> dict[str, str]:
    """Absolute paths that a record betrays, and what stands for them."""
    places = {str(root.resolve()): "results", str(root.absolute()): "results"}
    stated = record.get("results_root")
    if isinstance(stated, str) and stated.startswith("/"):
        places[stated] = "results"
        parent = str(PurePosixPath(stated).parent)
        if parent.count("/") >= 2:  # the folder of all campaigns, and the outputs around it
            places[parent] = "runs"
    database = (record.get("agent_db") or {}).get("path")
    if isinstance(database, str) and database.startswith("/"):
        folder = PurePosixPath(database).parent
        places[str(folder.parent)] = "taskdb"
    home = str(Path.home())
    if home.count("/") >= 2:
        places[home] = "/home/user"
    return places


def hosts_of(record: Mapping[str, Any]) -> set[str]:
    """Names of the machines that a record betrays."""
    names = {platform.node(), ((record.get("provenance") or {}).get("host") or {}).get("host")}
    return {name for name in names if isinstance(name, str) and name}


def public_record(record: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """A result.json for publication: every field that is the harness's own, texts redacted, raw outputs withheld."""
    public = {key: _value(key, value, redactor) for key, value in record.items()}
    root = record.get("results_root")
    if isinstance(root, str):
        public["results_root"] = PurePosixPath(root).name
    database = (record.get("agent_db") or {}).get("path")
    if isinstance(database, str):
        public["agent_db"]["path"] = "taskdb/" + "/".join(PurePosixPath(database).parts[-2:])
    if (record.get("provenance") or {}).get("host"):
        public["provenance"]["host"]["host"] = "host"
    if record.get("container_name"):
        public["container_name"] = "container"
    return public


def _value(key: str, value: Any, redactor: Redactor) -> Any:
    if key in _WITHHELD and value not in ("", None, [], {}):
        return redactor.withheld(value if isinstance(value, str) else json.dumps(value, sort_keys=True), key)
    if isinstance(value, dict):
        # names of columns, tools and files are keys too
        return {redactor.text(str(name)): _value(str(name), part, redactor) for name, part in value.items()}
    if isinstance(value, list):
        return [_value(key, part, redactor) for part in value]
    if isinstance(value, str):
        return value if _HEX.fullmatch(value) or _STAMP.fullmatch(value) else redactor.text(value)
    return value


def public_manifest(manifest: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """A campaign's manifest without the machine that ran it."""
    return {key: _value(key, value, redactor) for key, value in manifest.items() if key not in ("host", "results_root")}


def public_egress(source: Path, redactor: Redactor) -> str:
    """The network log with its known fields; a line that is none is withheld."""
    lines = []
    with open(source, "rb") as handle:
        while data := handle.readline(1 << 20):
            if not data.strip():
                continue
            try:
                entry = json.loads(data)
                public = {name: _egress(name, entry[name], redactor) for name in _EGRESS if name in entry}
            except (ValueError, TypeError, KeyError, RecursionError):
                public = {"withheld": "not a record", "bytes": len(data), "keyed_hash": redactor.digest(data)}
            lines.append(json.dumps(public, ensure_ascii=True))
    return "".join(line + "\n" for line in lines)


def _egress(name: str, value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor.text(value.split("?", 1)[0] if name == "path" else value)
    return value if isinstance(value, (int, float, bool)) or value is None else redactor.withheld(json.dumps(value))


def public_summary(output: Path, redactor: Redactor) -> dict[str, Any]:
    """Columns, row count and SHA-256 of a withheld output; a heading that is itself data is redacted."""
    found = output_summary(output)
    if any(re.fullmatch(r"\s*-?[\d.]+\s*", name) for name in found["columns"]):
        found["columns"] = [redactor.withheld(name, "heading") for name in found["columns"]]  # a table without a heading
    else:
        found["columns"] = [redactor.text(name) for name in found["columns"]]
    return found


NO_OUTPUT: dict[str, Any] = {"columns": [], "rows": None, "sha256": None, "bytes": None}

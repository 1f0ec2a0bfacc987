"""A second look for private content in a package or any folder, with rules of its own: `scan(folder)` yields findings.

It shares no code with the sanitiser and works the other way round: every text is unescaped to the end first, then read
word by word. It also looks at shapes: files that must not be there, tool outputs that are not withheld, values that are cut
in two between consecutive events. A finding says file, line and reason, and shows no more than the last character.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA_SUFFIXES = {".parquet", ".duckdb", ".db", ".sqlite", ".sqlite3", ".wal", ".gz", ".bz2", ".xz", ".zip", ".pkl", ".pickle", ".npy", ".npz",
                 ".xlsx", ".xls", ".feather", ".arrow", ".tar", ".7z", ".rds", ".dta", ".sas7bdat", ".tsv"}
TABLE_PLACES = ("metadata/run-indexes/", "metadata/tables/")
OUTPUT_KEYS = {"aggregated_output", "tool_use_result", "partialResult", "toolResults", "stdout", "stderr", "pytest_output", "pytest_stderr"}
PLACEHOLDER = re.compile(r"\[[a-z_ ]+ withheld: \d+ characters, keyed hash [a-p]{16}\]")
LONG = 1 << 20  # a text is read in pieces of this length


@dataclass(frozen=True)
class Finding:
    """One private-looking place. `shown` masks it."""

    file: str
    line: int
    reason: str
    shown: str


def scan(folder: str | os.PathLike[str]) -> Iterator[Finding]:
    """All findings below `folder`, files in order."""
    root = Path(folder)
    for place, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(folders + files):
            path = Path(place) / name
            relative = path.relative_to(root).as_posix()
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                yield Finding(relative, 0, "a link or a device", "")
            elif name in files:
                yield from _file(path, relative)
        folders[:] = [name for name in folders if not (Path(place) / name).is_symlink()]


def _file(path: Path, relative: str) -> Iterator[Finding]:
    suffix = path.suffix.lower()
    if suffix in DATA_SUFFIXES or (suffix == ".csv" and not any(place in f"/{relative}" for place in (f"/{p}" for p in TABLE_PLACES))):
        yield Finding(relative, 0, f"a data file ({suffix})", "")
        return
    if suffix == ".zst":
        return  # searched after unpacking
    with open(path, "rb") as handle:
        if b"\0" in handle.read(8192):
            yield Finding(relative, 0, "a binary file", "")
            return
    if suffix == ".csv":
        yield from _csv(path, relative)
    elif suffix == ".jsonl":
        yield from _jsonl(path, relative)
    elif suffix == ".json":
        yield from _json(path, relative)
    else:
        with open(path, encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                yield from _text(line, relative, number)


def _csv(path: Path, relative: str) -> Iterator[Finding]:
    with open(path, encoding="utf-8", errors="replace", newline="") as handle:
        reader = csv.DictReader(io.StringIO(handle.read()))
        for row in reader:
            for column, value in row.items():
                if isinstance(value, str) and not _is_number(value):
                    yield from _text(value, relative, reader.line_num)
                elif isinstance(value, str) and (_person(str(column)) or not _is_quantity(str(column))):
                    yield from _text(f"{column}: {value}", relative, reader.line_num)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


_JSON_LINE = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*"):\s*)?(.*?),?\s*$')


def _json(path: Path, relative: str) -> Iterator[Finding]:
    """Line by line where every value has a line of its own, else as a whole."""
    text = path.read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        match = _JSON_LINE.match(line)
        try:
            key = json.loads(match.group(1)) if match and match.group(1) else ""
            value = json.loads(match.group(2)) if match and match.group(2) not in ("{", "[", "}", "]", "") else None
        except ValueError:
            yield from _text(line, relative, number)
            continue
        yield from _value(key, value, relative, number)
        if key:
            yield from _text(key, relative, number)


def _value(key: str, value: Any, relative: str, line: int, *, words: bool = False) -> Iterator[Finding]:
    """A value with its key. `words`: numbers in it are an agent's words, not measurements of the harness."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _value(str(name), part, relative, line, words=words)
            yield from _text(str(name), relative, line)
    elif isinstance(value, list):
        for part in value:
            yield from _value(key, part, relative, line, words=words)
    elif isinstance(value, str):
        if key in OUTPUT_KEYS and value and not PLACEHOLDER.fullmatch(value):
            yield Finding(relative, line, f"{key} is not withheld", "")
        yield from _text(value, relative, line)
        if key and len(value) < 80:
            yield from _text(f"{key}: {value}", relative, line, only_pairs=True)
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and (words or _person(key) or key.lower().endswith("age")) and not _is_quantity(key):
        yield from _text(f"{key}: {value}", relative, line)


def _person(key: str) -> bool:
    return key.lower().replace("_", "") in {"subjectid", "hadmid", "stayid", "patientunitstayid", "patienthealthsystemstayid", "caregiverid", "uniquepid"}


QUANTITIES = re.compile(r"(?i)(?:tokens?|bytes|count|size|rows|limit|seconds|_ms|duration|memory|cost|timeout|keys|total|passed|failed|errors|index|"
                        r"trial|attempt|turns|usage|stats|^ts$|timestamp|input|output|cached|up|down|port|value|threshold|denominator|matched)")


def _is_quantity(key: str) -> bool:
    return bool(QUANTITIES.search(key))


# --- traces ----------------------------------------------------------------------------------------------------------
def _jsonl(path: Path, relative: str) -> Iterator[Finding]:
    """Events one by one; the end of each text is read again with the beginning of the next text of its kind."""
    ends: dict[tuple[str, ...], str] = {}
    with open(path, encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                yield Finding(relative, number, "a line that is not JSON", "")
                yield from _text(line, relative, number)
                continue
            yield from _outputs(event, relative, number)
            for where, value in _leaves(event, ()):
                key = where[-1] if where else ""
                if isinstance(value, str):
                    yield from _value(key, value, relative, number)
                    held = ends.get(where)
                    if held is not None:
                        yield from _seam(held, value, relative, number)
                    ends[where] = value[-80:]
                elif not any(name in ("usage", "stats", "modelUsage", "rate_limit_info", "cost") for name in where):
                    yield from _value(key, value, relative, number, words=True)


def _leaves(value: Any, where: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(part, (*where, str(key)))
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part, where)
    else:
        yield where, value


def _seam(before: str, after: str, relative: str, line: int) -> Iterator[Finding]:
    """What only two neighbouring texts together show, when a word is cut between them."""
    left, right = re.search(r"[^\s]{1,40}$", before), re.match(r"[^\s]{1,40}", after)
    if not left or not right or not (left.group()[-1].isalnum() and right.group()[0].isalnum()):
        return
    alone = {finding.reason for part in (left.group(), right.group()) for finding in _text(part, relative, line)}
    for finding in _text(left.group() + right.group(), relative, line):
        if finding.reason not in alone and not re.fullmatch(r"[0-9a-f-]{20,}", left.group() + right.group()):
            yield Finding(relative, line, f"{finding.reason}, cut in two", finding.shown)


def _outputs(event: Any, relative: str, line: int) -> Iterator[Finding]:
    """Tool results by the shapes of the four formats."""
    if not isinstance(event, dict):
        return
    kind = event.get("type")
    found: list[tuple[str, Any]] = []
    if kind == "user":
        content = (event.get("message") or {}).get("content") if isinstance(event.get("message"), dict) else None
        found += [("content", part.get("content") or part.get("text")) for part in content if isinstance(part, dict)] if isinstance(content, list) else [("content", content)]
    elif kind == "tool_result":
        found.append(("output", event.get("output")))
    elif kind in ("tool_execution_end", "tool_execution_update"):
        found += [("result", event.get("result")), ("partialResult", event.get("partialResult"))]
    item = event.get("item")
    if isinstance(item, dict):
        found += [("result", item.get("result"))] if item.get("type") == "mcp_tool_call" else []
    messages = [event.get("message"), *(event.get("messages") or [] if isinstance(event.get("messages"), list) else [])]
    found += [("content", message.get("content")) for message in messages if isinstance(message, dict) and message.get("role") in ("toolResult", "user") and kind != "user"]
    for name, value in found:
        if value not in (None, "", [], {}) and not isinstance(value, bool) and not (isinstance(value, str) and PLACEHOLDER.fullmatch(value)):
            yield Finding(relative, line, f"a tool's {name} is not withheld", "")


# --- texts -----------------------------------------------------------------------------------------------------------
def plain(text: str) -> str:
    """A text with every level of escaping taken off."""
    for _ in range(6):
        if "\\" not in text:
            break
        new = re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match.group(1), 16)), text)
        new = new.replace("\\r", "\n").replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').replace("\\'", "'").replace("\\/", "/").replace("\\\\", "\\")
        if new == text:
            break
        text = new
    return text


WORD = re.compile(r"[A-Za-z_]+|\d[\d_]*|\S")
ID_WORDS = {"subject", "subjects", "patient", "stay", "hadm", "admission", "id", "ids", "subject_id", "hadm_id", "stay_id", "pid", "uniquepid",
            "patientunitstayid", "patienthealthsystemstayid", "unitstayid", "stayid"}
COUNTED = {"rows", "row", "records", "record", "tokens", "token", "bytes", "events", "observations", "measurements", "characters", "chars", "lines",
           "entries", "samples", "seconds", "ms", "values", "steps", "results", "iterations", "nulls", "duplicates", "pairs", "files"}
COUNTING = {"tokens", "token", "bytes", "count", "n_rows", "nrows", "num_rows", "row_count", "row_counts", "rowcount", "size", "size_bytes", "seed"}
SEEDS = {"20260504", "20260505", "20260506"}  # of the published bootstrap; innocent only where a seed is spoken of
MONTHS = {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
AGE_WORDS = {"age", "aged", "anchor_age", "admission_age", "admit_age", "patient_age", "age_years", "age_at_admission", "age_in_years", "icu_age", "ptage"}
PREFIXES = ("sk-ant-", "sk-proj-", "sk-", "AIza", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xoxa-", "xoxs-",
            "hf_", "npm_", "AKIA", "ASIA", "ya29.", "eyJ")
SECRET_NAMES = {"password", "passwd", "pwd", "passphrase", "api_key", "apikey", "api-key", "x-api-key", "secret", "secret_key", "client_secret", "access_token",
                "refresh_token", "id_token", "auth_token", "session_token", "access_key", "secret_access_key", "authorization", "private_key"}


def _text(text: str, relative: str, line: int, *, only_pairs: bool = False) -> Iterator[Finding]:
    for start in range(0, max(len(text), 1), LONG):
        piece = plain(text[start : start + LONG + 200])
        if not only_pairs and PLACEHOLDER.fullmatch(piece):
            continue
        for part in piece.splitlines() or [piece]:
            rules = (_ages, _secrets) if only_pairs else (_numbers, _years, _ages, _secrets, _places, _rows)
            for rule in rules:
                for reason, found in rule(part):
                    yield Finding(relative, line, reason, _mask(found))


def _mask(found: str) -> str:
    return "*" * min(len(found) - 1, 20) + found[-1:]


def _numbers(text: str) -> Iterator[tuple[str, str]]:
    for match in re.finditer(r"\d[\d_]*", text):
        digits = match.group().strip("_").replace("_", "")
        before, after = text[max(0, match.start() - 120) : match.start()], text[match.end() : match.end() + 120]
        if len(digits) < 5 or (re.search(r"\d\.$", before)) or _inside_hash(text, match.start(), match.end()):
            continue
        number = int(digits) if len(digits) < 20 else 0
        follows = [word.lower() for word in WORD.findall(after[:60])[:4]]
        precedes = [word.lower() for word in WORD.findall(before[-70:])[-6:]]
        if re.match(r"\.\d*[1-9]", after) and "-" not in after[:2]:
            continue
        person = any(word in ID_WORDS for word in precedes)
        if len(digits) == 8 and 10_000_000 <= number < 40_000_000:
            if re.fullmatch(r"20(?:2[4-9]|3\d)(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])", digits) and re.match(r"[_T]?\d{6}(?!\d)|_(?:[01]\d|2[0-3])[0-5]\d", after):
                continue
            if "_" in match.group() and re.fullmatch(r"20\d{6}_\d+", match.group()):
                continue
            counted = any(word in COUNTED for word in follows[:4]) or any(word.split("_")[-1] in COUNTING or word in COUNTING for word in precedes[-4:])
            counted = counted or (digits in SEEDS and re.search(r"(?i)\bseed(?:s|ed)?\b", before) is not None)
            if person or not counted:
                yield "a MIMIC-IV identifier", match.group()
        elif len(digits) in (6, 7) and 141_168 <= number <= 3_353_263:
            named = any(word in {"patientunitstayid", "patienthealthsystemstayid", "unitstayid"} for word in precedes)
            item = 220_000 <= number <= 230_000
            row = match.start() < 120 and not before.strip(" \t|\"'([") and re.match(r"\s*[,|\t;]\s*[-\d\"'.]", after)
            named = named or (not item and bool(ID_WORDS & set(precedes[-2:])))
            if named or (not item and row and not any(word in COUNTED for word in follows[:2])):
                yield "an eICU identifier", match.group()
        elif re.fullmatch(r"2(?:1\d\d|20\d|21[0-4])(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{4}(?:\d\d)?", digits):
            yield "a shifted time", match.group()
        elif len(digits) in (10, 13, 16, 19) and 4_102_444_800 <= int(digits[:10]) < 7_732_000_000 and number not in (4_294_967_295, 4_294_967_296):
            yield "an epoch of a shifted time", match.group()
    for match in re.finditer(r"(?<![\w-])(\d{3})-(\d{1,6})(?![\w-])", text):
        if (match.group(1)[0] == "0" or len(match.group(2)) >= 4) and not re.search(r"[;:]\s?$", text[: match.start()]):
            yield "an eICU person", match.group()
    for match in re.finditer(r"(?i)\b(?:caregiver_id|\w*provider_id|labevent_id|specimen_id|pharmacy_id|emar_id|poe_id)\b[\"'\s]*[:=]+[\"'\s]*(P?\d[\dA-Z-]+)", text):
        yield "an identifier of an event or provider", match.group(1)


def _inside_hash(text: str, start: int, end: int) -> bool:
    """Whether digits are part of a hexadecimal hash or a UUID."""
    left = len(re.search(r"[0-9A-Za-z-]*$", text[max(0, start - 72) : start]).group())  # type: ignore[union-attr]
    right = len(re.match(r"[0-9A-Za-z-]*", text[end : end + 72]).group())  # type: ignore[union-attr]
    token = text[start - left : end + right]
    if re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", token):
        return True
    part = max(re.split(r"-", token), key=lambda piece: text[start:end] in piece)
    return bool(re.fullmatch(r"[0-9a-f]{12,64}", part)) and any(letter in "abcdef" for letter in part)


def _years(text: str) -> Iterator[tuple[str, str]]:
    for match in re.finditer(r"(?<![\d.])2\d{3}(?!\d)", text):
        if not 2100 <= int(match.group()) <= 2214 or _inside_hash(text, match.start(), match.end()):
            continue
        before, after = text[max(0, match.start() - 24) : match.start()], text[match.end() : match.end() + 24]
        month_after = re.match(r"[\s/,-]*([A-Za-z]{3})", after)
        month_before = re.search(r"([A-Za-z]{3})[a-z]*\.?[\s,/-]*(?:\d{1,2}(?:st|nd|rd|th)?,?\s+)?(?:\d\d:\d\d(?::\d\d)?\s+)?$", before)
        if (re.match(r"\s?[-/.\u2010-\u2015]\s?\d{1,2}\s?[-/.\u2010-\u2015]\s?\d{1,2}(?!\d)", after) or re.search(r"(?<!\d)\d{1,2}[-/.\u2010-\u2015]\d{1,2}[-/.\u2010-\u2015]$", before)
                or (re.match(r"\s*,\s*\d{1,2}\s*,\s*\d{1,2}", after) and before.rstrip().endswith("("))
                or (re.match(r"-(?:0[1-9]|1[0-2])(?![\d-])", after) and not re.search(r"[;:]$", before))
                or (month_after and month_after.group(1).lower() in MONTHS) or (month_before and month_before.group(1).lower() in MONTHS)
                or re.search(r"(?i)\b(?:anchor_year|year)[\"'\s:=]{1,6}$", before)):
            yield "a shifted time", match.group()


def _ages(text: str) -> Iterator[tuple[str, str]]:
    words = [(match.group(), match.end()) for match in WORD.finditer(text)]
    for position, (word, _) in enumerate(words):
        low = word.lower()
        if low in AGE_WORDS:
            for further in range(position + 1, min(position + 5, len(words))):
                other, end = words[further]
                if other.isdigit():
                    rest = text[end : end + 16].lstrip()
                    if int(other) <= 120 and not (int(other) <= 1 and re.match(r"\.\d", rest)) and not re.match(r"[-–+<>≤≥%]|to\s|or\s|and\s|years?\s(?:or|and)|points?|bands?|bins?|groups?|\d", rest):
                        yield "an age", other
                    break
                if other not in "\"'`:=|*(" and other.lower() not in {"is", "was", "of", "about"}:
                    break
        elif low in {"year", "years", "yr", "yrs", "yo"} and position:
            number = next((words[back][0] for back in (position - 1, position - 2) if back >= 0 and words[back][0].isdigit()), "")
            place = next((back for back in (position - 1, position - 2) if back >= 0 and words[back][0] == number), position)
            old = low == "yo" or (position + 1 < len(words) and any(words[next_][0].lower() == "old" for next_ in range(position + 1, min(position + 3, len(words)))))
            limit = place and words[place - 1][0].lower() in {"<", ">", "=", "≥", "≤", "over", "under", "than", "least", "most", "above", "below", "-", "–", "."}
            if number and old and int(number) <= 120 and not limit and not any(words[next_][0].lower() == "or" for next_ in range(position + 1, min(position + 2, len(words)))):
                yield "an age", number


def _secrets(text: str) -> Iterator[tuple[str, str]]:
    if "PRIVATE KEY-----" in text:
        yield "a private key", "KEY"
    for match in re.finditer(r"[A-Za-z0-9_.+/=~-]{12,}", text):
        token = match.group()
        for prefix in PREFIXES:
            if token.startswith(prefix) and len(token) >= len(prefix) + 14 and any(character.isdigit() for character in token):
                yield "a credential", token
                break
        else:
            bare = token.strip("=")
            if len(bare) >= 40 and re.fullmatch(r"[A-Za-z0-9_-]+", bare) and sum(c.isdigit() for c in bare) >= 5 and _entropy(bare) > 4.3 \
                    and re.search(r"[a-z]", bare) and re.search(r"[A-Z]", bare) and "__" not in bare and bare.count("_") + bare.count("-") < 4:
                yield "a string as random as a credential", token
    for match in re.finditer(r"(?i)(?<![A-Za-z])(?P<name>(?:[a-z]\w{0,40}_)?(?:" + "|".join(sorted(SECRET_NAMES, reverse=True)) + r"))\b[\"'`]?\s*(?:[:=]|=>)\s*[\"'`]?(?P<value>(?:bearer\s+)?[^\s\"'`,;})\]]{8,})", text):
        value = match["value"]
        if not value.startswith(("[", "$", "os.", "ANTHROPIC_", "OPENAI_", "getpass")) and re.search(r"\d", value):
            yield "a credential by its name", value
    for match in re.finditer(r"\b[a-z]{2,12}://[^/\s:@]+:([^/\s@\[]+)@", text):
        yield "a password in an address", match.group(1)


def _entropy(token: str) -> float:
    return -sum(n / len(token) * math.log2(n / len(token)) for n in Counter(token).values())


def _places(text: str) -> Iterator[tuple[str, str]]:
    for match in re.finditer(r"(?<![\w/])/(?:home|Users)/([A-Za-z][\w.-]*)|[A-Za-z]:\\Users\\([\w.-]+)", text):
        if (match.group(1) or match.group(2)) not in ("user", "agent", "benchagent"):
            yield "a home folder", match.group()
    for match in re.finditer(r"\b(?:10\.\d{1,3}\.\d{1,3}\.\d{1,3}|192\.168\.\d{1,3}\.\d{1,3}|172\.(?:1[6-9]|2\d|3[01])\.\d{1,3}\.\d{1,3})\b", text):
        yield "an address of a private network", match.group()
    for match in re.finditer(r"(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}\.[A-Za-z]{2,}", text):
        yield "an e-mail address", match.group()


def _rows(text: str) -> Iterator[tuple[str, str]]:
    match = re.match(r"\W*(?:\d{1,6}\s+)?(?:subject|admission|stay|person|id|order)-[a-p]{10}[\"']?\s*(?:[,;|\t]|\s{2,})\s*[\"']?-?\d", text)
    if match:
        yield "a row that starts with a pseudonym", match.group()

"""A seeded corpus of traces with planted secrets and innocent look-alikes, in every format, dress and cut.

    corpus = make_corpus(folder, seed=7, plants=2400)     # one trace a form, below `folder`
    corpus.survivors({form: sanitised text})              # planted values that are still there

Everything is invented here; no value comes from a database.
"""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FORMS = ("codex", "claude", "gemini", "pi")


@dataclass
class Plant:
    """One planted thing: the text that is written, and the patterns of which none may be found afterwards."""

    kind: str
    text: str
    gone: list[str]
    dress: str = ""
    carrier: str = ""
    form: str = ""
    line: int = 0


@dataclass
class Innocent:
    """A look-alike: its text, with a tag that is unique, must be there afterwards."""

    kind: str
    text: str
    form: str = ""
    carrier: str = ""


@dataclass
class Corpus:
    plants: list[Plant] = field(default_factory=list)
    innocents: list[Innocent] = field(default_factory=list)
    bad_lines: dict[str, int] = field(default_factory=dict)

    def survivors(self, texts: dict[str, str]) -> list[Plant]:
        runs = {form: set(re.findall(r"\d+", text)) for form, text in texts.items()}

        def there(plant: Plant, pattern: str) -> bool:
            if pattern.startswith("#"):  # a number by itself, not within a longer one
                return pattern[1:] in (runs[plant.form] if pattern[1:].isdigit() else texts[plant.form])
            return bool(re.search(pattern, texts[plant.form]))

        return [plant for plant in self.plants if any(there(plant, pattern) for pattern in plant.gone)]

    def lost(self, texts: dict[str, str]) -> list[Innocent]:
        return [innocent for innocent in self.innocents if innocent.text not in texts[innocent.form]]


class Words:
    """Unique tags and random values."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.used: set[str] = set()

    def fresh(self, make: Callable[[], str]) -> str:
        while (value := make()) in self.used:
            pass
        self.used.add(value)
        return value

    def tag(self) -> str:
        return self.fresh(lambda: "q" + "".join(self.random.choices("bcdfghjklmnpqrstvwxz", k=7)))

    def digits(self, n: int) -> str:
        return "".join(self.random.choices(string.digits, k=n))

    def token(self, n: int) -> str:
        return "".join(self.random.choices(string.ascii_letters + string.digits, k=n))

    def mimic(self, first: str) -> str:
        return self.fresh(lambda: first + self.digits(7))

    def eicu(self) -> str:
        def make() -> str:
            number = self.random.randint(141_168, 3_353_263)
            return str(number if not 219_000 < number < 231_000 and number % 1000 else number + 12_345)
        return self.fresh(make)


def digits_alone(value: str) -> str:
    return f"#{value}"


# --- what is planted -------------------------------------------------------------------------------------------------
def secret(w: Words) -> Plant:
    t = w.token
    value, text = w.random.choice([
        lambda: (v := f"sk-ant-api03-{t(40)}", f"export ANTHROPIC_API_KEY={v}"), lambda: (v := f"sk-proj-{t(32)}", f"the key {v} works"),
        lambda: (v := f"sk-{t(40)}", f"client = OpenAI(api_key='{v}')"), lambda: (v := "AIza" + t(35), f"key={v}&x=1"),
        lambda: (v := "ghp_" + t(36), f"git clone with {v}"), lambda: (v := "hf_" + t(34), f"HF_TOKEN {v}"),
        lambda: (v := "xoxb-" + w.digits(11) + "-" + t(24), f"slack {v}"), lambda: (v := "AKIA" + t(16).upper(), f"aws {v}"),
        lambda: (v := f"eyJ{t(20)}.eyJ{t(30)}.{t(30)}", f"jwt {v}"), lambda: (v := t(24) + "7a", f"Authorization: Bearer {v}"),
        lambda: (v := t(14) + "9z", f"password = \"{v}\""), lambda: (v := t(18) + "4k", f'"client_secret": "{v}"'),
        lambda: (v := t(12) + "8p", f"postgres://reader:{v}@db/mimic"), lambda: (v := t(20) + "3x", f"access_token={v}"),
    ])()
    return Plant("secret", text, [re.escape(value)])


def mimic_identifier(w: Words) -> Plant:
    first, name = w.random.choice([("1", "subject_id"), ("2", "hadm_id"), ("3", "stay_id")])
    value = w.mimic(first)
    text = w.random.choice([
        f"patient {value} looks odd", f"WHERE {name} = {value}", f"{name}={value}", f"df[df.{name} == {value}]", f"see {value}.", f"({value})",
        f"{name} IN ({value}, {w.mimic(first)})", f'"{name}": {value}', f"{name}: '{value}'", f"{value}.0", f"stay{value}x", f"poe_id {value}-{w.digits(2)}",
        f"-- check {name} {value} by hand", f"`{value}`", f"#{value}", f"|{value}|", f"{name}::int={value}", f"id {value}; next",
    ])
    return Plant("identifier", text, [digits_alone(value)])


def eicu_identifier(w: Words) -> Plant:
    value = w.eicu()
    if w.random.random() < 0.25:
        value = w.fresh(lambda: f"0{w.random.randint(10, 99)}-{w.random.randint(1000, 99999)}")
        text = w.random.choice([f"uniquepid = '{value}'", f"person {value} has two stays", f'"uniquepid": "{value}"', f"{value} twice"])
    else:
        name = w.random.choice(["patientunitstayid", "patienthealthsystemstayid"])
        text = w.random.choice([f"{name} = {value}", f"stay {value} is long", f'"{name}": {value}', f"{name} IN ({w.eicu()}, {value})",
                                f"unit stay {value}", f"where p.{name}={value}", f"print({value})", f"id {value} repeats"])
    return Plant("identifier", text, [digits_alone(value)])


def timestamp(w: Words) -> Plant:
    r = w.random
    y, mo, d, h, mi, s = r.randint(2100, 2214), r.randint(1, 12), r.randint(1, 28), r.randint(0, 23), r.randint(0, 59), r.randint(0, 59)
    month = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"][mo - 1]
    value = r.choice([
        f"{y}-{mo:02}-{d:02} {h:02}:{mi:02}:{s:02}", f"{y}-{mo:02}-{d:02}T{h:02}:{mi:02}:{s:02}Z", f"{y}-{mo:02}-{d:02}", f"{y}/{mo:02}/{d:02}",
        f"{d:02}/{mo:02}/{y}", f"{mo:02}/{d:02}/{y} {h:02}:{mi:02}", f"{d} {month} {y}", f"{month} {d}, {y}", f"{d:02}-{month[:3]}-{y}",
        f"datetime({y}, {mo}, {d}, {h}, {mi})", f"TIMESTAMP '{y}-{mo:02}-{d:02} {h:02}:{mi:02}:{s:02}.000'", f"{month[:3]} {d} {h:02}:{mi:02}:{s:02} {y}",
        f"{y}{mo:02}{d:02}{h:02}{mi:02}{s:02}", f"{y}.{mo:02}.{d:02}", f"year {y}", f"anchor_year = {y}", f"{month} {y}",
    ])
    tag = w.tag()
    text = f"{tag} {r.choice(['charted at', 'between', 'from', 'on', 'starttime >='])} {value}"
    core = re.sub(r"^(TIMESTAMP '|datetime\()", "", value)
    return Plant("timestamp", text, [rf"{tag}.{{0,40}}{re.escape(core[:8] if core[0].isdigit() else core)}", rf"{tag}[^q]{{0,48}}(?<!\d){y}"])


def age(w: Words) -> Plant:
    number, tag = w.random.randint(19, 99), w.tag()
    text = w.random.choice([
        f"{tag} is a {number}-year-old man", f"{tag} age: {number}", f"{tag} anchor_age = {number}", f'{tag} {{"age": {number}}}', f"{tag} aged {number}",
        f"{tag} age {number}", f"{tag} {number} years old", f"{tag} age={number}.4", f"{tag} age is {number}", f"{tag} 'admission_age': {number}",
        f"{tag} {number} yo female", f"{tag} {number} y/o", f"{tag} Age | {number} |", f"{tag} age of {number}",
    ])
    return Plant("age", text, [rf"{tag}[^q]{{0,24}}(?<!\d){number}(?!\d)"])


def row(w: Words) -> Plant:
    mark = "".join(w.random.choices("BCDFGHJKLMNPQRSTVWXZ", k=8))
    ids = [w.mimic("1"), w.mimic("2"), w.mimic("3")][: w.random.randint(1, 3)]
    if w.random.random() < 0.25:
        ids = [w.eicu()]
    cells = [*ids, str(w.random.randint(0, 24)), f"{w.random.random() * 9:.3f}", mark]
    text = w.random.choice([
        "\n" + ",".join(cells) + "\n", "\n| " + " | ".join(cells) + " |\n", "\n" + "\t".join(cells) + "\n", "\n" + "  ".join(cells) + "\n",
        "\n0  " + "  ".join(cells) + "\n", "[(" + ", ".join([*cells[:-1], f"'{mark}'"]) + ")]", "[" + ", ".join([*cells[:-1], f'"{mark}"']) + "]",
        "\n" + ";".join(cells) + "\n", "\n  " + ",".join(f'"{cell}"' for cell in cells) + "\n", "VALUES (" + ", ".join([*cells[:-1], f"'{mark}'"]) + ")",
        '{"stay_id": ' + cells[0] + ', "sofa": 3, "note": "' + mark + '"}', "\nstay_id=" + ids[0] + ", sofa=3, note=" + mark + "\n",
    ])
    return Plant("row", text, [mark, *map(digits_alone, ids)])


PLANTS = (secret, mimic_identifier, eicu_identifier, timestamp, age, row)


# --- what is innocent ------------------------------------------------------------------------------------------------
def innocent(w: Words) -> Innocent:
    r, tag = w.random, w.tag()
    run = f"mimic-sofa-24h_no-skill_codex_gpt-5.5_t{r.randint(1, 5)}_2026{r.randint(1, 12):02}{r.randint(1, 28):02}_{r.randint(0, 23):02}{w.digits(1) if False else '4'}{r.randint(0, 9)}{r.randint(10, 59)}"
    kind, text = r.choice([
        ("item id", f"itemid IN ({r.randint(220_000, 230_000)}, {r.randint(220_000, 230_000)})"), ("item id", f"itemid = {r.randint(220_000, 230_000)}"),
        ("lab item", f"lab {r.randint(50_800, 53_200)} and {r.randint(50_800, 53_200)}"), ("item id", f"heart rate is {r.randint(220_000, 230_000)}"),
        ("icd", f"icd_code LIKE '{r.choice('ABEIJKNR')}{r.randint(10, 99)}.{r.randint(0, 9)}'"), ("icd", f"ICD-9 {r.randint(10000, 99999)}"),
        ("literature", f"Vincent et al., Intensive Care Med {r.randint(1950, 2026)};{r.randint(1, 60)}:{r.randint(100, 399)}-{r.randint(400, 999)}"),
        ("literature", f"published in {r.randint(1950, 2026)}"), ("threshold", f"age >= {r.randint(16, 90)}"), ("threshold", f"CASE WHEN age < {r.randint(30, 80)} THEN 1"),
        ("threshold", f"platelets < {r.randint(10, 150)}"), ("threshold", f"urine output < {r.randint(100, 500)} mL"), ("threshold", f"lactate > {r.random() * 9:.1f}"),
        ("threshold", f"PaO2/FiO2 {r.randint(100, 200)}-{r.randint(201, 400)}"), ("version", f"duckdb {r.randint(0, 2)}.{r.randint(0, 20)}.{r.randint(0, 20)}"),
        ("version", f"claude-code 2.1.{r.randint(100, 300)}"), ("run id", run), ("rows", f"wrote {r.randint(1000, 900_000)} rows"),
        ("rows", f"COUNT(*) gives {r.randint(10_000, 99_999)} stays"), ("rows", f"{r.randint(200_000, 900_000)} distinct stays"), ("tokens", f"{r.randint(11_000_000, 39_000_000)} tokens"),
        ("tokens", f"input_tokens: {r.randint(100_000, 39_000_000)}"), ("reward", f"reward 0.{r.randint(10_000_000, 39_999_999)}"),
        ("hash", f"sha256 {''.join(r.choices('0123456789abcdef', k=63))}a"), ("volume", f"{r.randint(2100, 2214)} mL in total"), ("band", f"age 40-{r.randint(45, 59)}"),
        ("code", f"LIMIT {r.randint(1, 1000)}"), ("date", f"released {r.randint(2019, 2026)}-0{r.randint(1, 9)}-1{r.randint(0, 9)}"),
        ("skill", "risk-adjusted-mortality-of-the-unit"), ("stage", f"stage {r.randint(1, 3)}, percentage: {r.randint(10, 99)}"),
    ])
    return Innocent(kind, f"{tag} {text} ok")


# --- dresses: how a text stands in what an agent writes --------------------------------------------------------------
def _json_string(text: str, times: int) -> str:
    for _ in range(times):
        text = json.dumps({"t": text})
    return text


DRESSES: dict[str, Callable[[str], str]] = {
    "prose": lambda text: f"I looked at it: {text} and went on.",
    "code": lambda text: f"import duckdb\n# {text.strip()}\nprint('done')" if "\n" not in text.strip() else f'data = """{text}"""',
    "sql": lambda text: f"SELECT *\nFROM x\n-- {text}\nWHERE 1 = 1" if "\n" not in text else f"/*{text}*/ SELECT 1",
    "markdown": lambda text: f"| what | value |\n|---|---|\n| note | {text} |\n" if "\n" not in text and "|" not in text else f"# Note\n{text}",
    "json": lambda text: _json_string(text, 1),
    "json twice": lambda text: _json_string(text, 2),
    "json three times": lambda text: _json_string(text, 3),
    "heredoc": lambda text: f"cat > a.py <<'EOF'\n{text}\nEOF\npython3 a.py",
    "bare": lambda text: text,
}


# --- carriers: events of each form; (name, whether the text is the agent's) ------------------------------------------
def _cut(text: str, rng: random.Random) -> list[str]:
    """2 to 5 parts, cut anywhere."""
    places = sorted(rng.sample(range(1, max(len(text), 2)), min(rng.randint(1, 4), max(len(text) - 1, 1))))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def codex(text: str, rng: random.Random) -> dict[str, list[dict[str, Any]]]:
    def item(kind: str, how: str = "completed", **rest: Any) -> dict[str, Any]:
        return {"type": f"item.{how}", "item": {"id": f"item_{rng.randint(0, 99)}", "type": kind, **rest}}

    half = max(1, len(text) // 2)
    return {
        "message": [item("agent_message", text=text)], "reasoning": [item("reasoning", text=text)],
        "command": [item("command_execution", "started", command=text, aggregated_output="", exit_code=None, status="in_progress"),
                    item("command_execution", command=text, aggregated_output="x", exit_code=0, status="completed")],
        "updates": [item("agent_message", "updated", text=text[:half]), item("agent_message", "updated", text=text[: half + 3]), item("agent_message", text=text)],
        "todo": [item("todo_list", items=[{"text": text, "completed": False}])], "mcp arguments": [item("mcp_tool_call", server="s", tool="t", arguments={"q": [text]})],
        "error": [{"type": "error", "message": text}],
        "*output": [item("command_execution", command="ls", aggregated_output=text, exit_code=0, status="completed")],
        "*mcp result": [item("mcp_tool_call", server="s", tool="t", arguments={}, result={"content": [{"type": "text", "text": text}]})],
        "*unknown": [item("novel_item", payload=text)],
    }


def claude(text: str, rng: random.Random) -> dict[str, list[dict[str, Any]]]:
    def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
        return {"type": "assistant", "message": {"id": f"msg_{rng.randint(0, 99)}", "role": "assistant", "model": "m", "content": list(blocks), "usage": {"input_tokens": 12_345_678}}}

    def parts(kind: str, name: str) -> list[dict[str, Any]]:
        start = {"type": "stream_event", "event": {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}}
        return [start, *({"type": "stream_event", "event": {"type": "content_block_delta", "index": 0, "delta": {"type": kind, name: part}}} for part in _cut(text, rng)),
                {"type": "stream_event", "event": {"type": "content_block_stop", "index": 0}}]

    return {
        "message": [assistant({"type": "text", "text": text})], "thinking": [assistant({"type": "thinking", "thinking": text, "signature": "c2ln"})],
        "bash": [assistant({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": text, "timeout": 600000}})],
        "write": [assistant({"type": "tool_use", "id": "toolu_2", "name": "Write", "input": {"file_path": "./a.py", "content": text}})],
        "edit": [assistant({"type": "tool_use", "id": "toolu_3", "name": "Edit", "input": {"old_string": "x", "new_string": text}})],
        "text deltas": parts("text_delta", "text"), "json deltas": parts("input_json_delta", "partial_json"), "thinking deltas": parts("thinking_delta", "thinking"),
        "result": [{"type": "result", "subtype": "success", "is_error": False, "result": text, "num_turns": 3, "usage": {"output_tokens": 21_000_000}}],
        "*output": [{"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": text}]}, "tool_use_result": {"stdout": text}}],
        "*output list": [{"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": text}]}]}}],
        "*injected": [{"type": "user", "message": {"role": "user", "content": text}}], "*hook": [{"type": "system", "subtype": "hook_response", "stdout": text}],
    }


def gemini(text: str, rng: random.Random) -> dict[str, list[dict[str, Any]]]:
    stamp = "2026-05-04T05:30:51.000Z"
    return {
        "message": [{"type": "message", "timestamp": stamp, "role": "assistant", "content": text}],
        "deltas": [{"type": "message", "timestamp": stamp, "role": "assistant", "content": part, "delta": True} for part in _cut(text, rng)] + [{"type": "init", "model": "g"}],
        "tool": [{"type": "tool_use", "timestamp": stamp, "tool_name": "run_shell_command", "tool_id": "r-1", "parameters": {"command": text}}],
        "write": [{"type": "tool_use", "timestamp": stamp, "tool_name": "write_file", "tool_id": "r-2", "parameters": {"file_path": "a.sql", "content": text}}],
        "error": [{"type": "error", "severity": "error", "message": text}],
        "*output": [{"type": "tool_result", "timestamp": stamp, "tool_id": "r-1", "status": "success", "output": text}],
        "*output error": [{"type": "tool_result", "timestamp": stamp, "tool_id": "r-1", "status": "error", "error": {"type": "X", "message": text}}],
        "*user": [{"type": "message", "timestamp": stamp, "role": "user", "content": text}],
    }


def pi(text: str, rng: random.Random) -> dict[str, list[dict[str, Any]]]:
    def message(*blocks: dict[str, Any], role: str = "assistant") -> dict[str, Any]:
        return {"role": role, "content": list(blocks), "model": "gpt-oss:20b", "usage": {"input": 12_000_001, "output": 5}, "timestamp": 1_777_777_777_777}

    def parts(kind: str) -> list[dict[str, Any]]:
        grown, events = "", []
        for part in _cut(text, rng):
            grown += part
            events.append({"type": "message_update", "message": message({"type": "text", "text": grown}),
                           "assistantMessageEvent": {"type": kind, "contentIndex": 0, "delta": part, "partial": message({"type": "text", "text": grown})}})
        return [*events, {"type": "turn_start"}]

    return {
        "message": [{"type": "message_end", "message": message({"type": "text", "text": text})}], "thinking": [{"type": "message_end", "message": message({"type": "thinking", "thinking": text})}],
        "call": [{"type": "message_end", "message": message({"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": text}})}],
        "tool": [{"type": "tool_execution_start", "toolCallId": "c1", "toolName": "bash", "args": {"command": text}}],
        "text deltas": parts("text_delta"), "call deltas": parts("toolcall_delta"), "end": [{"type": "agent_end", "messages": [message({"type": "text", "text": text})]}],
        "*output": [{"type": "tool_execution_end", "toolCallId": "c1", "toolName": "bash", "result": {"content": [{"type": "text", "text": text}]}, "isError": False}],
        "*partial output": [{"type": "tool_execution_update", "toolCallId": "c1", "toolName": "bash", "args": {}, "partialResult": {"content": [{"type": "text", "text": text}]}}],
        "*turn": [{"type": "turn_end", "message": message({"type": "text", "text": "done"}), "toolResults": [message({"type": "text", "text": text}, role="toolResult")]}],
        "*tool message": [{"type": "message_end", "message": message({"type": "text", "text": text}, role="toolResult")}],
    }


CARRIERS = {"codex": codex, "claude": claude, "gemini": gemini, "pi": pi}


def make_corpus(folder: Path, *, seed: int = 7, plants: int = 2400, innocents: int | None = None) -> Corpus:
    """Write `folder`/<form>.jsonl for every form; planted things and innocents are spread evenly over forms and kinds."""
    w, corpus = Words(seed), Corpus()
    lines: dict[str, list[str]] = {form: [] for form in FORMS}
    for form in FORMS:  # a tail that begins within an event, as a truncated stdout does
        lines[form].append('ted_output":"\\n10999999,29999999,4,1.2","exit_code":0}}')
    jobs: list[Plant | Innocent] = [PLANTS[n % len(PLANTS)](w) for n in range(plants)] + [innocent(w) for _ in range(plants if innocents is None else innocents)]
    w.random.shuffle(jobs)
    for number, job in enumerate(jobs):
        form = FORMS[number % len(FORMS)]
        dress = w.random.choice(list(DRESSES))
        made = CARRIERS[form](DRESSES[dress](job.text), w.random)
        # what is withheld whole is no place for an innocent
        carrier = w.random.choice([name for name in made if isinstance(job, Plant) or not name.startswith("*")])
        job.form, job.carrier = form, carrier
        if isinstance(job, Plant):
            job.dress, job.line = dress, len(lines[form]) + 1
            corpus.plants.append(job)
        else:
            corpus.innocents.append(job)
        lines[form] += [json.dumps(event, ensure_ascii=w.random.random() < 0.5) for event in made[carrier]]
        if w.random.random() < 0.02 and isinstance(job, Plant):  # the same on a line that is no event
            lines[form].append(w.random.choice([f"warning: {job.text.strip()!r}", json.dumps(made[carrier][0])[:-3], f"[{json.dumps(job.text)}]"]))
            corpus.bad_lines[form] = corpus.bad_lines.get(form, 0) + 1
    folder.mkdir(parents=True, exist_ok=True)
    for form, events in lines.items():
        (folder / f"{form}.jsonl").write_text("\n".join(events) + "\n", encoding="utf-8")
    return corpus


def leaves(path: Path) -> Iterator[str]:
    """Every string of every event."""
    def walk(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            for key, part in value.items():
                yield key
                yield from walk(part)
        elif isinstance(value, list):
            for part in value:
                yield from walk(part)
        elif value is not None:
            yield str(value)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            yield from walk(json.loads(line))

"""What an agent wrote, without what it saw: credentials, shifted times, ages and result rows out, identifiers replaced.

    redactor = Redactor(key)
    redactor.text("stay 39000153 had SOFA 4 on 2150-03-01")   # "stay stay-kfhaebmdcj had SOFA 4 on [time withheld]"

Texts come in any dress: prose, code, SQL, Markdown, JSON in a string, escaped once or more. So a line may begin after a
real line feed or after a written `\\n`, and a number may follow a letter (`\\n10000032`): boundaries are digits, not words.
Kept: item ids, ICD codes, years up to 2099, thresholds, versions, hashes, run ids and counts. Shapes: MIMIC-IV and eICU.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from m4lib.evidence.counts import is_count
from m4lib.evidence.tables_in_text import withhold_age_cells

# a word begins: after anything but a letter or digit, or after a written escape
BEGIN = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]))"
# tokens that hold digits and say nothing: UUIDs, hexadecimal hashes, the time stamps of run ids
NEUTRAL = (
    rf"{BEGIN}(?:[0-9a-f]{{8}}-(?:[0-9a-f]{{4}}-){{3}}[0-9a-f]{{12}}"
    r"|(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{12,64})(?![0-9A-Za-z])"
    r"|(?<!\d)20(?:2[4-9]|3\d)(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[_T](?:[01]\d|2[0-3])[0-5]\d[0-5]\d(?!\d)"
)
MIMIC = r"(?<!\d)(?<!\d\.)[123]\d{7}(?!\d)(?!\.\d*[1-9])"  # subject, admission, stay; not the fraction of a decimal
EICU = r"(?<!\d)(?<!\d[.,])\d{6,7}(?!\d)(?!\.\d*[1-9])"
UNIQUEPID = r"(?<![\d-])(?:0\d{2}-\d{1,6}|\d{3}-\d{4,6})(?![\d-])"
ITEM_RANGE = (220_000, 230_000)
EICU_RANGE = (141_168, 3_353_263)

# --- credentials -----------------------------------------------------------------------------------------------------
_SECRETS = [
    (re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)", re.DOTALL), "private key"),
    (re.compile(BEGIN + r"(?:sk-[A-Za-z0-9_-]{16,}|AIza[A-Za-z0-9_-]{30,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"
                r"|glpat-[A-Za-z0-9_-]{16,}|xox[a-z]-[A-Za-z0-9-]{10,}|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}|(?:AKIA|ASIA)[A-Z0-9]{16}"
                r"|ya29\.[A-Za-z0-9_-]{20,}|gsk_[A-Za-z0-9]{20,}|r8_[A-Za-z0-9]{30,})"), "key"),
    (re.compile(BEGIN + r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"), "token"),
    (re.compile(r"(?i)(\bbearer\s+|\bbasic\s+(?=[A-Za-z0-9+/]*[0-9=]))[A-Za-z0-9+/._~-]{12,}=*"), "token"),
    (re.compile(r"(?i)((?:api[_-]?key|secret(?:[_-]?(?:access[_-]?)?key)?|client[_-]?secret|access[_-]?key(?:[_-]?id)?|passwo?r?d|passwd|pwd"
                r"|passphrase|(?:access|refresh|id|auth|session|oauth|api|bearer|github|hf)[_-]?token|authorization|x-api-key|private[_-]?key"
                r"|credentials?)[\\\"'`\s]{0,24}(?::|=>|=)[\\\"'`\s]{0,24})(?!ANTHROPIC|OPENAI|none\b|null\b|true\b|false\b|\[|\$|os\.|getpass)"
                r"[^\s\"'`\\,;}\])]{6,}"), "secret"),
    (re.compile(r"(?i)((?<![A-Za-z_])token[\\\"'`\s]{0,24}(?::|=)[\\\"'`\s]{0,24})(?=[^\s\"'`\\,;}]{0,200}\d)(?=[^\s\"'`\\,;}]{0,200}[A-Za-z])"
                r"[^\s\"'`\\,;}\])]{12,}"), "token"),
    (re.compile(r"((?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,20}://[^\s/:@\"'\\]{1,64}:)[^\s/@\"'\\]{1,128}(?=@)"), "password"),
    (re.compile(r"(?<![A-Za-z0-9+/_-])(?=[A-Za-z+/]*[0-9])[A-Za-z0-9+/]{200,}={0,2}"), "long encoded block"),
]

# --- shifted times ---------------------------------------------------------------------------------------------------
_Y = r"2(?:1\d\d|20\d|21[0-4])"
_SEP = r"\s?[-/.\u2010-\u2015\u2212]\s?"
_MON = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_CLOCK = r"(?:[T_,\s]{1,3}(?:at\s)?\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?(?:Z\b|[AP]M\b|[+-]\d{2}:?\d{2}))?)?"
_NOT_YEAR = r"(?!\d)(?!\s*(?:m[lLg]|k?cal|rows?|records?|stays|patients|tokens|events|steps|seconds|ms|s\b|%|g\b|mmhg|hours|minutes|days|lines|items|values))"
_TIMES = re.compile(
    rf"(?P<keep>{NEUTRAL})"
    rf"|(?<!\d)(?<!\d\.){_Y}{_SEP}\d{{1,2}}{_SEP}\d{{1,2}}(?!\d){_CLOCK}"
    rf"|(?<!\d)\d{{1,2}}{_SEP}\d{{1,2}}{_SEP}{_Y}(?!\d){_CLOCK}"
    rf"|\(\s*{_Y}\s*,\s*\d{{1,2}}\s*,\s*\d{{1,2}}[^()\n]{{0,60}}\)"
    rf"|(?i:year\s*=\s*{_Y}(?!\d)(?:\s*,\s*(?:month|day|hour|minute|second)\s*=\s*\d+)*)"
    rf"|(?i:(?<![A-Za-z])\d{{1,2}}(?:st|nd|rd|th)?(?:\s+of)?[\s/-]*{_MON}[\s,/-]*{_Y}(?!\d){_CLOCK})"
    rf"|(?i:(?<![A-Za-z]){_MON}\s+\d{{1,2}}(?:st|nd|rd|th)?,?(?:\s+\d{{1,2}}:\d{{2}}(?::\d{{2}})?)?\s+{_Y}(?!\d){_CLOCK})"
    rf"|(?i:(?<![A-Za-z]){_MON}[\s,/-]+{_Y}(?!\d))|(?i:(?<!\d){_Y}[\s/-]{_MON}(?:[\s/-]\d{{1,2}}(?!\d))?)"
    rf"|(?<!\d){_Y}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[T_ ]?\d{{4}}(?:\d\d)?)?(?!\d)"
    rf"|(?<![\d:;.]){_Y}-(?:0[1-9]|1[0-2])(?![\d-])|(?<!\d){_Y}\s?[-–]\s?{_Y}(?!\d)"
    rf"|(?P<year>(?i:{BEGIN}(?:anchor_year(?:_group)?|years?|yr|in|since|during|dod|charttime|storetime|intime|outtime|admittime|dischtime|starttime|endtime)"
    rf"[\\\"'`\s:=(]{{1,8}})){_Y}{_NOT_YEAR}"
    r"|(?<![\d.])(?!429496729[56])(?:4[1-9]|[56]\d|7[0-7])\d{8}(?:\d{3}|\d{6}|\d{9})?(?!\d)(?:\.\d+)?"
)

# --- ages ------------------------------------------------------------------------------------------------------------
_AGE = BEGIN + r"(?:(?:anchor|admission|admit|adm|patient|pt|icu|hospital)_?)?age(?:_at_[a-z]+|_in_years|_years|_yrs?|_num)?(?![A-Za-z_])"
_BAND = r"(?!\d|\.\d|\s*(?:[-–]\s?\d|to\s+\d|\+|[<>≤≥]|years?\s+(?:or|and)\b|(?:or|and)\s+(?:older|over|above|younger|under|below|more|up)|points?|bands?|bins?|groups?|%))"
_AGES = [
    (re.compile(rf"(?i)({_AGE}[\\\"'`*\s)\]]{{0,24}}(?:[:=|]{{1,2}}|\bis\b|\bwas\b|\bof\b|->|→)?[\\\"'`*\s(\[|]{{0,24}})(?:about\s+)?\d{{1,3}}(?:\.\d+)?{_BAND}"), r"\1[age withheld]"),
    (re.compile(rf"(?i)({BEGIN}aged\s+(?:about\s+)?)\d{{1,3}}(?:\.\d+)?{_BAND}"), r"\1[age withheld]"),
    (re.compile(r"(?i)(?<![\d.])(?<![<>=≥≤])(?<![<>=≥≤]\s)(?<!over\s)(?<!under\s)(?<!than\s)(?<!least\s)(?<!above\s)(?<!below\s)(?<!\d[-–])"
                r"\d{1,3}(?:\.\d+)?(?=[\s-]*(?:(?:years?|yrs?|y)\.?[\s-]*(?:old|of\s+age|/\s?o\b|\.?o\b)|yo\b))"), "[age withheld]"),
    (re.compile(r"(?<=\()\d{1,3}(?=\s?[MF]\))|(?<![\w.])\d{2,3}(?=\s?[MF]\s+(?:with|w/|admitted|presenting|who|pt|patient|s/p)\b)"), "[age withheld]"),
    (re.compile(rf"(?i)({BEGIN}ages[\\\"'`*\s]{{0,8}}[:=]?[\\\"'`*\s(\[]{{0,8}})\d{{1,3}}(?:\.\d+)?(?:\s?,\s?\d{{1,3}}(?:\.\d+)?)+(?!\d)"), r"\1[ages withheld]"),
    (re.compile(r"(?i)(<(?:anchor_)?age>\s*)\d{1,3}(?:\.\d+)?"), r"\1[age withheld]"),
]

# --- rows ------------------------------------------------------------------------------------------------------------
_BREAK = r"[\n\r\x0b\x0c\x85\u2028\u2029]|\\{1,32}[nr]"
_ID_NAME = r"(?:subject_?id|hadm_?id|stay_?id|patientunitstayid|patienthealthsystemstayid|uniquepid)"
_LEAD = r"(?:[ \t|│┃║>*•\"'`(\[{<#/%+;-]|\\{1,16}[t\"']|<t[rdh][^<>]{0,40}>){0,16}(?:\d{1,7}(?:[ \t|│,:.)]|\\{1,16}t){1,8}[\"'(\[]{0,3})?"
_ROW_ID = rf"(?!{NEUTRAL})(?:{MIMIC}|{UNIQUEPID}(?=[\\\"']{{0,16}}\s*[,;|\t]|\\{{1,16}}t|\s{{2,9}}\S)|{EICU}(?=(?:\.0+)?[\\\"')]{{0,16}}(?:\s*[,;|│┃║\t<]|\\{{1,16}}t|\s{{1,40}}[\"'\d.(-]|\s{{2,40}}\S)))"
_ROWS = re.compile(
    rf"(?P<start>\A|{_BREAK}|<tr[^<>]*>|(?<=[\"'`])(?=[123]?\d{{5,7}}\s?[,;|]|[123]\d{{7}}\s?[,;|]))(?P<lead>{_LEAD}(?:{_ID_NAME}[\\\"']{{0,16}}\s?[:=]\s?[\\\"']{{0,16}}(?=\d{{3,8}}[\d-]*[\\\"']{{0,16}}\s*[,;|\t]))?)"
    rf"(?P<id>{_ROW_ID})(?P<rest>(?:(?!{_BREAK}|</tr>).)*)", re.DOTALL,
)
_BRACKETS = re.compile(rf"\(\s*(?:{_ID_NAME}\s?=\s?(?=\d+\s*,))?" r"(?:\\*[\"'])?(?:[123]\d{7}|\d{6,7}|\d{3}-\d{1,6})(?!\d)[^()\[\]]*(?:\([^()]*\)[^()\[\]]*)*\)"
                       r"|\[\s*(?:\\*[\"'])?(?:[123]\d{7}|\d{6,7}|\d{3}-\d{1,6})(?!\d)[^\[\]]*\]")
_OBJECTS = re.compile(rf"\{{[^{{}}]*?{_ID_NAME}[\\\"'\s]{{0,24}}:[\\\"'\s\[(]{{0,24}}\d(?:[^{{}}]|\{{[^{{}}]*\}})*\}}")

# --- identifiers -----------------------------------------------------------------------------------------------------
_NAMED = (
    r"(?i:(?P<name>caregiver_?id|[a-z_]{0,24}provider_?id|poe_?id|labevent_?id|(?:micro_)?specimen_?id|microevent_?id|pharmacy_?id|emar_?id"
    r"|transfer_?id|(?:link)?order_?id|patientunitstayid|patienthealthsystemstayid|uniquepid|subject_?id|hadm_?id|stay_?id)(?:::[a-z]+)?"
    r"(?P<sep>[\\\"'`\s\])]{0,24}(?:==?|:|=>|\bin\b|\bis\b|\bof\b|<>|!=)?[\\\"'`\s(\[]{0,24}))"
    r"(?P<values>(?:P?\d[\dA-Z-]*|P[0-9A-Z]{2,6})(?:\.0+)?(?![\w.])(?:[\\\"'`\s]{0,20},[\\\"'`\s]{0,20}(?:P?\d[\dA-Z-]*)(?:\.0+)?(?![\w.]))*)"
)
_IDS = re.compile(
    rf"(?P<keep>{NEUTRAL})|{_NAMED}|(?P<mimic>(?<!\d)(?<!\d\.)[123]\d{{7}}-\d{{1,6}}(?![\d-])|{MIMIC}(?:\.0+(?!\d))?|(?<![\d_])[123]\d_\d{{3}}_\d{{3}}(?![\d_])|(?<![\d.])[123]\.\d{{7}}[eE]\+?0?7(?!\d))"
    rf"|(?P<uniquepid>{UNIQUEPID})|(?P<eicu>{EICU}(?:\.0+(?!\d))?)"
)
_VALUE = re.compile(r"P?\d[\dA-Z-]*(?:\.0+)?|P[0-9A-Z]{2,6}")
_ITEM_CONTEXT = re.compile(r"(?i)(?:item_?ids?|item|icd\w*|code|gsn|ndc|version|\bv)[\\\"'`\s:=(]{0,6}(?:in\s*\()?\Z")

# --- places ----------------------------------------------------------------------------------------------------------
_NEUTRAL_ROOTS = r"(?:v\d|api|work|data|tmp|usr|bin|sbin|lib|lib64|opt|etc|proc|sys|dev|agent|benchmark|run|home/(?:agent|benchagent|user))"
_PATHS = re.compile(r"(?<![\w.~/<:$*)}\]-])/(?!" + _NEUTRAL_ROOTS + r"(?:/|\b))(?!/)(?:[\w.+@~-]+/)+(?P<base>[\w.+@~-]*)")
_WINDOWS = re.compile(r"(?<![A-Za-z])[A-Za-z]:(?:\\{1,4}|/)(?:[\w .+@~-]+(?:\\{1,4}|/))+(?P<base>[\w.+@~-]*)")
_HOME = re.compile(r"(?<![\w])~[a-z][\w-]*/|(?<![\w/])/(?:home|Users)/(?!agent\b|benchagent\b|user\b)[\w.-]+")
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}")
_HOSTS = re.compile(r"(?<![\w.-])(?:[a-z0-9-]+\.)+(?:local|internal|corp|lan|intra|intranet|localdomain|home\.arpa)(?![\w-])")
_ADDRESSES = re.compile(r"(?<![\d.])(?:10(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2}|169\.254(?:\.\d{1,3}){2})(?![\d.])")

_ESCAPED_ASCII = re.compile(r"\\{1,32}u00([2-7][0-9A-Fa-f])")
_INVISIBLE = dict.fromkeys([0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0xAD]) | {0xFF10 + n: str(n) for n in range(10)}
_NOTHING = re.compile(r"[0-9/\\@.]|-----BEGIN|sk-|AIza|gh[pousr]_|hf_|AKIA|ASIA|eyJ|xox|glpat|npm_|gsk_|(?i:key|secret|passw|token|bearer|credential|authorization)")


# cheap signs of what the long rules look for
_TIME_SIGNS = re.compile(r"2[12]\d\d|[4-7]\d{9}")
_ID_SIGNS = re.compile(r"\d{5}|\d{3}-\d|\d_\d{3}|(?i:caregiver_?id|provider_?id|poe_?id|labevent|specimen_?id|microevent|pharmacy_?id|emar_?id|transfer_?id|order_?id)")
_AGE_SIGNS = re.compile(r"(?i)age|\by(?:ea)?rs?\b|years?|\by\.?/?o\b|yo\b|\d\s?[mf]\b")


def _near(signs: re.Pattern[str], change: Callable[[str], str], text: str) -> str:
    """`change` applied to the lines that bear a sign and their neighbours; on code, most lines do not."""
    if not signs.search(text):
        return text
    lines = text.split("\n")
    if len(lines) < 6:
        return change(text)
    hot = [bool(signs.search(line)) for line in lines]
    near = [any(hot[max(0, number - 2) : number + 3]) for number in range(len(lines))]
    parts, start = [], 0
    for number in range(1, len(lines) + 1):
        if number == len(lines) or near[number] != near[start]:
            block = "\n".join(lines[start:number])
            parts.append(change(block) if near[start] else block)
            start = number
    return "\n".join(parts)


class Redactor:
    """Rules with one key: the same identifier becomes the same pseudonym in every file of a package.

    key: at least 16 secret bytes, never written anywhere.
    places: absolute path -> neutral name, longest first where they nest; hosts: names of machines to hide.
    `counts` says how many of each kind were changed.
    """

    def __init__(self, key: bytes, places: Mapping[str, str] | None = None, hosts: Iterable[str] = ()) -> None:
        if len(key) < 16:
            raise ValueError("the key needs at least 16 bytes")
        self._key = key
        self.counts: Counter[str] = Counter()
        self._places = sorted((places or {}).items(), key=lambda pair: -len(pair[0]))
        names = sorted({name for name in hosts if len(name) >= 4 and name not in ("localhost", "replay", "model")}, key=len, reverse=True)
        self._host_names = re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, names)) + r")(?![\w-])") if names else None

    # -- pieces that others use -----------------------------------------------------------------------------------------
    def mac(self) -> hmac.HMAC:
        """A running keyed hash, for what is withheld while it streams by."""
        return hmac.new(self._key, b"withheld:", hashlib.sha256)

    def digest(self, value: str | bytes) -> str:
        """First 16 hexadecimal digits of the keyed hash of a withheld value."""
        running = self.mac()
        running.update(value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass"))
        return running.hexdigest()[:16]

    def withheld(self, value: str, what: str = "output") -> str:
        """The placeholder that stands for `value`: its length in characters and a keyed hash."""
        self.counts[f"withheld {what}"] += 1
        return f"[{what} withheld: {len(value)} characters, keyed hash {_letters(self.digest(value))}]"

    def pseudonym(self, value: str) -> str:
        """`stay-` and ten letters for a stay, and so on; one identifier has one pseudonym."""
        value = value.replace("_", "")
        if value[-3:].lower() in ("+07", "e07", "e+7") or value[-2:].lower() == "e7":
            value = value[0] + value[2:9]  # 1.0999001e+07
        value = value.split(".")[0]
        if "-" in value and len(value.split("-")[0]) == 8:
            kind = "order"
        elif len(value) == 8 and value.isdigit() and value[0] in "123":
            kind = {"1": "subject", "2": "admission", "3": "stay"}[value[0]]
        else:
            kind = "person" if "-" in value else "id"
        self.counts["identifiers"] += 1
        return f"{kind}-{_letters(hmac.new(self._key, b'id:' + value.encode(), hashlib.sha256).hexdigest()[:10])}"

    # -- the whole ------------------------------------------------------------------------------------------------------
    def text(self, text: str) -> str:
        """`text` with everything private removed or replaced."""
        if not _NOTHING.search(text):
            return text
        if "\\" in text:
            text = _ESCAPED_ASCII.sub(lambda match: chr(int(match.group(1), 16)) if chr(int(match.group(1), 16)).isalnum() else match.group(), text)
        if not text.isascii():
            text = text.translate(_INVISIBLE)
        for pattern, what in _SECRETS:
            text = self._count(pattern, lambda match, what=what: f"{match.group(1) if match.re.groups else ''}[{what} withheld]", text, "credentials")  # type: ignore[misc]
        text = self._rows(text)
        text = _near(_TIME_SIGNS, lambda part: _TIMES.sub(self._time, part), text)
        text = withhold_age_cells(text, self.counts)
        for pattern, new in _AGES if _AGE_SIGNS.search(text) else ():
            text = self._count(pattern, new, text, "ages")
        text = _near(_ID_SIGNS, lambda part: _IDS.sub(lambda match: self._identifier(match, part), part), text)
        return self.places(text)

    def places(self, text: str) -> str:
        """`text` with neutral paths, hosts, addresses and no e-mail address."""
        for place, name in self._places:
            if place in text:
                self.counts["paths"] += text.count(place)
                text = text.replace(place, name)
        if "/" in text or "~" in text:
            text = self._count(_HOME, "/home/user", text, "paths")
            text = self._count(_PATHS, r"/path/\g<base>", text, "paths")
        if "\\" in text and ":" in text:
            text = self._count(_WINDOWS, r"/path/\g<base>", text, "paths")
        if "@" in text:
            text = self._count(_MAIL, "[address withheld]", text, "addresses")
        if "." in text:
            text = self._count(_HOSTS, "host.invalid", text, "hosts")
            text = self._count(_ADDRESSES, "[address withheld]", text, "addresses")
        if self._host_names is not None:
            text = self._count(self._host_names, "host", text, "hosts")
        return text

    # -- one rule each --------------------------------------------------------------------------------------------------
    def _count(self, pattern: re.Pattern[str], new: Any, text: str, what: str) -> str:
        text, n = pattern.subn(new, text)
        if n:
            self.counts[what] += n
        return text

    def _rows(self, text: str) -> str:
        def row(match: re.Match[str]) -> str:
            rest, value = match["rest"], match["id"]
            if not _private_number(value) or is_count(text, match.start("id"), match.end("id")) or not re.search(r"[^\s.,;|)\]}\"'`\\]", rest):
                return match.group()
            self.counts["rows"] += 1
            return f"{match['start']}[row withheld]"

        def bracket(match: re.Match[str]) -> str:
            inner = match.group()[1:-1]
            parts = [part.split("=")[-1].strip(" \t\n\r\"'\\`") for part in inner.split(",")]
            if not _private_number(parts[0]) or is_count(text, match.start() + 1, match.start() + 1 + len(parts[0])):
                return match.group()
            kinds = {len(part.split(".")[0]) for part in parts if part and _private_number(part)}
            if len(parts) == 1 or (all(_private_number(part) or not part for part in parts) and len(kinds) == 1 and not _mixed(parts)):
                return match.group()  # a list of one kind of identifier: each becomes a pseudonym
            self.counts["rows"] += 1
            return f"{match.group()[0]}[row withheld]{match.group()[-1]}"

        def thing(match: re.Match[str]) -> str:
            if not re.search(r"(?<!\d)\d{6,8}(?!\d)|\d{3}-\d", match.group()) or match.group().count(":") < 2:
                return match.group()
            self.counts["rows"] += 1
            return "{[row withheld]}"

        if "{" in text:
            text = _OBJECTS.sub(thing, text)
        if "(" in text or "[" in text:
            text = _BRACKETS.sub(bracket, text)
        return _ROWS.sub(row, text)

    def _time(self, match: re.Match[str]) -> str:
        if match["keep"] is not None or (match.group().isdigit() and is_count(match.string, match.start(), match.end())):
            return match.group()
        self.counts["times"] += 1
        return f"{match['year'] or ''}[time withheld]"

    def _identifier(self, match: re.Match[str], text: str) -> str:
        if match["keep"] is not None:
            return match.group()
        if match["name"] is not None:
            return self._named(match)
        whole = match.group()
        if match["uniquepid"] is not None:
            return self.pseudonym(whole)
        if is_count(text, match.start(), match.end()):
            return whole
        if match["mimic"] is not None:
            return self.pseudonym(whole)
        if not _private_number(whole) or _ITEM_CONTEXT.search(text, max(0, match.start() - 24), match.start()):
            return whole
        return self.pseudonym(whole)

    def _named(self, match: re.Match[str]) -> str:
        name = match["name"].lower().replace("_", "")
        shortest = {"caregiverid": 1, "uniquepid": 3}.get(name, 4)
        if "providerid" in name:
            shortest = 3
        if name in ("subjectid", "hadmid", "stayid"):
            shortest = 8
        elif name in ("patientunitstayid", "patienthealthsystemstayid"):
            shortest = 5
        explicit = bool(re.search(r"[=:(\[\"'`]|\bin\b", match["sep"], re.IGNORECASE))
        front = match.group()[: match.start("values") - match.start()]
        if not explicit and shortest < 8:  # only the word before a number: it must look like an identifier by itself
            return front + _IDS.sub(lambda found: self._identifier(found, match["values"]), match["values"])

        def value(found: re.Match[str]) -> str:
            plain = found.group().split(".")[0]
            return self.pseudonym(found.group()) if len(plain) >= shortest else found.group()

        return front + _VALUE.sub(value, match["values"])


def _private_number(value: str) -> bool:
    """Whether a number has the range of an identifier and not that of an item."""
    plain = value.split(".")[0].replace("_", "")
    if "-" in plain:
        return bool(re.fullmatch(r"[\d-]+", plain))
    if not plain.isdigit():
        return False
    number = int(plain)
    if len(plain) == 8:
        return 10_000_000 <= number <= 39_999_999
    return EICU_RANGE[0] <= number <= EICU_RANGE[1] and not ITEM_RANGE[0] <= number <= ITEM_RANGE[1] and len(plain) in (6, 7)


def _mixed(parts: list[str]) -> bool:
    """Whether identifiers of several kinds stand together: then it is a row, not a list."""
    return len({part[0] if len(part.split(".")[0]) == 8 else len(part.split(".")[0]) > 7 for part in parts if part}) > 1


def _letters(hexadecimal: str) -> str:
    """Hexadecimal digits as the letters a to p: a pseudonym never looks like a number."""
    return hexadecimal.translate(str.maketrans("0123456789abcdef", "abcdefghijklmnop"))

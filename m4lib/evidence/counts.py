"""Which numbers of the size of an identifier are counts, sizes, limits or thresholds, by the words beside them."""

from __future__ import annotations

import re

_NOUN = (r"rows?|records?|tokens?|bytes|events?|observations|measurements|characters|chars|lines|entries|samples|seconds|ms|values|"
         r"steps|results|iterations|nulls|duplicates|pairs|files")
# only for numbers of six or seven digits: an identifier of MIMIC-IV is too easily followed by one of these
_MORE = r"stays|patients|admissions|hours|items|keys|labs|specimens|visits|encounters|icu|charted|m[lLg]|kg|per\b|/"
_ADJECTIVE = (r"(?:(?:unique|distinct|total|matching|more|raw|output|input|reference|missing|extra|duplicate|valid|non-null|cached|prompt|"
              r"uncached|completion|lab|chart|vital|icu|hospital|source|result|data|reasoning)\s+){0,3}")
_AFTER_LONG = re.compile(rf"(?:\.0+)?[\"'`*\\]{{0,4}}\s{{0,2}}{_ADJECTIVE}(?:{_NOUN})\b", re.IGNORECASE)
_AFTER_SHORT = re.compile(rf"(?:\.0+)?[\"'`*\\]{{0,4}}\s{{0,2}}{_ADJECTIVE}(?:{_NOUN}|{_MORE})", re.IGNORECASE)
_BEFORE_LONG = re.compile(r"(?<![A-Za-z\\])(?:\w{0,20}_)?(?:tokens?|bytes|count(?:\(\*\))?|n_?rows|num_?rows|row_?counts?|rowcount|size|size_bytes|seed)[\"'`\\* ]{0,6}(?:[:=]{1,2}|is|of|->|→) {0,2}\Z", re.IGNORECASE)
_BEFORE_SHORT = re.compile(
    r"(?:(?<![A-Za-z\\])(?:\w{0,20}_)?(?:tokens?|bytes|counts?(?:\([^()]{0,40}\))?|n_?\w{0,12}|num_?\w{0,12}|rowcount|size|limit|timeout|len(?:gth)?(?:\([^()]{0,40}\))?|"
    r"seed|port|pid|budget|sum|total|threshold|duration\w{0,6}|max_\w{1,16}|min_\w{1,16}|offset|sample|range\(|elapsed\w{0,8}|platelets?)"
    r"[\"'`\\* ]{0,6}(?:[:=]{1,2}|is|of|->|→)?[ ]{0,2}|[<>≤≥]=?[ ]{0,2}|[*/] ?)\Z", re.IGNORECASE)
_PERSON = re.compile(r"(?:\bid|_id|ids|subject|patient|stay|hadm|admission|stayid|pid)s?\b[^.\n]{0,12}\Z", re.IGNORECASE)


def is_count(text: str, start: int, end: int) -> bool:
    """Whether the number at text[start:end] is a count or a limit.

    A number of eight digits that follows the word for a person, stay or identifier never is.
    """
    before = text[max(0, start - 48) : start]
    digits = sum(character.isdigit() for character in text[start:end].split(".")[0])
    if digits >= 8:
        after = _AFTER_LONG.match(text, end) or _BEFORE_LONG.search(before)
        return bool(after) and not _PERSON.search(before[-30:])
    if _PERSON.search(before):
        return False
    return text[start:end].split(".")[0].endswith("0000") or bool(_AFTER_SHORT.match(text, end) or _BEFORE_SHORT.search(before))

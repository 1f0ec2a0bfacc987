"""The skills library: one folder a skill, shared building blocks beside them, read and checked before any run.

`skills/<name>/SKILL.md` starts with frontmatter (name, description, version, tier, category, review). Text that several
skills need stands once in `skills/_shared/<block>.md`. A skill refers to it, or to a further file of its own folder, by
an ordinary relative link, `[Vital signs](../_shared/vital-signs.md)`, which a reviewer can follow in the repository.
A run gets the skill's folder alone, so every linked file, and every file that such a file links to, is put into that
folder and the link is shortened to the file's name.

A line that begins `- Ready-made:` names computed tables, in backticks, that save the work of a block. It is left out of
a run whose database lacks one of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from m4lib.errors import M4Error

SHARED = "_shared"
REQUIRED = ("name", "description", "version", "tier", "category", "review")
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./_shared/)?[a-z0-9-]+\.md)\)")
READY_MADE = re.compile(r"^- Ready-made: .*\n", re.MULTILINE)


@dataclass(frozen=True)
class Skill:
    """One skill as a run receives it. `files` maps file name -> text; SKILL.md is always one of them.
    `blocks` are the names of those files that come from the shared blocks."""

    name: str
    meta: Mapping[str, Any]
    files: Mapping[str, str]
    blocks: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return self.files["SKILL.md"]


def frontmatter(text: str, where: str = "the skill") -> dict[str, Any]:
    """The YAML mapping between the two `---` lines; M4Error when an agent's CLI could not list such a skill."""
    parts = re.split(r"^---[ \t]*$", text, maxsplit=2, flags=re.MULTILINE)
    if len(parts) != 3 or parts[0].strip():
        raise M4Error(f"{where} does not begin with frontmatter between two --- lines.")
    try:
        meta = yaml.safe_load(parts[1])
    except yaml.YAMLError as error:
        raise M4Error(f"The frontmatter of {where} is not valid YAML: {str(error).splitlines()[0]}.") from error
    if not isinstance(meta, dict):
        raise M4Error(f"The frontmatter of {where} is not a mapping.")
    name, description = meta.get("name"), meta.get("description")
    if not isinstance(name, str) or not NAME.fullmatch(name) or len(name) > 64:
        raise M4Error(f"The frontmatter of {where} needs a name of lower-case words joined by hyphens.")
    if not isinstance(description, str) or not description.strip() or len(description) > 1024:
        raise M4Error(f"The frontmatter of {where} needs a description of 1 to 1024 characters.")
    if not parts[2].strip():
        raise M4Error(f"{where} is empty below its frontmatter.")
    return meta


def load_skill(
    skills: str | os.PathLike[str],
    name: str,
    *,
    without: Collection[str] = (),
    holds: Callable[[str], bool] = lambda relation: True,
) -> Skill:
    """Read the skill `name` with every file it links to.

    Shared blocks named in `without` are left out and their links become plain text. `holds(relation)` says whether the
    reader's database has a computed table; ready-made lines about others are left out.
    Raises M4Error when the skill or a linked file is missing or empty, or its frontmatter is incomplete.
    """
    root = Path(skills).resolve()
    start = root / name / "SKILL.md"
    meta = frontmatter(_read(start, f"the skill {name!r}"), f"skills/{name}/SKILL.md")
    missing = [key for key in REQUIRED if not meta.get(key)]
    if missing:
        raise M4Error(f"The frontmatter of skills/{name}/SKILL.md lacks {', '.join(missing)}.")
    if meta["name"] != name:
        raise M4Error(f"skills/{name}/SKILL.md calls itself {meta['name']!r}; name and folder must agree.")

    def unwanted(path: Path) -> bool:
        return path.parent.name == SHARED and path.name in without

    found: dict[Path, str] = {}
    waiting = [start]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        text = _read(path, f"{path.name!r}, which the skill {name!r} links to,")
        linked = {link: (path.parent / link).resolve() for _, link in LINK.findall(text)}
        waiting += [target for target in linked.values() if not unwanted(target)]
        text = LINK.sub(lambda m, to=linked: m[1] if unwanted(to[m[2]]) else f"[{m[1]}]({to[m[2]].name})", text)  # type: ignore[misc]
        found[path] = READY_MADE.sub(lambda m: m[0] if all(map(holds, ready_made(m[0]))) else "", text)
    files = {path.name: text for path, text in found.items()}
    if len(files) < len(found):
        raise M4Error(f"The skill {name!r} links to two different files of one name.")
    return Skill(name, meta, files, tuple(sorted(path.name for path in found if path.parent.name == SHARED)))


def ready_made(text: str) -> list[str]:
    """The computed tables that the ready-made lines of `text` name."""
    return [name for line in READY_MADE.findall(text) for name in re.findall(r"`(\w+)`", line)]


def load_library(
    skills: str | os.PathLike[str], *, holds: Callable[[str], bool] = lambda relation: True
) -> dict[str, Skill]:
    """Every skill below `skills` by name, alphabetical. Raises M4Error when there are none or one is faulty."""
    names = sorted(path.parent.name for path in Path(skills).glob("*/SKILL.md"))
    if not names:
        raise M4Error(f"No skills below {skills}.")
    return {name: load_skill(skills, name, holds=holds) for name in names}


def _read(path: Path, what: str) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        raise M4Error(f"There is no {path}: {what} is missing.") from None
    if not text.strip():
        raise M4Error(f"{path} is empty: {what} has no text.")
    return text

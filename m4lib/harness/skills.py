"""The skills library: one folder a skill, shared building blocks beside them, read and checked before any run.

`skills/<name>/SKILL.md` starts with frontmatter (name, description, version, tier, category, review). Text that several
skills need stands once in `skills/_shared/<block>.md`; a skill refers to it by an ordinary relative link,
`[Vital signs](../_shared/vital-signs.md)`. A run gets the skill's folder alone, so every linked block, and every block
that such a block links to, is put into the skill's own folder and the link is shortened to the file's name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from m4lib.errors import M4Error

SHARED = "_shared"
REQUIRED = ("name", "description", "version", "tier", "category", "review")
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
# a block is linked as ../_shared/x.md from a skill and as x.md from another block
LINK = re.compile(r"\[([^\]]+)\]\((?:\.\./_shared/)?([a-z0-9-]+\.md)\)")


@dataclass(frozen=True)
class Skill:
    """One skill as a run receives it. `files` maps file name -> text; SKILL.md is always one of them."""

    name: str
    meta: Mapping[str, Any]
    files: Mapping[str, str]

    @property
    def text(self) -> str:
        return self.files["SKILL.md"]

    @property
    def blocks(self) -> tuple[str, ...]:
        """Names of the shared blocks in it."""
        return tuple(sorted(name for name in self.files if name != "SKILL.md"))


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


def load_skill(skills: str | os.PathLike[str], name: str, *, without: Collection[str] = ()) -> Skill:
    """Read the skill `name` with all blocks it links to; blocks named in `without` are left out, their links unlinked.

    Raises M4Error when the skill or a linked block is missing or empty, or its frontmatter is incomplete.
    """
    root = Path(skills)
    folder = root / name
    text = _read(folder / "SKILL.md", f"the skill {name!r}")
    meta = frontmatter(text, f"skills/{name}/SKILL.md")
    missing = [key for key in REQUIRED if not meta.get(key)]
    if missing:
        raise M4Error(f"The frontmatter of skills/{name}/SKILL.md lacks {', '.join(missing)}.")
    if meta["name"] != name:
        raise M4Error(f"skills/{name}/SKILL.md calls itself {meta['name']!r}; name and folder must agree.")

    files: dict[str, str] = {}
    waiting = {"SKILL.md": text}
    while waiting:
        file, content = waiting.popitem()
        for _, block in LINK.findall(content):
            if block not in files and block != file and block not in without and block not in waiting:
                waiting[block] = _read(root / SHARED / block, f"the shared block {block!r} of the skill {name!r}")
        files[file] = LINK.sub(lambda found: _link(found, without), content)
    return Skill(name, meta, files)


def load_library(skills: str | os.PathLike[str]) -> dict[str, Skill]:
    """Every skill below `skills` by name, alphabetical. Raises M4Error when there are none or one is faulty."""
    names = sorted(path.parent.name for path in Path(skills).glob("*/SKILL.md"))
    if not names:
        raise M4Error(f"No skills below {skills}.")
    return {name: load_skill(skills, name) for name in names}


def _link(found: re.Match[str], without: Collection[str]) -> str:
    label, block = found.groups()
    return label if block in without else f"[{label}]({block})"


def _read(path: Path, what: str) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        raise M4Error(f"There is no {path}: {what} is missing.") from None
    if not text.strip():
        raise M4Error(f"{path} is empty: {what} has no text.")
    return text

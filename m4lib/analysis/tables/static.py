"""Tables of words: glossary (1), reviewers (8), assets (12), evidence packages (14)."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import pandas as pd

from m4lib.analysis.sources import Sources
from m4lib.analysis.table import table


@cache
def paper_texts() -> dict[str, Any]:
    """Descriptions that have no other home in the project (`paper.yaml`)."""
    import yaml

    return yaml.safe_load((resources.files("m4lib.analysis") / "paper.yaml").read_text(encoding="utf-8"))


def _rows(name: str, columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame(paper_texts()[name], columns=columns, dtype=object)


@table("table01_glossary", "Conditions and controls", columns="term agent_receives purpose", keys="term",
       headings={"agent_receives": "What the agent gets"})
def glossary(_: Sources) -> pd.DataFrame:
    return _rows("glossary", ["term", "agent_receives", "purpose"])


@table("table08_reviewer_descriptions", "Reviewer codes", columns="reviewer_id description", keys="reviewer_id",
       headings={"reviewer_id": "Code"})
def reviewer_descriptions(_: Sources) -> pd.DataFrame:
    return _rows("reviewers", ["reviewer_id", "description"])


@table("table12_assets", "Assets and access terms", columns="asset role access_terms", keys="asset")
def assets(_: Sources) -> pd.DataFrame:
    return _rows("assets", ["asset", "role", "access_terms"])


@table("table14_evidence_packages", "Evidence packages", columns="archive contents runs bytes sha256", keys="archive",
       formats="runs:int bytes:int")
def evidence_packages(_: Sources) -> pd.DataFrame:
    return _rows("evidence_packages", ["archive", "contents", "runs", "bytes", "sha256"])

"""Find the run indexes in a folder, by name or by what they hold, and read them.

Layouts that are read: the published dataset (`metadata/run-indexes/*.csv`), an unpacked evidence package, a folder with
`run-indexes/` and `expected/`, or the CSV files themselves. `index=` takes a campaign's own run index instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from m4lib.analysis.metrics import RUN_KEY, key_scores
from m4lib.errors import M4Error
from m4lib.files import read_json

DATASET = "hannesill/m4bench-evidence"
WHERE = f"it is published in the dataset {DATASET}, folder metadata/run-indexes"

# role -> (usual file name, what it is, where it is to be had)
ROLES: dict[str, tuple[str, str, str]] = {
    "primary": ("final_codex_runs.csv", "the primary Codex index (760 runs)", WHERE),
    "sentinel": ("final_claude_runs.csv", "the historical Claude sentinel index (190 runs)", WHERE),
    "oss": ("final_oss_runs.csv", "the exploratory open-model index (110 runs)", WHERE),
    "followup": ("followup_canonical_runs.csv", "the follow-up index (340 runs)", WHERE),
    "replication": ("final_claude_replication_runs.csv", "the Claude replication index (560 runs)", WHERE),
    "probe": ("schema_probe_runs.csv", "the April no-skill probe of the transformed schemas (260 runs)",
              "only its averages are public"),
}
SUPERSEDED = "followup_superseded_runs.json"
METADATA = "release_metadata_summary.json"
PACKAGE_WHERE = "part of the tagged benchmark release"
SKIPPED_FOLDERS = {"expected", "runs", "tables", "figures", "report", ".git", "notebooks"}

# Columns of the replication index under the names that different writers give them.
ALIASES: dict[str, tuple[str, ...]] = {
    "cli_version": ("cli_version", "claude_code_version", "claude_cli_version", "agent_cli_version", "agent_version",
                    "claude_version"),
    "overrides_recorded": ("overrides_recorded", "model_overrides_recorded", "model_slot_overrides_recorded",
                           "slot_overrides_recorded", "model_slot_overrides", "overrides", "model_overrides",
                           "has_overrides"),
    "haiku_usage": ("haiku_usage", "usage_names_haiku", "haiku_in_usage", "haiku_used", "has_haiku_usage",
                    "haiku_usage_recorded"),
    "haiku_turns": ("haiku_turns", "haiku_assistant_turns", "assistant_turns_haiku", "haiku_turn_count"),
    "elapsed_seconds": ("elapsed_seconds", "agent_elapsed_seconds", "agent_seconds"),
}


@dataclass
class Sources:
    """The run indexes at hand, by role, and where they came from. Absent ones are None."""

    folder: Path | None
    indexes: dict[str, pd.DataFrame | None]
    paths: dict[str, Path] = field(default_factory=dict)
    tasks: Path | None = None  # folder of the task cards
    skills: Path | None = None
    own: Path | None = None  # a campaign's own index, given instead of the published ones

    def __getitem__(self, role: str) -> pd.DataFrame:
        """The index of one role; raises M4Error that says which file is missing and where it is to be had."""
        frame = self.indexes.get(role)
        if frame is None:
            raise M4Error(self.missing(role))
        return frame

    def has(self, role: str) -> bool:
        return self.indexes.get(role) is not None

    def missing(self, role: str) -> str:
        name, what, where = ROLES[role]
        return f"{name}, {what}, is not among the files at hand; {where}."

    def json(self, name: str) -> Any | None:
        """Content of a JSON file that accompanies the indexes, None when it is absent or another campaign is shown."""
        if self.own is not None or self.folder is None:
            return None
        path = next((p for p in _candidates(self.folder, "*.json") if p.name == name), None)
        return None if path is None else read_json(path)

    @property
    def expected(self) -> Path | None:
        """Folder of printed values beside the indexes, if there is one."""
        if self.own is not None or self.folder is None:
            return None
        for base in (self.folder, self.folder.parent):
            if (base / "expected").is_dir() and any((base / "expected").glob("table*.csv")):
                return base / "expected"
        return None


def _candidates(folder: Path, pattern: str, depth: int = 5) -> list[Path]:
    """Files below `folder`, nearest first; folders that hold no index are not entered."""
    found: list[Path] = []
    level = [folder]
    for _ in range(depth + 1):
        deeper: list[Path] = []
        for place in level:
            found.extend(sorted(path for path in place.glob(pattern) if path.is_file()))
            deeper.extend(sorted(
                sub for sub in place.iterdir()
                if sub.is_dir() and sub.name not in SKIPPED_FOLDERS and not sub.name.startswith(".")
                and not (sub / "result.json").exists()  # a run's folder
            ))
        level = deeper
    return found


def read_index(path: str | os.PathLike[str]) -> pd.DataFrame:
    """One run index (CSV or Parquet), numbers exact, flags boolean, key F1 filled in where it can be computed.

    Raises M4Error that names the file and the missing columns.
    """
    path = Path(path)
    if not path.is_file():
        raise M4Error(f"There is no run index at {path}.")
    try:
        frame = (pd.read_parquet(path) if path.suffix == ".parquet"
                 else pd.read_csv(path, float_precision="round_trip", low_memory=False))
    except Exception as error:
        raise M4Error(f"The run index {path} cannot be read: {error}.") from error
    if "schema" not in frame:
        frame["schema"] = "native"
    lacking = [column for column in (*RUN_KEY, "reward") if column not in frame]
    if lacking:
        raise M4Error(f"The run index {path} lacks the column(s) {', '.join(lacking)}.")
    return tidy(frame, str(path))


def tidy(frame: pd.DataFrame, name: str = "the run index") -> pd.DataFrame:
    """Common names and types; raises M4Error on a repeated run key."""
    frame = frame.copy()
    for column, names in ALIASES.items():
        if column not in frame:
            other = next((alias for alias in names if alias in frame), None) or _guess(frame, column)
            if other:
                frame[column] = frame[other]
    frame["schema"] = frame["schema"].fillna("native")
    if "agent" in frame:
        frame["model"] = frame["model"].fillna(frame["agent"])
    frame["model"] = frame["model"].fillna("default").astype(str)
    frame["reward"] = pd.to_numeric(frame["reward"], errors="coerce")
    frame["_reward_blank"] = frame["reward"].isna()
    frame["reward"] = frame["reward"].fillna(0.0)  # a run without a reward is an errored run
    for flag in ("publishable", "isolated", "filesystem_canary", "contamination_lint", "diagnostics_failed",
                 "overrides_recorded", "haiku_usage"):
        if flag in frame:
            frame[flag] = _truth(frame[flag])
    for count in ("failed", "errors", "passed", "extra_keys", "agent_unique_keys", "truth_rows", "key_precision",
                  "agent_returncode", "ordered_value_nmae", "ordered_value_columns", "elapsed_seconds", "haiku_turns"):
        if count in frame:
            frame[count] = pd.to_numeric(frame[count], errors="coerce")
    for count in ("failed", "errors"):
        if count in frame:
            frame[count] = frame[count].fillna(0)
    frame["key_f1"] = key_scores(frame)
    repeated = frame.duplicated(RUN_KEY)
    if repeated.any():
        first = " / ".join(str(value) for value in frame.loc[repeated, RUN_KEY].iloc[0])
        raise M4Error(f"{name} holds the run {first} more than once; a run key must be unique.")
    return frame


def _guess(frame: pd.DataFrame, wanted: str) -> str | None:
    """A column that says what is wanted under a name that is not foreseen, by its name and its values."""
    names = [str(name) for name in frame.columns]
    if wanted == "cli_version":
        return next((name for name in names if "version" in name.lower()
                     and frame[name].astype("string").str.match(r"v?\d+\.\d+\.\d+").any()), None)
    words, without = {"overrides_recorded": (("override",), ()), "haiku_usage": (("haiku",), ("turn", "token")),
                      "haiku_turns": (("haiku", "turn"), ()), "elapsed_seconds": (("elapsed",), ())}[wanted]
    return next((name for name in names if all(word in name.lower() for word in words)
                 and not any(word in name.lower() for word in without)), None)


def _truth(column: pd.Series) -> pd.Series:
    """Booleans from any usual spelling; blank is not true. A count or a JSON text is true when there is something."""
    if column.dtype == bool:
        return column
    text = column.astype("string").str.strip().str.lower()
    empty = ["", "false", "f", "0", "0.0", "no", "n", "none", "null", "nan", "{}", "[]", "absent", "missing", "unrecorded"]
    return ~(text.fillna("").isin(empty) | text.fillna("").str.startswith("not "))


def role_of(frame: pd.DataFrame) -> str | None:
    """Which of the published indexes this is, by its models, conditions and schemas; None when it is none of them."""
    models = {str(model).lower() for model in frame["model"].dropna().unique()}
    conditions, schemas = set(frame["condition"].unique()), set(frame["schema"].fillna("native").unique())
    claude = bool(models) and all("opus" in model or "sonnet" in model or "claude" in model for model in models)
    if claude:
        return "sentinel" if schemas != {"native"} or frame["task"].nunique() <= 8 else "replication"
    if any("gpt-oss" in model for model in models):
        return "oss"
    if any(model.startswith("gpt-5") for model in models):
        if "no-skill" not in conditions:
            return "followup"
        if "native" in schemas:
            return "primary"
        return "probe"
    return None


def _claude_names(frame: pd.DataFrame) -> pd.DataFrame:
    """Models of a Claude index by family name, whatever release the id names."""
    lower = frame["model"].str.lower()
    frame["model"] = lower.where(~lower.str.contains("opus"), "opus").where(~lower.str.contains("sonnet"), "sonnet")
    return frame


def load_sources(
    folder: str | os.PathLike[str] | None, *, index: str | os.PathLike[str] | None = None,
    tasks: str | os.PathLike[str] | None = None, skills: str | os.PathLike[str] | None = None,
) -> Sources:
    """The indexes below `folder`; with `index`, that campaign's own index in every role.

    Raises M4Error when the folder is absent or holds no run index at all.
    """
    cards = Path(tasks) if tasks else None
    texts = Path(skills) if skills else None
    if index is not None:
        own = read_index(index)
        claude = role_of(own) in ("sentinel", "replication")
        own = _claude_names(own) if claude else own
        return Sources(Path(folder) if folder else None, dict.fromkeys(ROLES, own), {}, cards, texts, Path(index))
    if folder is None or not Path(folder).is_dir():
        raise M4Error(f"There is no evidence folder at {folder}; give one that holds the run indexes (published in the dataset "
                      f"{DATASET}, folder metadata/run-indexes).")
    folder = Path(folder)
    indexes: dict[str, pd.DataFrame | None] = dict.fromkeys(ROLES)
    paths: dict[str, Path] = {}
    found = [*_candidates(folder, "*.csv"), *_candidates(folder, "*.parquet")]
    usual = {name: role for role, (name, _, _) in ROLES.items()}
    # files with a usual name first, so that a stray copy does not take their place
    for path in sorted(found, key=lambda path: path.name not in usual):
        header = _columns(path)
        if not {*RUN_KEY, "reward"} - {"schema"} <= set(header):
            continue
        frame = read_index(path)
        role = role_of(frame) or usual.get(path.name)
        if role and indexes[role] is None:
            indexes[role] = _claude_names(frame) if role in ("sentinel", "replication") else frame
            paths[role] = path
    if not paths:
        raise M4Error(f"No run index below {folder}; the published ones are in the dataset {DATASET}, folder metadata/run-indexes.")
    return Sources(folder, indexes, paths, cards, texts)


def _columns(path: Path) -> list[str]:
    try:
        if path.suffix == ".parquet":
            import pyarrow.parquet as pq

            return list(pq.read_schema(path).names)
        with open(path, encoding="utf-8-sig") as handle:
            return [name.strip().strip('"') for name in handle.readline().split(",")]
    except Exception:
        return []


def default_folder(shared: Path, fetch: Callable[[], Path] | None = None) -> Path:
    """Where the published indexes are when nobody says so: M4_EVIDENCE, `shared`/evidence, else what `fetch` returns."""
    named = os.environ.get("M4_EVIDENCE")
    if named:
        return Path(named)
    if (shared / "evidence").is_dir() or fetch is None:
        return shared / "evidence"
    return fetch()

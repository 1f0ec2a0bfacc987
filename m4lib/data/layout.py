"""Which file of a PhysioNet-layout folder belongs to which table. File and folder names match in any case."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from m4lib.data.schema import Source, Table, source
from m4lib.errors import M4Error

ENDINGS = (".csv.gz", ".csv")


@dataclass(frozen=True)
class Layout:
    """The files of one raw folder: those of known tables, absent tables, and CSV files of no known table."""

    root: Path
    files: dict[Table, Path]
    absent: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def table_name(path: Path) -> str | None:
    """`CHARTEVENTS.csv.gz` -> `chartevents`; None for other files."""
    lower = path.name.lower()
    for ending in ENDINGS:
        if lower.endswith(ending) and not lower.startswith("."):
            return lower.removesuffix(ending)
    return None


def csv_files(folder: Path) -> dict[str, list[Path]]:
    """Table name -> its CSV files directly in `folder` (more than one is a mistake of the user's)."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        name = table_name(path)
        if name and path.is_file():
            found.setdefault(name, []).append(path)
    return found


def folders(root: Path, spec: Source) -> dict[str, Path]:
    """Subfolder name of the layout ('' is the root itself) -> the folder on disk, matched in any case."""
    wanted = {table.folder for table in spec.tables}
    on_disk = {path.name.lower(): path for path in sorted(root.iterdir()) if path.is_dir()}
    return {name: on_disk[name] if name else root for name in wanted if not name or name in on_disk}


def looks_like(root: Path, spec: Source) -> bool:
    """Whether `root` holds at least a few tables of `spec` in its layout."""
    names = {(table.folder, table.name) for table in spec.tables}
    return any((key, name) in names for key, folder in folders(root, spec).items() for name in csv_files(folder))


def no_tables(root: Path, spec: Source) -> M4Error:
    """Why nothing was found in `root`: the other source, one folder too high, files not in subfolders, or empty."""
    other = source("eicu" if spec.name == "mimic-iv" else "mimic-iv")
    if looks_like(root, other):
        return M4Error(f"{root} holds {other.label}, not {spec.label}: build it with --source {other.name}.")
    below = [path for path in sorted(root.iterdir()) if path.is_dir() and looks_like(path, spec)]
    if below:
        return M4Error(f"{root} has no {spec.label} tables itself, but its folder {below[0].name} has: use {below[0]}.")
    if {table.name for table in spec.tables if table.folder} & set(csv_files(root)):
        return M4Error(f"The tables in {root} must lie in its subfolders hosp and icu, as on PhysioNet: move them there.")
    where = "in its subfolders hosp and icu" if spec.name == "mimic-iv" else "directly in it"
    return M4Error(f"{root} has no {spec.label} tables: put the .csv.gz or .csv files {where}.")


def find_files(spec: Source, raw_dir: str | Path) -> Layout:
    """The files of every table of `spec` under `raw_dir`.

    Raises M4Error for a missing folder, a folder without tables or with those of the other source, two files of
    one table, and missing required tables.
    """
    root = Path(raw_dir)
    if not root.is_dir():
        raise M4Error(f"There is no folder {root}: give the folder with the {spec.label} files.")
    found: dict[tuple[str, str], list[Path]] = {}
    for folder, path in folders(root, spec).items():
        for name, paths in csv_files(path).items():
            found[(folder, name)] = paths
    files: dict[Table, Path] = {}
    absent: list[Table] = []
    missing: list[Table] = []
    for table in spec.tables:
        paths = found.pop((table.folder, table.name), [])
        if len(paths) > 1:
            both = " and ".join(str(path.relative_to(root)) for path in paths)
            raise M4Error(f"Table {table.name} has more than one file in {root} ({both}): keep one of them.")
        if paths:
            files[table] = paths[0]
        else:
            (missing if table.required else absent).append(table)
    if not files:
        raise no_tables(root, spec)
    if missing:
        names = ", ".join(f"{table.folder}/{table.name}".lstrip("/") for table in missing)
        count = "a table that is" if len(missing) == 1 else "tables that are"
        raise M4Error(
            f"{root} lacks {count} needed: {names}. Put the file of each there (.csv.gz or .csv), then build again."
        )
    unknown = [str(path.relative_to(root)) for paths in found.values() for path in paths]
    return Layout(root, files, [table.full_name for table in absent], sorted(unknown))

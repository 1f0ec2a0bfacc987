"""Where the raw files come from: given, M4_DATA, beside the checkout, the cache, a download, or synthetic."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from m4lib.data.download import DEMOS, Dataset, download, is_complete
from m4lib.data.layout import find_files, looks_like
from m4lib.data.schema import Source
from m4lib.data.schema import source as describe
from m4lib.errors import InfrastructureError, M4Error

# folder names under M4_DATA that are taken for a source
NAMES = {
    "mimic-iv": ("mimic-iv-demo", "mimic-iv", "mimiciv", "mimic-iv-clinical-database-demo-2.2"),
    "eicu": ("eicu-demo", "eicu", "eicu-crd", "eicu-crd-demo"),
}
ORIGINS = {
    "given": "the folder that was given",
    "M4_DATA": "the folder named by M4_DATA",
    "shared": "the demo data beside this checkout",
    "cache": "the open demo from PhysioNet, fetched earlier",
    "download": "the open demo from PhysioNet, fetched now",
    "synthetic": "synthetic data, made from a seed; not real patients",
}


@dataclass(frozen=True)
class RawSource:
    """A raw folder, where it came from (a key of ORIGINS), and why nothing better was there ('' if it was)."""

    path: Path
    origin: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{ORIGINS[self.origin]}: {self.path}" + (f" ({self.reason})" if self.reason else "")


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/m4bench`, else `~/.cache/m4bench`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "m4bench"


def resolve_raw(
    source: str,
    raw: str | os.PathLike[str] | None = None,
    *,
    shared: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    allow_download: bool = True,
    allow_synthetic: bool = True,
    stays: int = 200,
    seed: int = 1,
    dataset: Dataset | None = None,
    retries: int = 4,
    progress: bool = True,
) -> RawSource:
    """The raw folder of `source` ("mimic-iv" or "eicu"), from the first place that has one.

    Order: `raw`; the environment variable M4_DATA (the folder itself, or one in it, e.g. `mimic-iv-demo`);
    `shared`/data; `cache` (default: the user's); a download of the open demo into the cache; synthetic data of
    `stays` ICU stays from `seed`, also in the cache. A folder that was named (`raw`) must be right, so its
    faults are raised; a download that fails is told in `reason` when synthetic data take its place.
    """
    spec = describe(source)
    if raw is not None:
        find_files(spec, Path(raw))
        return RawSource(Path(raw), "given")
    named = os.environ.get("M4_DATA")
    if named:
        folder = named_folder(spec, Path(named))
        if folder:
            return RawSource(folder, "M4_DATA")
    if shared is not None and (demo := Path(shared) / "data" / NAMES[source][0]).is_dir():
        find_files(spec, demo)
        return RawSource(demo, "shared")
    demo_set = dataset or DEMOS[source]
    root = Path(cache) if cache is not None else cache_folder()
    fetched = root / demo_set.name
    if is_complete(fetched):
        return RawSource(fetched, "cache")
    reason = "downloading was not allowed"
    if allow_download:
        try:
            download(demo_set, fetched, retries=retries, progress=progress)
            find_files(spec, fetched)
            return RawSource(fetched, "download")
        except (InfrastructureError, M4Error) as error:
            reason = str(error)
        except OSError as error:
            reason = f"{fetched} could not be written: {error.strerror or error}"
    if not allow_synthetic:
        raise M4Error(
            f"There are no {spec.label} files ({reason}). Give a folder with --raw, set M4_DATA, or allow synthetic data."
        )
    return RawSource(synthetic_folder(source, root, stays, seed), "synthetic", reason)


def named_folder(spec: Source, place: Path) -> Path | None:
    """The folder of `spec` at or in M4_DATA; None when M4_DATA holds only other sources."""
    if not place.is_dir():
        raise M4Error(f"M4_DATA names {place}, which is not a folder: correct it or unset it.")
    for folder in (place, *(place / name for name in NAMES[spec.name])):
        if folder.is_dir() and looks_like(folder, spec):
            find_files(spec, folder)
            return folder
    return None


def synthetic_folder(source: str, root: Path, stays: int, seed: int) -> Path:
    """A synthetic raw folder in the cache, made once for a size, a seed and a version of the generator."""
    from m4lib.data.synthetic import VERSION, synthesize

    folder = root / f"synthetic-{source}-{stays}-{seed}-v{VERSION}"
    if not folder.is_dir():
        synthesize(source, folder, stays, seed)
    return folder

"""`python -m m4lib evidence package|verify|scan|fetch|index`."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from m4lib.errors import M4Error


def configure(parser: argparse.ArgumentParser) -> None:
    jobs = parser.add_subparsers(dest="job", metavar="package|verify|scan|fetch|index", required=True)

    def job(name: str, text: str) -> argparse.ArgumentParser:
        return jobs.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")

    package = job("package", "sanitise the runs of campaigns and pack them into one archive")
    package.add_argument("--runs", required=True, metavar="DIR", help="a campaign's folder, or one that holds campaigns")
    package.add_argument("--out", required=True, metavar="DIR", help="folder for the archive, its checksum and its manifest")
    package.add_argument("--name", help="name of the archive (default: the name of the runs' folder, -evidence)")
    package.add_argument("--key-file", metavar="FILE",
                         help="key of hashes and pseudonyms, made when absent; keep it private (default: a key that is forgotten)")
    package.add_argument("--keep-plain-text", action="store_true",
                         help="keep trace lines that are not JSON, redacted (default: they are withheld)")
    verify = job("verify", "check every file, count, run key, index row and table of a package; status 1 when one is wrong")
    verify.add_argument("folder", metavar="DIR", help="an unpacked package, or the folder that holds archives")
    verify.add_argument("--against", metavar="RUNS",
                        help="also compare indexes and every table of the paper with those of the original runs (default: only the package)")
    scan = job("scan", "search for private content; status 1 when there is any")
    scan.add_argument("folder", metavar="DIR", help="an unpacked package, a folder that holds archives, or any folder")
    fetch = job("fetch", "download the published run indexes, and archives when asked for")
    fetch.add_argument("--archives", action="store_true", help="also the two archives, 14 MB (default: only the indexes)")
    fetch.add_argument("--out", metavar="DIR", help="unpack or copy to this folder (default: only the cache)")
    index = job("index", "write the run indexes of run folders or of an unpacked package")
    index.add_argument("--runs", required=True, metavar="DIR", help="a campaign's folder, one that holds campaigns, or an unpacked package")
    index.add_argument("--out", required=True, metavar="DIR", help="folder for <campaign>.csv and .parquet")


def run(args: argparse.Namespace) -> int:
    return int({"package": _package, "verify": _verify, "scan": _scan, "fetch": _fetch, "index": _index}[args.job](args))


def _package(args: argparse.Namespace) -> int:
    from m4lib.evidence.package import load_key, make_package

    key = load_key(args.key_file, outside=(Path(args.runs), Path(args.out)))
    made = make_package(args.runs, args.out, name=args.name, key=key, plain_text=args.keep_plain_text, note=print)
    changed = ", ".join(f"{number} {what}" for what, number in made.changed.items()) or "nothing to change"
    print(f"{made.archive}: {made.runs} runs, {made.files} files, {made.archive.stat().st_size:,} bytes, SHA-256 {made.sha256}")
    print(f"withheld whole: {sum(made.withheld_events.values())} events; in kept files: {changed}")
    return 0


@contextmanager
def _unpacked(folder: Path) -> Iterator[list[tuple[str, Path]]]:
    """(name, folder) of every package in a folder; archives are unpacked for the time being."""
    from m4lib.evidence import verify
    from m4lib.evidence.unpack import unpack

    if not folder.is_dir():
        raise M4Error(f"There is no folder {folder}.")
    with tempfile.TemporaryDirectory(prefix="m4-evidence-") as scratch:
        found = [(Path(place).resolve().name, Path(place)) for place in verify.packages_in(str(folder))]
        for archive in sorted(folder.glob("*.tar.zst")):
            unpack(archive, Path(scratch) / archive.name)
            found += [(f"{archive.name}: {Path(place).name}", Path(place)) for place in verify.packages_in(str(Path(scratch) / archive.name))]
        yield found


def _verify(args: argparse.Namespace) -> int:
    from m4lib.evidence import verify
    from m4lib.evidence.compare import against_runs

    folder = Path(args.folder)
    status = 0
    if folder.is_dir() and any(folder.glob("*.tar.zst")):
        report = verify.Report()
        try:
            verify.check_published(str(folder), report)
        except (OSError, ValueError, KeyError, TypeError) as error:
            report.problems.append(f"{type(error).__name__}: {error}")
        status |= verify.show(folder.resolve().name, report)
        if status:
            return 1  # an archive that has changed is not unpacked
    with _unpacked(folder) as found:
        if not found:
            raise M4Error(f"{folder} holds no evidence package: neither an unpacked one nor an archive of one.")
        for name, place in found:
            report = verify.verify_package(str(place))
            if args.against and not report.problems:
                against_runs(place, Path(args.against), report)
            status |= verify.show(name, report)
    return status


def _scan(args: argparse.Namespace) -> int:
    from m4lib.evidence.scan import scan

    number = 0
    with _unpacked(Path(args.folder)) as found:
        places = [("", Path(args.folder)), *((name, place) for name, place in found if not place.resolve().is_relative_to(Path(args.folder).resolve()))]
        for name, place in places:
            for finding in scan(place):
                number += 1
                print(f"{name + ': ' if name else ''}{finding.file}:{finding.line}: {finding.reason} {finding.shown}".rstrip())
    print(f"{number} findings" if number else "no findings")
    return 1 if number else 0


def _fetch(args: argparse.Namespace) -> int:
    from m4lib.evidence.fetch import fetch

    found = fetch(archives=args.archives, out=args.out)
    for path in found.files:
        print(path)
    print(f"{len(found.files)} files, checksums compared: {found.compared}; in {found.folder}")
    return 0


def _index(args: argparse.Namespace) -> int:
    from m4lib.evaluation.index import write_index
    from m4lib.evidence.package import campaign_folders

    root = Path(args.runs)
    root = root / "runs" if (root / "runs").is_dir() and (root / "metadata").is_dir() else root
    for campaign, folder in campaign_folders(root).items():
        frame = write_index(folder, Path(args.out) / f"{campaign}.csv")
        print(f"{Path(args.out) / campaign}.csv: {len(frame)} runs")
    return 0

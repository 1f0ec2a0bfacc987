"""The Croissant 1.0 record of a folder of evidence: its archives and its run indexes, core and RAI vocabularies."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from m4lib.files import read_json, sha256_file, write_text

FILE = "m4bench_evidence.croissant.json"
CONTEXT: dict[str, Any] = {
    "@language": "en", "@vocab": "https://schema.org/", "citeAs": "cr:citeAs", "column": "cr:column", "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/", "rai": "http://mlcommons.org/croissant/RAI/", "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"}, "dct": "http://purl.org/dc/terms/", "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract", "field": "cr:field", "fileProperty": "cr:fileProperty", "fileObject": "cr:fileObject", "fileSet": "cr:fileSet",
    "format": "cr:format", "includes": "cr:includes", "isLiveDataset": "cr:isLiveDataset", "jsonPath": "cr:jsonPath", "key": "cr:key",
    "md5": "cr:md5", "parentField": "cr:parentField", "path": "cr:path", "recordSet": "cr:recordSet", "references": "cr:references",
    "regex": "cr:regex", "repeated": "cr:repeated", "replace": "cr:replace", "sc": "https://schema.org/", "separator": "cr:separator",
    "source": "cr:source", "subField": "cr:subField", "transform": "cr:transform",
}
NUMBERS = {
    "key_f1", "key_precision", "key_recall", "ordered_value_nmae", "reward", "reward_uncapped", "elapsed_seconds", "trial", "errors",
    "failed", "passed", "total_tests", "ordered_value_columns",
}
FLAGS = {"containerized_agent", "contamination_lint", "diagnostics_failed", "filesystem_canary", "isolated", "publishable"}
RAI = {
    "rai:dataCollection": "Each run is one AI coding agent in an isolated container that derives a clinical concept from a critical care database.",
    "rai:dataCollectionType": "Experiments",
    "rai:dataPreprocessingProtocol": "Tool and command outputs are withheld; identifiers in agent texts are pseudonyms made with a keyed hash; "
                                     "credentials, shifted times, ages and result rows are removed.",
    "rai:personalSensitiveInformation": "No rows of the source databases, no reference outputs, no row-level agent outputs.",
    "rai:dataBiases": "Tasks are derivations with public reference code; scores are agreement with that code on the conditions and models that were run.",
    "rai:dataLimitations": "Scores are agreement with declared public-code references, not clinical correctness.",
    "rai:dataUseCases": "Checking the benchmark's tables; studying how coding agents work on clinical derivations.",
    "rai:dataReleaseMaintenancePlan": "Packages are immutable; a correction is a new package with a new checksum.",
}


def describe(folder: Path) -> dict[str, Any]:
    """The record as JSON-LD. `folder` holds archives with manifests and metadata/run-indexes/*.csv."""
    files: list[dict[str, Any]] = []
    for archive in sorted(folder.glob("*.tar.zst")):
        facts = read_json(Path(f"{archive}.manifest.json"))
        files.append({
            "@type": "cr:FileObject", "@id": archive.name, "name": archive.name, "contentUrl": archive.name, "encodingFormat": "application/zstd",
            "contentSize": f"{facts['bytes']} B", "sha256": facts["sha256"], "description": f"Evidence of {facts['counts']['runs']} runs.",
        })
    sets = []
    for index in sorted((folder / "metadata" / "run-indexes").glob("*.csv")):
        relative = index.relative_to(folder).as_posix()
        files.append({
            "@type": "cr:FileObject", "@id": f"{index.stem}-index", "name": index.name, "contentUrl": relative, "encodingFormat": "text/csv",
            "contentSize": f"{index.stat().st_size} B", "sha256": sha256_file(index), "description": "Run index, one row a run key.",
        })
        with open(index, encoding="utf-8", newline="") as handle:
            sets.append(_record_set(index.stem, next(csv.reader(handle))))
    runs = sum(read_json(path)["counts"]["runs"] for path in folder.glob("*.tar.zst.manifest.json"))
    return {
        "@context": CONTEXT, "@type": "sc:Dataset", "name": "m4bench_evidence", "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "description": f"What {runs} runs of AI coding agents on clinical derivation tasks left: records, what the agents wrote, network logs, run indexes. No patient data.",
        "license": "https://opensource.org/licenses/MIT", "url": "https://huggingface.co/datasets/hannesill/m4bench-evidence",
        "version": "1.0.0", "datePublished": _last_day(folder), "isLiveDataset": False,
        "citeAs": "M4Bench evidence package", "creator": {"@type": "sc:Organization", "name": "M4Bench"},
        **RAI, "distribution": files, "recordSet": sets,
    }


def _last_day(folder: Path) -> str:
    """The day of the last run, by the run ids: the record must not change when it is made again."""
    days = [day for index in (folder / "metadata" / "run-indexes").glob("*.csv")
            for day in re.findall(r"_(20\d{6})_\d{6}\b", index.read_text(encoding="utf-8"))]
    day = max(days, default="20260101")
    return f"{day[:4]}-{day[4:6]}-{day[6:]}"


def _record_set(name: str, columns: Sequence[str]) -> dict[str, Any]:
    fields = []
    for column in columns:
        kind = "sc:Float" if column in NUMBERS else "sc:Boolean" if column in FLAGS else "sc:Text"
        fields.append({
            "@type": "cr:Field", "@id": f"{name}/{column}", "name": column, "description": column.strip("_").replace("_", " "), "dataType": kind,
            "source": {"fileObject": {"@id": f"{name}-index"}, "extract": {"column": column}},
        })
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "description": f"The run index {name}.", "field": fields}


def write_croissant(folder: Path) -> Path:
    """Write the record of `folder` into it."""
    target = folder / FILE
    write_text(target, json.dumps(describe(folder), indent=1, ensure_ascii=False) + "\n")
    return target

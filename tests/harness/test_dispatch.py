"""The dispatcher with real Dask workers and runs that only write a record: resume, retries, kills, locks, Ctrl-C."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from m4lib.errors import InfrastructureError, M4Error
from m4lib.files import write_json
from m4lib.harness.campaign import Campaign, PlannedRun, RunKey
from m4lib.harness.dispatch import dispatch, todo
from m4lib.harness.failures import ProviderFailure
from m4lib.harness.records import campaign_lock, is_complete, newest


def record_of(run: PlannedRun, reward: float = 1.0, **more) -> dict:
    key = run.key
    return {"task": key.task, "condition": key.condition, "schema": key.schema, "model": key.model, "trial": key.trial,
            "resolved_reasoning_effort": run.effort, "timestamp": str(time.time_ns()), "run_id": f"{key.task}_{key.condition}_{key.trial}",
            "agent_db": {"sha256": "0" * 64}, "agent_result": {"returncode": 0},
            "test_results": {"reward": reward, "errors": 0}, **more}


class Runner:
    """Writes a record after `seconds`; `trouble` maps a trial to what goes wrong at its first attempt."""

    def __init__(self, root: Path, seconds: float = 0.0, trouble: dict[int, str] | None = None) -> None:
        self.root, self.seconds, self.trouble = root, seconds, trouble or {}

    def __call__(self, run: PlannedRun, attempt: int) -> dict:
        done = self.root / f"run-{run.key.trial}" / "result.json"
        with contextlib.suppress(OSError, ValueError):
            return json.loads(done.read_text())
        mark = self.root / f"started-{run.key.trial}"
        first = not mark.exists()
        with open(mark, "a", encoding="utf-8") as handle:
            handle.write(f"{os.getpid()}\n")
        trouble = self.trouble.get(run.key.trial)
        if trouble == "infrastructure" and first:
            raise InfrastructureError("the engine restarted")
        if trouble == "always":
            raise InfrastructureError("the engine is gone")
        if trouble == "rate" and len(mark.read_text().split()) <= 3:
            raise ProviderFailure("rate_limit", "limit reached", time.time() - 1)
        if trouble == "limit" and first:
            (self.root / "limited-1").touch()
            raise ProviderFailure("rate_limit", "limit reached", time.time() + 1.5)
        if trouble == "poison":
            os.kill(os.getpid(), signal.SIGKILL)
        if trouble == "auth":
            raise ProviderFailure("auth", "key refused")
        if trouble == "defect":
            raise ZeroDivisionError("a bug")
        if trouble == "kill" and first:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(self.seconds)
        record = record_of(run)
        write_json(self.root / f"run-{run.key.trial}" / "result.json", record)
        return record


def campaign(n: int) -> tuple[Campaign, list[PlannedRun]]:
    runs = [PlannedRun(RunKey("mimic-meld-24h", "no-skill", "native", "default", trial), "nop", 1, "t", "provider-default", 1.0)
            for trial in range(1, n + 1)]
    return Campaign("c", "nop", "auto", n, ({"tasks": ["mimic-meld-24h"], "conditions": ["no-skill"]},), publishable=False), runs


def go(root: Path, n: int, **options):
    it, runs = campaign(n)
    trouble = options.pop("trouble", None)
    return dispatch(it, runs, Runner(root, options.pop("seconds", 0.0), trouble), root=root, show=False, wait_seconds=0.1, **options)


def test_all_runs_are_done_once_and_resume_does_only_what_is_missing(tmp_path):
    summary = go(tmp_path, 4)
    assert summary["finished"] == summary["planned"] == 4 and summary["mean_reward"] == 1.0
    (tmp_path / "run-2" / "result.json").unlink()
    (tmp_path / "run-3" / "result.json").write_text('{"task": "mimic')  # half written
    assert go(tmp_path, 4)["finished"] == 4
    assert [len((tmp_path / f"started-{t}").read_text().split()) for t in (1, 2, 3, 4)] == [1, 2, 2, 1]


def test_infrastructure_is_tried_again_and_a_rate_limit_is_waited_out(tmp_path):
    summary = go(tmp_path, 3, trouble={1: "infrastructure", 2: "rate"}, max_attempts=3)
    assert summary["finished"] == 3
    assert len((tmp_path / "started-1").read_text().split()) == 2
    assert len((tmp_path / "started-2").read_text().split()) == 4  # more often than max_attempts: a limit is no attempt
    kinds = [json.loads(line)["event"] for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert kinds.count("finished") == 3 and kinds.count("not_done") == 4


def test_what_cannot_be_done_is_absent_and_named(tmp_path):
    with pytest.raises(InfrastructureError, match="2 of 3 runs could not be done"):
        go(tmp_path, 3, trouble={1: "always", 2: "defect"}, max_attempts=2)
    assert {key.trial for key in newest(tmp_path)} == {3}
    assert len((tmp_path / "started-1").read_text().split()) == 2 and len((tmp_path / "started-2").read_text().split()) == 1


def test_a_refused_credential_stops_everything(tmp_path):
    with pytest.raises(InfrastructureError, match="refuses the credential"):
        go(tmp_path, 3, trouble={1: "auth", 2: "auth", 3: "auth"})
    assert not list(tmp_path.glob("run-*"))


def test_a_killed_worker_has_its_run_redone(tmp_path):
    assert go(tmp_path, 4, trouble={2: "kill"})["finished"] == 4
    starts = (tmp_path / "started-2").read_text().split()
    assert len(starts) == 2 and starts[0] != starts[1]


def test_two_dispatchers_cannot_share_a_root(tmp_path):
    with campaign_lock(tmp_path), pytest.raises(M4Error, match="is being dispatched by process"):
        go(tmp_path, 1)


def test_a_root_of_another_campaign_is_refused(tmp_path):
    go(tmp_path, 1)
    it, runs = campaign(1)
    other = Campaign("d", "nop", "auto", 1, it.tiers, publishable=False)
    with pytest.raises(M4Error, match="belongs to the campaign c"):
        dispatch(other, runs, Runner(tmp_path), root=tmp_path, show=False)


SCRIPT = textwrap.dedent("""
    import sys
    from pathlib import Path
    from tests.harness.test_dispatch import go
    if __name__ == "__main__":
        go(Path(sys.argv[1]), 5, seconds=float(sys.argv[2]), parallel=2)
""")


def test_a_killed_dispatcher_loses_no_finished_run(tmp_path, project):
    script = tmp_path / "go.py"
    script.write_text(SCRIPT)
    root = tmp_path / "root"
    process = subprocess.Popen([sys.executable, str(script), str(root), "0.7"], cwd=project.root, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(project.root)})
    deadline = time.monotonic() + 60
    while len(list(root.glob("run-*/result.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    finished = {path.parent.name for path in root.glob("run-*/result.json")}
    process.kill()
    process.wait(timeout=30)
    time.sleep(1.5)  # the workers of a killed dispatcher end on their own
    assert finished <= {path.parent.name for path in root.glob("run-*/result.json")}
    assert len(finished) < 5
    assert go(root, 5)["finished"] == 5
    done_before = {int(name.removeprefix("run-")) for name in finished}
    assert all(len((root / f"started-{trial}").read_text().split()) == 1 for trial in done_before)


def test_over_two_worker_processes_of_a_named_scheduler_one_killed(tmp_path, project):
    env = {**os.environ, "PYTHONPATH": str(project.root), "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "2"}
    log = open(tmp_path / "log", "w")  # noqa: SIM115
    quiet = {"stdout": log, "stderr": log, "env": env}
    address = "tcp://127.0.0.1:18797"
    scheduler = subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "18797", "--no-dashboard"], **quiet)
    workers = [subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_worker", address, "--host", "127.0.0.1", "--nworkers", "1", "--nthreads", "1",
                                 "--no-nanny", "--name", f"w{n}", "--resources", "docker=1", "--memory-limit", "0", "--no-dashboard",
                                 "--local-directory", str(tmp_path / f"w{n}")], **quiet) for n in (0, 1)]
    try:
        root = tmp_path / "root"
        root.mkdir()
        import threading

        def kill_one() -> None:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                if any(str(workers[0].pid) in path.read_text().split() for path in root.glob("started-*")):
                    workers[0].send_signal(signal.SIGKILL)
                    return
                time.sleep(0.02)

        killer = threading.Thread(target=kill_one)
        killer.start()
        summary = go(root, 5, seconds=0.6, scheduler=address)
        killer.join()
        assert workers[0].wait(timeout=10) == -signal.SIGKILL
        assert summary["finished"] == 5
        starts = [pid for path in root.glob("started-*") for pid in path.read_text().split()]
        assert starts.count(str(workers[0].pid)) == 1 and len(starts) == 6  # only the run in flight was done twice
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()
        log.close()


def test_a_rate_limit_holds_the_others_too(tmp_path):
    """They would only run into it as well."""
    assert go(tmp_path, 3, parallel=1, trouble={1: "limit"})["finished"] == 3
    limited = (tmp_path / "limited-1").stat().st_mtime
    assert all((tmp_path / f"started-{trial}").stat().st_mtime >= limited + 1.5 for trial in (1, 2, 3))


def test_slow_runs_start_first_and_no_more_than_there_are_slots(tmp_path):
    go(tmp_path, 5, seconds=0.4, parallel=2)
    began = [(tmp_path / f"started-{trial}").stat().st_mtime for trial in range(1, 6)]
    ended = [(tmp_path / f"run-{trial}" / "result.json").stat().st_mtime for trial in range(1, 6)]
    assert max(began[:2]) < min(began[2:]) and began[4] >= max(began[2:4])
    for start in began:
        assert sum(s <= start < e for s, e in zip(began, ended, strict=True)) <= 2


def test_a_run_that_takes_its_workers_down_is_reported_and_takes_no_other_with_it(tmp_path):
    with pytest.raises(InfrastructureError, match=r"1 of 5 runs could not be done.*KilledWorker"):
        go(tmp_path, 5, seconds=0.1, trouble={1: "poison"}, max_attempts=1)
    assert {key.trial for key in newest(tmp_path)} == {2, 3, 4, 5}
    assert [len((tmp_path / f"started-{trial}").read_text().split()) for trial in (1, 2, 3, 4, 5)] == [3, 1, 1, 1, 1]


def test_the_root_is_swept_at_the_start_at_the_end_and_only_under_the_lock(tmp_path):
    calls: list[bool] = []

    def sweep() -> None:
        try:
            with campaign_lock(tmp_path):
                calls.append(False)
        except M4Error:
            calls.append(True)

    go(tmp_path, 1, sweep=sweep)
    assert calls == [True, True]
    go(tmp_path, 1, sweep=sweep)  # nothing to do
    assert calls == [True, True]
    with campaign_lock(tmp_path), pytest.raises(M4Error):
        go(tmp_path, 2, sweep=sweep)
    assert calls == [True, True], "who is refused must not sweep"


def test_an_engine_that_is_gone_at_the_end_does_not_undo_the_campaign(tmp_path):
    calls = []

    def sweep() -> None:
        calls.append(1)
        if len(calls) > 1:
            raise InfrastructureError("no engine")

    assert go(tmp_path, 1, sweep=sweep)["finished"] == 1
    assert '"not_swept"' in (tmp_path / "events.jsonl").read_text()


def test_a_root_that_cannot_be_written_is_one_sentence(tmp_path, monkeypatch):
    from m4lib.harness import dispatch as module

    def full(path: Path, value: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "write_json", full)
    with pytest.raises(InfrastructureError, match="cannot be written: No space left on device"):
        go(tmp_path, 1)


def test_no_worker_with_a_slot_is_reported(tmp_path, monkeypatch):
    from distributed import LocalCluster

    from m4lib.harness import dispatch as module

    monkeypatch.setattr(module, "NO_WORKER_SECONDS", 1.0)
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, protocol="tcp://", host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster, \
            pytest.raises(InfrastructureError, match="No Dask worker offers a docker slot"):
        go(tmp_path, 1, scheduler=cluster.scheduler_address)


def test_no_scheduler_is_one_sentence(tmp_path, monkeypatch):
    from m4lib.harness import dispatch as module

    monkeypatch.setattr(module, "SCHEDULER_SECONDS", 1.0)
    with pytest.raises(M4Error, match="No Dask scheduler answers"):
        go(tmp_path, 1, scheduler="tcp://127.0.0.1:1")


@pytest.mark.parametrize(("change", "complete"), [
    ({}, True),
    ({"agent_result": {"returncode": -1, "failure_reason": "timeout"}, "test_results": {"reward": 0.0, "errors": 1}}, True),
    ({"agent_result": {"returncode": 0, "failure_reason": "disallowed_egress"}, "test_results": {"reward": 0.0, "errors": 1}}, True),
    ({"agent_result": {"returncode": 125, "failure_reason": "container"}, "test_results": {"reward": 0.0, "errors": 1}}, False),
    ({"agent_result": {"returncode": 1, "failure_reason": "rate_limit"}, "test_results": {"reward": 0.0, "errors": 1}}, False),
    ({"agent_result": {"returncode": 0, "failure_reason": "filesystem_canary"}, "test_results": {"reward": 0.0, "errors": 1}}, False),
    ({"agent_result": {"returncode": 1}}, False),
    ({"test_results": {}}, False),
    ({"agent_db": {}}, False),
])
def test_what_complete_means(change, complete):
    _, runs = campaign(1)
    assert is_complete({**record_of(runs[0]), **change}) is complete


def test_an_evaluation_error_of_a_normal_run_is_not_done_again(tmp_path):
    _, runs = campaign(1)
    write_json(tmp_path / "a" / "result.json", record_of(runs[0], 0.0, test_results={"reward": 0.0, "errors": 1}))
    assert todo(runs, tmp_path) == []

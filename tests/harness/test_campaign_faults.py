"""Whole campaigns in real containers, and everything that can go wrong with their dispatcher, workers, engine and disk.

After each: every run is either complete and right or absent and done again, once; nothing else is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from m4lib.errors import M4Error
from m4lib.harness import images
from m4lib.harness.campaign_run import OneRun
from m4lib.harness.docker_host import Engine
from tests.harness.lab import Bench, Lab, Watch, campaign, kill_group, sleeper, small_disk, until
from tests.harness.private_engine import PrivateEngine, private_engine

pytestmark = pytest.mark.docker


@pytest.fixture
def bench(lab: Lab, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    place = lab.bench(tmp_path)
    monkeypatch.setenv("M4_SCRATCH", str(place.scratch))
    return place


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    """Processes of a test; whatever of their sessions still lives at its end is killed."""
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        kill_group(process)
        process.wait(timeout=20)


def kinds(bench: Bench) -> list[str]:
    return [json.loads(line)["event"] for line in (bench.results / "events.jsonl").read_text().splitlines()]


def test_scores_resume_and_half_written_results(bench: Bench, engine: Engine) -> None:
    """The oracle scores 1; a result that is cut short is done again, its folder kept aside; the others are not touched."""
    job = bench.job(campaign("oracle", 3, conditions=["with-skill-rawsql"]))
    summary = job.run(show=False)
    assert summary["finished"] == 3 and summary["mean_reward"] == 1.0 and summary["publishable"] is False
    first = {trial: found[0]["run_id"] for trial, found in bench.records().items()}
    result = bench.results / first[2] / "result.json"
    result.write_bytes(result.read_bytes()[:1000])
    assert job.forecast().runs - job.forecast().done == 1
    assert job.run(show=False)["finished"] == 3
    again = {trial: [record["run_id"] for record in found] for trial, found in bench.records().items()}
    assert again[1] == [first[1]] and again[3] == [first[3]] and len(again[2]) == 1 and again[2] != [first[2]]
    assert [bench.attempts(trial) for trial in (1, 2, 3)] == [["finished"], ["finished", "finished"], ["finished"]]
    bench.assert_clean(engine)


def test_dispatcher_killed_in_mid_campaign(bench: Bench, engine: Engine, started: list[subprocess.Popen[str]]) -> None:
    entry = campaign("scripted", 6, script=sleeper(1.0))
    params = bench.params(entry)
    process = bench.start(params)
    started.append(process)
    until(lambda: len(bench.records()) >= 2 and bench.containers(engine), process=process)
    process.kill()
    process.wait(timeout=20)
    until(lambda: not [child for child in psutil.process_iter() if _session(child) == process.pid])  # its workers end by themselves
    before = {trial: found[0]["run_id"] for trial, found in bench.records().items()}
    assert 2 <= len(before) < 6
    assert bench.containers(engine), "the run in flight left its container; that is what has to be swept"
    done = bench.call("--params", str(params))
    assert done.returncode == 0, done.stderr
    after = bench.records()
    assert {trial: len(found) for trial, found in after.items()} == dict.fromkeys(range(1, 7), 1)
    assert {trial: after[trial][0]["run_id"] for trial in before} == before
    for trial in range(1, 7):
        states = bench.attempts(trial)
        assert states.count("finished") == 1 and states[-1] == "finished"
        assert (len(states) == 1) if trial in before else (set(states[:-1]) <= {None})
    again = next(record for found in after.values() for record in found if len(record["attempts"]) == 2)
    assert [attempt["state"] for attempt in again["attempts"]] == [None, None]  # one died without a word, one was still going on
    bench.assert_clean(engine)


def _session(process: psutil.Process) -> int | None:
    with contextlib.suppress(OSError, psutil.Error):
        return os.getsid(process.pid) if process.status() != psutil.STATUS_ZOMBIE else None
    return None


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_stops_within_seconds(bench: Bench, engine: Engine, started: list[subprocess.Popen[str]], sig: int) -> None:
    """Ctrl-C reaches the whole session; a batch system's TERM may reach the dispatcher alone."""
    params = bench.params(campaign("scripted", 3, script=sleeper(60)))
    process = bench.start(params)
    started.append(process)
    until(lambda: len(bench.containers(engine)) == 2, process=process)
    begun = time.monotonic()
    if sig == signal.SIGINT:
        kill_group(process, sig)
    else:
        process.send_signal(sig)
    assert process.wait(timeout=30) == 130 and time.monotonic() - begun < 12
    log = (bench.root / "log").read_text()
    assert "what was finished is kept" in log and "Traceback" not in log
    assert bench.records() == {} and bench.summary()["finished"] == 0
    until(lambda: not [child for child in psutil.process_iter() if _session(child) == process.pid], 10)
    bench.assert_clean(engine)


def test_a_second_dispatcher_is_refused_and_harms_nothing(bench: Bench, engine: Engine, started: list[subprocess.Popen[str]]) -> None:
    params = bench.params(campaign("scripted", 1, script=sleeper(6)), parallel=1)
    process = bench.start(params)
    started.append(process)
    running = until(lambda: bench.containers(engine), process=process)
    with pytest.raises(M4Error, match=f"is being dispatched by process {process.pid}"):
        bench.job(campaign("scripted", 1, script=sleeper(6))).run(show=False)
    assert bench.containers(engine) == running, "the one that was refused must not sweep the other's containers"
    assert process.wait(timeout=60) == 0
    assert bench.attempts(1) == ["finished"]


def test_container_killed_in_mid_run(bench: Bench, engine: Engine) -> None:
    """Killed from outside, and removed from outside: neither is the agent's doing, both are done again."""
    def harm() -> None:
        first = until(lambda: engine.client.containers.list(filters={"label": [f"{k}={v}" for k, v in bench.labels().items()]}))[0]
        until(lambda: bench.attempts(1) == [None])
        time.sleep(0.7)
        first.kill()
        second = until(lambda: [c for c in engine.client.containers.list(filters={"label": [f"{k}={v}" for k, v in bench.labels().items()]}) if c.id != first.id])[0]
        time.sleep(0.7)
        second.remove(force=True)

    thread = threading.Thread(target=harm)
    thread.start()
    summary = bench.job(campaign("scripted", 1, script=sleeper(2.5)), parallel=1).run(show=False)
    thread.join()
    assert summary["finished"] == 1 and bench.attempts(1) == ["not done", "not done", "finished"]
    assert kinds(bench) == ["not_done", "not_done", "finished"]
    [record] = bench.records()[1]
    assert record["agent_result"]["returncode"] == 0 and len(record["attempts"]) == 3
    bench.assert_clean(engine)


def test_what_the_agent_did_is_not_done_again(bench: Bench, engine: Engine) -> None:
    """A crash and a time-out are results. Exit 125, which Docker also uses, is the agent's own here."""
    job = bench.job(campaign("scripted", 1, script="import sys; sys.exit(125)"))
    assert job.run(show=False)["finished"] == 1
    [record] = bench.records()[1]
    assert record["agent_result"]["failure_reason"] == "agent_nonzero_exit" and record["test_results"]["reward"] == 0
    assert job.run(show=False)["finished"] == 1 and bench.attempts(1) == ["finished"]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture
def cluster(bench: Bench, started: list[subprocess.Popen[str]]) -> tuple[str, list[subprocess.Popen[str]]]:
    """A scheduler and two workers as several machines would have them: its address, and the workers."""
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    with open(bench.root / "dask.log", "w") as log:
        def run(*words: str) -> subprocess.Popen[str]:
            process = subprocess.Popen([sys.executable, "-m", *words], stdout=log, stderr=log, env=bench.environment(), text=True, start_new_session=True)
            started.append(process)
            return process

        run("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
        return address, [
            run("distributed.cli.dask_worker", address, "--host", "127.0.0.1", "--nworkers", "1", "--nthreads", "1", "--no-nanny", "--name", f"w{n}",
                "--resources", "docker=1", "--memory-limit", "0", "--no-dashboard", "--local-directory", str(bench.root / f"w{n}"))
            for n in (0, 1)
        ]


def test_interrupt_stops_the_workers_of_a_named_scheduler(bench: Bench, engine: Engine, cluster: tuple[str, list[subprocess.Popen[str]]], started: list[subprocess.Popen[str]]) -> None:
    """Their containers go, they themselves stay, and are free for the next campaign."""
    address, workers = cluster
    image = images.agent_image(engine, None).tag
    process = bench.start(bench.params(campaign("scripted", 3, script=sleeper(60)), scheduler=address, image=image))
    started.append(process)
    until(lambda: len(bench.containers(engine)) == 2, process=process)
    begun = time.monotonic()
    kill_group(process, signal.SIGINT)
    assert process.wait(timeout=30) == 130 and time.monotonic() - begun < 15
    assert bench.records() == {} and [worker.poll() for worker in workers] == [None, None]
    bench.assert_clean(engine)
    assert bench.job(campaign("scripted", 3, script=sleeper(0)), scheduler=address, image=image).run(show=False)["finished"] == 3
    bench.assert_clean(engine)


def test_worker_of_a_named_scheduler_killed_in_mid_run(bench: Bench, engine: Engine, cluster: tuple[str, list[subprocess.Popen[str]]]) -> None:
    """The run is done again on the other worker, once, and the container that the dead worker left is removed."""
    address, workers = cluster
    image = images.agent_image(engine, None).tag
    orphan: list[str] = []

    def harm() -> None:
        def victim() -> str | None:
            for path in (bench.results / ".attempts").glob("*.jsonl"):
                last = json.loads(path.read_text().splitlines()[-1])
                if last["event"] == "begin" and last["process"] == workers[0].pid:
                    found = engine.client.containers.list(filters={"label": [*(f"{k}={v}" for k, v in bench.labels().items()), f"m4bench.key={path.stem}"]})
                    if found:
                        return str(found[0].id)
            return None

        orphan.append(until(victim))
        workers[0].kill()

    thread = threading.Thread(target=harm)
    thread.start()
    summary = bench.job(campaign("scripted", 4, script=sleeper(1.5)), scheduler=address, image=image).run(show=False)
    thread.join()
    assert workers[0].wait(timeout=10) == -signal.SIGKILL
    assert summary["finished"] == 4 and {trial: len(found) for trial, found in bench.records().items()} == dict.fromkeys(range(1, 5), 1)
    states = sorted((bench.attempts(trial) for trial in range(1, 5)), key=len)
    assert states == [["finished"]] * 3 + [[None, "finished"]]
    assert orphan[0] not in bench.containers(engine)
    bench.assert_clean(engine)


def test_a_run_that_is_published_is_not_done_again_when_its_worker_died_with_the_news(bench: Bench, engine: Engine) -> None:
    job = bench.job(campaign("scripted", 2, script=sleeper(0)))
    one = OneRun(job.settings, job.campaign.name, job.campaign.reasoning_effort, job.cards, sleeper(0))
    first = one(job.planned[0], 1)
    assert (bench.results / first["run_id"] / "result.json").is_file() and one(job.planned[0], 1) == first
    assert one(job.planned[1], 1)["run_id"] != first["run_id"]
    assert [bench.attempts(trial) for trial in (1, 2)] == [["finished"], ["finished"]]


def test_several_machines_need_an_image_by_name(bench: Bench) -> None:
    with pytest.raises(M4Error, match="name it by digest"):
        bench.job(campaign(), scheduler="tcp://127.0.0.1:1").run(show=False)


@pytest.fixture
def results_disk(bench: Bench) -> Iterator[Path]:
    """64 MiB where the campaign's results go."""
    with small_disk(bench.outputs / "runs") as place:
        yield place


def test_disk_full_under_the_results(bench: Bench, engine: Engine, results_disk: Path, started: list[subprocess.Popen[str]]) -> None:
    """Full in mid-campaign: what is finished stays, the rest is reported and not scored, and done when there is room again."""
    params = bench.params(campaign("scripted", 6, script=sleeper(1.0)), attempts=2)
    process = bench.start(params)
    started.append(process)
    until(lambda: bench.records(), process=process)
    ballast = results_disk / "ballast"
    with contextlib.suppress(OSError), open(ballast, "wb", buffering=0) as handle:
        while True:
            handle.write(bytes(64 << 10))
    assert process.wait(timeout=90) == 2
    log = (bench.root / "log").read_text()
    assert "Traceback" not in log and ("cannot be written" in log or "MiB are free" in log), log[-2000:]
    finished = {trial: found[0]["run_id"] for trial, found in bench.records().items()}
    assert 1 <= len(finished) < 6
    bench.assert_clean(engine)
    full = bench.call("--params", str(params))
    assert full.returncode == 2 and "the results of" in full.stderr and "MiB are free" in full.stderr  # preflight says it before
    ballast.unlink()
    done = bench.call("--params", str(params))
    assert done.returncode == 0, done.stderr
    after = bench.records()
    assert {trial: len(found) for trial, found in after.items()} == dict.fromkeys(range(1, 7), 1)
    assert {trial: after[trial][0]["run_id"] for trial in finished} == finished
    bench.assert_clean(engine)


@pytest.fixture(scope="module")
def other_engine(engine: Engine) -> Iterator[PrivateEngine]:
    """An engine that may be restarted: the machine's own serves others."""
    with private_engine() as found:
        found.load(images.agent_image(engine, None).tag)
        yield found


def test_engine_restarted_in_mid_campaign(
    bench: Bench, engine: Engine, other_engine: PrivateEngine, monkeypatch: pytest.MonkeyPatch, started: list[subprocess.Popen[str]]
) -> None:
    """Killed like a crash and started again: the runs in flight are done again, the others wait; nothing is scored because of it."""
    image = images.agent_image(engine, None).tag  # named, since the other engine has nothing else
    monkeypatch.setenv("DOCKER_HOST", other_engine.host)
    params = bench.params(campaign("scripted", 5, script=sleeper(1.5)), attempts=3, image=image)
    process = bench.start(params, DOCKER_HOST=other_engine.host)
    started.append(process)
    until(lambda: bench.records() and _running(other_engine, bench), process=process)
    finished = {trial: found[0]["run_id"] for trial, found in bench.records().items()}
    other_engine.kill()
    time.sleep(1.0)
    other_engine.start()
    assert process.wait(timeout=120) == 0, (bench.root / "log").read_text()[-2000:]
    after = bench.records()
    assert {trial: len(found) for trial, found in after.items()} == dict.fromkeys(range(1, 6), 1)
    assert {trial: after[trial][0]["run_id"] for trial in finished} == finished
    assert all(record["agent_result"]["returncode"] == 0 for [record] in after.values())
    assert "not_done" in kinds(bench) and any("not done" in bench.attempts(trial) for trial in after)
    with Engine() as other:
        bench.assert_clean(other)


def _running(other: PrivateEngine, bench: Bench) -> bool:
    with Engine() as engine:
        return bool(bench.containers(engine))


def test_an_engine_that_stays_away_leaves_runs_undone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{bench.root}/nothing.sock")
    with pytest.raises(M4Error, match="Docker does not answer"):
        bench.job(campaign()).run(show=False)
    assert not bench.results.exists()


def test_fifty_runs_leave_nothing(bench: Bench, engine: Engine) -> None:
    """Files, containers, networks, processes and descriptors as before; the workers do not grow run by run."""
    bench.job(campaign(trials=1)).run(show=False)  # what a first campaign loads and keeps is no leak
    shutil.rmtree(bench.results)
    with Watch(bench) as watch:
        summary = bench.job(campaign(trials=50), parallel=4).run(show=False)
    assert summary["finished"] == 50 and summary["mean_reward"] == 0.0
    bench.assert_clean(engine)
    found = [path for path in bench.results.iterdir() if not path.name.startswith(".")]
    assert sorted(path.name for path in found if path.is_file()) == ["campaign_manifest.json", "campaign_summary.json", "events.jsonl"]
    assert len([path for path in found if path.is_dir()]) == 50
    assert sorted(path.name for path in bench.results.glob(".*")) == [".attempts", ".lock"]
    left = watch.left(engine)
    assert left.pop("descriptors") <= 4 and set(left.values()) == {0}, left
    assert watch.growth(20, 50) < 3 << 20

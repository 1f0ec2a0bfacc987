"""Everything that can go wrong in one run, with real processes: complete and right, or absent; and nothing left behind."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from m4lib.errors import InfrastructureError
from m4lib.harness import replay
from m4lib.harness.docker_host import Engine
from tests.harness.site import QUERY, Site
from tests.needs import lacking

pytestmark = pytest.mark.docker

SLEEP = "import time\nprint('up', flush=True)\ntime.sleep(60)"


def meanwhile(engine: Engine, site: Site, action: Callable[[str], None], role: str = "agent", wait: float = 1.0) -> threading.Thread:
    """Do `action` with the id of the run's container of that role, `wait` seconds after it came up."""

    def act() -> None:
        for _ in range(300):
            found = engine.client.api.containers(filters={"label": [*(f"{k}={v}" for k, v in site.settings.labels().items()), f"m4bench.role={role}"]})
            if found:
                time.sleep(wait)
                action(found[0]["Id"])
                return
            time.sleep(0.1)

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread


def absent(site: Site) -> None:
    assert site.published() == [], "an infrastructure failure must leave no result"


def test_container_killed_from_outside(engine: Engine, clean: Site) -> None:
    thread = meanwhile(engine, clean, lambda container: engine.client.api.kill(container))
    with pytest.raises(InfrastructureError, match="killed from outside"):
        clean.run(script=SLEEP, engine=engine)
    thread.join()
    absent(clean)
    assert clean.run(script=QUERY, engine=engine)["test_results"]["reward"] == 1.0


def test_container_removed_from_outside(engine: Engine, clean: Site) -> None:
    thread = meanwhile(engine, clean, lambda container: engine.client.api.remove_container(container, force=True))
    with pytest.raises(InfrastructureError):
        clean.run(script=SLEEP, engine=engine)
    thread.join()
    absent(clean)


def test_main_process_killed_by_the_kernel_of_the_host(engine: Engine, clean: Site) -> None:
    def kill(container: str) -> None:
        os.kill(engine.client.api.inspect_container(container)["State"]["Pid"], 9)

    if os.getuid() != 0:
        lacking("only root may kill the container's process", "M4_REQUIRE_DOCKER")
    thread = meanwhile(engine, clean, kill)
    with pytest.raises(InfrastructureError, match="killed from outside"):
        clean.run(script=SLEEP, engine=engine)
    thread.join()
    absent(clean)


def test_an_agent_that_kills_everything_inside_is_the_agents_own_doing(engine: Engine, clean: Site) -> None:
    record = clean.run(script="import os, time\nopen('output.csv','w').write('x')\nos.fork() or os.kill(-1, 9)\ntime.sleep(30)", engine=engine)
    assert record["agent_result"]["failure_reason"] == "agent_nonzero_exit"
    assert record["agent_result"]["returncode"] == 137 and record["agent_result"]["exit_signal"] == 9


def test_out_of_memory(engine: Engine, clean: Site) -> None:
    record = clean.run(script="open('output.csv','w').write('a')\nx = []\nwhile True: x.append(bytearray(16 << 20))", engine=engine, memory=128 << 20)
    assert record["agent_result"]["failure_reason"] == "out_of_memory" and record["agent_result"]["exit_state"] == "oom"
    assert record["test_results"]["reward"] == 0 and record["resources"]["memory_peak_bytes"] > 100 << 20


def test_only_a_child_out_of_memory(engine: Engine, clean: Site) -> None:
    """The flag of the engine alone would call this run failed."""
    script = (
        "import subprocess, sys, duckdb\nsubprocess.run([sys.executable, '-c', 'x=[]\\nwhile True: x.append(bytearray(16<<20))'])\n"
        f"duckdb.connect('database.duckdb', read_only=True).execute(\"COPY ({QUERY}) TO 'output.csv' (HEADER)\")"
    )
    record = clean.run(script=script, engine=engine, memory=192 << 20)
    assert record["test_results"]["reward"] == 1.0 and record["agent_result"]["exit_state"] == "finished"
    assert record["resources"]["oom_kills"] >= 1


def test_fork_bomb(engine: Engine, clean: Site) -> None:
    script = "import os, time\nwhile True:\n    try: os.fork()\n    except OSError: time.sleep(0.05)"
    begun = time.monotonic()
    record = clean.run(script=script, engine=engine, timeout=4, pids=64)
    assert record["agent_result"]["failure_reason"] == "timeout" and time.monotonic() - begun < 40
    bounded = "import os\nn = 0\ntry:\n    while True:\n        if os.fork() == 0: os.pause() if hasattr(os, 'pause') else __import__('time').sleep(9)\n        n += 1\nexcept OSError: print('refused after', n)"
    record = clean.run(script=bounded, engine=engine, timeout=20, pids=64, trial=2)
    assert "refused after" in record["agent_result"]["stdout"] and record["resources"]["pids_refused"] >= 1


def test_a_gigabyte_on_stdout(engine: Engine, clean: Site) -> None:
    script = "import sys\nprint('beginning')\nblock = ('x' * 1023 + '\\n') * 1024\nfor _ in range(1024): sys.stdout.write(block)\nprint('the end')\nopen('output.csv','w').write('stay_id,score\\n0,0\\n')"
    record = clean.run(script=script, engine=engine, trace=8 << 20)
    trace = clean.folder(record) / "trace.jsonl"
    assert record["trace_summary"]["bytes"] > 1 << 30 and record["trace_summary"]["dropped_bytes"] > 1_000_000_000
    assert trace.stat().st_size < 9 << 20 and trace.read_text().startswith("beginning\n") and trace.read_text().endswith("the end\n")
    assert 0 < record["test_results"]["reward"] < 1


def test_deaf_to_terminate(engine: Engine, clean: Site) -> None:
    script = "import signal, time\nfor s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)\nopen('output.csv','w').write('stay_id,score\\n')\nprint('deaf', flush=True)\nwhile True: time.sleep(1)"
    begun = time.monotonic()
    record = clean.run(script=script, engine=engine, timeout=3, grace=1)
    assert record["agent_result"]["failure_reason"] == "timeout" and record["agent_result"]["returncode"] == -1
    assert record["test_results"]["reward"] == 0, "a run that was stopped is not evaluated"
    assert record["agent_result"]["stdout"] == "deaf\n" and time.monotonic() - begun < 30


def test_a_polite_agent_may_end_its_trace_on_timeout(engine: Engine, clean: Site) -> None:
    script = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *a: (print('bye', flush=True), sys.exit(0)))\nprint('up', flush=True)\ntime.sleep(60)"
    record = clean.run(script=script, engine=engine, timeout=3, grace=5)
    assert record["agent_result"]["failure_reason"] == "timeout" and record["agent_result"]["stdout"] == "up\nbye\n"


def test_output_is_a_link(engine: Engine, clean: Site) -> None:
    record = clean.run(script="import os\nos.symlink('/etc/passwd', 'output.csv')\nos.symlink('/', 'all')", engine=engine)
    assert record["agent_result"]["failure_reason"] == "no_output" and record["agent_result"]["output_problem"] == "a link"
    assert not (clean.folder(record) / "output.csv").exists()


def test_ten_gigabytes(engine: Engine, clean: Site) -> None:
    """One file is bounded by the kernel, many by the watch from outside; what is too large is not evaluated."""
    one = "block = bytes(1 << 20)\nwith open('output.csv','wb') as f:\n    for _ in range(10 << 10): f.write(block)"
    record = clean.run(script=one, engine=engine, file=32 << 20)
    assert record["agent_result"]["failure_reason"] == "agent_nonzero_exit" and record["artifacts"]["output_bytes"] <= 32 << 20
    many = "block = bytes(1 << 20)\nn = 0\nwhile True:\n    n += 1\n    with open(f'part{n}','wb') as f:\n        for _ in range(32): f.write(block)"
    record = clean.run(script=many, engine=engine, file=64 << 20, work=256 << 20, trial=2)
    assert record["agent_result"]["failure_reason"] == "disk_limit" and record["resources"]["disk_peak_bytes"] < 4 << 30
    sparse = "open('output.csv','wb').truncate(10 << 30)"
    record = clean.run(script=sparse, engine=engine, file=11 << 30, trial=3)
    assert record["agent_result"]["failure_reason"] == "no_output" and "too large" in record["agent_result"]["output_problem"]


def test_tmp_and_home_are_bounded(engine: Engine, clean: Site) -> None:
    script = (
        "import errno, os\nfound = []\nfor place in ('/tmp', os.environ['HOME']):\n    try:\n        with open(place + '/x', 'wb') as f:\n            for _ in range(64): f.write(bytes(1 << 20)); f.flush()\n"
        "    except OSError as e: found.append(errno.errorcode[e.errno])\nprint(found)"
    )
    record = clean.run(script=script, engine=engine, tmp=16 << 20, home=16 << 20)
    assert record["agent_result"]["stdout"] == "['ENOSPC', 'ENOSPC']\n"


def test_ten_thousand_sockets(engine: Engine, clean: Site) -> None:
    script = (
        "import socket\nheld = []\ntry:\n    for _ in range(10_000): held.append(socket.socket())\nexcept OSError as e: print('refused after', len(held))\n"
        "held.clear()\n"
        f"import duckdb\nduckdb.connect('database.duckdb', read_only=True).execute(\"COPY ({QUERY}) TO 'output.csv' (HEADER)\")"
    )
    record = clean.run(script=script, engine=engine)
    assert "refused after 40" in record["agent_result"]["stdout"] and record["test_results"]["reward"] == 1.0


def test_ten_thousand_connections_to_the_proxy(engine: Engine, clean: Site) -> None:
    """The proxy refuses what is too much, goes on serving, and its log stays small."""
    flood = (
        "python3 - <<'EOF'\nimport socket\nheld = []\nfor n in range(10_000):\n    try:\n        link = socket.socket(); link.settimeout(2); link.connect(('egress', 3128))\n        held.append(link)\n"
        "        if len(held) > 1000: held.pop(0).close()\n    except OSError: held.clear()\nprint('opened')\nEOF"
    )
    solve = replay.sql_command([QUERY])
    record = clean.run("codex", model="m-1", engine=engine, timeout=90, model_access=clean.replayed(replay.script([flood, solve])))
    assert record["test_results"]["reward"] == 1.0, record["agent_result"]
    assert (clean.folder(record) / "egress.jsonl").stat().st_size < 5 << 20


@pytest.mark.parametrize("role", ["proxy", "model"])
def test_a_sidecar_that_dies(engine: Engine, clean: Site, role: str) -> None:
    thread = meanwhile(engine, clean, lambda container: engine.client.api.kill(container), role=role, wait=2)
    with pytest.raises(InfrastructureError, match=role):
        clean.run("codex", model="m-1", engine=engine, model_access=clean.replayed(replay.script(["sleep 40"])))
    thread.join()
    absent(clean)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    if os.getuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200m", "tmpfs", place], capture_output=True).returncode:
        lacking("a small disk can only be mounted by root", "M4_REQUIRE_DOCKER")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_disk_full_in_the_work_directory(engine: Engine, clean: Site, small_disk: Path) -> None:
    fill = "n = 0\ntry:\n    while True:\n        with open(f'part{n}','wb') as f: f.write(bytes(8 << 20))\n        n += 1\nexcept OSError as e: print(e)"
    with pytest.raises(InfrastructureError, match=r"full|No space"):
        clean.run(script=fill, engine=engine, scratch=small_disk / "s", host_free=16 << 20)
    absent(clean)
    assert list((small_disk / "s").iterdir()) == []
    (small_disk / "ballast").write_bytes(bytes(190 << 20))
    with pytest.raises(InfrastructureError, match="MiB are free"):
        clean.run("nop", engine=engine, scratch=small_disk / "s", host_free=16 << 20)
    (small_disk / "ballast").unlink()
    assert clean.run(script=QUERY, engine=engine, scratch=small_disk / "s", host_free=16 << 20)["test_results"]["reward"] == 1.0


def test_a_full_disk_under_the_results(engine: Engine, clean: Site, small_disk: Path) -> None:
    results = small_disk / "runs"
    results.mkdir()
    (small_disk / "ballast").write_bytes(bytes(150 << 20))
    script = "open('output.csv','w').write('stay_id,score\\n')\nfor n in range(3): open(f'large{n}','wb').write(bytes(30 << 20))"
    with pytest.raises(InfrastructureError):
        clean.run(script=script, engine=engine, results_root=results, host_free=16 << 20)
    assert list(results.glob("*/result.json")) == [] and list(results.glob(".partial-*")) == []


def test_background_processes_do_not_outlive_the_agent(engine: Engine, clean: Site) -> None:
    script = "import subprocess\nsubprocess.Popen(['sh', '-c', 'while true; do echo still; sleep 0.1; done'], start_new_session=True)\nprint('done')"
    begun = time.monotonic()
    record = clean.run(script=script, engine=engine)
    assert record["agent_result"]["exit_state"] == "finished" and time.monotonic() - begun < 15

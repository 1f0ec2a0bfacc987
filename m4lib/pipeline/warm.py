"""Notebooks in forked kernels: one server process imports the usual modules once, every kernel is a fork of it.

A fresh kernel with the usual imports costs about three seconds, a forked one about a tenth of that. Results are those of
a fresh kernel, because the server has run no notebook code and imports have no other effect here (tested).

    with WarmServer() as server:
        server.run(notebook, target, parameters)        # one notebook
        papermill.execute_notebook(..., engine_name=register_engine(server))  # papermill's own way
    run_many(jobs, workers=2)                            # many, several at once

Protocol: a client connects to the server's Unix socket and sends one JSON line; the server forks, answers with the pid,
and later with the exit code. Closing the connection ends the fork; the end of the server's standard input ends it all.
Where a process cannot be forked (Windows), `run_many` falls back on ordinary kernels, one notebook after the other.
"""

from __future__ import annotations

import asyncio
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from m4lib.errors import InfrastructureError

PRELOADED = (
    "papermill.engines", "papermill.execute", "nbclient", "nbformat.v4", "ipykernel.kernelapp", "ipykernel.ipkernel",
    "ipykernel.debugger", "ipykernel_launcher", "IPython.core.debugger", "IPython.core.oinspect",
    "IPython.extensions.storemagic", "tornado.platform.asyncio", "psutil", "pandas.core.reshape.reshape", "jupyter_client.asynchronous", "pandas", "pyarrow.parquet",
    "pandas.io.formats.style", "yaml", "matplotlib.figure", "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf", "matplotlib_inline.backend_inline", "m4lib.analysis.paper",
    "m4lib.analysis.tables", "m4lib.analysis.figures", "m4lib.pipeline.execute",
)
INLINE = "module://matplotlib_inline.backend_inline"  # what a fresh kernel would set before matplotlib is imported
Job = tuple[str | os.PathLike[str], str | os.PathLike[str], Mapping[str, Any]]


# ---- server side -----------------------------------------------------------------------------------------------------


def serve(address: str) -> None:
    """Import everything, then fork on request until standard input ends."""
    import importlib

    with suppress(ValueError):
        sys.path.remove(os.getcwd())  # a kernel does not see the folder that the server was started in
    os.environ.setdefault("MPLBACKEND", INLINE)
    for name in PRELOADED:
        with suppress(ImportError):  # an optional part; the kernel says so when it is really needed
            importlib.import_module(name)
    import gc

    import nbformat

    nbformat.validate(nbformat.v4.new_notebook())  # compiles the schema, a fifth of a second each time otherwise
    gc.collect()
    gc.freeze()  # what is imported stays shared between the forks
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    _Loop(listener, address).run()


class _Loop:
    """The server's only thread: accepts, forks, reaps."""

    def __init__(self, listener: socket.socket, address: str) -> None:
        self.listener, self.address = listener, address
        self.selector = selectors.DefaultSelector()
        self.children: dict[int, socket.socket] = {}
        self.wake_read, self.wake_write = os.pipe()
        os.set_blocking(self.wake_write, False)

    def run(self) -> None:
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides; closing our input stops us
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        for source, handler in ((self.listener, self.accept), (sys.stdin, None), (self.wake_read, self.reap)):
            self.selector.register(source, selectors.EVENT_READ, handler)
        while True:
            for key, _ in self.selector.select():
                if key.fileobj is sys.stdin:
                    if not os.read(key.fd, 1024):
                        self.stop()
                elif key.data is not None:
                    key.data(key.fileobj)

    def stop(self) -> NoReturn:
        for pid in self.children:
            _kill_group(pid)
        with suppress(FileNotFoundError):
            os.unlink(self.address)
        os._exit(0)

    def accept(self, _: Any) -> None:
        connection, _address = self.listener.accept()
        request = _read_line(connection)
        if request is None:
            connection.close()
            return
        pid = os.fork()
        if pid == 0:
            self.become(connection, request)
        self.children[pid] = connection
        _send(connection, {"pid": pid})
        self.selector.register(connection, selectors.EVENT_READ, self.hang_up)

    def become(self, connection: socket.socket, request: dict[str, Any]) -> NoReturn:
        """In the fork: drop everything of the server's, then be a kernel or execute a notebook."""
        code = 1
        try:
            os.setsid()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for other in self.children.values():
                other.close()
            self.selector.close()
            self.listener.close()
            os.close(self.wake_read)
            os.close(self.wake_write)
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 0)
            os.dup2(null, 1)
            import numpy as np

            np.random.seed()  # else all forks would share one global stream
            if request["kind"] == "kernel":
                connection.close()
                os.dup2(null, 2)  # what a cell writes goes to the notebook; this is the kernel's talk about interrupts
                code = _become_kernel(request)
            else:
                code = _execute(connection, request, self.address)
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            with suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def reap(self, _: Any) -> None:
        os.read(self.wake_read, 4096)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            connection = self.children.pop(pid, None)
            if connection is not None:
                self.selector.unregister(connection)
                with suppress(OSError):
                    _send(connection, {"exit": os.waitstatus_to_exitcode(status)})
                connection.close()

    def hang_up(self, connection: Any) -> None:
        """The client went away: so does its fork (it is reaped later)."""
        with suppress(OSError):
            if connection.recv(1024):
                return
        pid = next((pid for pid, other in self.children.items() if other is connection), None)
        self.selector.unregister(connection)
        connection.close()
        if pid is not None:
            del self.children[pid]
            _kill_group(pid)


def _become_kernel(request: dict[str, Any]) -> int:
    os.environ.clear()
    os.environ.update(request["env"])
    if request.get("cwd"):
        os.chdir(request["cwd"])
    import ipykernel_launcher
    from ipykernel.kernelapp import IPKernelApp

    sys.argv = [ipykernel_launcher.__file__, *request["argv"]]
    app = IPKernelApp.instance()
    app.initialize([*request["argv"], "--HistoryManager.enabled=False"])
    app.start()
    return 0


def _execute(connection: socket.socket, request: dict[str, Any], address: str) -> int:
    """Run one notebook through papermill in this fork, its kernel being another fork of the same server."""
    from m4lib.pipeline.execute import NotebookError, run_notebook

    begun = time.monotonic()
    error = None
    try:
        run_notebook(Path(request["source"]), Path(request["target"]), request["parameters"],
                     cwd=Path(request["cwd"]) if request.get("cwd") else None,
                     kernel_manager_class=warm_kernel_manager(address))
    except NotebookError as failure:
        error = str(failure)
    except Exception as failure:  # reported where the notebook was asked for, with its kind
        error = f"{request['source']}: {type(failure).__name__}: {failure}"
    _send(connection, {"seconds": time.monotonic() - begun, "error": error})
    return 0 if error is None else 1


def _kill_group(pid: int) -> None:
    for target in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            target(pid, signal.SIGKILL)


def _send(connection: socket.socket, message: dict[str, Any]) -> None:
    connection.sendall(json.dumps(message).encode() + b"\n")


def _read_line(connection: socket.socket) -> dict[str, Any] | None:
    """One JSON line, None when the other side closed first."""
    data = bytearray()
    while not data.endswith(b"\n"):
        part = connection.recv(65536)
        if not part:
            return None
        data += part
    return json.loads(data)


# ---- client side -----------------------------------------------------------------------------------------------------


class Fork:
    """A fork of the server, with as much of `subprocess.Popen` as a kernel manager uses."""

    stdin = stdout = stderr = None

    def __init__(self, address: str, request: Mapping[str, Any]) -> None:
        """Ask the server at `address`; raises InfrastructureError when it does not answer."""
        self.connection = socket.socket(socket.AF_UNIX)
        self.buffer = bytearray()
        self.returncode: int | None = None
        self.answers: list[dict[str, Any]] = []
        try:
            self.connection.connect(address)
            _send(self.connection, dict(request))
            while not self.answers:
                self._receive()
        except OSError as error:
            raise InfrastructureError(f"The kernel server does not answer: {error}.") from error
        self.pid = int(self.answers.pop(0)["pid"])

    def _receive(self) -> None:
        part = self.connection.recv(65536)
        if not part:
            self.returncode = -9 if self.returncode is None else self.returncode
            if not self.answers and not hasattr(self, "pid"):
                raise ConnectionError("closed")
        self.buffer += part
        while b"\n" in self.buffer:
            line, _, rest = bytes(self.buffer).partition(b"\n")
            self.buffer = bytearray(rest)
            message = json.loads(line)
            if "exit" in message:
                self.returncode = int(message["exit"])
            else:
                self.answers.append(message)

    def poll(self) -> int | None:
        if self.returncode is None:
            self.connection.setblocking(False)
            try:
                self._receive()
            except BlockingIOError:
                pass
            finally:
                self.connection.setblocking(True)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self.connection.settimeout(timeout)
        try:
            while self.returncode is None:
                self._receive()
        except TimeoutError:
            raise subprocess.TimeoutExpired("kernel", timeout or 0) from None
        self.connection.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """Hang up; the server ends the fork."""
        self.connection.close()


def warm_kernel_manager(address: str) -> type:
    """A kernel manager class whose kernels are forks of the server at `address`, reached over Unix sockets."""
    import uuid

    from jupyter_client.manager import AsyncKernelManager
    from jupyter_client.provisioning import LocalProvisioner
    from traitlets import Unicode

    from m4lib.pipeline.execute import connection_path

    class WarmProvisioner(LocalProvisioner):
        async def launch_kernel(self, cmd: list[str], **options: Any) -> Any:
            fork = Fork(address, {
                "kind": "kernel", "argv": cmd[cmd.index("ipykernel_launcher") + 1:],
                "cwd": str(options["cwd"]) if options.get("cwd") else os.getcwd(),
                "env": {"MPLBACKEND": INLINE, **(options.get("env") or os.environ)},
            })
            self.process: Any = fork
            self.pid = self.pgid = fork.pid  # a fork leads a session of its own
            return self.connection_info

        async def wait(self) -> int | None:
            code = 0
            if self.process:
                while (code := self.process.poll()) is None:
                    await asyncio.sleep(0.01)
                self.process.close()
                self.process = None
            return code

    class WarmKernelManager(AsyncKernelManager):
        transport = Unicode("ipc")
        connection_file = Unicode(connection_path())  # the class is made anew for every notebook

        async def _async_pre_start_kernel(self, **options: Any) -> Any:
            if self.provisioner is None:
                self.kernel_id = self.kernel_id or str(uuid.uuid4())
                self.provisioner = WarmProvisioner(parent=self, kernel_id=self.kernel_id, kernel_spec=self.kernel_spec)
            return await super()._async_pre_start_kernel(**options)

        async def _async_wait(self, pollinterval: float = 0.1) -> None:
            await super()._async_wait(pollinterval=min(pollinterval, 0.01))

    return WarmKernelManager


class WarmServer:
    """The server as a child process; a context manager. Starting it costs the imports, once."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="m4-warm-")
        self.address = str(Path(self.folder.name) / "s")
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> WarmServer:
        # one thread for linear algebra: threads do not survive a fork, and the cores run other notebooks
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
                       "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        self.process = subprocess.Popen([sys.executable, "-m", "m4lib.pipeline.warm", self.address], env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            assert self.process.stdin and self.process.stdout
            self.process.stdin.close()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
        self.folder.cleanup()

    def wait_ready(self) -> None:
        """Block until the imports are done; raises InfrastructureError when the server ended instead."""
        assert self.process is not None and self.process.stdout is not None
        if not Path(self.address).exists() and self.process.stdout.readline() != b"ready\n":
            raise InfrastructureError("The kernel server ended before it was ready.")

    def start(self, source: str | os.PathLike[str], target: str | os.PathLike[str], parameters: Mapping[str, Any],
              cwd: str | os.PathLike[str] | None = None) -> Fork:
        """Begin to execute a notebook in a fork of its own; `finish` takes the result."""
        self.wait_ready()
        return Fork(self.address, {
            "kind": "notebook", "source": str(Path(source).resolve()), "target": str(Path(target).resolve()),
            "parameters": {key: str(value) if isinstance(value, Path) else value for key, value in parameters.items()},
            "cwd": str(Path(cwd).resolve()) if cwd else None,
        })

    def run(self, source: str | os.PathLike[str], target: str | os.PathLike[str], parameters: Mapping[str, Any],
            cwd: str | os.PathLike[str] | None = None) -> tuple[float, str | None]:
        """Execute one notebook; returns seconds and the error, None when every cell ran."""
        return finish(self.start(source, target, parameters, cwd))


def finish(fork: Fork) -> tuple[float, str | None]:
    """Wait for a notebook's fork; seconds and error."""
    code = fork.wait()
    if not fork.answers:
        return 0.0, f"the process that ran the notebook ended with status {code}"
    answer = fork.answers[-1]
    return float(answer["seconds"]), answer["error"]


def register_engine(server: WarmServer, name: str = "m4-warm") -> str:
    """Make the server's kernels available as a papermill engine: `papermill.execute_notebook(..., engine_name=name)`."""
    from papermill.engines import NBClientEngine, papermill_engines

    server.wait_ready()

    class WarmEngine(NBClientEngine):
        @classmethod
        def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **options: Any) -> Any:
            options["kernel_manager_class"] = warm_kernel_manager(server.address)
            return super().execute_managed_notebook(nb_man, kernel_name, **options)

    papermill_engines.register(name, WarmEngine)
    return name


def run_many(
    jobs: Sequence[Job], *, workers: int = 2, cwd: str | os.PathLike[str] | None = None,
    on_done: Callable[[int, float, str | None], None] | None = None, stop_on_error: bool = False,
) -> list[tuple[float, str | None]]:
    """Execute notebooks, `workers` at once; a job is (source, target, parameters).

    Returns (seconds, error) for each job, in their order; `on_done(number, seconds, error)` is called as they end. With
    `stop_on_error` nothing new begins after a failure, what runs is finished, and jobs not begun carry the error
    "not started". An interrupt ends all kernels.
    """
    results: list[tuple[float, str | None]] = [(0.0, "not started")] * len(jobs)
    for number, seconds, error in _results(jobs, workers, cwd, stop_on_error):
        results[number] = (seconds, error)
        if on_done is not None:
            on_done(number, seconds, error)
    return results


def _results(
    jobs: Sequence[Job], workers: int, cwd: str | os.PathLike[str] | None, stop_on_error: bool
) -> Iterator[tuple[int, float, str | None]]:
    if not hasattr(os, "fork"):
        from m4lib.pipeline.execute import NotebookError, run_notebook

        for number, (source, target, parameters) in enumerate(jobs):
            error, begun = None, time.monotonic()
            try:
                run_notebook(Path(source), Path(target), parameters, cwd=Path(cwd) if cwd else None)
            except NotebookError as failure:
                error = str(failure)
            yield number, time.monotonic() - begun, error
            if error and stop_on_error:
                return
        return
    waiting, failed = list(enumerate(jobs)), False
    running: dict[Fork, int] = {}
    with WarmServer() as server, selectors.DefaultSelector() as selector:
        try:
            while running or (waiting and not (failed and stop_on_error)):
                while waiting and len(running) < max(workers, 1) and not (failed and stop_on_error):
                    number, (source, target, parameters) = waiting.pop(0)
                    fork = server.start(source, target, parameters, cwd)
                    running[fork] = number
                    selector.register(fork.connection, selectors.EVENT_READ, fork)
                for key, _ in selector.select(timeout=1.0):
                    fork = key.data
                    if fork.poll() is None:
                        continue
                    selector.unregister(fork.connection)
                    seconds, error = finish(fork)
                    failed |= error is not None
                    yield running.pop(fork), seconds, error
        finally:
            for fork in running:
                fork.close()


if __name__ == "__main__":
    serve(sys.argv[1])

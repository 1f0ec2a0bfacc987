"""Run one notebook through papermill: progress by cell, a kernel over IPC, an output notebook even when a cell fails."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from m4lib.errors import M4Error


class NotebookError(M4Error):
    """A notebook stopped at a cell; the message holds the cell's error and the path of the output notebook."""


class Progress:
    """One line on a terminal, rewritten in place; on a pipe, one line when the notebook ends."""

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self.label, self.stream, self.start = label, stream or sys.stderr, time.monotonic()
        self.live = self.stream.isatty()

    def elapsed(self) -> str:
        minutes, seconds = divmod(int(time.monotonic() - self.start), 60)
        return f"{minutes}:{seconds:02d}"

    def cell(self, number: int, total: int) -> None:
        if self.live:
            self.stream.write(f"\r\x1b[K{self.label}  cell {number}/{total}  {self.elapsed()}")
            self.stream.flush()

    def end(self, text: str) -> None:
        self.stream.write(("\r\x1b[K" if self.live else "") + f"{self.label}  {text}  {self.elapsed()}\n")
        self.stream.flush()


def connection_path() -> str:
    """A connection file of a kernel's own; its Unix sockets lie beside it (the default would be the working directory)."""
    import tempfile
    import uuid

    from jupyter_core.paths import jupyter_runtime_dir

    folder = jupyter_runtime_dir()
    if len(folder) > 50:  # a socket's path may have about a hundred characters
        folder = tempfile.gettempdir()
    Path(folder).mkdir(parents=True, exist_ok=True, mode=0o700)
    return str(Path(folder) / f"kernel-{uuid.uuid4()}.json")


def run_notebook(
    source: Path, target: Path, parameters: Mapping[str, Any], *, progress: Progress | None = None, cwd: Path | None = None,
    kernel_manager_class: Any = None,
) -> float:
    """Execute `source` with `parameters` and leave the executed notebook at `target`. Returns seconds.

    The output is written cell by cell beside the target and renamed at the end; when a cell fails, it is renamed too,
    so that the error can be read where it happened, and NotebookError is raised.
    """
    import papermill
    from jupyter_client.manager import AsyncKernelManager
    from papermill.engines import NBClientEngine, papermill_engines
    from papermill.exceptions import PapermillExecutionError
    from traitlets import Unicode

    logging.getLogger("papermill").setLevel(logging.ERROR)

    class ProgressEngine(NBClientEngine):
        """papermill's own engine; it only says which cell has begun."""

        @classmethod
        def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **options: Any) -> Any:
            begin, total = nb_man.cell_start, len(nb_man.nb.cells)

            def cell_start(cell: Any, cell_index: int | None = None, **more: Any) -> Any:
                if progress is not None and cell_index is not None:
                    progress.cell(cell_index + 1, total)
                return begin(cell, cell_index, **more)

            nb_man.cell_start = cell_start
            return super().execute_managed_notebook(nb_man, kernel_name, **options)

    class LocalKernelManager(AsyncKernelManager):
        """A kernel over Unix sockets: no port to race for, nothing that another user of the machine could read."""

        transport = Unicode("ipc")
        connection_file = Unicode(connection_path())

    papermill_engines.register("m4-progress", ProgressEngine)
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".running-{os.getpid()}-{target.name}")
    begun = time.monotonic()
    # no debugger notice, and no progress bars inside a batch: the batch has its own
    quiet = {"PYDEVD_DISABLE_FILE_VALIDATION": "1", "TQDM_DISABLE": "1"}
    environment = {key: os.environ.get(key) for key in quiet}
    os.environ.update(quiet)
    try:
        papermill.execute_notebook(
            str(source), str(beside), parameters=dict(parameters), engine_name="m4-progress", progress_bar=False,
            log_output=False, cwd=str(cwd) if cwd else None, kernel_name="python3",
            kernel_manager_class=kernel_manager_class or LocalKernelManager,
        )
    except PapermillExecutionError as error:
        os.replace(beside, target)
        raise NotebookError(
            f"{source.name} stopped at cell {error.exec_count}: {error.ename}: {str(error.evalue).splitlines()[0] if error.evalue else ''} "
            f"(the output notebook is {target})"
        ) from error
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    finally:
        for key, value in environment.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value
    os.replace(beside, target)
    return time.monotonic() - begun

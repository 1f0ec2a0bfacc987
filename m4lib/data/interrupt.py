"""Ctrl-C while DuckDB works: an interrupt like any other, and nothing of DuckDB goes on behind it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb


@contextmanager
def closing(con: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """Close `con` at the end. DuckDB's own errors for Ctrl-C leave as KeyboardInterrupt."""
    try:
        yield con
    except BaseException as error:
        con.interrupt()  # closing would wait for what DuckDB's threads are still doing
        if isinstance(error, RuntimeError | duckdb.InterruptException) and "interrupt" in str(error).lower():
            raise KeyboardInterrupt from error
        raise
    finally:
        con.close()

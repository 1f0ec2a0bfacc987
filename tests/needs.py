"""What a test needs of its machine: a skip where a user's machine may lack it, a failure where nothing may be lacking."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def lacking(what: str, variable: str | None = None) -> NoReturn:
    """Skip with the sentence `what`, or fail in CI and where the environment says `variable`=1."""
    if os.environ.get("CI") == "true" or (variable and os.environ.get(variable) == "1"):
        pytest.fail(f"{what} (this run must have it)")
    pytest.skip(what)

"""The whole check, as `make test` runs it: lint, types, unit and Docker tests, then nbval on the committed notebooks."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def step(name: str, *command: str, env: dict[str, str]) -> int:
    print(f"== {name}", flush=True)
    begun = time.monotonic()
    status = subprocess.run(command, cwd=ROOT, env=env).returncode
    print(f"== {name}: {'passed' if status == 0 else f'FAILED ({status})'} in {time.monotonic() - begun:.0f} s", flush=True)
    return status


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="m4-test-") as folder:
        # the demo test fills this folder and nbval goes on from it, so that no stage is computed twice
        env = {**os.environ, "M4_OUTPUTS": folder, "M4_ROOT": str(ROOT), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        bin_ = Path(sys.executable).parent
        steps = [
            ("lint", str(bin_ / "ruff"), "check", "."),
            ("types", str(bin_ / "mypy")),
            ("tests", sys.executable, "-m", "pytest", "tests", "-q", "--durations=15"),
            ("notebooks (nbval)", sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "--nbval-cell-timeout=600", "--timeout=0",
             "--nbval-sanitize-with", "tests/nbval.cfg", "-q", "-p", "no:cacheprovider", "notebooks"),
        ]
        # the committed outputs were made in a batch, which shows no progress bars
        failed = [name for name, *command in steps if step(name, *command, env={**env, "TQDM_DISABLE": "1"} if "nbval" in name else env)]
    if failed:
        print(f"FAILED: {', '.join(failed)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())

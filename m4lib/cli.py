"""The command line: thin. Each room registers its commands in a module of its own, loaded only when asked for."""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import sys
from collections.abc import Sequence

from m4lib.errors import M4Error

# command -> (module with `configure(parser)` and `run(args) -> int`, one-line help)
COMMANDS: dict[str, tuple[str, str]] = {
    "build": ("m4lib.data.cli_build", "ingest a PhysioNet-layout folder and build all derived concepts"),
    "synthesize": ("m4lib.data.cli_synthesize", "write a synthetic PhysioNet-layout folder of any size"),
    "reference": ("m4lib.tasks.cli_reference", "write reference outputs, one Parquet file a task"),
    "taskdb": ("m4lib.tasks.cli_taskdb", "write the agent's database of a task: targets removed, native or transformed schema"),
    "condition": ("m4lib.harness.cli_condition", "show the files and the prompt that a run receives"),
    "run": ("m4lib.harness.cli_run", "run campaigns, or go on with them: dispatch, evaluate, index"),
    "evaluate": ("m4lib.evaluation.cli", "score one output against one reference, as JSON on stdout"),
    "paper": ("m4lib.analysis.cli", "write every table and figure, beside the printed numbers"),
    "evidence": ("m4lib.evidence.cli", "package, verify, scan, fetch or index evidence"),
    "demo": ("m4lib.pipeline.cli_demo", "run all stages as notebooks, in sequence, redoing only what changed"),
    "doctor": ("m4lib.pipeline.cli_doctor", "say what is installed, which data is there and whether Docker answers"),
}

# a path that cannot be used: the user's mistake, whichever function met it
MISTAKES = {
    errno.ENOENT, errno.EACCES, errno.EPERM, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.EROFS, errno.ENAMETOOLONG,
    errno.ELOOP, errno.ENOSPC, errno.EDQUOT,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. 0: all of it worked; 1: a check failed; 2: a user's mistake, one sentence on stderr."""
    argv = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="python -m m4lib", description="M4Bench, Jupyter-first: each command below has its own --help.")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    for name, (_, text) in COMMANDS.items():
        if argv[:1] == [name]:
            module = importlib.import_module(COMMANDS[name][0])
            sub = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
            module.configure(sub)
            sub.set_defaults(run=module.run)
        else:
            commands.add_parser(name, help=text, add_help=False)
    args = parser.parse_args(argv)
    try:
        return int(args.run(args) or 0)
    except M4Error as error:
        print(f"m4lib {args.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"m4lib {args.command}: interrupted; what was finished is kept, call again to go on.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 1
    except OSError as error:
        if error.filename is None or error.errno not in MISTAKES:
            raise
        place = error.filename2 or error.filename
        print(f"m4lib {args.command}: {os.fsdecode(place)} cannot be read or written: {error.strerror}.", file=sys.stderr)
        return 2

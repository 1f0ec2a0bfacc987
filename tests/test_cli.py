"""The command line as a whole: a path that cannot be used is one sentence and status 2, whichever command meets it."""

from __future__ import annotations

import argparse
import importlib

import pytest

from m4lib.cli import COMMANDS, main

EVALUATE = ["evaluate", "--task", "mimic-meld-24h", "--output", "r.csv", "--reference", "r.csv", "--explain"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_bytes(b"\x00\xff\xc4")
    (tmp_path / "r.csv").write_text("stay_id,subject_id,hadm_id,meld\n1,1,1,6\n")
    return tmp_path


@pytest.mark.parametrize("arguments", [
    ["synthesize", "--source", "eicu", "--stays", "1", "--quiet", "--out", "file/in"],
    ["paper", "--out", "file"],  # not quiet: a table that was computed first would be told
    ["paper", "--out", "file/in"],
    [*EVALUATE, "file/in.parquet"],
    [*EVALUATE, "."],
    ["run", "--dry-run", "--params", "file"],
    ["demo", "--params", "file"],
    ["doctor", "--params", "file"],
    ["build", "--source", "mimic-iv", "--raw", "file", "--db", "x.duckdb"],
    ["build", "--source", "mimic-iv", "--raw", "", "--db", "x.duckdb"],
    ["reference", "--task", "all", "--db", "file", "--out", "out"],
    ["evidence", "verify", "file"],
], ids=" ".join)
def test_path_that_cannot_be_used(arguments, here, project, monkeypatch, capsys):
    monkeypatch.setenv("M4_ROOT", str(project.root))
    before = sorted(here.rglob("*"))
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"m4lib {arguments[0]}: ") and err.count("\n") == 1 and err.rstrip()[-1] in ".!"
    assert sorted(here.rglob("*")) == before


def parsers(parser):
    """A command's parser and those of its subcommands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub in action.choices.values():
                yield from parsers(sub)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_describes_every_option_and_says_its_default(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    head = capsys.readouterr().out.split("\n\n")[1]
    assert head[0].isupper() and head.endswith(".") and ": " not in head[:10]
    top = argparse.ArgumentParser(description=head)
    importlib.import_module(COMMANDS[command][0]).configure(top)
    for parser in parsers(top):
        assert parser.description and parser.description.endswith("."), parser.prog
        for action in parser._actions:
            if isinstance(action, (argparse._HelpAction, argparse._SubParsersAction)):
                continue
            assert action.help, (parser.prog, action.dest)
            assert action.required or "default: " in action.help, (parser.prog, action.dest)


def test_fault_of_the_program_keeps_its_traceback(monkeypatch):
    from m4lib.evidence import cli

    def broken(args):
        raise OSError("no file is named here")

    monkeypatch.setattr(cli, "run", broken)
    with pytest.raises(OSError, match="no file"):
        main(["evidence", "scan", "."])

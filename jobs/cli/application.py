"""The command line: global options, one subcommand a module, errors as one line.

argparse and not typer: parsing the same nine commands took 0.37 s of CPU with typer 0.29 and 0.035 s with argparse
(medians of 9), and typer tells an error in five lines. Help, tables and progress bars are rich's, imported where used.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

from rich_argparse import RichHelpFormatter

from shedding.config import Settings
from shedding.errors import SluiceError, innermost, lines
from shedding.interruption import INTERRUPTED, ending_at_once, was_interrupted

COMMANDS = (
    "init", "check", "profile", "ingest", "run", "plan-backfill", "compare", "plan", "verify", "show", "explain",
    "status", "report", "alerts", "calibrate",
)  # fmt: skip
BAD_USAGE = 2


class _OneLineParser(argparse.ArgumentParser):
    """Says what is wrong with the arguments in one line, and where the help is; the help itself has colours."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, formatter_class=RichHelpFormatter)

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_USAGE, f"{self.prog}: error: {message}; see {self.prog} --help\n")


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = _OneLineParser(prog="sluice", description="Error-budgeted load shedding for Spark pipelines.")
    top.add_argument("--warehouse", metavar="DIR", help="root of all tables (SLUICE_WAREHOUSE)")
    top.add_argument("--specs", metavar="DIR", help="directory of datasets/ and queries/ (SLUICE_SPECS)")
    top.add_argument("--debug", action="store_true", help="show the traceback of an error")
    subparsers = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        importlib.import_module(f"jobs.cli.{name.replace('-', '_')}").configure(subparsers)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code, 2 where it could not be carried out."""
    arguments = parser().parse_args(argv)
    try:
        with ending_at_once(_line("interrupted")):
            settings = Settings.load(warehouse=arguments.warehouse, specs=arguments.specs)
            return int(arguments.run(arguments, settings))
    except (Exception, KeyboardInterrupt) as error:
        if was_interrupted() or isinstance(error, KeyboardInterrupt):
            return _failed("interrupted", arguments.debug, INTERRUPTED)
        return _reported(error, arguments.debug)


def _reported(error: Exception, debug: bool) -> int:
    if isinstance(error, BrokenPipeError):
        # The reader (`| head`) has enough; give the interpreter nothing to flush into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, SluiceError):
        for line in lines(error):
            print(line, file=sys.stderr)
        return _failed(str(error), debug)
    # A defect or the environment: still one line, the rest on demand.
    return _failed(f"{type(error).__name__}: {innermost(error)}; --debug shows where", debug)


def _failed(message: str, debug: bool, code: int = BAD_USAGE) -> int:
    if debug:
        traceback.print_exc()
    print(_line(message), file=sys.stderr)
    return code


def _line(message: str) -> str:
    return f"sluice: error: {' '.join(message.split())}"

"""`sluice report`: the error budgets as one HTML file that needs no server, no network and no Spark."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from shedding.config import Settings
from shedding.errors import SluiceError
from shedding.spec import load_catalog


def configure(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser("report", help="error budgets, errors and costs as one HTML file")
    parser.add_argument("query", metavar="QUERY", nargs="?", help="left out: every query, with a front page")
    parser.add_argument("--out", type=Path, metavar="FILE.html", required=True, help="the file to write")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """0 once the file is written."""
    from jobs.report.figures import QueryFigures
    from jobs.report.pages import report_file

    file: Path = arguments.out
    if not file.absolute().parent.is_dir() or file.is_dir():
        raise SluiceError(f"--out {file}: no file in a directory that exists; make the directory, or name another file")
    catalog = load_catalog(settings.specs)
    settings.require_warehouse()
    queries = [catalog.query(arguments.query)] if arguments.query else list(catalog.queries.values())
    now = time.time_ns() // 1000
    text = report_file(settings, [QueryFigures.load(settings, query, now) for query in queries])
    file.write_text(text, encoding="utf-8")
    print(f"{file}: {len(queries)} {'query' if len(queries) == 1 else 'queries'}, {len(text.encode()) / 1000:.0f} kB")
    return 0

"""`sluice verify`: what was published without an audit, computed exactly afterwards; publishes nothing."""

from __future__ import annotations

import argparse
import sys
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from jobs.cli.arguments import add_interval, required_interval
from jobs.cli.progress import Progress
from jobs.cli.rendering import render
from shedding.config import Settings
from shedding.spec import load_catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def configure(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser("verify", help="published, unaudited slots against the exact answer; changes none")
    parser.add_argument("query", metavar="QUERY")
    add_interval(parser, required=True)
    parser.add_argument("--sample", type=_count, metavar="N", help="N of the slots, chosen by hash; left out: all")
    parser.add_argument("--format", choices=("table", "csv", "json"), default="table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """0 unless a limit was broken more often than the gate's risk allows, beyond chance; then 1."""
    catalog = load_catalog(settings.specs)
    query = catalog.query(arguments.query)
    span = required_interval(arguments)
    from jobs.verify import verify
    from shedding.compare.promise import COLUMNS
    from shedding.spark.session import spark_session

    with ExitStack() as stack, Progress(f"verify {query.name}") as progress:

        def spark() -> SparkSession:
            return stack.enter_context(spark_session(settings, f"sluice verify {query.name}"))

        run_id = f"cli__{uuid.uuid4().hex[:12]}"
        found = verify(spark, settings, catalog, query.name, span, run_id, arguments.sample, progress.step)
    is_table = arguments.format == "table"
    text = as_text(found.lines) if is_table else render(found.lines, COLUMNS, arguments.format)
    if text:
        print(text)
    print(found, file=sys.stdout if is_table else sys.stderr)
    for sentence in found.broken:
        print(sentence, file=sys.stderr)
    return 1 if found.broken else 0


def as_text(lines: Sequence[Mapping[str, Any]]) -> str:
    """The report for people: a table a part, each with the columns that it has a word on."""
    from shedding.compare.promise import COLUMNS, COVERAGE, HOUR, LIMIT, SIZE, VERDICT

    titles = {
        LIMIT: "Published windows truly over a limit",
        COVERAGE: "Coverage of the published 95 % intervals",
        HOUR: "Estimate and truth by hour of the window's start, UTC",
        SIZE: "Estimate and truth by rows of the key",
        VERDICT: "Estimate and truth by kind of verdict",
    }
    parts = []
    for part, title in titles.items():
        own = [line for line in lines if line["part"] == part]
        columns = [name for name in COLUMNS[1:] if any(line[name] is not None for line in own)]
        if own:
            parts.append(f"{title}\n{render(own, columns, 'table')}\n")
    return "\n".join(parts)


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of slots; write e.g. 20")
    return int(text)

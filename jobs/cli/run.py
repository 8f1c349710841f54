"""`sluice run`: every slot of an interval through aggregate, gate and publish."""

from __future__ import annotations

import argparse
import uuid
from contextlib import ExitStack
from typing import TYPE_CHECKING

from jobs.cli.arguments import add_interval, required_interval
from jobs.cli.progress import Progress
from shedding.config import Settings
from shedding.spec import load_catalog
from shedding.spec.times import format_instant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def configure(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser("run", help="aggregate, gate and publish every slot in [from, to)")
    parser.add_argument("query", metavar="QUERY")
    add_interval(parser, required=True)
    parser.add_argument("--fill", action="store_true", help="compute the windows that shed.windows drops, too")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """0 where every slot was published, 1 where the gate refused one."""
    catalog = load_catalog(settings.specs)
    query = catalog.query(arguments.query)
    span = required_interval(arguments)
    slots = query.timeline.slots_between(*span)
    from jobs.run_slot import require_raw, run_slot
    from shedding.spark.session import spark_session

    require_raw(settings, catalog, query.name, slots)
    refused, advice = 0, dict[str, None]()
    run_id = f"cli__{uuid.uuid4().hex[:12]}"
    with ExitStack() as stack, Progress(f"run {query.name}", total=len(slots)) as progress:

        def spark() -> SparkSession:
            return stack.enter_context(spark_session(settings, f"sluice run {query.name}", shared=True))

        for slot in slots:
            progress.step(f"slot {format_instant(slot)}")
            outcome = run_slot(spark, settings, catalog, query.name, slot, run_id, fill=arguments.fill)
            refused += not outcome.published
            advice |= dict.fromkeys(outcome.advice)
            print(f"{format_instant(slot)}  {outcome}")
    print(*advice, sep="\n", end="\n" if advice else "")
    if refused:
        print(f"{refused} of {len(slots)} slots were refused; why: sluice show verdicts/{query.name}")
    return 1 if refused else 0

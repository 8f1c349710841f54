"""`sluice run`: every slot of an interval through aggregate, gate and publish."""

from __future__ import annotations

import argparse
import uuid
from contextlib import ExitStack
from typing import TYPE_CHECKING

from jobs.cli.arguments import add_interval, required_interval
from jobs.cli.progress import Progress
from shedding.config import Settings
from shedding.errors import SluiceError, SpecError
from shedding.spec import Catalog, QuerySpec, load_catalog
from shedding.spec.times import format_instant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def configure(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser("run", help="aggregate, gate and publish every slot in [from, to)")
    parser.add_argument("query", metavar="QUERY", nargs="?")
    parser.add_argument("--pool", metavar="POOL", help="all queries of a pool instead, from one scan of their rows")
    add_interval(parser, required=True)
    parser.add_argument("--fill", action="store_true", help="compute the windows that shed.windows drops, too")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """0 where every slot was published, 1 where the gate refused one."""
    catalog = load_catalog(settings.specs)
    queries = _queries(arguments, catalog)
    span = required_interval(arguments)
    slots = queries[0].timeline.slots_between(*span)
    name = arguments.pool or arguments.query
    from jobs.run_slot import Outcome, require_raw, run_pool_slot, run_slot
    from shedding.spark.session import spark_session

    for query in queries:
        require_raw(settings, catalog, query.name, slots)
    refused, advice = dict.fromkeys([query.name for query in queries], 0), dict[str, None]()
    run_id = f"cli__{uuid.uuid4().hex[:12]}"
    with ExitStack() as stack, Progress(f"run {name}", total=len(slots)) as progress:

        def spark() -> SparkSession:
            return stack.enter_context(spark_session(settings, f"sluice run {name}", shared=True))

        def outcomes(slot: int) -> dict[str, Outcome]:
            if arguments.pool is not None:
                return run_pool_slot(spark, settings, catalog, name, slot, run_id)
            return {name: run_slot(spark, settings, catalog, name, slot, run_id, fill=arguments.fill)}

        for slot in slots:
            progress.step(f"slot {format_instant(slot)}")
            for member, outcome in outcomes(slot).items():
                refused[member] += not outcome.published
                advice |= dict.fromkeys(outcome.advice)
                print(f"{format_instant(slot)}  {member + '  ' if arguments.pool else ''}{outcome}")
    print(*advice, sep="\n", end="\n" if advice else "")
    for member, count in refused.items():
        if count:
            print(f"{count} of {len(slots)} slots were refused; why: sluice show verdicts/{member}")
    return 1 if any(refused.values()) else 0


def _queries(arguments: argparse.Namespace, catalog: Catalog) -> list[QuerySpec]:
    """The one query that is named, or all of the pool that is."""
    if (arguments.query is None) == (arguments.pool is None):
        raise SluiceError("name one QUERY, or a pool by --pool")
    if arguments.pool is None:
        return [catalog.query(arguments.query)]
    queries = catalog.pool(arguments.pool).queries()
    if not queries:
        raise SpecError(f"pool {arguments.pool} has no valid member; `sluice check` says why")
    return queries

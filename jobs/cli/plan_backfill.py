"""`sluice plan-backfill`: what a backfill would compute, why, and about how long it would take; runs nothing."""

from __future__ import annotations

import argparse
import math

from jobs.cli.arguments import add_interval, required_interval
from jobs.cli.rendering import print_rows
from shedding.config import Settings
from shedding.spec import load_catalog
from shedding.spec.times import format_instant


def configure(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser("plan-backfill", help="which slots of [from, to) are out of date, why, at what cost")
    parser.add_argument("query", metavar="QUERY")
    add_interval(parser, required=True)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """0; a row a slot, and the sum of those that are out of date and need not wait."""
    from jobs.backfill_plan import plan_backfill

    catalog = load_catalog(settings.specs)
    query = catalog.query(arguments.query)
    settings.require_warehouse()
    planned = plan_backfill(settings, catalog, query, query.timeline.slots_between(*required_interval(arguments)))
    rows = [
        {
            "slot": format_instant(one.slot), "state": one.reason, "waits": bool(one.waits_for),
            "audit": one.audited, "rows": round(one.rows),
            "seconds": None if math.isnan(one.seconds) else round(one.seconds, 1),
        }
        for one in planned
    ]  # fmt: skip
    print_rows(rows, ["slot", "state", "waits", "audit", "rows", "seconds"])
    due = [one for one in planned if one.is_stale and not one.waits_for]
    seconds = sum(one.seconds for one in due)
    took = "no earlier slot says how long" if math.isnan(seconds) else f"about {seconds:.0f} s one after another"
    print(f"\n{len(due)} of {len(planned)} slots to compute: {sum(one.rows for one in due):.0f} rows, {took}")
    for one in [one for one in planned if one.waits_for][:1]:
        print(f"{format_instant(one.slot)} waits for {one.waits_for}")
    if due:
        print(f"sluice run {query.name} --from {format_instant(due[0].slot)} "
              f"--to {format_instant(due[-1].slot + query.timeline.slot)}")  # fmt: skip
    return 0

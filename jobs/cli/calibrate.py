"""`sluice calibrate`: measure what legs cost on this machine, and write it beside the queries."""

from __future__ import annotations

import argparse

from jobs.cli.progress import Progress
from jobs.cli.rendering import render
from shedding.config import Settings, costs_file
from shedding.costs import Costs

ROWS, KEYS = 2_000_000, 200_000


def configure(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser("calibrate", help="measure what exact and sampled legs cost on this machine")
    parser.add_argument("--rows", type=int, default=ROWS, metavar="N", help=f"rows of a made day (default {ROWS})")
    parser.add_argument("--keys", type=int, default=KEYS, metavar="N", help=f"keys of a made day (default {KEYS})")
    parser.add_argument("--dry-run", action="store_true", help="print what was measured, write nothing")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """0 once the coefficients are printed and, unless that was not wanted, written."""
    from jobs.calibration import calibrate
    from shedding.spark.session import spark_session

    with Progress("calibrate") as progress, spark_session(settings, "sluice calibrate") as spark:
        costs = calibrate(spark, settings, arguments.rows, arguments.keys, progress.step)
    print(as_text(costs))
    if not arguments.dry_run:
        file = costs_file(settings.specs)
        file.write_text(costs.model_dump_json(indent=2) + "\n")
        print(f"written to {file}: commit it with the queries, so that every machine decides alike")
    return 0


def as_text(costs: Costs) -> str:
    """The coefficients for people: seconds to start, microseconds of a row read, a row kept and a group."""
    lines = [
        {"leg": name, "start s": round(line.start, 2),
         **{f"{part} us": round(1e6 * getattr(line, part), 4) for part in ("row", "kept", "group")}}
        for name, line in (("exact", costs.exact), ("plain", costs.plain), ("ranked", costs.ranked))
    ]  # fmt: skip
    return render(lines, list(lines[0]), "table")

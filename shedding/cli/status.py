"""`sluice status`: what has arrived, and what was published."""

from __future__ import annotations

import argparse
from typing import Any

from shedding.cli.rendering import render
from shedding.config import Settings
from shedding.spec import load_catalog
from shedding.spec.durations import as_datetime


def configure(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser("status", help="datasets (rows, watermark, quarantined) and queries (last verdict)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """0; what is not there yet shows as empty."""
    catalog = load_catalog(settings.specs)
    datasets = [dataset_status(settings, name) for name in sorted(catalog.datasets)]
    print(render(datasets, ["dataset", "rows", "watermark", "quarantined"], "table"))
    print()
    queries = [query_status(settings, name) for name in sorted(catalog.queries)]
    print(render(queries, ["query", "last_slot", "last_verdict", "slots_published"], "table"))
    if catalog.problems:
        print(f"\n{len(catalog.problems)} problems in the specifications; see: sluice check")
    return 0


def dataset_status(settings: Settings, name: str) -> dict[str, Any]:
    """Visible rows, watermark and quarantined rows of a dataset."""
    from shedding.arrivals import Arrivals

    arrivals = Arrivals.load(settings, name)
    watermark = arrivals.watermark
    return {
        "dataset": name,
        "rows": sum(source.kept for source in arrivals.visible),
        "watermark": as_datetime(watermark) if watermark is not None else None,
        "quarantined": sum(source.quarantined for source in arrivals.visible),
    }


def query_status(settings: Settings, name: str) -> dict[str, Any]:
    """Last judged slot with its verdict, and how many slots are published."""
    from shedding.tables import Table

    published = Table(settings.table("published", name))
    verdicts = Table(settings.table("verdicts", name))
    slots = set(published.read(columns=["slot"])["slot"].to_pylist()) if published.exists() else set()
    status: dict[str, Any] = {"query": name, "last_slot": None, "last_verdict": "none", "slots_published": len(slots)}
    if verdicts.exists():
        rows = verdicts.read(columns=["slot", "attempt", "check", "severity", "passed"]).to_pylist()
        last = max(((row["slot"], row["attempt"]) for row in rows), default=None)
        if last is not None:
            judged = [row for row in rows if (row["slot"], row["attempt"]) == last]
            failed = [row["check"] for row in judged if not row["passed"] and row["severity"] == "fail"]
            status["last_slot"] = last[0]
            status["last_verdict"] = f"failed: {', '.join(sorted(failed))}" if failed else "passed"
    return status

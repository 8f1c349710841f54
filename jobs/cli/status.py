"""`sluice status`: what has arrived, and what was published."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from jobs.cli.rendering import print_rows
from shedding.config import Settings
from shedding.spec import Catalog, load_catalog
from shedding.spec.times import as_datetime, format_instant, parse_instant


def configure(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser("status", help="datasets (rows, watermark, quarantined) and queries (last verdict)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """0; what is not there yet shows as empty."""
    catalog = load_catalog(settings.specs)
    settings.require_warehouse()
    datasets = [dataset_status(settings, name) for name in sorted(catalog.datasets)]
    print_rows(datasets, ["dataset", "rows", "watermark", "quarantined"])
    print()
    queries = [query_status(settings, name) for name in sorted(catalog.queries)]
    print_rows(queries, ["query", "last_slot", "last_verdict", "slots_published"])
    print()
    waiting = [f"{status['query']}: {waits}" for status in queries if (waits := next_slot(settings, catalog, status))]
    print(*waiting, sep="\n", end="\n" if waiting else "")
    if catalog.problems:
        print(f"\n{len(catalog.problems)} problems in the specifications; see: sluice check")
    return 0


def dataset_status(settings: Settings, name: str) -> dict[str, Any]:
    """Visible rows, watermark and quarantined rows of a dataset."""
    from shedding.ingest.arrivals import Arrivals

    arrivals = Arrivals.load(settings, name)
    watermark = arrivals.watermark
    return {
        "dataset": name,
        "rows": sum(source.kept for source in arrivals.visible),
        "watermark": as_datetime(watermark) if watermark is not None else None,
        "quarantined": sum(source.quarantined for source in arrivals.visible),
    }


def next_slot(settings: Settings, catalog: Catalog, status: Mapping[str, Any]) -> str:
    """What the slot after the query's last one waits for; empty where it never ran, or its rows have come."""
    from jobs.run_slot import missing_raw

    query = catalog.queries[status["query"]]
    if status["last_slot"] is None:
        return ""
    slot = parse_instant(status["last_slot"]) + query.timeline.slot
    missing = missing_raw(settings, catalog, query, slot)
    told = "; ".join(f"{name} {what}" for name, what in missing.items())
    return f"slot {format_instant(slot)} waits: {told}" if told else ""


def query_status(settings: Settings, name: str) -> dict[str, Any]:
    """The newest judged slot with the last verdict on it, and how many slots are published."""
    from expectations.verdict import read_verdict
    from shedding import warehouse

    published = warehouse.published(settings, name)
    verdicts = warehouse.verdicts(settings, name)
    slots = set(published.read(columns=["slot"])["slot"].to_pylist()) if published.exists() else set()
    status: dict[str, Any] = {"query": name, "last_slot": None, "last_verdict": "none", "slots_published": len(slots)}
    rows = verdicts.read(columns=["slot", "at", "run_id"]).to_pylist() if verdicts.exists() else []
    last = max(rows, key=lambda row: (row["slot"], row["at"]), default=None)
    if last is not None:
        verdict = read_verdict(settings, name, parse_instant(last["slot"]), last["run_id"])
        failed = ", ".join(sorted(check.name for check in verdict.failed))
        status["last_slot"] = last["slot"]
        status["last_verdict"] = verdict.outcome if verdict.passed else f"failed: {failed}"
    return status

"""The page of a query with 2,000 windows in 1,000 slots: seconds to make it at first and again, and its bytes."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import Any

from jobs.report import figures, tables
from jobs.report.pages import report_file
from shedding.config import Settings
from shedding.spec.query import QuerySpec
from tests.jobs.report.many_slots import many_slots
from tests.jobs.report.specs import make_query
from tests.jobs.report.world import settings_of, world

SLOTS = 1000


def page(settings: Settings, query: QuerySpec) -> str:
    """The query's page as its tables stand."""
    return report_file(settings, [figures.QueryFigures.load(settings, query, now=0)])


def forget() -> None:
    """As in a process that has read nothing yet."""
    figures._SLOTS.clear()
    for cached in (tables._read, tables._written, tables._count):
        cached.cache_clear()


def run(bench: Any) -> None:
    """Make the page with and without what was read before."""
    with tempfile.TemporaryDirectory() as directory:
        small, large = world(Path(directory) / "small"), settings_of(Path(directory) / "large")
        query = make_query(objective={"share": 0.9, "over": "50 days"})
        many_slots(small, large, query, SLOTS)

        def first() -> str:
            forget()
            return page(large, query)

        size = len(gzip.compress(page(large, query).encode()))
        bench.measure({"first": first, "again": lambda: page(large, query)}, repetitions=5)
    bench.note(f"{2 * SLOTS} windows in {SLOTS} slots; the file is {size / 1000:.0f} kB gzipped")

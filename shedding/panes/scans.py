"""What the library asks of Spark; tests ask the same of rows held in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import pyarrow as pa

from shedding.ingest.side import Side
from shedding.rates import Rates
from shedding.scan.ask import Ask, Shared
from shedding.scan.read import Read
from shedding.spec.measure import MeasureSpec
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import Block
from shedding.stopwatch import Stopwatch
from shedding.stretches import Stretches


class Scans(Protocol):
    """Scans of raw rows, bound to one session and query."""

    def of(self, query: QuerySpec) -> Scans:
        """The same for another query."""

    def panes(
        self, side: Side, measures: Sequence[MeasureSpec], stretches: Stretches, legs: Sequence[Rates], exact: bool
    ) -> Read:
        """The rows of the stretches grouped by pane, key and class of legs."""

    def together(self, asks: Sequence[Ask]) -> Shared | None:
        """The panes that several asks want, none of them exact, from one pass over the rows of one dataset.

        The same bits as `panes` gives each. None where the rows are too many to share a pass.
        """

    def windows(self, side: Side, measures: Sequence[MeasureSpec], windows: Sequence[tuple[int, int]]) -> pa.Table:
        """Exact values that do not merge over panes, per window and key."""

    def spent(self, side: Side, stretches: Stretches, rates: Rates) -> pa.Table:
        """See to it that functions were called for the rows that the rates keep, and tell what it took.

        Columns item, rows and ns: the calls of each cost item and their nanoseconds, measured when they were made.
        """

    def blocks(self, side: Side, measures: Sequence[MeasureSpec], blocks: Sequence[Block]) -> pa.Table:
        """Exact values that do not merge over panes, per block (window_start) and key; blocks do not overlap."""


class WatchedScans:
    """The same scans, their seconds counted for the part `scan` of a run."""

    def __init__(self, scans: Scans, watch: Stopwatch) -> None:
        self._scans, self._watch = scans, watch

    def __getattr__(self, name: str) -> Callable[..., Any]:
        scan = getattr(self._scans, name)

        def watched(*arguments: Any, **options: Any) -> Any:
            with self._watch.part("scan"):
                return scan(*arguments, **options)

        return watched

"""What queries ask of a scan, before it is made: several may share one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shedding.ingest.side import Side
from shedding.rates import Rates
from shedding.scan.read import Read
from shedding.spec.measure import MeasureSpec
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import Timeline
from shedding.stretches import Stretches


@dataclass(frozen=True, slots=True)
class Ask:
    """What one query wants of the raw rows of some stretches: the panes of legs, with `exact` those of all rows."""

    query: QuerySpec
    side: Side
    measures: Sequence[MeasureSpec]
    stretches: Stretches
    legs: Sequence[Rates]
    exact: bool

    @property
    def timeline(self) -> Timeline:
        """The query's panes and windows."""
        return self.query.timeline

    @property
    def keys(self) -> Sequence[str]:
        """The key columns."""
        return self.side.keyset.keys

    @property
    def where(self) -> str | None:
        """The condition that rows meet."""
        return self.side.keyset.where

    @property
    def counted(self) -> bool:
        """Whether the legs' keys are, as far as is known, all that the rows have."""
        return self.side.known(self.stretches)


@dataclass(frozen=True, slots=True)
class Shared:
    """What one pass found for several asks, in their order, and how many rows it kept for any of them."""

    reads: Sequence[Read]
    kept_rows: float

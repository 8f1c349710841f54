"""Exact panes: a function of a side's raw rows and the specification, and of nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shedding.ingest.side import Side, rows_fingerprint
from shedding.panes.memory import Memory, Prints
from shedding.panes.panes import Panes
from shedding.panes.scans import Scans
from shedding.panes.side_scan import SideScan
from shedding.spec.fingerprints import panes_fingerprint
from shedding.spec.measure import MeasureSpec
from shedding.spec.shed import EXACT
from shedding.stretches import Stretches


class ExactSource(Protocol):
    """Where exact panes come from: a memory, or an experiment that keeps its panes to itself."""

    side: Side
    measures: list[MeasureSpec]

    def exact(self, slot: int) -> Panes:
        """The exact panes of a slot."""

    def fetch_exact(self, slots: Sequence[int]) -> None:
        """A hint that these will be wanted."""


class ExactPanes:
    """The exact panes of one side, read where they are remembered and computed where they are not."""

    def __init__(self, memory: Memory, scans: Scans) -> None:
        self.memory, self.side, self.measures = memory, memory.side, memory.measures
        self.scan = SideScan(memory.query, memory.side, memory.measures, scans)

    def exact(self, slot: int, within: Stretches | None = None) -> Panes:
        """The exact panes of a slot: all that windows need, or those of the stretches among them."""
        self.fetch_exact([slot])
        demand = self.memory.missing(slot, [EXACT], within)
        if demand is not None:
            self.memory.fill(demand, self.scan.legs(slot, demand.stretches, (), exact=True), self.prints)
        return self.memory.legs(slot, [EXACT], within)[EXACT]

    def fetch_exact(self, slots: Sequence[int]) -> None:
        """Read what is fresh of these slots in one go."""
        self.memory.fetch(slots, [EXACT], self.prints)

    def prints(self, slot: int, leg: str, stretches: Stretches) -> Prints:
        """What exact panes are a function of: the raw rows of their stretches, and their part of the specification."""
        spec = panes_fingerprint(self.memory.query, self.side.keyset, leg)
        return Prints(rows_fingerprint([self.side], [stretches]), spec)

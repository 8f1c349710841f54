"""The panes of an experiment, kept to itself: nothing of it reaches the warehouse.

Rates need exact panes and arrival counts only, never a sample, so all slots and legs of an experiment are two scans of
each dataset: one for the exact panes of all slots, one for all legs at once, each slot with its own rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shedding.compare.oracle import oracle_rates, own_concept
from shedding.ingest.side import Side
from shedding.keys import Keys, align
from shedding.panes.blocks import level_measures, with_levels
from shedding.panes.from_scan import Scanned
from shedding.panes.panes import Panes
from shedding.panes.scans import Scans
from shedding.planning.allocate import allocate
from shedding.planning.planner import learn
from shedding.planning.priors import Priors
from shedding.rates import Rates
from shedding.spec.measure import MeasureSpec
from shedding.spec.query import QuerySpec
from shedding.spec.shed import EXACT
from shedding.spec.timeline import slot_blocks
from shedding.stretches import Stretches

Floats = npt.NDArray[np.float64]
ORACLE = "oracle"
"""`optimal` with the statistics of the slot itself: what no pipeline can know beforehand. Only for comparison."""


class ExperimentScans(Scans, Protocol):
    """What an experiment asks of Spark, beside what a memory does."""

    def panes_by_slot(
        self, side: Side, measures: Sequence[MeasureSpec], stretches: Stretches, legs: Sequence[Rates]
    ) -> pa.Table:
        """The rows of many slots grouped by slot, pane, key and class of legs."""


@dataclass(frozen=True, slots=True)
class Leg:
    """A policy at a budget, a fraction of each slot's rows."""

    policy: str
    fraction: float

    @property
    def name(self) -> str:
        """What its panes are called in the experiment; no other leg's are, however near its budget."""
        return f"{self.policy}@{self.fraction!r}"


class Experiment:
    """The panes of one side of a query."""

    def __init__(self, query: QuerySpec, side: Side, measures: Sequence[MeasureSpec]) -> None:
        self.side, self.measures, self.query = side, list(measures), query
        self.kept: dict[tuple[int, str], Panes] = {}

    def panes(self, slot: int, leg: str) -> Panes:
        """The panes of one slot and leg."""
        return self.kept[slot, leg]

    def legs(self, slot: int, legs: Sequence[str]) -> dict[str, Panes]:
        """The panes of several legs of a slot."""
        return {leg: self.kept[slot, leg] for leg in legs}

    def exact(self, slot: int) -> Panes:
        """The exact panes of one slot."""
        return self.kept[slot, EXACT]

    def fetch(self, slots: Sequence[int], legs: Sequence[str]) -> None:
        """Nothing to fetch: an experiment computes all its panes at its start."""

    def fetch_exact(self, slots: Sequence[int]) -> None:
        """Nothing to fetch either."""

    def scan_exact(self, scans: Scans, slots: Sequence[int]) -> None:
        """The exact panes of the slots, from one scan, and one more where quantiles are among the measures."""
        scanned = scans.panes(self.side, self.measures, self._needed(slots), (), True).table
        wanted = level_measures(self.measures)
        blocks = {slot: slot_blocks(self.query.timeline, slot) for slot in slots}
        every = [block for slot in slots for block in blocks[slot]]
        levels = scans.blocks(self.side, wanted, every) if wanted and every else None
        for slot in slots:
            laid_out = Scanned(self._of(scanned, slot), self.side.keyset.keys, None)
            panes = laid_out.panes(None, self.measures, None)
            if levels is not None:
                own = self._of(levels, slot, "window_start")
                panes = with_levels(panes, own, blocks[slot], self.measures)
            self.kept[slot, EXACT] = panes

    def scan_legs(self, scans: ExperimentScans, slots: Sequence[int], rates: Sequence[Rates]) -> None:
        """The panes of every leg in the slots, from one scan; `rates` are over slot and key."""
        timeline = self.query.timeline
        scanned = scans.panes_by_slot(self.side, self.measures, self._needed(slots), rates)
        for slot in slots:
            counts = self.side.counts(timeline.slot_needed(slot))
            laid_out = Scanned(self._of(scanned, slot), self.side.keyset.keys, counts)
            for bit, leg in enumerate(rates):
                self.kept[slot, leg.leg] = laid_out.panes(bit, self.measures, _of_slot(leg, slot))

    def _needed(self, slots: Sequence[int]) -> Stretches:
        """What windows need of the slots, and of those between them."""
        return self.query.timeline.needed(slots[0], slots[-1] + self.query.timeline.slot)

    def _of(self, scanned: pa.Table, slot: int, column: str = "pane_start") -> pa.Table:
        """The slot's part of a scan of many."""
        start = scanned.column(column)
        return scanned.filter(pc.and_(pc.greater_equal(start, slot), pc.less(start, slot + self.query.timeline.slot)))


def rates_by_slot(
    query: QuerySpec, priors: Sequence[Priors], slots: Sequence[int], legs: Sequence[Leg]
) -> list[list[Rates]]:
    """For each side of the query each leg's rates over (slot, key), all over one list of keys."""
    tables: list[list[pa.Table]] = [[] for _ in priors]
    values: list[list[list[Floats]]] = [[[] for _ in legs] for _ in priors]
    for slot in slots:
        made = _slot_rates(query, priors, slot, legs)
        for at, by_leg in enumerate(made):
            keys = by_leg[0].keys
            columns = dict(zip(keys.names, keys.columns, strict=True))
            tables[at].append(pa.table({"_slot": pa.array([slot] * len(keys), pa.int64()), **columns}))
            for i, rates in enumerate(by_leg):
                values[at][i].append(rates.values)
    return [_joined(legs, *one) for one in zip(tables, values, strict=True)]


def _slot_rates(query: QuerySpec, priors: Sequence[Priors], slot: int, legs: Sequence[Leg]) -> list[list[Rates]]:
    """For each side the rates of every leg in one slot."""
    concept = learn(query, priors, slot)
    found: list[list[Rates]] = [[] for _ in priors]
    for leg in legs:
        rows = leg.fraction * concept.rows
        if leg.policy == ORACLE and rows:
            own = own_concept(query, priors[0], slot, concept)
            made: tuple[Rates, ...] = (Rates(leg.name, concept.keys, oracle_rates(query, own.concept, rows)),)
        else:
            policy = "uniform" if leg.policy == ORACLE else leg.policy  # a slot without rows has nothing to allocate
            made = concept.rates(leg.name, allocate(query, policy, concept, rows), rows)
        for side, rates in zip(found, made, strict=True):
            side.append(rates)
    return found


def _joined(legs: Sequence[Leg], tables: Sequence[pa.Table], values: Sequence[Sequence[Floats]]) -> list[Rates]:
    keys, places = align(tables, tables[0].column_names)
    assert np.array_equal(np.concatenate(places), np.arange(len(keys))), "slots in order, keys sorted in each"
    return [Rates(leg.name, keys, np.concatenate(found)) for leg, found in zip(legs, values, strict=True)]


def _of_slot(rates: Rates, slot: int) -> Rates:
    at = np.flatnonzero(rates.keys.columns[0].to_numpy() == slot)
    columns = tuple(column.take(pa.array(at, pa.int64())) for column in rates.keys.columns[1:])
    size = len(at) if rates.keys.names[1:] else 1
    return Rates(rates.leg, Keys(rates.keys.names[1:], columns, size), rates.values[at], rates.unseen)

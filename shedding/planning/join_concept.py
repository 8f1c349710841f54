"""What a slot of an equi-join knows before a row is read: the keys of both sides, and which of them can meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding.allocation.budget import Allocation
from shedding.allocation.concept import JoinConcept
from shedding.errors import NotReadyError
from shedding.ingest.side import Side
from shedding.keys import align
from shedding.planning.populations import block_of, concept_of, counted
from shedding.planning.priors import Priors
from shedding.planning.slot_concept import SlotConcept
from shedding.rates import Rates
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import Timeline

Flags = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class JoinSlotConcept(SlotConcept):
    """The concept of a join's slot: `keys` are all of either side, the strata those of `join`.

    lonely: keys that one side alone has here. Their rows join nothing, unless a window reaches into another slot
    where the other side has the key; then they are sampled like the slot at large, as their part of the budget.
    """

    join: JoinConcept
    lonely: Flags
    lonely_rows: float

    @property
    def counted(self) -> bool:
        """Where no measure reads a row of either side: the count of joined rows follows from the counts of both."""
        return self.join.left is None and self.join.right is None

    def strata_rows(self, budget: float) -> float:
        """The budget without the lonely rows' part of it."""
        return budget * (1 - self.lonely_rows / self.rows) if self.rows else budget

    def rates(self, leg: str, made: Allocation, budget: float) -> tuple[Rates, ...]:
        """The rates of the left and of the right side over all keys; 0 for rows that join nothing."""
        alone = min(1.0, budget / self.rows) if self.lonely_rows else 0.0
        found = []
        for side, values in zip((self.join.left, self.join.right), self.join.sides(made.rates), strict=True):
            rest = 0.0 if side is None else alone
            laid = np.where(self.lonely, rest, 0.0)
            laid[self.join.keys] = values
            found.append(Rates(leg, self.keys, laid, rest))
        return tuple(found)


def learn_join(query: QuerySpec, priors: Sequence[Priors], slot: int) -> JoinSlotConcept:
    """Strata for the keys that meet in some window of the slot, on the sides whose rows a measure reads.

    Where no measure reads any row (COUNT alone) there are none: the counts of arrival have the answer. CoD samples both
    sides then. A null key meets nothing.
    """
    timeline = query.timeline
    counts = [_counts(query, own.side, slot) for own in priors]
    names = priors[0].side.keyset.keys
    past = [keys.table() for own in priors for keys in own.keys(slot)]
    keys, places = align([*counts, *past], names)
    found = [counted(timeline, keys, place, table) for place, table in zip(places, counts, strict=False)]
    meets = _meeting(timeline, counts, places, len(keys)) & ~keys.has_null
    measured = [own.reads_rows for own in priors]
    sides = [
        concept_of(own, slot, populations, meets, known=True) if has else None
        for own, populations, has in zip(priors, found, measured, strict=True)
    ]
    rows = [populations.slot_rows for populations in found]
    straddles = timeline.slots_needed(slot) != [slot]
    lonely = (rows[0] + rows[1] > 0) & ~meets & ~keys.has_null & straddles
    alone = sum(float(own[lonely].sum()) for own, side in zip(rows, sides, strict=True) if side is not None)
    join = JoinConcept(np.flatnonzero(meets), *sides)
    total = float(sum(own.sum() for own in rows))
    return JoinSlotConcept(keys, join.concept(), total, 0.0, join, lonely, alone)


def _meeting(timeline: Timeline, counts: Sequence[pa.Table], places: Sequence[Ints], size: int) -> Flags:
    """The keys that both sides have in one window; where windows overlap, in one slot."""
    if timeline.slide < timeline.size:
        return np.asarray(np.isin(np.arange(size), places[0]) & np.isin(np.arange(size), places[1]))
    pairs = [np.stack([place, block_of(timeline, table)], axis=1) for place, table in zip(places, counts, strict=False)]
    both, times = np.unique(np.concatenate([np.unique(side, axis=0) for side in pairs]), axis=0, return_counts=True)
    found = np.zeros(size, dtype=np.bool_)
    found[both[times == 2, 0]] = True
    return found


def _counts(query: QuerySpec, side: Side, slot: int) -> pa.Table:
    counts = side.counts(query.timeline.slot_needed(slot))
    if counts is None:
        name = side.dataset.name
        raise NotReadyError(f"{query.name} joins {name}, whose keys are not counted yet; run `sluice ingest {name}`")
    return counts

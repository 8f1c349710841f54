"""What is known of a slot's keys before a row of it is read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shedding.allocation.budget import Allocation
from shedding.allocation.concept import Concept
from shedding.keys import Keys, align
from shedding.planning.populations import concept_of, counted, expected
from shedding.planning.priors import Priors
from shedding.rates import Rates
from shedding.spec.query import QuerySpec


@dataclass(frozen=True, slots=True)
class SlotConcept:
    """The keys, their statistics, and `rows`, all of the slot's."""

    keys: Keys
    concept: Concept
    rows: float
    unseen_share: float

    @property
    def counted(self) -> bool:
        """Whether the counts of arrival are the whole answer, so that no row is sampled."""
        return False

    def strata_rows(self, budget: float) -> float:
        """The part of a budget that the concept's strata may spend."""
        return budget

    def rates(self, leg: str, made: Allocation, budget: float) -> tuple[Rates, ...]:
        """The allocation as rates over the keys, one for each side of the query.

        A query without keys has its one key also in a slot without rows, where nothing was allocated to it.
        """
        values = made.rates if len(self.concept) else np.full(len(self.keys), made.unseen_rate)
        return (Rates(leg, self.keys, values, made.unseen_rate),)


@dataclass(frozen=True, slots=True)
class CountedConcept(SlotConcept):
    """The concept of a slot that is answered by the counts of arrival: nothing is allocated, every rate is 0."""

    @property
    def counted(self) -> bool:
        """It is."""
        return True

    def rates(self, leg: str, made: Allocation, budget: float) -> tuple[Rates, ...]:
        """No row of any key."""
        return (Rates(leg, self.keys, np.zeros(len(self.keys)), 0.0),)


def learn_side(query: QuerySpec, priors: Priors, slot: int) -> SlotConcept:
    """The concept of a slot of one dataset, from its arrival counts and its priors; without counts from these alone."""
    timeline, side = query.timeline, priors.side
    counts = side.counts(timeline.slot_needed(slot))
    if counts is None:
        found = expected(priors, slot)
    else:
        past = [keys.table() for keys in priors.keys(slot)] if side.keyset.keys else []
        keys, places = align([counts, *past], side.keyset.keys)
        found = counted(timeline, keys, places[0], counts)
    there = found.slot_rows > 0
    if counts is not None and not any(measure.traits.estimated for measure in query.measures):
        return CountedConcept(found.keys.only(there), Concept.grouped([]), found.rows, 0.0)
    return SlotConcept(
        keys=found.keys.only(there),
        concept=concept_of(priors, slot, found, there, known=counts is not None),
        rows=found.rows,
        unseen_share=found.unseen_share,
    )

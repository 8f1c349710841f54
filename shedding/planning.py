"""Which slots are audited, what a slot learns from, and the rates that follow.

Rates of a slot are a function of its own arrival counts and the exact panes of the last J audited slots
before it, never of a calibration: so a slot depends on at most 2 J audited slots (see `priors`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding.allocation import Allocation, Budget
from shedding.concept import Concept
from shedding.keys import Keys, align
from shedding.memory import Memory
from shedding.policies import get_policy
from shedding.priors import Priors, expected_rows
from shedding.rates import Rates
from shedding.sides import needed_counts
from shedding.spec.query import QuerySpec
from shedding.windows import Timeline

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class SlotConcept:
    """What is known of a slot's keys before a row of it is read."""

    keys: Keys
    concept: Concept
    rows: float
    unseen_share: float


class Planner:
    """The allocator's view of one query: makes the rates that a memory asks for, once per slot and leg."""

    def __init__(self, query: QuerySpec, priors: Priors, memory: Memory) -> None:
        self.query, self.priors = query, priors
        self._concepts: dict[int, SlotConcept] = {}
        self._made: dict[tuple[int, str], tuple[Rates, Allocation]] = {}
        memory.allocate = self.rates
        memory.prior_slots = priors.plan.priors

    def rates(self, slot: int, legs: Sequence[str]) -> Mapping[str, Rates]:
        """The rates of shed legs in a slot, all over the same keys."""
        return {leg: self._allocated(slot, leg)[0] for leg in legs}

    def allocation(self, slot: int, leg: str) -> Allocation:
        """What the rates were expected to cost and to lose."""
        return self._allocated(slot, leg)[1]

    def budget(self, slot: int) -> float:
        """Rows that may be processed in the slot."""
        return budget_rows(self.query, self.concept(slot).rows)

    def concept(self, slot: int) -> SlotConcept:
        """The slot's keys with their populations, and what the priors say of their spread."""
        if slot not in self._concepts:
            self.priors.load(slot, None)
            self._concepts[slot] = learn(self.query, self.priors, slot)
        return self._concepts[slot]

    def _allocated(self, slot: int, leg: str) -> tuple[Rates, Allocation]:
        if (slot, leg) not in self._made:
            here = self.concept(slot)
            made = allocate(self.query, leg, here, self.budget(slot))
            self._made[slot, leg] = Rates(leg, here.keys, made.rates, made.unseen_rate), made
        return self._made[slot, leg]


def budget_rows(query: QuerySpec, rows: float) -> float:
    """The budget of a slot that has so many rows."""
    budget = query.shed.budget
    return float(budget.rows) if budget.rows is not None else (budget.fraction or 1.0) * rows


def allocate(query: QuerySpec, policy: str, concept: SlotConcept, rows: float) -> Allocation:
    """A policy's rates for a slot within a budget of `rows`."""
    shed = query.shed
    budget = Budget(
        rows=max(rows, 1e-9),
        completeness=shed.completeness,
        unseen_share=concept.unseen_share,
        slot_rows=concept.rows,
    )
    made = get_policy(policy, goal=shed.goal, support=shed.support, groups=shed.groups)
    return made.allocate(concept.concept, budget)


def learn(query: QuerySpec, priors: Priors, slot: int) -> SlotConcept:
    """The concept of a slot from its arrival counts and its priors; without counts, from the priors alone.

    Errors are those of windows, so the concept's population is a key's rows in a window that has it, and the
    cost of one such row is that of the slot's rows it stands for: keeping all of a key costs its rows of the slot.
    """
    timeline = query.timeline
    counts = needed_counts(priors.memory.side, timeline, slot, slot + timeline.slot)
    found = _expected(priors, slot) if counts is None else _counted(priors, slot, counts)
    per_window = found.slot_rows / found.windows * max(1.0, timeline.size / timeline.slot)
    return SlotConcept(
        keys=_chosen(found.keys, found.slot_rows > 0),
        concept=_concept(priors, slot, found, per_window, known=counts is not None),
        rows=found.rows,
        unseen_share=found.unseen_share,
    )


@dataclass(frozen=True, slots=True)
class _Populations:
    """Rows of each key in the slot, and in how many of its windows (those that do not overlap) the key occurs."""

    keys: Keys
    slot_rows: Floats
    windows: Floats
    rows: float
    unseen_share: float
    least_u: Floats


def _counted(priors: Priors, slot: int, counts: pa.Table) -> _Populations:
    names = priors.memory.side.keyset.keys
    past = [keys.table() for keys in priors.keys(slot)] if names else []
    keys, places = align([counts, *past], names)
    rows = np.bincount(places[0], _numbers(counts, "rows"), minlength=len(keys)).astype(np.float64)
    timeline = priors.query.timeline
    block = counts.column("pane_start").to_numpy() // max(timeline.size, timeline.slide)
    pairs = np.unique(np.stack([places[0], block]), axis=1)[0]
    windows = np.maximum(np.bincount(pairs, minlength=len(keys)).astype(np.float64), 1.0)
    least = _least_u(timeline, counts, places[0], windows)
    return _Populations(keys, rows, windows, float(rows.sum()), 0.0, least)


def _least_u(timeline: Timeline, counts: pa.Table, place: Ints, windows: Floats) -> Floats:
    """The smallest u of the keys whose rows all lie in the same windows, so that it is theirs in each; else nan.

    That is a key of one pane, or of one window where windows do not overlap; none where a window outlasts the slot.
    """
    if timeline.size > timeline.slot:
        return np.full(windows.size, np.nan)
    panes = np.bincount(place, minlength=windows.size)
    alone = (panes == 1) | ((windows == 1) & (timeline.slide >= timeline.size))
    least = np.full(windows.size, np.inf)
    np.minimum.at(least, place, _numbers(counts, "least_u"))  # nan, unknown, stays nan
    return np.where(alone & np.isfinite(least), least, np.nan)


def _expected(priors: Priors, slot: int) -> _Populations:
    side, timeline = priors.memory.side, priors.query.timeline
    past = priors.keys(slot)
    if side.keyset.keys:
        keys = align([k.table() for k in past] or [side.no_keys()], side.keyset.keys)[0]
    else:
        keys = Keys((), (), 1)
    expected, unseen = expected_rows(priors, slot, keys)
    rows = side.rows(slot, slot + timeline.slot)
    if not side.keyset.keys:
        expected, unseen = np.array([rows]), 0.0
    scale = rows * (1 - unseen) / expected.sum() if expected.sum() else 0.0
    windows = np.full(len(keys), max(1.0, timeline.slot / timeline.size))
    return _Populations(keys, expected * scale, windows, rows, unseen, np.full(len(keys), np.nan))


def _concept(priors: Priors, slot: int, populations: _Populations, per_window: Floats, *, known: bool) -> Concept:
    share = min(1.0, priors.query.timeline.slot / priors.query.timeline.size)
    learnt = priors.history(slot, populations.keys)
    found = [history.prior(per_window * share) for history in learnt.values()]
    there = populations.slot_rows > 0
    population = per_window[there]
    cost = populations.slot_rows[there] / population
    least = populations.least_u[there]
    if not found:
        return Concept.grouped(population, known=known, cost=cost, least_u=least)
    return Concept.grouped(
        population,
        known=known,
        cv=np.stack([prior.cv[there] for prior in found], axis=1),
        scale=np.stack([np.abs(prior.value[there]) for prior in found], axis=1),
        prior_variance=np.stack([prior.variance[there] for prior in found], axis=1),
        cost=cost,
        least_u=least,
    )


def _chosen(keys: Keys, there: Flags) -> Keys:
    if not keys.names:
        return keys
    index = np.flatnonzero(there)
    return Keys(keys.names, tuple(keys.take(index).values()), len(index))


def _numbers(table: pa.Table, name: str) -> Floats:
    return np.asarray(table.column(name).to_numpy(), dtype=np.float64)

"""From what a slot knows of its keys to the rates that its rows are sampled at.

Rates of a slot are a function of its own arrival counts and the exact panes of the last J audited slots
before it, never of a calibration: so a slot depends on at most 2 J audited slots (see `priors`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shedding.allocation.budget import Allocation
from shedding.ingest.side import rows_fingerprint
from shedding.keys import Keys
from shedding.planning.allocate import allocate
from shedding.planning.costs import CostModel
from shedding.planning.error_limits import PlannedErrors, planned_errors
from shedding.planning.join_concept import learn_join
from shedding.planning.least_budget import PILOT, Wish, least_fraction
from shedding.planning.pool_budget import PoolBudget
from shedding.planning.priors import Priors
from shedding.planning.reached import Reached
from shedding.planning.slot_concept import SlotConcept, learn_side
from shedding.planning.spending import Spending
from shedding.rates import Rates
from shedding.risk import inclusion, spot_keys
from shedding.spec.fingerprints import digest
from shedding.spec.query import QuerySpec
from shedding.spec.times import UNITS
from shedding.stopwatch import Stopwatch

AS_ALLOCATED = "~"
"""Suffix of the leg that lacks the spot checks: what the estimates would have been made from without them."""


@dataclass(frozen=True, slots=True)
class Spots:
    """Of a slot's keys those that are `chosen` to be checked, and how `likely` each was to be, relative to others."""

    keys: Keys
    chosen: npt.NDArray[np.bool_]
    likely: npt.NDArray[np.float64]


class Planner:
    """The rates of one query's legs, and what they are expected to cost and to lose; made once per slot and leg.

    Guarantee: a function of arrival counts and of the exact panes behind `priors`, one for each side of the query; of a
    budget of seconds also of what its slots' plans have settled, of a pool's member of what all members have.
    """

    def __init__(
        self,
        query: QuerySpec,
        priors: Sequence[Priors],
        spending: Spending | None = None,
        pool: PoolBudget | None = None,
        watch: Stopwatch | None = None,
    ) -> None:
        """`spending` says how far seconds go, where those are what the query spends."""
        self.query, self.priors, self.spending, self.pool = query, list(priors), spending, pool
        self._watch = watch or Stopwatch()
        self._concepts: dict[int, SlotConcept] = {}
        self._planned: dict[int, PlannedErrors | None] = {}
        self._budgets: dict[int, float] = {}
        self._made: dict[tuple[int, str], tuple[tuple[Rates, ...], Allocation]] = {}

    @property
    def sides(self) -> list[SideRates]:
        """The rates as each side of the query asks for them."""
        return [SideRates(self, number) for number in range(len(self.priors))]

    def rates(self, slot: int, leg: str) -> tuple[Rates, ...]:
        """The rates of the leg in the slot, one for each side of the query."""
        return self._allocated(slot, leg)[0]

    def allocation(self, slot: int, leg: str) -> Allocation:
        """What the rates were expected to cost and to lose."""
        return self._allocated(slot, leg)[1]

    def budget(self, slot: int) -> float:
        """Rows that may be processed in the slot: as the specification says, or as few as its error takes.

        Of a budget of seconds: those that its rows are forecast to take. Of a pool: all members together.
        """
        if self.spending is not None:
            return self.reached(slot).forecast_seconds
        if self.pool is not None:
            return self.pool.rows(slot)
        if slot not in self._budgets:
            budget, here = self.query.shed.budget, self.concept(slot)
            fraction = None if budget.error is None else self._fraction(slot, Wish(budget.error, budget.keys))
            self._budgets[slot] = budget_rows(self.query, here.rows) if fraction is None else fraction * here.rows
        return self._budgets[slot]

    def _fraction(self, slot: int, wish: Wish) -> float:
        """The least fraction that meets the wish, spot checks on top; `PILOT` where no audit has taught anything."""
        planned = self.planned(slot)
        if planned is None:
            return 0.0
        if not self.priors[0].plan.priors(slot):
            return PILOT
        checks = self.query.shed.spot_check if self.query.spot_checks else 0.0
        return min(1.0, least_fraction(self.query, self.concept(slot), planned, wish) / (1 - checks))

    def reached(self, slot: int) -> Reached:
        """How far the slot's seconds go: settled in its plan, by rounds where nobody ran them yet."""
        assert self.spending is not None
        here = self.concept(slot)
        share = 1 - (self.query.shed.spot_check if self.query.spot_checks else 0.0)

        def within(seconds: float) -> Rates:
            made = allocate(self.query, self.query.shed.policy, here, seconds * share)
            return here.rates(self.query.shed.policy, made, seconds)[0]

        return self.spending.reached(self.priors[0], slot, here.whole, within)

    def plan_fingerprint(self, slot: int) -> str | None:
        """Of the factor that the slot's plan has settled; None where there is no plan yet, hence no sample."""
        assert self.spending is not None
        settled = self.spending.plans.recorded(slot)
        return None if settled is None else digest([settled.basis, settled.forecast_seconds])

    def charged_rows(self, slot: int, leg: str) -> float | None:
        """The rows of its pool's union that the query is charged for; None where it is in no pool."""
        return None if self.pool is None else self.pool.part(slot, leg, self.query.name).charged_rows

    def concept(self, slot: int) -> SlotConcept:
        """The slot's keys with their populations, and what the priors say of their spread."""
        if self.pool is not None:
            return self.pool.concept(self.query, slot)
        if slot not in self._concepts:
            with self._watch.part("plan"):
                for priors in self.priors:
                    priors.load(slot)
                costs = None if self.spending is None else self.spending.model(self.priors[0], slot)
                self._concepts[slot] = learn(self.query, self.priors, slot, costs)
        return self._concepts[slot]

    def planned(self, slot: int) -> PlannedErrors | None:
        """How wrong the slot's keys are planned to be by their rows; None where nothing asks for it."""
        if slot not in self._planned:
            asked = self.query.shed.limited or self.query.shed.budget.error is not None
            found = planned_errors(self.query, self.priors[0], slot, self.concept(slot)) if asked else None
            self._planned[slot] = found
        return self._planned[slot]

    def shares(self, slot: int, leg: str) -> Rates:
        """The share of each key's rows that the leg means to keep: its rates, but for what sure rows do to them."""
        here, (rates, made) = self.concept(slot), self._allocated(slot, leg)
        if not len(here.concept):
            return rates[0]
        return replace(rates[0], values=np.where(rates[0].values >= 1.0, 1.0, made.shares))

    def spots(self, slot: int) -> Spots:
        """The keys of the slot that are checked; none in an audited slot, or where nobody counted the keys."""
        here, rows = self.concept(slot), self._spot_rows(slot)
        if not rows or self.priors[0].plan.is_audited(slot) or not here.concept.known:
            return Spots(here.keys, np.zeros(len(here.keys), dtype=np.bool_), np.ones(len(here.keys)))
        made = self._allocated(slot, self.query.shed.policy + AS_ALLOCATED)[1]
        cost = here.by_key(here.concept.full_cost * (1 - made.rates))
        planned = self.planned(slot)
        if planned is not None and planned.limited:  # what is left out claims nothing that a check could measure
            population = here.concept.population
            widths = planned.half_widths(population, made.shares * population)
            cost = np.where((planned.over(widths) > 1).any(axis=1), 0.0, cost)
        likely = inclusion(cost, here.by_key(made.expected_error))
        return Spots(here.keys, spot_keys(cost, likely, rows, f"{self.query.name}/{slot}"), likely)

    def _spot_rows(self, slot: int) -> float:
        """The part of the budget that is kept for spot checks; nothing where the budget has room for all rows."""
        if self.pool is not None:
            return self.pool.spot_rows(slot, self.query)
        rows = self.budget(slot)
        return self.query.shed.spot_check * rows if self.query.spot_checks and rows < self.concept(slot).whole else 0.0

    def _allocated(self, slot: int, leg: str) -> tuple[tuple[Rates, ...], Allocation]:
        if (slot, leg) not in self._made:
            with self._watch.part("plan"):
                self._made[slot, leg] = self._allocate(slot, leg)
        return self._made[slot, leg]

    def _allocate(self, slot: int, leg: str) -> tuple[tuple[Rates, ...], Allocation]:
        policy = leg.removesuffix(AS_ALLOCATED)
        here, rows = self.concept(slot), self.budget(slot)
        if policy == self.query.shed.policy:
            rows -= self._spot_rows(slot)
        if self.pool is None:
            made = allocate(self.query, policy, here, rows, self.planned(slot))
        else:
            made = self.pool.part(slot, policy, self.query.name).allocation
        rates = here.rates(leg, made, rows)
        if leg == self.query.shed.policy and self.query.spot_checks:
            whole = here.of_rates(self.spots(slot).chosen)
            rates = (replace(rates[0], values=np.where(whole, 1.0, rates[0].values)),) if whole.any() else rates
        return rates, made


@dataclass(frozen=True, slots=True)
class SideRates:
    """The rates of one side of a query, the first or the second."""

    planner: Planner
    number: int

    def rates(self, slot: int, leg: str) -> Rates:
        """The rates that the leg's rows of the slot are sampled at."""
        return self.planner.rates(slot, leg)[self.number]

    def budget(self, slot: int) -> float | None:
        """The slot's budget where its keys are only expected, and so their rows; None where they were counted."""
        concept, shed = self.planner.concept(slot), self.planner.query.shed
        uncounted = not concept.concept.known and not concept.counted and shed.completeness == "best_effort"
        return self.planner.budget(slot) if uncounted else None

    def fingerprint(self, slot: int) -> str:
        """Of the rows of the slot and of its priors; of both sides in a join, of all members in a pool."""
        priors = self.planner.priors
        if self.planner.pool is not None:
            return self.planner.pool.fingerprint(slot)
        own, others = priors[self.number].side, priors[: self.number] + priors[self.number + 1 :]
        slots = [slot, *priors[0].plan.priors(slot)]
        needed = [self.planner.query.timeline.slot_needed(one) for one in slots]
        rows = rows_fingerprint([own, *(other.side for other in others)], needed)
        return rows if self.planner.spending is None else digest([rows, self.planner.plan_fingerprint(slot)])


def budget_rows(query: QuerySpec, rows: float) -> float:
    """The budget of a slot that has so many rows."""
    budget = query.shed.budget
    return float(budget.rows) if budget.rows is not None else (budget.fraction or 1.0) * rows


def learn(query: QuerySpec, priors: Sequence[Priors], slot: int, costs: CostModel | None = None) -> SlotConcept:
    """The concept of a slot from its arrival counts and its priors, one for each side of the query.

    With `costs` the slot spends seconds. Its cost classes are those of the budget as it is written: that of a delay
    varies from slot to slot, and is taken to be the slot's own length.
    """
    if query.join is not None:
        return learn_join(query, priors, slot)
    seconds = query.shed.budget.seconds or query.timeline.slot / UNITS["second"]
    return learn_side(query, priors[0], slot, costs, seconds)

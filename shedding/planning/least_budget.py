"""The least budget for which a slot is planned to be as good as its owner asks.

A function of the slot's counts and priors, as rates are. CoD's scalar concept is the case of one key: mean and variance
of the rows, an accuracy, hence a rate (Table II).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shedding.allocation.budget import Allocation
from shedding.estimates.accuracy import MEAN_OF_NORMAL
from shedding.planning.allocate import allocate
from shedding.planning.error_limits import SLACK, PlannedErrors
from shedding.planning.slot_concept import SlotConcept
from shedding.spec.query import QuerySpec

Floats = npt.NDArray[np.float64]

MOST = 2.0
"""Most that the error of a key is expected to be, as in `answers.scores`."""
HALVINGS = 14
"""Halvings of the logarithm of the fraction: to 1 part in 1,000."""
LEAST_FRACTION = 1e-4
PILOT = 0.1
"""Fraction of the first slot of all, whose errors nothing lets anybody plan."""


@dataclass(frozen=True, slots=True)
class Wish:
    """The mean of the keys' expected relative errors is at most `error`; or, with `keys`, this share of the keys has
    a planned half-width (95 %) of at most `error`."""

    error: float
    keys: float | None = None

    def met(self, planned: Planned) -> bool:
        """Whether a plan is as good as that."""
        if self.keys is None:
            return planned.mean_error <= self.error * (1 + SLACK)
        return planned.within(self.error) >= self.keys * (1 - SLACK)


@dataclass(frozen=True, slots=True)
class Planned:
    """How good an allocation is planned to make a slot's keys; a key counts once for each window that has it."""

    windows: Floats
    rows: Floats
    errors: Floats
    half_widths: Floats
    over: Floats

    @classmethod
    def of(cls, concept: SlotConcept, errors: PlannedErrors, made: Allocation) -> Planned:
        """Of the allocation of a slot's concept."""
        population, slot_rows = concept.concept.population, concept.concept.full_cost
        kept = made.shares * population
        deviations, widths = errors.deviations(population, kept), errors.half_widths(population, kept)
        expected = np.minimum(MEAN_OF_NORMAL * deviations, MOST)
        return cls(slot_rows / population, slot_rows, expected, widths, errors.over(widths))

    @property
    def shown(self) -> npt.NDArray[np.bool_]:
        """The keys that meet their own limits, where they have some."""
        return np.asarray((self.over <= 1).all(axis=1))

    @property
    def mean_error(self) -> float:
        """Of the measure whose mean over the shown keys is worst; 0 where there is no key."""
        weight = self.windows * self.shown
        return float((weight @ self.errors / weight.sum()).max()) if weight.sum() > 0 else 0.0

    def within(self, error: float) -> float:
        """The share of keys with all their half-widths at most `error`; 1 where there is no key."""
        good = (self.half_widths <= error * (1 + SLACK)).all(axis=1)
        return float(self.windows @ good / self.windows.sum()) if self.windows.size else 1.0

    @property
    def omitted_rows(self) -> float:
        """The share of rows whose keys are left out by their limits."""
        return float(self.rows[~self.shown].sum() / self.rows.sum()) if self.rows.size else 0.0


def least_fraction(query: QuerySpec, concept: SlotConcept, errors: PlannedErrors, wish: Wish) -> float:
    """The least fraction of a slot's rows at which the policy is planned to meet the wish; 1 where nothing less does.

    By halving over policies whose errors do not rise with the budget. Never less than `LEAST_FRACTION`.
    """

    def met(fraction: float) -> bool:
        made = allocate(query, query.shed.policy, concept, fraction * concept.rows, errors)
        return wish.met(Planned.of(concept, errors, made))

    if not len(concept.concept) or met(LEAST_FRACTION):
        return LEAST_FRACTION
    low, high = np.log(LEAST_FRACTION), 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if met(float(np.exp(middle))) else (middle, high)
    return float(np.exp(high))

"""The concept of a slot: what is known of its keys before a row is read (CoD, Table II, joined with the priors).

Scalar query: one key. Grouped query: one row a key. Equi-join: a key on each side, for the keys that both sides have.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shedding.allocation.strata import Strata
from shedding.errors import BudgetError

Floats = NDArray[np.float64]

SPREAD_FLOOR = 0.01
"""Least spread of a key, relative to the median: a prior that saw no spread does not prove that there is none."""
SPREAD_CEILING = 1e100
"""Squares of larger spreads would overflow, and those of spreads below its inverse vanish."""


@dataclass(frozen=True, slots=True)
class Concept:
    """Per-key statistics of a slot; K keys, M measures that drive the allocation.

    population (K,): rows of the key in the slot, positive; `known` says whether they were counted at arrival or are
    estimated from priors. cv (K, M): relative spread of one row, so that n of N rows give a relative variance of
    cv^2 / n (1 - n / N); nan: no prior knows, inf: the mean is zero. scale (K, M): |value|, which turns relative into
    absolute errors. prior_variance (K, M): relative variance of the estimate from history alone; nan or inf: none.
    weight (K,): importance v_k >= 0. cost (K,): cost units of one row. least_u (K,): the smallest u of the key's rows
    if it was kept at arrival, else nan; it makes completeness cheap (see `Problem.floor`). key (K,): where keys are cut
    by what their rows cost, the key of each stratum, numbered in order from 0; None: a stratum is a key.
    """

    population: Floats
    known: bool
    cv: Floats
    scale: Floats
    prior_variance: Floats
    weight: Floats
    cost: Floats
    least_u: Floats = field(default_factory=lambda: np.zeros(0))
    key: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        for name in ("population", "cv", "scale", "prior_variance", "weight", "cost", "least_u"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        keys = self.population.size
        if not self.least_u.size:
            object.__setattr__(self, "least_u", np.full(keys, np.nan))
        for name in ("population", "weight", "cost"):
            _check_vector(name, getattr(self, name), keys)
        for name in ("cv", "scale", "prior_variance"):
            _check_table(name, getattr(self, name), (keys, *self.cv.shape[1:]))
        if keys and not np.any(self.weight):
            raise BudgetError("concept.weight is 0 for every key; give at least one key a positive weight")
        if self.least_u.shape != (keys,) or np.any((self.least_u < 0) | (self.least_u >= 1)):
            raise BudgetError(f"concept.least_u must hold a number in [0, 1), or nan, for each of {keys} keys")

    @classmethod
    def grouped(
        cls,
        population: ArrayLike,
        *,
        known: bool = True,
        cv: ArrayLike | None = None,
        scale: ArrayLike | None = None,
        prior_variance: ArrayLike | None = None,
        weight: ArrayLike | float = 1.0,
        cost: ArrayLike | float = 1.0,
        least_u: ArrayLike | float = np.nan,
    ) -> Concept:
        """A concept with defaults: cv and prior variance unknown, scale, weight and cost 1. (K,) counts as (K, 1)."""
        rows = np.atleast_1d(np.asarray(population, dtype=np.float64))
        shape = (rows.size, 1 if cv is None else np.atleast_2d(np.asarray(cv).T).shape[0])

        def table(values: ArrayLike | None, default: float) -> Floats:
            if values is None:
                return np.full(shape, default)
            given = np.asarray(values, dtype=np.float64)
            return given.reshape(-1, 1) if given.ndim < 2 else given

        return cls(
            population=rows,
            known=known,
            cv=table(cv, np.nan),
            scale=table(scale, 1.0),
            prior_variance=table(prior_variance, np.nan),
            weight=np.broadcast_to(np.asarray(weight, dtype=np.float64), rows.shape),
            cost=np.broadcast_to(np.asarray(cost, dtype=np.float64), rows.shape),
            least_u=np.broadcast_to(np.asarray(least_u, dtype=np.float64), rows.shape),
        )

    @classmethod
    def scalar(cls, population: float, mean: float, variance: float, *, known: bool = True) -> Concept:
        """CoD's concept of a query without keys: (mean, variance), hence one rate."""
        spread = float(np.sqrt(variance)) / abs(mean) if mean else np.inf
        return cls.grouped([population], known=known, cv=[spread], scale=[abs(mean)])

    def __len__(self) -> int:
        return self.population.size

    @property
    def strata_key(self) -> NDArray[np.int64]:
        """The key of each stratum."""
        return np.arange(len(self)) if self.key is None else self.key

    def cut(self, key: NDArray[np.int64], share: Floats, cost: Floats, least_u: Floats) -> Concept:
        """The keys cut into strata: of each its key, its share of the key's rows, its cost and least u.

        A stratum with the share q of its key's rows has the weight v_k q^2: its variance counts so in the key's mean.
        Shares of a key may sum to less than 1: rows that are kept in any case are no stratum.
        """
        taken = {name: getattr(self, name)[key] for name in ("cv", "scale", "prior_variance")}
        weight = self.weight[key] * share**2
        return Concept(self.population[key] * share, self.known, **taken, weight=weight, cost=self.cost[key] * cost,
                       least_u=least_u, key=key)  # fmt: skip

    @property
    def strata(self) -> Strata:
        """The keys as what a budget is spent on; how wrong they are is a `Goal`'s curve."""
        return Strata(self.population, self.known, self.cost, self.weight, self.least_u)

    @property
    def full_cost(self) -> Floats:
        """Cost of keeping all rows of a key."""
        return self.strata.full_cost

    def spread(self) -> Floats:
        """cv with every gap filled, finite and positive: what allocation computes with.

        Unknown: the median of the measure's known keys. Infinite: the largest finite one. Below a hundredth of the
        median, zero included: raised to it. No key known: 1 for all, which is an equal number of rows a key.
        """
        return (
            np.column_stack([_filled(column) for column in self.cv.T]) if self.cv.shape[1] else np.ones((len(self), 1))
        )

    def uncertainty(self) -> Floats:
        """prior_variance, unknown ones and those above 1 set to 1: a missing key counts as 100 % wrong."""
        if not self.cv.shape[1]:
            return np.ones((len(self), 1))
        return np.where(np.isnan(self.prior_variance), 1.0, np.minimum(self.prior_variance, 1.0))


@dataclass(frozen=True, slots=True)
class JoinConcept:
    """Concept of an equi-join: what is known of each key on both sides, only for keys that both sides have.

    A row whose key is on one side only can join nothing: it is shed at no loss and appears in no result here. A side
    may be None: none of the measures reads its rows and its counts are known, so a sample of it would tell nothing.
    """

    keys: NDArray[Any]
    left: Concept | None
    right: Concept | None

    @classmethod
    def of(cls, left_keys: ArrayLike, left: ArrayLike, right_keys: ArrayLike, right: ArrayLike) -> JoinConcept:
        """Intersect the histograms of both sides (unique keys each); the keys come out sorted.

        Without anything known of values the error is that of the number of joined rows. Sampling the sides at rates p
        and q leaves it with relative variance (1/p - 1) / L + (1/q - 1) / R to first order, which is that of two
        strata with cv 1.

        >>> JoinConcept.of(["a", "b"], [1, 2], ["b", "c"], [3, 4]).right.population
        array([3.])
        """
        keys, i, j = np.intersect1d(left_keys, right_keys, assume_unique=True, return_indices=True)
        ones = np.ones(len(keys))
        sides = np.asarray(left, dtype=np.float64)[i], np.asarray(right, dtype=np.float64)[j]
        return cls(keys, *(Concept.grouped(rows, cv=ones) for rows in sides))

    def concept(self) -> Concept:
        """Both sides as strata that compete for one budget: first the left ones, then the right ones.

        A stratum adds nothing to the errors of the other side's measures: cv and prior variance are 0 there.
        """
        sides = [side for side in (self.left, self.right) if side is not None]
        if not sides:
            return Concept.grouped([])

        def line(name: str) -> Floats:
            return np.concatenate([getattr(side, name) for side in sides])

        return Concept(
            population=line("population"),
            known=all(side.known for side in sides),
            cv=_diagonal([side.spread() for side in sides], 0.0),
            scale=_diagonal([side.scale for side in sides], 1.0),
            prior_variance=_diagonal([side.uncertainty() for side in sides], 0.0),
            weight=line("weight"),
            cost=line("cost"),
            least_u=line("least_u"),
        )

    def sides(self, rates: Floats) -> tuple[Floats, Floats]:
        """Rates of the strata of `concept`, as (left, right) rates aligned with `keys`; 0 for a side left out."""
        nothing = np.zeros(len(self.keys))
        cut = 0 if self.left is None else len(self.left)
        return nothing if self.left is None else rates[:cut], nothing if self.right is None else rates[cut:]


def _diagonal(blocks: list[Floats], elsewhere: float) -> Floats:
    """The tables below and beside one another, `elsewhere` off the diagonal."""
    laid = np.full((sum(len(block) for block in blocks), sum(block.shape[1] for block in blocks)), elsewhere)
    row = column = 0
    for block in blocks:
        laid[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    return laid


def _filled(column: Floats) -> Floats:
    finite = column[np.isfinite(column)]
    positive = finite[finite > 0]
    if not positive.size:
        return np.ones_like(column)
    middle = float(np.median(positive))
    filled = np.where(np.isnan(column), middle, np.where(np.isinf(column), positive.max(), column))
    return np.asarray(np.clip(filled, max(SPREAD_FLOOR * middle, 1 / SPREAD_CEILING), SPREAD_CEILING))


def _check_vector(name: str, values: Floats, keys: int) -> None:
    if values.shape != (keys,):
        raise BudgetError(f"concept.{name} has shape {values.shape}; give one number for each of {keys} keys")
    zero_allowed = name == "weight"
    wrong = np.flatnonzero(~(np.isfinite(values) & ((values >= 0) if zero_allowed else (values > 0))))
    if wrong.size:
        raise BudgetError(
            f"concept.{name} of key {wrong[0]} is {values[wrong[0]]}; it must be finite and "
            f"{'not negative' if zero_allowed else 'positive'}, leave other keys out"
        )


def _check_table(name: str, values: Floats, shape: tuple[int, ...]) -> None:
    if values.ndim != 2 or values.shape != shape:
        raise BudgetError(f"concept.{name} has shape {values.shape}; it must be ({shape[0]}, measures) like cv")
    if np.any(values < 0):
        raise BudgetError(f"concept.{name} holds a negative number; spreads, scales and variances are not")

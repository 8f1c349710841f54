"""Several queries, one budget: a row of a pool is paid once, whoever of the members keeps it.

Samples are nested thresholds on one `u`: a row is kept iff `u` is below the largest of its rates, and a pool pays for
the *union* of its members' samples, where Mozafari and Zaniolo's pooled optimum pays for their sum. The problem stays
convex. Its dual splits the price of each row among the members: given the prices, all members together are one ordinary
allocation problem, their strata laid end to end. At the optimum the member with the largest rate pays for a row. Where
the keys of members are independent that is the share prod over others of F_o(r) of its rows, F_o the distribution of
another member's rates over the rows: the arrival counts are all it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

import numpy as np

from shedding.allocation.budget import Allocation, Budget
from shedding.allocation.curve import Curve, Floats, Ints
from shedding.allocation.hull import steps
from shedding.allocation.problem import Problem
from shedding.allocation.strata import Strata

Steps = tuple[Ints, Floats, Floats, Floats]
ROUNDS = 8
"""Rounds of prices from rates and rates from prices; each goes half of the way."""
FAIR_ROUNDS = 40
"""Most rounds of raising the weight of members that would be better off alone."""
FAIR_ENOUGH = 1.005
"""A member that errs at most so many times its error alone is not raised."""
LEAST_PRICE = 1e-3
"""Least share of its rows' price that a key pays: a rate that others cover is nearly free, not unbounded."""


class Solver(Protocol):
    """What turns a problem into rates: a policy."""

    def solve(self, problem: Problem) -> Allocation:
        """The rates of the problem's strata."""


@dataclass(frozen=True, slots=True)
class Member:
    """A query of a pool: its strata, their curve, and its weight, which its keys share by their own weights."""

    strata: Strata
    curve: Curve
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class PooledCurve(Curve):
    """The curves of members laid end to end; `starts` has the first stratum of each, and the number of all.

    A pool's prices and weights change from round to round, the hulls of its curves do not: they are made once.
    """

    population: Floats
    curves: tuple[Curve, ...]
    starts: Ints
    _steps: list[Steps] = field(default_factory=list, compare=False)

    @classmethod
    def of(cls, curves: Sequence[Curve]) -> PooledCurve:
        """The members' curves in their order."""
        starts = np.cumsum([0, *(curve.population.size for curve in curves)])
        return cls(np.concatenate([curve.population for curve in curves]), tuple(curves), starts)

    @property
    def reciprocal(self) -> Floats | None:
        """The coefficients of all, where all are reciprocal."""
        found = [b for b in (curve.reciprocal for curve in self.curves) if b is not None]
        return np.concatenate(found) if len(found) == len(self.curves) else None

    @property
    def hull_steps(self) -> Steps:
        """The edges of all hulls, for strata of weight and cost 1."""
        if not self._steps:
            ones = np.ones(self.population.size)
            strata = Strata(self.population, True, ones, ones, np.full(self.population.size, np.nan))
            self._steps.append(steps(strata, self))
        return self._steps[0]

    def errors(self, keys: Ints, n: Floats) -> Floats:
        """Each member's own errors."""
        found = np.empty_like(n)
        for number, curve in enumerate(self.curves):
            own = (keys >= self.starts[number]) & (keys < self.starts[number + 1])
            found[own] = curve.errors(keys[own] - self.starts[number], n[own])
        return found

    def total(self, weight: Floats, errors: Floats) -> float:
        """As the members' curves total theirs."""
        return self.curves[0].total(weight, errors)


@dataclass(frozen=True, slots=True)
class Pool:
    """Members that read the same `rows` rows of a slot, and one budget for the union of what they keep.

    `overlap`: how large a union is beside that of independent keys, below 1 where keys of members go together; known
    where both were measured, e.g. at an audit.
    """

    members: tuple[Member, ...]
    rows: float
    budget: Budget
    overlap: float = 1.0

    def allocate(self, policy: Solver, *, at_least_alone: bool = True) -> list[Allocation]:
        """The allocation of each member: a function of the pool alone, whichever member asks.

        Guarantee: the union is expected to keep the budget, were the keys of members independent; the price is that
        of `ROUNDS` rounds, within 2 % of the optimum on real rows. With `at_least_alone` no member is expected to err
        more than `FAIR_ENOUGH` times what it would with its weight's part of the budget for itself, unless
        `FAIR_ROUNDS` do not suffice.
        """
        weights = np.array([member.weight for member in self.members])
        prices = [np.full(len(member.strata), 1.0 / len(self.members)) for member in self.members]
        curve = PooledCurve.of([member.curve for member in self.members])
        rates = self._rates(policy, curve, weights, prices, ROUNDS)
        if at_least_alone and len(self.members) > 1:
            rates = self._fair(policy, curve, weights, prices, rates)
        return [self._settled(member, own) for member, own in zip(self.members, rates, strict=True)]

    def _fair(
        self, policy: Solver, curve: PooledCurve, weights: Floats, prices: list[Floats], rates: list[Floats]
    ) -> list[Floats]:
        """Rates at which the worst-off member, compared with itself alone, is best off, of those that the rounds find.

        Multiplicative weights: who is worse off than alone counts for more, by less from round to round.
        """
        alone = self.alone(policy)
        worse = self.totals(rates) / alone
        best, fair = float(worse.max()), rates
        for number in range(FAIR_ROUNDS):
            if best <= FAIR_ENOUGH:
                break
            weights = weights * np.maximum(worse, 1.0) ** (4.0 / (1.0 + number / 2.0))
            rates = self._rates(policy, curve, weights, prices, ROUNDS // 2)
            worse = self.totals(rates) / alone
            if worse.max() < best:
                best, fair = float(worse.max()), rates
        return fair

    def alone(self, policy: Solver) -> Floats:
        """The total error of each member with its weight's part of the budget for itself."""
        whole = sum(member.weight for member in self.members)
        found = []
        for member in self.members:
            budget = replace(self.budget, rows=self.budget.rows * member.weight / whole)
            found.append(policy.solve(Problem(member.strata, member.curve, budget)).total_error)
        return np.maximum(found, np.finfo(np.float64).tiny)

    def totals(self, rates: Sequence[Floats]) -> Floats:
        """The total error of each member at these rates."""
        pairs = zip(self.members, rates, strict=True)
        return np.array([one.curve.total(one.strata.weight, one.curve.at_rates(own)) for one, own in pairs])

    def union(self, rates: Sequence[Floats]) -> float:
        """Rows that the members keep together: n times the integral of 1 - prod F(x) for independent keys."""
        steps = [self._distribution(member, own) for member, own in zip(self.members, rates, strict=True)]
        points = np.unique(np.concatenate([[0.0, 1.0], *(places for places, _ in steps)]))
        below = np.prod([_below(step, points[:-1], "right") for step in steps], axis=0)
        return float(self.overlap * self.rows * np.sum(np.diff(points) * (1.0 - below)))

    def charged(self, rates: Sequence[Floats]) -> Floats:
        """Rows that each member pays for: its part of the union. They add up to it."""
        prices = self._prices(rates)
        parts = zip(self.members, prices, rates, strict=True)
        paid = np.array([float(np.sum(one.strata.full_cost * price * own)) for one, price, own in parts])
        return paid * (self.union(rates) / paid.sum()) if paid.sum() > 0 else paid

    def _rates(
        self, policy: Solver, curve: PooledCurve, weights: Floats, prices: list[Floats], rounds: int
    ) -> list[Floats]:
        """The rates at prices that follow from them; `prices` are where the search starts, and then where it ended."""
        capacity = self.budget.rows
        for _ in range(rounds):
            rates = self._solved(policy, curve, weights, prices, capacity)
            for number, own in enumerate(self._prices(rates)):
                prices[number] = 0.5 * (prices[number] + own)
        rates = self._solved(policy, curve, weights, prices, capacity)
        for _ in range(ROUNDS):
            union = self.union(rates)
            if abs(union / self.budget.rows - 1.0) < 1e-3:
                break
            capacity *= self.budget.rows / union
            rates = self._solved(policy, curve, weights, prices, capacity)
        return rates

    def _solved(
        self, policy: Solver, curve: PooledCurve, weights: Floats, prices: Sequence[Floats], capacity: float
    ) -> list[Floats]:
        """All members as one problem, a key's row at its share of the price."""
        parts = [member.strata for member in self.members]
        shared = [_normed(one.weight) * weight for one, weight in zip(parts, weights, strict=True)]
        strata = Strata(
            population=np.concatenate([one.population for one in parts]),
            known=all(one.known for one in parts),
            cost=np.concatenate([one.cost * price for one, price in zip(parts, prices, strict=True)]),
            weight=np.concatenate(shared),
            least_u=np.full(sum(map(len, parts)), np.nan),
        )
        made = policy.solve(Problem(strata, curve, replace(self.budget, rows=capacity)))
        return np.split(made.rates, curve.starts[1:-1])

    def _prices(self, rates: Sequence[Floats]) -> list[Floats]:
        """Of the rows of each key the share that no other member keeps more of; equal rates share the price."""
        steps = [self._distribution(member, own) for member, own in zip(self.members, rates, strict=True)]
        found = []
        for number, own in enumerate(rates):
            share = np.ones(own.size)
            for other, step in enumerate(steps):
                if other != number:
                    share *= (_below(step, own, "left") + _below(step, own, "right")) / 2
            found.append(np.maximum(share, LEAST_PRICE))
        return found

    def _distribution(self, member: Member, rates: Floats) -> tuple[Floats, Floats]:
        """The rates in order, and the share of the pool's rows that has at most each; rows of no key have rate 0."""
        order = np.argsort(rates, kind="stable")
        own = float(member.strata.full_cost.sum())
        rows = np.cumsum([max(0.0, self.rows - own), *member.strata.full_cost[order]])
        return np.concatenate([[0.0], rates[order]]), rows / max(self.rows, own, 1.0)

    def _settled(self, member: Member, rates: Floats) -> Allocation:
        """A member's allocation, a sure row where its smallest u is known."""
        problem = Problem(member.strata, member.curve, self.budget)
        return problem.settle(rates, problem.share(), sure=True)


def _normed(weight: Floats) -> Floats:
    """Weights that add up to 1: a query of many keys is not louder."""
    return weight / weight.sum() if weight.size else weight


def _below(step: tuple[Floats, Floats], points: Floats, side: Literal["left", "right"]) -> Floats:
    """The distribution's value at the points: `right` with what lies on them, `left` without."""
    places, shares = step
    found = np.searchsorted(places, points, side=side)
    return np.where(found > 0, shares[np.maximum(found, 1) - 1], 0.0)

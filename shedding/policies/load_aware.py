"""load_aware: the fewest rows dropped, the goal of load-aware shedding (Rivetti, Busnel, Querzoni, Problem 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from shedding.policies.policy import Policy

if TYPE_CHECKING:
    from shedding.allocation.budget import Allocation
    from shedding.allocation.problem import Problem

RESERVE = 0.1
"""Part of the uniform rate that every key has: dear rows are sampled less, never left out."""


class LoadAware(Policy):
    """The cheapest rows whole first, equal costs at equal rates, a reserve for the rest.

    Under a budget of cost and the reserve no rates keep more rows in expectation. It looks at costs alone, so it is
    for comparison: `optimal` and `posterior` spend the same cost on the error. Unlike the paper's shedder it leaves
    every row a known, positive chance, so that its answers are unbiased.
    """

    name: ClassVar[str] = "load_aware"

    def solve(self, problem: Problem) -> Allocation:
        """Rates by cost alone, raised where completeness is required."""
        share = problem.share()
        lower = problem.floor().clip(problem.uniform_rate(RESERVE * share.capacity))
        return problem.settle(problem.cheapest_first(share, lower), share)

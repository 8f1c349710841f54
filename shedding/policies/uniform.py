"""uniform: one rate for all keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from shedding.policies.policy import Policy

if TYPE_CHECKING:
    from shedding.allocation.budget import Allocation
    from shedding.allocation.problem import Problem


class Uniform(Policy):
    """One rate for all keys, L / sum of costs (Eq. 10), unseen keys included; spends the whole budget."""

    name: ClassVar[str] = "uniform"

    def solve(self, problem: Problem) -> Allocation:
        """The common rate, raised where completeness is required."""
        share = problem.common_share()
        return problem.settle(problem.in_proportion(1.0, share, problem.floor()), share)

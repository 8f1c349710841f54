"""exact: nothing is shed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from shedding.policies.policy import Policy

if TYPE_CHECKING:
    from shedding.allocation.budget import Allocation
    from shedding.allocation.problem import Problem


class Exact(Policy):
    """All rows, whatever the budget; `exceeded_by` says what that is over it."""

    name: ClassVar[str] = "exact"

    def solve(self, problem: Problem) -> Allocation:
        """Rate 1 for every key, seen or not."""
        return problem.settle(1.0, problem.whole_share())

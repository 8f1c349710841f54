"""k_optimal: the optimum coarsened to k rates (Mozafari and Zaniolo)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field, model_validator

from shedding.fields import Whole
from shedding.policies.policy import GoalPolicy

if TYPE_CHECKING:
    from shedding.allocation.budget import Allocation
    from shedding.allocation.problem import Problem


class KOptimal(GoalPolicy):
    """At most `groups` different rates (Sec. VIII-B): keys of like rate in the optimum share one, the best for all.

    Keys that the optimum keeps whole are alike, so the grouping follows the budget: more of it may lower a key's rate.
    Costs exactly what the optimum costs. One group is uniform, as many groups as keys the optimum; no grouping is worse
    than uniform. Lower bounds for completeness, and thresholds that keep a sure row, may add rates beyond `groups`.
    """

    name: ClassVar[str] = "k_optimal"

    groups: Whole = Field(default=8, gt=0, description="how many different rates")

    @model_validator(mode="after")
    def _errors_are_reciprocal(self) -> KOptimal:
        if self.goal == "support":
            raise ValueError("k_optimal groups keys by reciprocal errors; write goal: relative or variance")
        return self

    def solve(self, problem: Problem) -> Allocation:
        """Group the keys, then solve for the groups."""
        share = problem.share()
        return problem.settle(problem.grouped_optimum(self.groups, share, problem.floor()), share, sure=True)

"""optimal: Mozafari and Zaniolo's optimum for reciprocal errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from shedding.policies.policy import GoalPolicy

if TYPE_CHECKING:
    from shedding.allocation.budget import Allocation
    from shedding.allocation.problem import Problem


class Optimal(GoalPolicy):
    """The least weighted error of plain estimates: r_k = min(1, lambda sqrt(b_k v_k / c_k)) (Sec. V-C).

    Under the relative goal and flat costs a key's rows are in proportion to its cv. No policy has a smaller
    `total_error` under the same goal (relative, variance) and budget; errors of a support threshold are made least
    along their hulls. A key that is given a row and whose smallest u
    is known is not missed (`certain_thresholds`).
    """

    name: ClassVar[str] = "optimal"

    def solve(self, problem: Problem) -> Allocation:
        """The optimal rates, within lower bounds where completeness is required."""
        share = problem.share()
        return problem.settle(problem.optimum(share, problem.floor()), share, sure=True)

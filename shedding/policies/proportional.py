"""proportional: resources by importance."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from shedding.policies.policy import Policy

if TYPE_CHECKING:
    from shedding.allocation.budget import Allocation
    from shedding.allocation.problem import Problem


class Proportional(Policy):
    """Resources in proportion to importance (Eq. 11), which is weight times frequency as in Example 1; capped at 1.

    r_k = v_k N_k / sum(v N) * L / c_k, and a grouped query pays c_k = N_k for a key: rates go by the weights, rows by
    the keys' sizes. As far as the budget goes round a key gets at least one row, n_k = max(1, lambda v_k N_k); it is a
    sure one where the key's smallest u is known. What a capped key cannot use goes to the others in the same
    proportion, so that comparisons are made at equal rows: as printed, without that, it errs more than uniform at a
    resource ratio of one half, where Fig. 4a shows the opposite (erratum 6, `shedding/estimates/README.md`).
    """

    name: ClassVar[str] = "proportional"

    def solve(self, problem: Problem) -> Allocation:
        """Rates by weight, raised to a row a key, and further where completeness is required."""
        share, strata = problem.share(), problem.strata
        rates = problem.in_proportion(strata.weight / strata.cost, share, problem.row_floor(share))
        return problem.settle(rates, share, sure=True)

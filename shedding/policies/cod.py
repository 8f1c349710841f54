"""cod: concept-driven load shedding (Katsipoulakis, Labrinidis, Chrysanthis, Sec. V and VI)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from shedding.policies.policy import Policy

if TYPE_CHECKING:
    from shedding.allocation.budget import Allocation
    from shedding.allocation.problem import Problem


class ConceptDriven(Policy):
    """Frequent keys at one common rate, infrequent ones at more, rare ones whole.

    The concept is the frequency of the keys. A key with at least the mean number of rows is represented in proportion,
    at the concept's rate q; a smaller one gets as many rows as a key of mean size would, q mean(N), and is whole if it
    has no more than that: r_k = min(1, q max(1, mean(N) / N_k)). q is chosen so that the budget is met, where the paper
    lets the whole keys come on top: one reading of a text that leaves it open. As far as the budget goes round a key
    gets at least one row, a sure one where its smallest u is known; that none is lost at all is `completeness:
    required`.
    A scalar query has one key and one rate.
    """

    name: ClassVar[str] = "cod"

    def solve(self, problem: Problem) -> Allocation:
        """The concept's rates, raised to a row a key, and further where completeness is required."""
        share, population = problem.share(), problem.strata.population
        size = float(population.mean()) if population.size else 1.0
        rates = problem.in_proportion((size / population).clip(1.0), share, problem.row_floor(share))
        return problem.settle(rates, share, sure=True)

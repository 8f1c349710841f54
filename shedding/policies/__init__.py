"""The policies by name: `get_policy(name).allocate(concept, budget)` gives the rates of a slot."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shedding.allocation.goals import Goal, GoalName
from shedding.errors import BudgetError
from shedding.policies.baselines import Exact, Proportional, Uniform
from shedding.policies.concept_driven import ConceptDriven
from shedding.policies.optimum import KOptimal, Optimal
from shedding.policies.policy import Policy
from shedding.policies.shrunk import Posterior

__all__ = ["POLICIES", "Policy", "get_policy"]

POLICIES: Mapping[str, Callable[[Goal, int], Policy]] = {
    "exact": lambda goal, _: Exact(goal),
    "uniform": lambda goal, _: Uniform(goal),
    "proportional": lambda goal, _: Proportional(goal),
    "cod": lambda goal, _: ConceptDriven(goal),
    "optimal": lambda goal, _: Optimal(goal),
    "k_optimal": KOptimal,
    "posterior": lambda goal, _: Posterior(goal),
}
"""Registry: name -> how to make the policy from its goal and number of groups."""


def get_policy(name: str, *, goal: GoalName = "relative", support: float | None = None, groups: int = 8) -> Policy:
    """The policy of that name; unknown names and goals without what they need are a BudgetError.

    >>> from shedding.allocation import Budget
    >>> from shedding.concept import Concept
    >>> get_policy("uniform").allocate(Concept.grouped([100, 300]), Budget(rows=20)).rates
    array([0.05, 0.05])
    """
    if name not in POLICIES:
        raise BudgetError(f"unknown policy {name!r}; policies: {', '.join(POLICIES)}")
    return POLICIES[name](Goal(goal, support), groups)

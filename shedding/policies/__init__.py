"""The policies by name: `get_policy(name).allocate(concept, budget)` gives the rates of a slot."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shedding.errors import BudgetError
from shedding.policies.budget import Allocation, Budget
from shedding.policies.cod import ConceptDriven
from shedding.policies.exact import Exact
from shedding.policies.goal import Goal, GoalName
from shedding.policies.k_optimal import KOptimal
from shedding.policies.load_aware import LoadAware
from shedding.policies.optimal import Optimal
from shedding.policies.policy import Policy
from shedding.policies.posterior import Posterior
from shedding.policies.proportional import Proportional
from shedding.policies.uniform import Uniform
from shedding.policies.water_filling import optimal_rates

__all__ = ["POLICIES", "Allocation", "Budget", "Goal", "Policy", "get_policy", "optimal_rates"]

POLICIES: Mapping[str, Callable[[Goal, int], Policy]] = {
    "exact": lambda goal, _: Exact(goal),
    "uniform": lambda goal, _: Uniform(goal),
    "proportional": lambda goal, _: Proportional(goal),
    "cod": lambda goal, _: ConceptDriven(goal),
    "optimal": lambda goal, _: Optimal(goal),
    "k_optimal": KOptimal,
    "posterior": lambda goal, _: Posterior(goal),
    "load_aware": lambda goal, _: LoadAware(goal),
}
"""Registry: name -> how to make the policy from its goal and number of groups."""


def get_policy(name: str, *, goal: GoalName = "relative", support: float | None = None, groups: int = 8) -> Policy:
    """The policy of that name; unknown names and goals without what they need are a BudgetError.

    >>> from shedding.policies import Budget
    >>> from shedding.policies.concept import Concept
    >>> get_policy("uniform").allocate(Concept.grouped([100, 300]), Budget(rows=20)).rates
    array([0.05, 0.05])
    """
    if name not in POLICIES:
        raise BudgetError(f"unknown policy {name!r}; policies: {', '.join(POLICIES)}")
    return POLICIES[name](Goal(goal, support), groups)

"""What a policy is: one small class with one method."""

from __future__ import annotations

from typing import Protocol

from shedding.policies.budget import Allocation, Budget
from shedding.policies.concept import Concept


class Policy(Protocol):
    """Turns a concept and a budget into rates.

    Laws, tested for every registered policy: rates in (0, 1]; the budget kept in expectation (unless completeness is
    required); monotone in the budget; free of the scale of weights and costs; equivariant under permutation of the
    keys; deterministic; no look at anything but its arguments.
    """

    @property
    def name(self) -> str:
        """The name in the registry and in a query's YAML."""

    def allocate(self, concept: Concept, budget: Budget) -> Allocation:
        """The rates of the slot's keys, with what they are expected to cost and to lose."""

"""What a policy is: its options, and one method that turns an allocation problem into rates."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from shedding.fields import Number, Spec

if TYPE_CHECKING:  # NumPy: a DAG file reads policies' names and options only
    from shedding.allocation.budget import Allocation, Budget
    from shedding.allocation.concept import Concept
    from shedding.allocation.curve import Floats
    from shedding.allocation.goal import Goal
    from shedding.allocation.problem import Problem


class Policy(Spec):
    """Shares a budget among the keys of a slot; its fields are its options, as a query's `shed:` may state them.

    A subclass with a `name` is registered by being there: one policy, one file of this folder, and nothing of it
    anywhere else. A policy file imports no NumPy where it is loaded, because specifications are read with it: the
    mathematics comes with the problem.

    Laws, tested for every registered policy: rates in (0, 1]; the budget kept in expectation (unless completeness is
    required); monotone in the budget (all but k_optimal, which groups keys anew); free of the scale of weights and
    costs; equivariant under permutation of the keys; deterministic; no look at anything but its arguments.
    """

    name: ClassVar[str]

    @abstractmethod
    def solve(self, problem: Problem) -> Allocation:
        """The rates of the problem's strata, with what they are expected to cost and to lose."""

    def allocate(self, concept: Concept, budget: Budget, needed: Floats | None = None) -> Allocation:
        """The rates of a slot's keys; `needed` are the rows below which a key is of no use (error limits).

        Where the budget is short of them all policies do the same: keys by weight get what they need, as far as it goes
        round. Where it is not, what they need is every key's, and the policy shares out the rest.
        """
        from shedding.allocation.problem import Problem

        problem = Problem.of(concept, budget, self.objective(), needed)
        return problem.admitted() if problem.leaves_out else self.solve(problem)

    def objective(self) -> Goal:
        """The goal whose errors the policy minimises, or only states: relative ones."""
        from shedding.allocation.goal import Goal

        return Goal("relative")

    @classmethod
    def options(cls) -> frozenset[str]:
        """The names of its options."""
        return frozenset(cls.model_fields)


class GoalPolicy(Policy):
    """A policy that minimises the error that its owner names."""

    goal: Literal["variance", "relative", "support"] = Field(
        default="relative", description="which error is made least: relative, absolute, or of a support threshold"
    )
    support: Number | None = Field(default=None, gt=0, le=1, description="support threshold, with goal: support")

    @model_validator(mode="after")
    def _support_goes_with_its_goal(self) -> GoalPolicy:
        if (self.goal == "support") != (self.support is not None):
            raise ValueError("support (the threshold, e.g. 0.01) goes with goal: support and only there")
        return self

    def objective(self) -> Goal:
        """The owner's goal."""
        from shedding.allocation.goal import Goal

        return Goal(self.goal, self.support)

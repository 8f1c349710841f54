"""The policies by name: `get_policy(name).allocate(concept, budget)` gives the rates of a slot.

A policy is a file of this folder; `POLICIES` is what the files define. Loading it costs no NumPy, so that the names and
options that a query may state are these, in DAG files too, and no second list of them is kept.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from shedding.errors import BudgetError
from shedding.policies.policy import Policy

__all__ = ["POLICIES", "Policy", "get_policy", "registered"]

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


def registered(below: type[Policy] = Policy) -> Iterator[tuple[str, type[Policy]]]:
    """The named subclasses of a policy, by name."""
    for policy in below.__subclasses__():
        if "name" in vars(policy):
            yield policy.name, policy
        yield from registered(policy)


POLICIES: Mapping[str, type[Policy]] = dict(sorted(registered()))
"""Every policy by the name that a query gives it."""


def get_policy(name: str, **options: Any) -> Policy:
    """The policy of that name with these options; unknown names and wrong options are a BudgetError.

    >>> from shedding.allocation.budget import Budget
    >>> from shedding.allocation.concept import Concept
    >>> get_policy("uniform").allocate(Concept.grouped([100, 300]), Budget(rows=20)).rates
    array([0.05, 0.05])
    """
    if name not in POLICIES:
        raise BudgetError(f"unknown policy {name!r}; policies: {', '.join(POLICIES)}")
    try:
        return POLICIES[name].model_validate(options)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))} {e['msg']}".strip() for e in error.errors())
        raise BudgetError(f"policy {name}: {wrong}") from error

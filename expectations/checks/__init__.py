"""The checks: one a file, each the name that `gate:` states it by, and all that is known of it.

A check is a subclass of `GateCheck` in a module of this package; nothing else lists it. Without Great Expectations:
`expectations/suite.py` puts checks to it, and a repair need not import it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module

from expectations.checks.check import Finding, GateCheck
from shedding.spec.gate import GateSpec
from shedding.spec.query import QuerySpec

__all__ = ["Finding", "GateCheck", "all_checks", "limits_of"]


@cache
def all_checks() -> tuple[GateCheck, ...]:
    """Every check, in the order of verdicts: those that always hold, then those of `gate:` in its order."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    fields = list(GateSpec.model_fields)
    checks = [kind() for kind in _kinds(GateCheck)]  # type: ignore[type-abstract]
    return tuple(sorted(checks, key=lambda check: (check.place, fields.index(check.key) if check.stated else 0)))


def limits_of(query: QuerySpec) -> dict[GateCheck, float]:
    """Every check that applies to a query, with its limit."""
    limits = {check: check.limit_for(query) for check in all_checks()}
    return {check: limit for check, limit in limits.items() if limit is not None}


def _kinds(parent: type[GateCheck]) -> Iterator[type[GateCheck]]:
    """The subclasses in this package that have a key of their own; the others are what several have in common."""
    for kind in parent.__subclasses__():
        if "key" in vars(kind) and kind.__module__.startswith(f"{__name__}."):
            yield kind
        yield from _kinds(kind)

"""Several queries that drop windows share one capacity: who drops how much, and what if that is not enough.

Maximise the weighted share of delivered windows under sum cost_i (1 - saving_i p_i) <= capacity, 0 <= p_i <= limit_i: a
linear programme with one common constraint, so taking the drops in order of seconds saved per weight lost is optimal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Otherwise = Literal["late", "shut"]


@dataclass(frozen=True, slots=True)
class Member:
    """A query of a pool: what it costs without drops, the share of that a drop of 1 saves, its limit and its weight."""

    name: str
    cost: float
    saving: float
    limit: float
    weight: float = 1.0

    @property
    def worth(self) -> float:
        """Seconds saved per weight lost."""
        return self.cost * self.saving / self.weight


@dataclass(frozen=True, slots=True)
class Admitted:
    """What a member is told: the share it drops (1: shut), whether it will be late, and why."""

    drop: float
    state: Literal["fits", "late", "shut"]
    reason: str


def admit(members: Sequence[Member], capacity: float, otherwise: Otherwise = "late") -> dict[str, Admitted]:
    """Each member's drop.

    Guarantee: no member drops more than its limit unless it is shut, and none is shut while the limits suffice. Where
    they do not, `late` drops up to every limit and runs over; `shut` stops the dearest per weight, one by one.
    """
    shut: list[Member] = []
    left = sorted(members, key=lambda member: member.name)
    while otherwise == "shut" and left and _least(left) > capacity:
        dearest = max(left, key=lambda member: (member.cost / member.weight, member.name))
        shut.append(dearest)
        left.remove(dearest)
    drops = _drops(left, capacity)
    late = _least(left) > capacity
    told = {member.name: _told(member, drops[member.name], late, capacity, _least(left)) for member in left}
    return told | {member.name: _shut(member, capacity) for member in shut}


def _least(members: Sequence[Member]) -> float:
    """The cost when every member drops all that it may."""
    return sum(member.cost * (1 - member.saving * member.limit) for member in members)


def _drops(members: Sequence[Member], capacity: float) -> dict[str, float]:
    """The optimal drops: the fractional knapsack of what is over."""
    over = sum(member.cost for member in members) - capacity
    drops = dict.fromkeys((member.name for member in members), 0.0)
    for member in sorted(members, key=lambda member: (-member.worth, member.name)):
        saved = member.cost * member.saving
        if over > 0 and saved > 0:
            drops[member.name] = min(member.limit, over / saved)
            over -= drops[member.name] * saved
    return drops


def _told(member: Member, drop: float, late: bool, capacity: float, least: float) -> Admitted:
    if late:
        why = f"the pool needs {least:.4g} s even when every query drops all that it may, and has {capacity:.4g} s"
        return Admitted(drop, "late", f"late: {why}; raise the capacity, or a batch, or write otherwise: shut")
    return Admitted(drop, "fits", f"drops {drop:.3g} of its windows" if drop else "fits without drops")


def _shut(member: Member, capacity: float) -> Admitted:
    why = f"no drop within the batches fits {capacity:.4g} s, and it costs the most per weight ({member.cost:.4g} s)"
    return Admitted(1.0, "shut", f"shut: {why}; raise the capacity or its weight, or write otherwise: late")

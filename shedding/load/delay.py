"""How long may work wait, and what may be admitted under that limit? CHECKLATENCY of Listing 3.2, and its queue.

Two errata of the printed listing matter here. Idle time is not banked: the work ahead is max(C, elapsed) - elapsed
(Lindley's recursion), never negative. What is forced through is counted as what is admitted is, else the mean is kept
on paper only; and a row counts in the mean that it is judged by, (Q + q) / (l + 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

MEMORY = 24
"""Slots whose mean delay `MeanDelay.room` keeps."""
_ROUNDING = 1e-12
_HALVINGS = 50


@dataclass(slots=True)
class Backlog:
    """A queue served in order, one at a time: the moment until which the admitted work lasts."""

    until: float = 0.0

    def delay(self, now: float) -> float:
        """How long work that comes now waits; 0 where the server is idle."""
        return max(0.0, self.until - now)

    def add(self, now: float, work: float) -> None:
        """Work admitted now is done behind what is there."""
        self.until = max(self.until, now) + work


class DelayLimit(Protocol):
    """A limit on delays. `admits` asks, `count` tells; forced work is counted without being asked about."""

    def admits(self, delay: float) -> bool:
        """Whether work that waits this long keeps the limit."""

    def count(self, delay: float) -> None:
        """Work that waits this long was taken, admitted or forced."""

    def room(self, delays: Sequence[float], slot: float) -> float:
        """The work that a slot of this length may take after slots with these delays, oldest first."""


@dataclass(slots=True)
class MostDelay:
    """ABS(tau): no delay above tau."""

    tau: float

    def admits(self, delay: float) -> bool:
        """Whether the delay itself is at most tau."""
        return delay <= self.tau

    def count(self, delay: float) -> None:
        """Nothing to remember: each delay stands for itself."""

    def room(self, delays: Sequence[float], slot: float) -> float:
        """slot + tau - delay: what is left for the next slot waits at most tau."""
        return max(0.0, slot + self.tau - (delays[-1] if delays else 0.0))


@dataclass(slots=True)
class MeanDelay:
    """AVG(tau): the mean delay of all that was taken is at most tau, at every moment.

    Guarantee: while nothing is forced, sum / taken <= tau after every `count` that `admits` allowed.
    """

    tau: float
    total: float = 0.0
    taken: int = 0

    def admits(self, delay: float) -> bool:
        """Whether the mean with this one counted is at most tau: (Q + q) / (l + 1)."""
        return self.total + delay <= self.tau * (self.taken + 1)

    def count(self, delay: float) -> None:
        """Add the delay to the mean."""
        self.total += delay
        self.taken += 1

    def room(self, delays: Sequence[float], slot: float) -> float:
        """The work that keeps the mean delay of the last 24 slots at most tau, until what is left of it has drained.

        A delay d falls by a slot's length a slot at best, so the means of all slots until it is gone are looked at.
        """
        now = delays[-1] if delays else 0.0
        low, high = 0.0, self.tau * MEMORY
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._drains(delays, middle, slot) else (low, middle)
        return max(0.0, slot + low - now)

    def _drains(self, delays: Sequence[float], delay: float, slot: float) -> bool:
        past = list(delays)
        while delay > 0:
            past.append(delay)
            last = past[-MEMORY:]
            if sum(last) > self.tau * len(last):
                return False
            delay -= slot
        return True


def next_delay(delay: float, work: float, slot: float) -> float:
    """Lindley's recursion over slots: what the next slot waits for, max(0, delay + work - slot)."""
    left = delay + work - slot
    return left if left > _ROUNDING * max(slot, 1.0) else 0.0

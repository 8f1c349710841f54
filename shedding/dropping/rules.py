"""What dropping whole windows costs and frees: the rules of WinDrop's Table 2, corrected, as pure functions.

A unit is what is dropped or kept together: a window of `size` every `slide`, at most `batch` of them in a row. Lengths
are whole numbers of any one unit of time. Three printed formulas are corrected here:

- the free share is p((B+1)d - w) / (B d): batches tile the stream every B slides (printed: over (B-1)d + w);
- the tick of the pipeline rule is gcd(slide_up, slide_down, size_down), derived and never declared (printed: 1);
- p and B hold together only up to `largest_drop(B)`, which is below B / (B + 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

BLOCKS = 64
"""Blocks of a calendar's cycle; more would only raise the largest drop a little."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Windows that share one decision: `size` every `slide`, at most `batch` in a row dropped; 0: none is legal."""

    size: int
    slide: int
    batch: int = 1

    def __post_init__(self) -> None:
        if self.size <= 0 or self.slide <= 0 or self.batch < 0:
            raise ValueError("size and slide of a unit must be positive, and its batch not negative")


def pipeline(up: Unit, down: Unit, tick: int | None = None) -> Unit:
    """The unit of `down` when it reads the answers of `up`: one kept window of it keeps `size` of the raw stream.

    The last window of `up` that starts inside one of `down` starts at least a tick before its end.

    >>> pipeline(Unit(3, 2), Unit(3, 3))
    Unit(size=5, slide=3, batch=1)
    >>> pipeline(Unit(10, 10), Unit(100, 100)).size, pipeline(Unit(10, 10), Unit(100, 100), tick=1).size
    (100, 109)
    """
    step = math.gcd(up.slide, down.slide, down.size) if tick is None else tick
    return Unit(up.size + down.size - step, down.slide, down.batch)


def fan_out(units: Sequence[Unit]) -> Unit:
    """The common unit of siblings that read one stream; a batch of 0 says that none is legal, each drops for itself.

    >>> fan_out([Unit(3, 2, 6), Unit(3, 3, 4)])
    Unit(size=7, slide=6, batch=2)
    """
    slide = math.lcm(*(unit.slide for unit in units))
    size = slide + max(0, *(unit.size - unit.slide for unit in units))
    return Unit(size, slide, min(unit.batch * unit.slide // slide for unit in units))


def window_count(instant: int, size: int, slide: int) -> int:
    """Definition 1: how many windows an instant belongs to, where the first window of all starts at 0.

    >>> [window_count(t, size=5, slide=2) for t in range(8)]
    [1, 1, 2, 2, 3, 2, 3, 2]
    """
    earliest = max(0, (instant - size) // slide + 1)
    return instant // slide - earliest + 1


def free_share(unit: Unit, drop: float) -> float:
    """The share of the rows that lie in dropped windows only, when `drop` of the windows fall in whole batches.

    Of all rows that any window needs: gaps between windows (slide above size) are nobody's rows.
    """
    if unit.size <= unit.slide:
        return drop if unit.batch else 0.0
    rows = (unit.batch + 1) * unit.slide - unit.size
    return drop * rows / (unit.batch * unit.slide) if rows > 0 and unit.batch else 0.0


def least_freeing_batch(unit: Unit) -> int:
    """The smallest batch that frees any row: floor(size / slide), one at least."""
    return max(1, unit.size // unit.slide)


def cycle(batch: int) -> int:
    """Windows of a calendar's cycle: one more than its blocks hold, so that the sure window wanders."""
    return BLOCKS * (batch + 1) + 1


def largest_drop(batch: int) -> float:
    """The largest share of windows that can be dropped, at most `batch` in a row; the paper's B / (B + 1) is above it.

    >>> round(largest_drop(1), 3), round(largest_drop(2), 3), round(largest_drop(10), 3)
    (0.496, 0.663, 0.908)
    """
    return BLOCKS * batch / cycle(batch)


def needed_drop(before: float, of: float, after: float, excess: float, early: float = 0.0) -> float:
    """The share of windows to drop so that a load of (1 + excess) fits; above 1 where no drop suffices.

    Costs are those before the aggregate, of it and after it. A dropped window saves the aggregate's and what follows,
    and `early` = free_share(unit, 1) of what comes before; a drop behind the aggregate counts `of` into `before`
    (Section 3.6 with the corrected share).

    >>> [round(needed_drop(*costs), 2) for costs in ((2, 0, 1, 0.25), (1, 1, 1, 0.25), (1, 1, 1, 0.25, 1))]
    [0.6, 0.3, 0.2]
    """
    saved = early * before + of + after
    wanted = excess / (1 + excess) * (before + of + after)
    return math.inf if saved <= 0 < wanted else wanted / saved if wanted else 0.0


def drop_problem(batch: int, drop: float) -> str | None:
    """Why a share cannot be dropped with that batch, and what can be."""
    limit = largest_drop(batch)
    if drop <= limit:
        return None
    enough = next((b for b in range(batch + 1, 1000) if drop <= largest_drop(b)), None)
    longer = f", or batch: {enough}" if enough is not None else ""
    most = math.floor(limit * 1000) / 1000
    return f"batch {batch} allows at most {most:g}, {drop:g} is more; write a smaller drop{longer}"


def batch_advice(unit: Unit, drop: float) -> str:
    """What a batch buys: the share of the rows that are never read, and what a longer batch would give."""
    share = free_share(unit, drop)
    if share > 0:
        return f"{share:.0%} of the rows lie in dropped windows only and are never read"
    least = least_freeing_batch(unit)
    more = [
        f"batch {b} frees {free_share(Unit(unit.size, unit.slide, b), 1.0):.0%} of drop" for b in (least, least + 2)
    ]
    return (
        f"no row becomes free: every row lies in some kept window at batch {unit.batch}, only the windows' own work is "
        f"saved; {', '.join(more)}"
    )

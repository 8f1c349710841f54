"""Panes, windows and slots: half-open, UTC, aligned to the epoch, in whole microseconds.

A window of a query is cut into panes of width gcd(size, slide). A slot is the data interval of one
run; it owns the windows whose last instant lies in it, so each window belongs to exactly one run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from shedding.spec.times import as_datetime
from shedding.stretches import Stretches

Block = tuple[int, int]
MOST_BLOCKS = 24
"""Blocks of an audited slot that history looks at, spread evenly; more would only cost time."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """The time arithmetic of one query; all lengths in microseconds, `slot` a multiple of `slide`."""

    size: int
    slide: int
    slot: int

    def __post_init__(self) -> None:
        if min(self.size, self.slide, self.slot) <= 0:
            raise ValueError("size, slide and slot must be positive")
        if self.slot % self.slide:
            raise ValueError("the slot must be a multiple of the slide")

    @property
    def pane(self) -> int:
        """Width of a pane: the longest that both tiles every window and every slide."""
        return math.gcd(self.size, self.slide)

    def slot_of(self, instant: int) -> int:
        """Start of the slot that holds `instant`."""
        return instant // self.slot * self.slot

    def pane_of(self, instant: int) -> int:
        """Start of the pane that holds `instant`."""
        return instant // self.pane * self.pane

    def windows(self, slot: int) -> list[tuple[int, int]]:
        """The windows owned by the slot that starts at `slot`: those ending in (slot, slot + length].

        >>> Timeline(size=3, slide=2, slot=4).windows(4)
        [(2, 5), (4, 7)]
        """
        first = -((self.size - slot - 1) // self.slide) * self.slide  # least start with start + size > slot
        last = slot + self.slot - self.size
        return [(start, start + self.size) for start in range(first, last + 1, self.slide)]

    def panes(self, window: tuple[int, int]) -> range:
        """Starts of the panes whose union is the window."""
        return range(window[0], window[1], self.pane)

    def needed(self, start: int, end: int) -> Stretches:
        """The instants of [start, end) that some window holds: all but the gaps that a slide above the size leaves.

        >>> Timeline(size=2, slide=6, slot=12).needed(1, 12)
        Stretches(parts=((1, 2), (6, 8)))
        """
        if self.size >= self.slide:
            return Stretches.of((start, end))
        first = start - start % self.slide
        parts = ((max(low, start), min(low + self.size, end)) for low in range(first, end, self.slide))
        return Stretches.of(*parts)

    def slot_needed(self, slot: int) -> Stretches:
        """The instants of a slot that some window holds; their rows are sampled with the slot's own rates."""
        return self.needed(slot, slot + self.slot)

    def slots_needed(self, slot: int) -> list[int]:
        """The slots whose panes the slot's windows combine, oldest first, the slot itself last."""
        windows = self.windows(slot)
        first = min((start for start, _ in windows), default=slot)
        return list(range(self.slot_of(first), slot + 1, self.slot))

    def slots_between(self, start: int, end: int) -> list[int]:
        """Every slot that begins in [start, end), `start` rounded down to a slot."""
        return list(range(self.slot_of(start), end, self.slot))


def slot_name(slot: int) -> str:
    """A slot's partition value: ISO basic, sortable, free of characters that paths escape.

    >>> slot_name(0)
    '19700101T000000Z'
    """
    moment = as_datetime(slot)
    fraction = f".{moment.microsecond:06d}" if moment.microsecond else ""
    return f"{moment.year:04}{moment:%m%dT%H%M%S}{fraction}Z"  # %Y has no leading zeros here


def slot_blocks(timeline: Timeline, slot: int) -> list[Block]:
    """The window-sized pieces of a slot that do not overlap, oldest first; the slot itself where windows are longer.

    >>> slot_blocks(Timeline(size=2, slide=1, slot=4), 8)
    [(8, 10), (10, 12)]
    """
    if timeline.size >= timeline.slot:
        return [(slot, slot + timeline.slot)]
    step = max(timeline.size, timeline.slide)
    first = -(-slot // timeline.slide) * timeline.slide
    starts = list(range(first, slot + timeline.slot - timeline.size + 1, step))
    if len(starts) > MOST_BLOCKS:
        starts = [starts[i * len(starts) // MOST_BLOCKS] for i in range(MOST_BLOCKS)]
    return [(start, start + timeline.size) for start in starts]

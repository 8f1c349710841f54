"""WinDrop as its paper prints it: the coin with its debt (Section 3.4) and the decoding of marks (Table 3).

Time is whole, one tuple a tick. Only tests use it: production decides by a calendar and propagates keep sets.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

ANY, NO = -1, 0
"""Marks of a tuple: don't care, and window disallowed; any other says until when tuples must be retained."""


def coin_per_batch(windows: int, drop: float, batch: int, seed: int) -> Iterator[bool]:
    """Which windows are kept: a coin a batch; one is kept between two dropped batches, and made up for later."""
    coins, run, debt = random.Random(seed), 0, 0
    for number in range(windows):
        if number % batch == 0:
            dropping = coins.random() < drop
        wanted = dropping or debt > 0
        keep = not wanted or run == batch
        debt += (1 if keep else 0) if dropping else (0 if keep else -1)
        run = 0 if keep else run + 1
        yield keep


Marks = dict[int, int]
"""The marks of a stream by time; an instant that is not there carries none."""


def marked(length: int, size: int, slide: int, kept: Iterable[int]) -> tuple[Marks, set[int]]:
    """The stream behind a WinDrop: the fate of every potential window start, and the tuples not dropped early."""
    keep, until = set(kept), 0
    marks: Marks = {}
    retained = set()
    for time in range(length):
        if time % slide == 0:
            marks[time] = time + size if time in keep else NO
            until = max(until, marks[time])
        if time < until:
            retained.add(time)
    return marks, retained


@dataclass
class Aggregate:
    """An aggregate that decodes marks by Table 3; `printed` lets `keep_until` grow as the paper has it.

    `tick` is the paper's 1, or the derived one. A window without a first tuple opens as if it had one without a mark;
    skipped starts carry their mark on as fake tuples.
    """

    size: int
    slide: int
    tick: int = 1
    printed: bool = False
    opened: list[int] = field(default_factory=list)

    def run(self, marks: Marks, length: int) -> Marks:
        """Open the windows that the marks allow; the marks as the next aggregate receives them."""
        until, out = 0, {}
        for time in range(length):
            mark = marks.get(time, ANY)
            if mark > 0:
                until = mark = mark - (self.size - self.tick)
            if mark != ANY:
                out[time] = mark
            if time % self.slide == 0 and time < until:
                self.opened.append(time)
                if self.printed and mark <= 0:
                    until = max(until, time + self.size)
        return out

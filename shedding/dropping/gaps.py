"""Holes in a sequence of windows: how long they are, and the fewest windows that make them short enough."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def gaps_beside(windows: Sequence[int], kept: Collection[int]) -> dict[int, int]:
    """Of each kept window the longer of the two runs of dropped windows beside it.

    >>> gaps_beside([0, 1, 2, 3, 4, 5], {1, 5})
    {1: 3, 5: 3}
    """
    before, run, beside = {}, 0, {}
    for window in windows:
        if window in kept:
            before[window], run = run, 0
        else:
            run += 1
    run = 0
    for window in reversed(windows):
        if window in kept:
            beside[window], run = max(before[window], run), 0
        else:
            run += 1
    return {window: beside[window] for window in windows if window in beside}


def longest_gap(windows: Sequence[int], kept: Collection[int]) -> int:
    """The longest run of windows that are not kept."""
    longest = run = 0
    for window in windows:
        run = 0 if window in kept else run + 1
        longest = max(longest, run)
    return longest


def fewest_fills(windows: Sequence[int], kept: Collection[int], own: Collection[int], batch: int) -> list[int]:
    """The fewest of the `own` windows that, kept too, leave no run above `batch` which they could have shortened.

    Greedy from the oldest: a run is cut as late as it may be, at the last own window within its first batch + 1. Runs
    among other windows stay as they are.

    >>> fewest_fills([0, 1, 2, 3, 4, 5], {0}, {1, 2, 3, 4, 5}, 2)
    [3]
    """
    fills: list[int] = []
    run: list[int] = []
    for window in windows:
        if window in kept:
            run = []
            continue
        run.append(window)
        if len(run) > batch:
            cut = next((place for place in reversed(range(len(run))) if run[place] in own), None)
            if cut is not None:
                fills.append(run[cut])
                run = run[cut + 1 :]
    return fills

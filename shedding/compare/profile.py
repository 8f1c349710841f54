"""The profile of a dataset: how its rows spread over keys and windows, and what that means for shedding.

Windows are tumbling, half-open and aligned to the epoch. Only windows that have rows count; the first and the last
may be cut by the ends of the data. Nothing here depends on the order of the counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding.errors import DataError
from shedding.ingest.arrivals import HOUR, Arrivals
from shedding.keys import align
from shedding.planning.drift import Drift, grouped_drift

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
BUDGETS = (0.01, 0.02, 0.05, 0.10, 0.20)
TOP = 10


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over all windows: its least, median and greatest value."""

    least: float
    median: float
    most: float

    @classmethod
    def of(cls, values: npt.ArrayLike) -> Spread | None:
        """The spread of some values; None of none."""
        array = np.asarray(values, dtype=np.float64)
        return cls(float(array.min()), float(np.median(array)), float(array.max())) if array.size else None


@dataclass(frozen=True, slots=True)
class Windows:
    """Per window, oldest first: start (us), rows, keys, keys of one row, rows of its top key and top ten keys."""

    start: Ints
    rows: Ints
    keys: Ints
    once: Ints
    top_1: Ints
    top_10: Ints


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a budget (a fraction of each window's rows) can show of the windows' keys.

    `short`: the share of windows with more keys than the budget has rows, where no sampler can show every key.
    `best`: the share of all windows' keys that a sampler of so many rows on average can show at most, one row a key.
    `uniform`: the share that uniform sampling shows on average, 1 - (1 - budget)^rows for each key.
    """

    budget: float
    short: float
    best: float
    uniform: float


@dataclass(frozen=True, slots=True)
class Profile:
    """The figures of a dataset by some keys; shares are of rows, unless they say otherwise.

    `ranked` holds each key's rows over all windows, largest first; `once` the keys of one row in all. `floor` is
    keys / rows of each window: below it no sampler can show every key of the window, as each takes a row.
    `floor_overall` is the same of all windows together, for a sampler that moves rows between windows.
    """

    width: int
    windows: Windows
    ranked: Ints
    drift: tuple[Drift, ...]
    outlooks: tuple[Outlook, ...]

    @property
    def rows(self) -> int:
        """All rows."""
        return int(self.ranked.sum())

    @property
    def keys(self) -> int:
        """Distinct keys over all windows."""
        return self.ranked.size

    @property
    def once(self) -> int:
        """Keys with one row in all."""
        return int((self.ranked == 1).sum())

    def top_share(self, n: int) -> float:
        """Share of the n most frequent keys over all windows."""
        return float(self.ranked[:n].sum() / self.rows)

    @property
    def floor(self) -> Spread:
        """Keys / rows over the windows."""
        found = Spread.of(self.windows.keys / self.windows.rows)
        assert found is not None  # a profile has a window
        return found

    @property
    def floor_overall(self) -> float:
        """Keys of every window summed, over all rows."""
        return float(self.windows.keys.sum() / self.rows)


def profile(counts: pa.Table, keys: Sequence[str], width: int, budgets: Sequence[float] = BUDGETS) -> Profile:
    """The profile of `counts`: one line per window and key with rows (window_start in us, key columns, rows).

    Drift is between windows that follow each other without a gap. Raises DataError where there is no row.
    """
    rows = counts["rows"].to_numpy().astype(np.int64)
    if not rows.sum():
        raise DataError("there is no row to profile; ingest some first")
    start = counts["window_start"].to_numpy().astype(np.int64)
    _, (code,) = align([counts], keys)
    order = np.lexsort((code, -rows, start))
    start, rows, code = start[order], rows[order], code[order]
    starts, first = np.unique(start, return_index=True)
    end = np.append(first[1:], rows.size)
    windows = _windows(starts, rows, first, end)
    totals = np.zeros(int(code.max()) + 1, dtype=np.int64)
    np.add.at(totals, code, rows)
    parts = [slice(a, b) for a, b in zip(first, end, strict=True)]
    drift = tuple(
        grouped_drift(code[before], rows[before], code[after], rows[after])
        for (before, after), gap in zip(itertools.pairwise(parts), np.diff(starts), strict=True)
        if gap == width
    )
    outlooks = tuple(_outlook(budget, windows, rows) for budget in budgets)
    return Profile(width, windows, np.sort(totals)[::-1], drift, outlooks)


def late_rows(arrivals: Arrivals, allowed_lateness: int) -> int:
    """Visible rows that came later than allowed: as ingest counts them, from the hours that the log has.

    A row is late where its whole hour lies at or before what all sources made visible in earlier commits had
    reached, less `allowed_lateness`. Files of one ingest batch come at once: none is late for another. A source that
    was replaced counts no more, neither its rows nor its newest event.
    """
    late = 0
    newest: int | None = None
    for _, batch in itertools.groupby(sorted(arrivals.visible, key=lambda s: s.seq), key=lambda s: s.seq):
        sources = list(batch)
        if newest is not None:
            limit = newest - allowed_lateness
            late += sum(n for source in sources for hour, n in source.hours.items() if hour + HOUR <= limit)
        seen = [source.reached for source in sources if source.reached is not None]
        newest = max([*seen, *([] if newest is None else [newest])], default=None)
    return late


def _windows(starts: Ints, rows: Ints, first: Ints, end: Ints) -> Windows:
    """The figures of each window; its counts lie in [first, end), largest first."""
    below = np.concatenate(([0], np.cumsum(rows)))
    return Windows(
        start=starts,
        rows=below[end] - below[first],
        keys=end - first,
        once=np.add.reduceat((rows == 1).astype(np.int64), first),
        top_1=rows[first],
        top_10=below[np.minimum(first + TOP, end)] - below[first],
    )


def _outlook(budget: float, windows: Windows, rows: Ints) -> Outlook:
    # keys / rows against the budget, not keys against budget * rows: 29 keys of 100 rows fit a budget of 0.29.
    short = windows.keys / windows.rows > budget
    shown = np.where(short, budget * windows.rows, windows.keys)
    keys = windows.keys.sum()
    return Outlook(
        budget=budget,
        short=float(short.mean()),
        best=float(shown.sum() / keys),
        uniform=float(np.sum(-np.expm1(rows * np.log1p(-budget))) / keys) if budget < 1 else 1.0,
    )

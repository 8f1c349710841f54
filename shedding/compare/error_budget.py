"""The error budget of an objective: how many windows may be bad, how many are, and how fast the budget is spent.

Pure: one flag a window goes in, figures come out. The words are those of Beyer et al., The Site Reliability Workbook
(2018), chapters 2 and 5: the budget of a share s over N windows is (1 - s) N bad windows; a burn rate of 1 spends it
exactly over the whole stretch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shedding.compare.promise import clopper_pearson
from shedding.spec.query import ObjectiveSpec
from shedding.spec.timeline import Timeline

Floats = npt.NDArray[np.float64]
Instants = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class BurnWindow:
    """One alert of two windows: it fires where both the long and the short stretch burn faster than `rate`."""

    severity: str
    long_slots: int
    short_slots: int
    rate: float


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """The state of an objective at one instant.

    `promised` windows ended in the stretch, `bad` of them were over a limit or not published. `allowed` is the budget
    of a whole stretch, also for a query that is younger than that.
    """

    share: float
    promised: int
    bad: int
    allowed: float
    achieved_low: float
    achieved_high: float
    windows_per_slot: float

    @property
    def achieved(self) -> float:
        """The share of good windows; NaN where none was promised."""
        return 1 - self.bad / self.promised if self.promised else float("nan")

    @property
    def left(self) -> float:
        """The part of the budget that is left: 1 untouched, below 0 overspent."""
        return 1 - self.bad / self.allowed

    @property
    def left_slots(self) -> float:
        """How many whole slots may still fail; below 0 how many too many did."""
        return (self.allowed - self.bad) / self.windows_per_slot


def error_budget(
    objective: ObjectiveSpec, timeline: Timeline, ends: Instants, bad: Flags, now: int | None = None
) -> ErrorBudget:
    """The budget at `now` (left out: the last window's end) of windows that end at `ends`, in any order.

    The interval of the achieved share is Clopper and Pearson's; windows that overlap share their rows and count as
    one there.
    """
    now = int(ends.max(initial=0)) if now is None else now
    inside = (ends > now - objective.over) & (ends <= now)
    promised, spent = int(inside.sum()), int(bad[inside].sum())
    overlap = max(1, timeline.size // timeline.slide)
    low, high = clopper_pearson((promised - spent) / overlap, promised / overlap) if promised else (0.0, 1.0)
    return ErrorBudget(
        share=objective.share, promised=promised, bad=spent, allowed=allowed_windows(objective, timeline),
        achieved_low=low, achieved_high=high, windows_per_slot=timeline.slot / timeline.slide,
    )  # fmt: skip


def allowed_windows(objective: ObjectiveSpec, timeline: Timeline) -> float:
    """How many windows of a whole stretch may be bad."""
    return (1 - objective.share) * objective.over / timeline.slide


def burn_down(objective: ObjectiveSpec, timeline: Timeline, ends: Instants, bad: Flags, at: Instants) -> Floats:
    """The part of the budget that is left at each instant of `at`; `ends` ascend."""
    spent = np.concatenate([[0], np.cumsum(bad)])
    until, since = (np.searchsorted(ends, moment, side="right") for moment in (at, at - objective.over))
    return np.asarray(1 - (spent[until] - spent[since]) / allowed_windows(objective, timeline), dtype=np.float64)


def burn_rate(objective: ObjectiveSpec, timeline: Timeline, ends: Instants, bad: Flags, slots: int, now: int) -> float:
    """How fast the last `slots` slots spend the budget: their bad share of windows over the allowed share."""
    inside = (ends > now - slots * timeline.slot) & (ends <= now)
    promised = slots * timeline.slot / timeline.slide
    return float(bad[inside].sum()) / promised / (1 - objective.share)


_ALERTS = (("page", 0.02, 1 / 720), ("page", 0.05, 6 / 720), ("ticket", 0.10, 72 / 720))
"""Severity, the part of the budget that is spent when it fires, and the long window as a part of the stretch: the
Workbook's table 5-8, whose stretch is 30 days."""
_SHORTER = 12
"""The short window is this part of the long one: an alert ends soon after its cause has."""


def burn_windows(objective: ObjectiveSpec, timeline: Timeline) -> Sequence[BurnWindow]:
    """The alerts of an objective, in slots: nothing shorter than a slot can burn.

    A long window of fewer slots than the table's takes as many slots as there are in it, at least one, and keeps the
    part of the budget; its rate is never below 1, which no budget is hurt by, nor above what all windows bad burn.
    """
    slots = objective.over / timeline.slot
    found: dict[tuple[str, int], BurnWindow] = {}
    for severity, part, length in _ALERTS:
        long = max(1, round(length * slots))
        rate = min(max(1.0, part * slots / long), 0.999 / (1 - objective.share))
        found.setdefault((severity, long), BurnWindow(severity, long, max(1, round(long / _SHORTER)), rate))
    return list(found.values())

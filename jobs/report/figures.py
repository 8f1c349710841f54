"""The figures of a query's page and of the front page, from its slots. Pure but for `load`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jobs.report import tables
from jobs.report.slots import MISSING, REFUSED, Slot, is_live, slots_of, window_flags
from shedding.compare.error_budget import ErrorBudget, Flags, Floats, Instants, burn_down, burn_rate, error_budget
from shedding.config import Settings
from shedding.spec.query import QuerySpec
from shedding.spec.times import UNITS

SPARKLINE = 28
EMPTY, FINE, WARNING, LOW, SPENT, REFUSING, LATE = (
    "no slot yet", "in budget", "warning", "budget low", "budget spent", "refused", "late",
)  # fmt: skip
LOW_BUDGET = 0.25


@dataclass(frozen=True, slots=True)
class Savings:
    """What shedding saved of the exact computation's rows, bytes or seconds; negative where it cost more."""

    unit: str
    shed: float
    audits: float
    repairs: float
    exact: float
    estimated: bool

    @property
    def spent(self) -> float:
        """All that was spent."""
        return self.shed + self.audits + self.repairs

    @property
    def saved(self) -> float:
        """The saved part of what the exact computation takes; NaN where that is unknown."""
        return 1 - self.spent / self.exact if self.exact > 0 else math.nan


@dataclass(frozen=True)
class QueryFigures:
    """One query's slots and all that follows from them at the instant `now`."""

    query: QuerySpec
    slots: Sequence[Slot]
    now: int

    @classmethod
    def load(cls, settings: Settings, query: QuerySpec, now: int) -> QueryFigures:
        """The figures of a query as its tables stand; slots are made anew only where a table has changed."""
        due = now // query.timeline.slot
        asked = (settings.warehouse, query.model_dump_json(), tables.versions(settings, query), due)
        if asked not in _SLOTS:
            while len(_SLOTS) >= tables.KEPT:
                _SLOTS.pop(next(iter(_SLOTS)), None)
            _SLOTS[asked] = _load(settings, query, now)
        return cls(query, _SLOTS[asked], now)

    @cached_property
    def flags(self) -> tuple[Instants, Flags]:
        """The ends of all windows, and which are bad."""
        return window_flags(self.query, self.slots)

    @property
    def end(self) -> int:
        """The end of the last slot."""
        return self.slots[-1].start + self.query.timeline.slot if self.slots else 0

    @cached_property
    def recent(self) -> Sequence[Slot]:
        """The slots of the objective's stretch."""
        return [slot for slot in self.slots if slot.start >= self.end - self.query.objective.over]

    @cached_property
    def budget(self) -> ErrorBudget:
        """The objective's state after the last slot."""
        return error_budget(self.query.objective, self.query.timeline, *self.flags)

    def burn_rate(self, slots: int) -> float:
        """How fast the last slots spend the budget."""
        return burn_rate(self.query.objective, self.query.timeline, *self.flags, slots, self.end)

    @cached_property
    def burn_down(self) -> tuple[Instants, Floats]:
        """The budget left after each slot of the stretch."""
        at = np.array([slot.start + self.query.timeline.slot for slot in self.recent], dtype=np.int64)
        return at, burn_down(self.query.objective, self.query.timeline, *self.flags, at)

    @cached_property
    def sparkline(self) -> Floats:
        """The budget left at 28 instants spread evenly over the stretch."""
        if not self.slots:
            return np.ones(0)
        at = np.linspace(self.end - self.query.objective.over, self.end, SPARKLINE + 1)[1:].astype(np.int64)
        return burn_down(self.query.objective, self.query.timeline, *self.flags, at)

    @property
    def last_run(self) -> Slot | None:
        """The newest slot that was run."""
        return next((slot for slot in reversed(self.slots) if slot.outcome != MISSING), None)

    @property
    def live(self) -> bool:
        """Whether the query follows the clock and is no replay of old rows."""
        last = self.last_run
        return last is not None and is_live(self.query, last.start + self.query.timeline.slot, last.judged_at)

    @property
    def audit_age(self) -> int | None:
        """Microseconds of event time from the last audited slot to the end; None where none was audited."""
        last = next((slot.start for slot in reversed(self.slots) if slot.audited), None)
        return None if last is None else self.end - last - self.query.timeline.slot

    @property
    def next_deadline(self) -> int | None:
        """When the next slot is due, one slot's length after its end; None for a replay."""
        return self.end + 2 * self.query.timeline.slot if self.live else None

    @property
    def standing(self) -> str:
        """One word or two for the whole query, the most urgent first."""
        last = self.slots[-1] if self.slots else None
        if last is None:
            return EMPTY
        if last.outcome == MISSING:
            return LATE
        if self.budget.left <= 0:
            return SPENT
        if last.outcome == REFUSED:
            return REFUSING
        if self.budget.left < LOW_BUDGET:
            return LOW
        return WARNING if last.warnings else FINE

    @property
    def counts(self) -> dict[str, int]:
        """How many slots of the stretch are in each state."""
        found: dict[str, int] = {}
        for slot in self.recent:
            found[slot.outcome] = found.get(slot.outcome, 0) + 1
        return found

    @cached_property
    def savings(self) -> list[Savings]:
        """Rows, bytes and seconds of the stretch against the exact computation of the same slots.

        What exact would have read and taken is not measured on slots that shed: it is the audited slots' median by
        row, and says so.
        """
        run = [slot for slot in self.recent if not math.isnan(slot.cost.rows)]
        rows = Savings("rows", *_rows(run), False)
        return [
            rows,
            *(self._by_audits(run, unit, name) for unit, name in (("bytes", "bytes"), ("seconds", "seconds"))),
        ]

    def _by_audits(self, run: Sequence[Slot], unit: str, name: str) -> Savings:
        audited = [slot for slot in run if slot.audited and slot.cost.exact_rows > 0]
        each = [getattr(slot.cost, name) / slot.cost.exact_rows for slot in audited]
        exact = float(np.nanmedian(each)) * _sum(run, "exact_rows") if each else math.nan
        shed = sum(getattr(slot.cost, name) for slot in run if not slot.audited)
        return Savings(unit, shed, sum(getattr(slot.cost, name) for slot in audited), 0.0, exact, estimated=True)

    @property
    def break_even(self) -> float:
        """Audited slots, one in so many, at which shedding costs as many rows as it saves; NaN where it never pays."""
        rows = self.savings[0]
        room = 1 - (rows.shed + rows.repairs) / rows.exact if rows.exact > 0 else 0.0
        return 1 / room if room > 0 else math.nan

    @property
    def age(self) -> int:
        """Microseconds from the end of the newest published slot to now."""
        ends = [slot.start + self.query.timeline.slot for slot in self.slots if slot.outcome not in (REFUSED, MISSING)]
        return self.now - max(ends, default=self.now)


_SLOTS: dict[tuple[object, ...], Sequence[Slot]] = {}


def _load(settings: Settings, query: QuerySpec, now: int) -> Sequence[Slot]:
    since = tables.beginning(settings, query)
    if since is None:
        return ()
    rows = tables.runs(settings, query, since), tables.verdicts(settings, query, since)
    ends = tables.published_slots(settings, query, since), tables.verifications(settings, query)
    return slots_of(query, *rows, *ends, now)


def _rows(slots: Sequence[Slot]) -> tuple[float, float, float, float]:
    return _sum(slots, "shed_rows"), _sum(slots, "audit_rows"), _sum(slots, "repair_rows"), _sum(slots, "exact_rows")


def _sum(slots: Sequence[Slot], name: str) -> float:
    return float(np.nansum([getattr(slot.cost, name) for slot in slots]))


def least_budget_first(figures: Sequence[QueryFigures]) -> list[QueryFigures]:
    """The front page's order; queries without a slot last."""
    return sorted(figures, key=lambda one: (not one.slots, one.budget.left, one.query.name))


def days(micros: float) -> float:
    """Microseconds in days."""
    return micros / UNITS["day"]

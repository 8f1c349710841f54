"""Drift of a query's concepts between slots, and the audits it adds.

Both are functions of the arrival counts, hence of the raw rows alone: every order of backfill sees the
same drift and audits the same slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shedding.costs import Costs
from shedding.ingest.arrivals import HOUR
from shedding.ingest.side import Side
from shedding.keys import align
from shedding.planning.audit_plan import PRIOR_SLOTS, RECORD_SLOTS, SEASONS, AuditPlan
from shedding.planning.cost_model import exact_instead
from shedding.planning.drift import distance, overlap, top_difference
from shedding.spec.keyset import keyset_of
from shedding.spec.query import QuerySpec

Floats = npt.NDArray[np.float64]
WINDOW_DRIFT = ("window_overlap", "window_distance", "window_top_difference")
TOP = 10
"""Size of the top set whose change is recorded, where the query names none."""


@dataclass(frozen=True)
class OccupiedAudits(AuditPlan):
    """The same audits, but slots without rows teach nothing and are passed over: a gap in the data is no forgetting.

    Which slots have rows is a function of the raw rows, so every order of backfill agrees on it.
    """

    side: Side | None = field(default=None, compare=False)

    def priors(self, slot: int, count: int = PRIOR_SLOTS) -> list[int]:
        """The `count` audited slots before `slot` that it learns from, all with rows, newest first.

        Looks at slots that have rows alone: a single row of long ago costs no walk through the years between.
        """
        if self.first is None:
            return []
        before = self._occupied[np.searchsorted(self._occupied, self.first) : np.searchsorted(self._occupied, slot)]
        audited = (int(candidate) for candidate in before[::-1] if self.is_audited(int(candidate)))
        return self.chosen(slot, audited, count)

    @cached_property
    def _occupied(self) -> npt.NDArray[np.int64]:
        """The slots that share an hour with rows, in order."""
        assert self.side is not None
        hours = np.array(self.side.arrivals.occupied, dtype=np.int64)[:, None]
        slots = (hours // self.length + np.arange(-(-HOUR // self.length) + 1)) * self.length
        return np.unique(slots[slots < hours + HOUR])


class AuditPlans:
    """The audits of a query as its slots know of them: each slot's plan is made once and passed on.

    `others` are the sides of the other members of its pool, by name: they are audited with it.
    """

    def __init__(self, query: QuerySpec, sides: Sequence[Side], costs: Costs | None = None) -> None:
        self.query, self.sides, self.others = query, sides, other_sides(query, sides[0])
        self.costs = costs or Costs()
        self._plans: dict[int | None, AuditPlan] = {}

    def at(self, slot: int) -> AuditPlan:
        """The plan that `slot` needs; without drift's audits it is the same for all."""
        known = None if self.query.audit.drift_limit is None else slot
        if known not in self._plans:
            self._plans[known] = audit_plan(self.query, self.sides, slot)
        return self._plans[known]

    def exact_instead(self, slot: int) -> bool:
        """Whether a slot without an audit is computed exactly, because that costs less."""
        return not self.at(slot).is_audited(slot) and exact_instead(self.query, self.sides[0], slot, self.costs)


def other_sides(query: QuerySpec, side: Side) -> dict[str, Side]:
    """The other members' sides, by name, of the same snapshot of the pool's dataset; none for a query in no pool."""
    members = () if query.pool is None else query.pool.members
    return {one.name: replace(side, keyset=keyset_of(one)) for one in members if one.name != query.name}


def audit_plan(query: QuerySpec, sides: Sequence[Side], slot: int) -> AuditPlan:
    """The audits that `slot` may need to know of: the rule's, and those that drift of either side adds before it.

    The first slot is the first of the query's own dataset.
    """
    length = query.timeline.slot
    first_event = sides[0].arrivals.first_event
    first = None if first_event is None else query.timeline.slot_of(first_event)
    one_in, salt, season = query.audit.one_in, query.audit_salt, query.audit.season
    plan = OccupiedAudits(length=length, one_in=one_in, salt=salt, first=first, season=season, side=sides[0])
    if query.audit.drift_limit is None or first is None:
        return plan
    audits = (RECORD_SLOTS + 2 * PRIOR_SLOTS + 2) * query.audit.one_in
    reach = audits + 3 * SEASONS * (query.audit.season or 0) // length
    start = max(first, slot - reach * length)
    if start >= slot or not all(side.known(query.timeline.needed(start, slot)) for side in sides):
        return plan
    rows = _slot_rows(query, sides, start, slot)
    moved = [
        start + (i + 1) * length
        for i in range(1, len(rows))
        if rows[i - 1].any() and rows[i].any() and _distance(rows[i - 1], rows[i]) > query.audit.drift_limit
    ]
    return replace(plan, extra=frozenset(moved))


def slot_drift(query: QuerySpec, sides: Sequence[Side], slot: int) -> dict[str, float | None]:
    """Overlap, distance and change of the top keys between the slot's concept and the one before it.

    The concept of a join holds the keys of both sides, each side's its own. Nothing where the concepts are not counted,
    the query has no keys, or one of the slots has no rows.
    """
    nothing: dict[str, float | None] = {"overlap": None, "distance": None, "top_difference": None}
    length = query.timeline.slot
    if not query.group_by or not all(side.known(query.timeline.needed(slot - length, slot + length)) for side in sides):
        return nothing
    before, after = _slot_rows(query, sides, slot - length, slot + length)
    if not before.any() or not after.any():
        return nothing
    old, new = np.flatnonzero(before), np.flatnonzero(after)
    top = query.top.n if query.top is not None else TOP
    replaced = top_difference(old, before[old], new, after[new], top) if _top_by_rows(query) else None
    return {"overlap": overlap(old, new), "distance": _distance(before, after), "top_difference": replaced}


def _top_by_rows(query: QuerySpec) -> bool:
    """Whether the number of rows says which keys are on top: the query names no top, or one by its count."""
    top = query.top
    return top is None or next(measure for measure in query.measures if measure.name == top.by).traits.state is None


def window_drifts(query: QuerySpec, sides: Sequence[Side], slot: int) -> dict[int, dict[str, float | None]]:
    """By the start of each window of the slot: overlap, distance and change of the top keys since the window before.

    As Fig. 2 has them: windows that overlap share rows. The top is that of the rows; by another measure only exact
    answers tell it (`answers.window_drift`). Nothing where concepts are not counted, or the query has no keys.
    """
    timeline, top = query.timeline, query.top
    windows = timeline.windows(slot)
    first, end = windows[0][0] - timeline.slide, slot + timeline.slot
    if not sides[0].keyset.keys or not all(side.known(timeline.needed(first, end)) for side in sides):
        return {start: dict.fromkeys(WINDOW_DRIFT) for start, _ in windows}
    spans = [(first, first + timeline.size), *windows]
    rows = np.concatenate([_window_rows(query, side, spans) for side in sides], axis=1)
    found = {}
    for (start, _), before, after in zip(windows, rows[:-1], rows[1:], strict=True):
        old, new = np.flatnonzero(before), np.flatnonzero(after)
        there, n = bool(old.size and new.size), TOP if top is None else top.n
        values = (
            overlap(old, new) if there else None,
            distance(old, before[old], new, after[new]) if there else None,
            top_difference(old, before[old], new, after[new], n) if there and _top_by_rows(query) else None,
        )
        found[start] = dict(zip(WINDOW_DRIFT, values, strict=True))
    return found


def _window_rows(query: QuerySpec, side: Side, windows: Sequence[tuple[int, int]]) -> Floats:
    """Rows per window and key, (windows, K)."""
    counts = side.counts(query.timeline.needed(windows[0][0], windows[-1][1]))
    assert counts is not None
    counts = counts.sort_by("pane_start")
    keys, (place,) = align([counts], side.keyset.keys)
    start = counts.column("pane_start").to_numpy().astype(np.int64)
    rows = np.asarray(counts.column("rows").to_numpy(), dtype=np.float64)
    cuts = [np.searchsorted(start, window) for window in windows]
    return np.stack([np.bincount(place[a:b], rows[a:b], minlength=len(keys)).astype(np.float64) for a, b in cuts])


def _distance(before: Floats, after: Floats) -> float:
    old, new = np.flatnonzero(before), np.flatnonzero(after)
    return distance(old, before[old], new, after[new])


def _slot_rows(query: QuerySpec, sides: Sequence[Side], start: int, end: int) -> Floats:
    """Rows per slot and key, (slots, K), of [start, end); of a join the keys of the left side, then the right one's."""
    return np.concatenate([_side_rows(query, side, start, end) for side in sides], axis=1)


def _side_rows(query: QuerySpec, side: Side, start: int, end: int) -> Floats:
    counts = side.counts(query.timeline.needed(start, end))
    assert counts is not None
    keys, (place,) = align([counts], query.group_by)
    slots = (end - start) // query.timeline.slot
    slot = (counts.column("pane_start").to_numpy().astype(np.int64) - start) // query.timeline.slot
    rows = np.asarray(counts.column("rows").to_numpy(), dtype=np.float64)
    summed = np.bincount(slot * len(keys) + place, rows, minlength=slots * len(keys)).astype(np.float64)
    return summed.reshape(slots, len(keys))

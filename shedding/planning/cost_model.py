"""Whether a slot's sample costs less than its exact answer: never slower than exact.

A function of arrival counts, specification and settings, and of no clock: every order of backfill, every re-run and
every machine with the same settings decide alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shedding.costs import CostLine, Costs
from shedding.errors import DataError
from shedding.ingest.side import Side
from shedding.planning.planner import budget_rows
from shedding.spec.query import QuerySpec
from shedding.spec.shed import EXACT
from shedding.spec.timeline import slot_name
from shedding.stretches import Stretches


@dataclass(frozen=True, slots=True)
class Forecast:
    """The seconds that the model expects of a slot's exact leg and of its sample."""

    exact_seconds: float
    shed_seconds: float
    groups: float

    def saves(self, costs: Costs) -> bool:
        """Whether the exact leg saves seconds, so many that it is worth it."""
        return self.shed_seconds - self.exact_seconds > costs.worth


def forecast(query: QuerySpec, side: Side, slot: int, costs: Costs) -> Forecast | None:
    """What the slot costs either way; None where the model cannot tell.

    That is a join, rows that functions enrich or that are never shed, a budget that is not in rows, keys that nobody
    counted, and measures whose exact value takes whole windows (quantiles, distinct counts): they cost far more than a
    pass over the rows.
    """
    here = _slot(query, slot)
    if not _modelled(query) or not side.known(here):
        return None
    counts = side.counts(here)
    return None if counts is None else predicted(query, side, side.rows(here), counts.num_rows, costs)


def predicted(query: QuerySpec, side: Side, rows: float, pairs: int, costs: Costs) -> Forecast:
    """The same of a slot with so many rows in so many pairs of pane and key.

    `groups` are the pairs times the windows that a pane lies in: at most so many answers are made.
    """
    kept = min(rows, budget_rows(query, rows))
    groups = float(pairs * max(1, query.timeline.size // query.timeline.slide))
    if side.dataset.layout.kind == "ranked":
        shed = costs.ranked.seconds(kept, kept, groups)
    else:
        shed = costs.plain.seconds(rows, kept, groups)
    return Forecast(costs.exact.seconds(rows, rows, groups), shed, groups)


def exact_instead(query: QuerySpec, side: Side, slot: int, costs: Costs) -> bool:
    """Whether a slot that would be sampled is computed exactly, because that costs less (`shed.unless_cheaper`).

    Counts are read only where so many rows, each a group of its own, could make the difference.
    """
    if not (query.shed.unless_cheaper and _modelled(query)):
        return False
    rows = side.rows(_slot(query, slot))
    if not predicted(query, side, rows, int(rows), costs).saves(costs):
        return False
    found = forecast(query, side, slot, costs)
    return found is not None and found.saves(costs)


def require_room(query: QuerySpec, side: Side, slot: int, most: int) -> None:
    """Raise DataError where a slot has more groups than one driver is meant to hold, before a row is read."""
    counts = side.counts(_slot(query, slot))
    if counts is not None and counts.num_rows > most:
        raise DataError(
            f"slot {slot_name(slot)} of {query.name} has {counts.num_rows} groups (pane and key), and one driver "
            f"takes {most}; shorten schedule.every or the list group_by, or give the driver about 1.5 kB a group and "
            f"raise SLUICE_MOST_GROUPS"
        )


def break_even(query: QuerySpec, side: Side, rows: float, costs: Costs) -> float | None:
    """Groups from which on the exact leg of so many rows is the cheaper one; None where none is."""
    none, many = (predicted(query, side, rows, pairs, costs) for pairs in (0, 1_000_000))
    saved, later = (one.shed_seconds - one.exact_seconds for one in (none, many))
    slope = (later - saved) / many.groups
    return None if slope <= 0 else max(0.0, -saved / slope)


def fitted(slots: Sequence[tuple[Sequence[float], float]]) -> CostLine:
    """The line through slots' work (rows read, rows kept, groups) and seconds, no coefficient below 0.

    Least squares of relative errors: a slot of a second counts as much as one of a minute.
    """
    from scipy.optimize import nnls

    seconds = np.array([one for _, one in slots])
    work = np.array([[1.0, *one] for one, _ in slots]) / seconds[:, None]
    scale = np.maximum(work.max(axis=0), np.finfo(np.float64).tiny)
    start, row, kept, group = (nnls(work / scale, np.ones(len(slots)))[0] / scale).tolist()
    return CostLine(start=start, row=row, kept=kept, group=group)


def _slot(query: QuerySpec, slot: int) -> Stretches:
    return Stretches.of((slot, slot + query.timeline.slot))


def _modelled(query: QuerySpec) -> bool:
    whole = any(measure.traits.whole for measure in query.measures)
    budget = query.shed.budget
    in_rows = budget.fraction is not None or budget.rows is not None
    plain = query.join is None and not query.enrich and query.shed.keep is None and query.pool is None
    return query.shed.policy != EXACT and in_rows and plain and not whole

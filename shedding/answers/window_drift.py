"""Drift between consecutive windows that only exact answers tell: of the top by a measure, of a query without keys."""

from __future__ import annotations

from shedding.answers.answer import Answer, top_keys
from shedding.estimates.moments import Moments
from shedding.measures import learnable
from shedding.planning.drift import scalar_distance
from shedding.spec.query import QuerySpec


def exact_drift(query: QuerySpec, before: Answer | None, after: Answer | None) -> dict[str, float | None]:
    """Columns of the later window: the replaced share of the top by `top.by` (CoD, Fig. 2), the scalar distance.

    Both answers are over the same keys. Nothing where one is missing or has no rows, as the first window of a slot.
    """
    if before is None or after is None or not before.shown.any() or not after.shown.any():
        return {}
    found: dict[str, float | None] = {}
    if query.top is not None:
        old, new = top_keys(before, query.top), top_keys(after, query.top)
        largest = max(int(old.sum()), int(new.sum()))
        found["window_top_difference"] = 1.0 - int((old & new).sum()) / largest if largest else None
    measure = next((m for m in query.measures if m.traits.estimated), None)
    if not query.group_by and measure is not None and query.join is None:
        stats = (answer.sample.measures[measure.name] for answer in (before, after))
        old_rows, new_rows = (_moments(learnable(measure).row_moments(stat)) for stat in stats)
        if old_rows is not None and new_rows is not None:
            found["window_distance"] = scalar_distance(old_rows, new_rows)
    return found


def _moments(strata: Moments) -> tuple[float, float] | None:
    """Mean and variance of a window's rows, its strata taken together; None without rows."""
    parts = [Moments(strata.count[s], strata.mean[s], strata.m2[s]) for s in range(len(strata.count))]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.merge(part)
    count = float(whole.count.sum())
    return (float(whole.mean[0]), float(whole.m2[0] / max(count - 1, 1))) if count > 0 else None

"""The answer of an equi-join of two datasets within a window (CoD's third kind of query), from those of its sides.

Joined rows are never made. A key with L rows on the left and R on the right has L R joined rows; over them the sum
of a left column is R times its sum on the left, and its mean is its mean on the left. So each side is sampled,
learnt and answered on its own, and the counts of arrival scale the answers up: the count is exact, sums and means are
as unbiased as their side's, and an interval holds as often as its side's does.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shedding.answers.answer import Answer
from shedding.estimates import Estimate
from shedding.panes.states import WindowSums
from shedding.panes.windows import WindowSample
from shedding.spec.measure import MeasureSpec
from shedding.spec.query import QuerySpec

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def measures_by_side(query: QuerySpec, left_columns: Collection[str]) -> list[list[MeasureSpec]]:
    """The measures that each side of the query answers: all of them, or a join's by the column that they read.

    A column that both sides have is the left one's. The count of joined rows belongs to neither.
    """
    if query.join is None:
        return [list(query.measures)]
    valued = [m for m in query.measures if m.column is not None]
    return [[m for m in valued if (m.column in left_columns) == own] for own in (True, False)]


def joined_answer(
    query: QuerySpec,
    measures: Sequence[Sequence[MeasureSpec]],
    samples: Sequence[WindowSample],
    sides: Sequence[Answer],
) -> Answer:
    """The join of two sides' answers over the same keys; both sides' populations are known.

    A key is imputed where a side that a measure reads has no sampled row of it, exact where such sides left no row
    out. A null key equals nothing, so it joins nothing.
    """
    rows = [sample.rows for sample in samples]
    estimates: dict[str, Estimate] = {}
    for at, own in enumerate(measures):
        for measure in own:
            estimate = sides[at].estimates[measure.name]
            estimates[measure.name] = _scaled(sides[at], measure, rows[1 - at]) if measure.traits.additive else estimate
    for measure in query.measures:
        if measure.column is None:
            estimates[measure.name] = Estimate.exact(rows[0] * rows[1])
    present = (rows[0] > 0) & (rows[1] > 0) & ~samples[0].keys.has_null
    read = [side for side, own in zip(sides, measures, strict=True) if own] or sides
    shown = present & np.all([side.shown for side in read], axis=0)
    sample = replace(
        samples[0],
        population=np.concatenate([s.population for s in samples]),
        sampled=np.concatenate([s.sampled for s in samples]),
        rate=np.concatenate([s.rate for s in samples]),
    )
    imputed = shown & np.any([side.imputed for side in read], axis=0)
    exact = present & np.all([side.exact for side in read], axis=0)
    silent = {name: keys & shown for side in read for name, keys in side.silent.items()}
    return Answer(sample, estimates, present, shown, imputed, exact, silent)


def _scaled(side: Answer, measure: MeasureSpec, others: Floats) -> Estimate:
    """The side's sum, each row taken once with every row of the other side; exact ones are rounded once, at the end."""
    estimate = side.estimates[measure.name].scaled(others)
    kept = side.sample.measures[measure.name]
    if not isinstance(kept, WindowSums) or not side.exact.any():
        return estimate
    value = kept.total.times(others.astype(np.int64)).rounded()
    known = side.exact & ~np.isnan(estimate.value)
    parts = ((estimate.value, value), (estimate.low, value), (estimate.high, value), (estimate.deviation, 0.0))
    return Estimate(*(np.where(known, exact, told) for told, exact in parts))

"""Blocks: the pieces of an audited slot that history is made of, and the exact quantiles that are remembered of them.

A block is a window-sized piece of the slot, or the slot where windows are longer. Moments of a block merge from its
panes; its quantiles do not, so the exact leg keeps them: with the first pane of each key in the block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding.keys import align
from shedding.panes.panes import Panes
from shedding.panes.states import LEVELS, Values
from shedding.spec.measure import MeasureSpec
from shedding.spec.timeline import Block

Floats = npt.NDArray[np.float64]
SAMPLE = 9.0
"""The density of a quantile is taken between the levels that samples of so many rows reach, q -+ sqrt(q (1 - q) / 9),
and at most half way to the extremes, which say nothing of it."""


def levels_of(q: float) -> tuple[float, float, float]:
    """The levels that an audit remembers of a q-quantile: below it, itself, above it.

    >>> [round(level, 3) for level in levels_of(0.9)]
    [0.85, 0.9, 0.95]
    """
    reach = min(float(np.sqrt(q * (1 - q) / SAMPLE)), min(q, 1 - q) / 2)
    return q - reach, q, q + reach


def level_measures(measures: Sequence[MeasureSpec]) -> list[MeasureSpec]:
    """For each quantile the three that an audit remembers of it; no measure of a query can have their names."""
    return [
        measure.model_copy(update={"name": f"{measure.name} {part}", "q": level})
        for measure in measures
        if measure.q is not None
        for part, level in zip(LEVELS, levels_of(measure.q), strict=True)
    ]


def with_levels(panes: Panes, found: pa.Table, blocks: Sequence[Block], measures: Sequence[MeasureSpec]) -> Panes:
    """Exact panes with the quantiles of their blocks: `found` has window_start, the keys and the level measures."""
    place = np.zeros(found.num_rows, dtype=np.int64)
    if panes.keys.names:
        place = align([panes.keys.table(), found.select(list(panes.keys.names))], panes.keys.names)[1][1]
    starts = np.array([start for start, _ in blocks], dtype=np.int64)
    ends = np.array([end for _, end in blocks], dtype=np.int64)
    at = np.searchsorted(starts, panes.start, side="right") - 1
    inside = (at >= 0) & (panes.start < ends[np.maximum(at, 0)])
    rows = np.flatnonzero(inside)
    cell = at[rows] * len(panes.keys) + panes.key[rows]
    _, first = np.unique(cell, return_index=True)  # panes are sorted by their start
    row_of = np.full(len(blocks) * len(panes.keys), -1, dtype=np.int64)
    row_of[cell[first]] = rows[first]
    block = np.searchsorted(starts, found.column("window_start").to_numpy().astype(np.int64))
    target = row_of[block * len(panes.keys) + place]
    stats = dict(panes.measures)
    for measure in measures:
        if measure.q is not None:
            levels = np.full((len(LEVELS), len(panes)), np.nan)
            for level, part in zip(levels, LEVELS, strict=True):
                level[target] = found.column(f"{measure.name} {part}").cast(pa.float64()).to_numpy()
            kept = stats[measure.name]
            assert isinstance(kept, Values)
            stats[measure.name] = replace(kept, levels=levels)
    return replace(panes, measures=stats)

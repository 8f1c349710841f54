"""When is what was measured settled enough to decide by? The operator's state machine of Listing 3.1."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shedding.load.cost_sketch import DEPTH, WIDTH, CostSketch

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BLOCK = 1024
"""Rows between two snapshots, the paper's N."""
TOLERANCE = 0.05
"""Largest relative change between two snapshots of a stable sketch, the paper's mu."""


def relative_change(before: Floats, now: Floats) -> float:
    """Eq. 1: sum |S - W/F| over sum S, over the cells that both snapshots know; infinite where there is none.

    Cells without rows have no ratio; the printed sum divides by 0 there.
    """
    both = np.isfinite(before) & np.isfinite(now)
    base = float(before[both].sum())
    change = float(np.abs(before[both] - now[both]).sum())
    return change / base if base > 0 else (0.0 if both.any() and change == 0 else np.inf)


@dataclass(slots=True)
class Snapshots:
    """Collects measured rows and hands out a sketch whenever it is stable, then starts anew.

    START lasts one block; in STABILIZING each further block is compared with the one before: a change of at most
    `tolerance` gives the sketch away and resets, a larger one is the next snapshot. Guarantee: no sketch is handed out
    of fewer than two blocks, nor while `change` is above the tolerance.
    """

    depth: int = DEPTH
    width: int = WIDTH
    block: int = BLOCK
    tolerance: float = TOLERANCE
    change: float = np.inf
    _sketch: CostSketch = field(init=False)
    _snapshot: Floats | None = field(init=False, default=None)
    _waiting: list[tuple[Ints, Ints]] = field(init=False, default_factory=list)
    _rows: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._sketch = CostSketch.empty(self.depth, self.width)

    def add(self, cells: Ints, cost: ArrayLike) -> list[CostSketch]:
        """Measured rows in their order; the sketches that became stable on the way, oldest first."""
        spent = np.asarray(cost, dtype=np.int64)
        stable = []
        start = 0
        while start < len(spent):
            end = min(start + self.block - self._rows, len(spent))
            self._waiting.append((cells[start:end], spent[start:end]))
            self._rows += end - start
            start = end
            if self._rows == self.block:
                stable += self._close_block()
        return stable

    def _close_block(self) -> list[CostSketch]:
        cells, cost = (np.concatenate(parts) for parts in zip(*self._waiting, strict=True))
        self._waiting, self._rows = [], 0
        self._sketch = self._sketch.merge(CostSketch.of(cells, cost, self.width))
        now, before = self._sketch.ratios(), self._snapshot
        if before is not None:
            self.change = relative_change(before, now)
            if self.change <= self.tolerance:
                given, self._sketch, self._snapshot = self._sketch, CostSketch.empty(self.depth, self.width), None
                return [given]
        self._snapshot = now
        return []

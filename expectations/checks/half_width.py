"""How wide the published intervals are."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from expectations.checks.check import GateCheck
from expectations.evidence import Array, Evidence, numbers
from expectations.repair_board import Board
from shedding.estimates.accuracy import half_widths, mean_half_width
from shedding.spec.measure import MeasureSpec


class HalfWidth(GateCheck):
    """In every window and measure, the mean half-width of the intervals over the value is at most the limit.

    Relative as errors are: to the spread of the rows where a measure says `near_zero`, and a width around 0 counts as
    1. A key without a value has no interval; an exact one has no width.
    """

    key = "half_width"
    words = "mean half-width of the intervals over the value"
    sentence = "The mean half-width of the intervals over the value is at most $limit in every window and measure."
    repair_turn = 7

    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """The mean over the keys of each window."""
        widths = _widths(evidence, measure)
        return np.array([mean_half_width(widths[rows]) for rows in evidence.rows])

    def blame(self, board: Board, limit: float) -> None:
        """The keys of a window that are widest for the rows that fixing them reads, until the rest is narrow enough."""
        for measure in board.evidence.query.measures:
            widths = _widths(board.evidence, measure)
            for rows in board.evidence.rows:
                left = board.left(rows, widths)
                worth = np.nan_to_num(left, nan=0.0, posinf=np.inf) / board.cost[board.key[rows]]
                order = np.argsort(-worth, kind="stable")

                def suffices(gone: int, left: Array = left, order: Array = order) -> bool:
                    rest = left.copy()
                    rest[order[:gone]] = 0.0
                    return not mean_half_width(rest) > limit

                board.choose(rows[order[: bisect_left(range(len(rows)), True, key=suffices)]])


def _widths(evidence: Evidence, measure: MeasureSpec) -> Array:
    """The relative half-width of each row's interval."""
    value, low, high = (numbers(evidence.answer, measure.name + end) for end in ("", "_low", "_high"))
    floor = np.nan_to_num(numbers(evidence.runs, f"{measure.name}_floor"))
    return half_widths(value, low, high, floor[evidence.window])

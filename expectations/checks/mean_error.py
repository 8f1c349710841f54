"""Mean relative error over the keys."""

from __future__ import annotations

import numpy as np

from expectations.checks.relative_error import RelativeError
from expectations.evidence import Array
from expectations.repair_board import Board, Cell


class MeanError(RelativeError):
    """In every window and measure, the mean of the keys' relative errors is at most the budget."""

    key = "mean_relative_error"
    statistic = "mean"
    words = "mean relative error"
    sentence = "Mean relative error over the keys is at most $limit in every window and measure."
    repair_turn = 5

    def worth(self, board: Board, cell: Cell, left: Array) -> Array:
        """Errors for the rows that fixing a key reads."""
        return np.asarray(left / board.cost[board.key[cell.rows]])

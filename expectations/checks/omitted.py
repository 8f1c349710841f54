"""What the checks of omitted keys have in common: shares of what error limits leave out of a window."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from expectations.checks.check import GateCheck
from expectations.evidence import Array, Evidence, micros, numbers
from expectations.repair_board import Board


class Omitted(GateCheck):
    """In every window the share that is left out is at most the limit; a repair adds keys, the cheapest first."""

    @abstractmethod
    def shares(self, evidence: Evidence, left: Array) -> Array:
        """Of each window the share that is left out by `left`, flags over the omitted keys."""

    def blame(self, board: Board, limit: float) -> None:
        """The omitted keys of fewest rows in a window over the limit, until the rest is within it."""
        omitted = board.evidence.omitted
        if omitted is None:
            return
        cost, window = numbers(omitted, "population"), micros(omitted["window_start"])
        for key in np.lexsort((np.arange(len(cost)), cost)):
            left = ~board.added
            over = self.shares(board.evidence, left) > limit
            if not over.any():
                return
            if left[key] and over[np.searchsorted(board.evidence.starts, window[key])]:
                board.add(int(key))

    def fixed(self, board: Board, limit: float) -> bool:
        """Whether the rest is within the limit."""
        return not (self.shares(board.evidence, ~board.added) > limit).any()


def by_window(evidence: Evidence, values: Array) -> Array:
    """Sums over the omitted keys, window by window."""
    if evidence.omitted is None:
        return np.zeros(len(evidence.starts))
    window = np.searchsorted(evidence.starts, micros(evidence.omitted["window_start"]))
    return np.asarray(np.bincount(window, values, minlength=len(evidence.starts)))

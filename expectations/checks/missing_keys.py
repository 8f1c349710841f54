"""Keys that the raw rows have and the answer misses."""

from __future__ import annotations

import numpy as np

from expectations.checks.check import GateCheck, times_over
from expectations.evidence import Array, Evidence, numbers, silent_rows
from expectations.repair_board import Board
from shedding.spec.measure import MeasureSpec


class MissingKeys(GateCheck):
    """No window misses more keys than allowed."""

    key = "missing_keys"
    words = "missing keys"
    sentence = "No window misses more than $limit of the keys that its rows have."
    repair_turn = 2

    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """How many keys are missing."""
        return evidence.missing.astype(float)

    def kind(self, evidence: Evidence) -> str:
        """As the errors."""
        return evidence.kind

    def at_last_audit(self, evidence: Evidence, measure: MeasureSpec, limit: float) -> Array:
        """The keys that the last audit missed."""
        return times_over(numbers(evidence.runs, "audit_missing_keys"), limit)

    def blame(self, board: Board, limit: float) -> None:
        """The keys without a value they should have; those without a row are the exact leg's to name."""
        board.choose(np.flatnonzero(silent_rows(board.evidence.answer, board.evidence.query)))

    def fixed(self, board: Board, limit: float) -> bool:
        """Whether no key is missing that nothing here can name."""
        return not board.missing.any()

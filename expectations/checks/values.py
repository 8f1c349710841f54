"""Numbers that are numbers."""

from __future__ import annotations

import numpy as np

from expectations.checks.check import GateCheck
from expectations.evidence import Array, Evidence, numbers
from expectations.repair_board import Board
from shedding.spec.gate import GateSpec
from shedding.spec.measure import MeasureSpec


class WholeValues(GateCheck):
    """Every value is finite, inside its interval, and has a known error. Always holds."""

    key = "values"
    words = "values that are no number, outside their interval, or of unknown error:"
    sentence = "Every value is a finite number inside its interval, with a known error."
    repair_turn = 1
    place = 1

    def limit(self, gate: GateSpec) -> float:
        """No such value is published."""
        return 0.0

    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """How many values are broken."""
        broken = broken_values(evidence, measure)
        return np.bincount(evidence.window, weights=broken, minlength=len(evidence.starts))

    def blame(self, board: Board, limit: float) -> None:
        """The keys of broken values."""
        for measure in board.evidence.query.measures:
            board.choose(np.flatnonzero(broken_values(board.evidence, measure)))


def broken_values(evidence: Evidence, measure: MeasureSpec) -> Array:
    """Which rows must not be published: no number, a value outside its interval, or an error nobody knows.

    A null value is whole where the aggregate has none to give (every value of the key is null), an infinite one where
    it is the least or largest of the key's values.
    """
    rows, name = evidence.answer, measure.name
    value, error = numbers(rows, name), numbers(rows, f"{name}_error")
    low, high = numbers(rows, f"{name}_low"), numbers(rows, f"{name}_high")
    number = np.isfinite(value) | (np.isinf(value) & measure.traits.infinite)
    whole = number & (low <= value) & (value <= high) & ~np.isnan(error)
    if measure.traits.nullable:
        whole |= rows[name].is_null(nan_is_null=False).to_numpy()
    return np.asarray(~whole)

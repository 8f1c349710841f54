"""What the checks of relative errors have in common: each limits one statistic of `WindowErrors`."""

from __future__ import annotations

from bisect import bisect_left
from typing import ClassVar

import numpy as np
import pandas as pd

from expectations.checks.check import Finding, GateCheck
from expectations.evidence import Array, Evidence, numbers
from expectations.repair_board import Board, Cell
from shedding.spec.measure import MeasureSpec


class RelativeError(GateCheck):
    """In every window and measure a statistic of the keys' relative errors is at most the limit.

    Errors that were not measured are judged by their bound at the gate's risk.
    """

    statistic: ClassVar[str]

    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """The statistic as the gate judges it."""
        return np.array([getattr(window, self.statistic) for window in evidence.judged[measure.name]])

    def columns(self, evidence: Evidence, measure: MeasureSpec) -> dict[str, Array]:
        """Beside it the statistic that the answer claims, and what the bound rests on."""
        return {
            self.key: self.observe(evidence, measure),
            self._estimate: np.array([getattr(window, self.statistic) for window in evidence.claimed[measure.name]]),
            "decided_by": _decided_by(evidence, measure.name),
        }

    def kind(self, evidence: Evidence) -> str:
        """Measured where there is an exact leg, else estimated."""
        return evidence.kind

    def finding(self, evidence: Evidence, batch: pd.DataFrame, limit: float) -> Finding:
        """The largest value; of a bound also what was estimated there, and which evidence it rests on."""
        finding = super().finding(evidence, batch, limit)
        if evidence.kind == "measured":
            return finding
        index = int(np.nanargmax(batch[self.key].to_numpy(dtype=float)))
        estimate = float(batch[self._estimate].to_numpy(dtype=float)[index])
        risk, evidence_of_bound = evidence.query.gate.risk, batch["decided_by"].iat[index]
        how = f"bound at risk {risk:g} by {evidence_of_bound}, estimate {self.show(estimate)}"
        return Finding(finding.observed, limit, f"{finding.text} [{how}]", estimate)

    def at_last_audit(self, evidence: Evidence, measure: MeasureSpec, limit: float) -> Array:
        """Nothing over where its errors are known: the bound has them; infinitely where nobody measured them."""
        return np.where(np.isnan(numbers(evidence.runs, f"{measure.name}_audit_mean_error")), np.inf, 0.0)

    def blame(self, board: Board, limit: float) -> None:
        """Keys of a window without which its statistic is within the limit, as few of their kind as it takes."""
        for cell in board.cells:
            left = board.left(cell.rows, cell.errors)
            # Equal errors in their order, so that any run chooses alike.
            order = np.argsort(-self.worth(board, cell, left), kind="stable")

            def suffices(gone: int, cell: Cell = cell, left: Array = left, order: Array = order) -> bool:
                rest = left.copy()
                rest[order[:gone]] = 0.0
                return board.judged(self.statistic, rest, cell) <= limit

            board.choose(cell.rows[order[: bisect_left(range(len(cell.rows)), True, key=suffices)]])

    def worth(self, board: Board, cell: Cell, left: Array) -> Array:
        """By what keys are chosen, largest first: their errors."""
        return left

    def fixed(self, board: Board, limit: float) -> bool:
        """Whether the rest is within the limit; missing keys that nothing here can name may keep it over."""
        return not any(
            board.judged(self.statistic, board.left(cell.rows, cell.errors), cell) > limit for cell in board.cells
        )

    @property
    def _estimate(self) -> str:
        return f"{self.statistic}_estimate"


def _decided_by(evidence: Evidence, measure: str) -> Array:
    """What the errors of each window rest on: the exact leg, past audits, or the slot's spot check."""
    count, column = len(evidence.starts), f"{measure}_decided_by"
    if evidence.kind == "measured":
        return np.array(["exact leg"] * count, dtype=object)
    known = evidence.runs[column].to_pylist() if column in evidence.runs.column_names else [None] * count
    return np.array([name or "audits" for name in known], dtype=object)

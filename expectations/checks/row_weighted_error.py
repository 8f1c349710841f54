"""Mean relative error over the rows: large keys count more."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
import pandas as pd

from expectations.checks.check import Finding, GateCheck
from expectations.evidence import Array, Evidence, numbers
from expectations.repair_board import Board
from shedding.spec.measure import MeasureSpec


class RowWeightedError(GateCheck):
    """In every window and measure, the mean of the keys' relative errors, each by its rows, is at most the limit.

    Errors that were not measured are raised as the bound of the window's mean error is above its estimate. Keys whose
    rows nobody counted count alike.
    """

    key = "row_weighted_error"
    words = "mean relative error weighted by rows"
    sentence = "Mean relative error over the keys, each by its rows, is at most $limit in every window and measure."
    repair_turn = 6

    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """The mean of each window by the rows of its keys, times its bound over its estimate."""
        errors = numbers(evidence.answer, f"{measure.name}_error")
        found = [weighted_mean(errors[rows], _weights(evidence, rows)) for rows in evidence.rows]
        return np.asarray(np.array(found) * _raised(evidence, measure))

    def kind(self, evidence: Evidence) -> str:
        """Measured where there is an exact leg, else estimated."""
        return evidence.kind

    def finding(self, evidence: Evidence, batch: pd.DataFrame, limit: float) -> Finding:
        """The largest value; of a bound, that it is one."""
        finding = super().finding(evidence, batch, limit)
        if evidence.kind == "measured":
            return finding
        return Finding(finding.observed, limit, f"{finding.text} [bound at risk {evidence.query.gate.risk:g}]")

    def blame(self, board: Board, limit: float) -> None:
        """The keys of a window whose errors are largest: a row costs the same whichever key it is of."""
        for measure in board.evidence.query.measures:
            errors = np.nan_to_num(numbers(board.evidence.answer, f"{measure.name}_error"), nan=0.0, posinf=np.inf)
            for rows, raised in zip(board.evidence.rows, _raised(board.evidence, measure), strict=True):
                left, weights = board.left(rows, errors), _weights(board.evidence, rows)
                order = np.argsort(-left, kind="stable")

                def suffices(
                    gone: int,
                    left: Array = left,
                    order: Array = order,
                    weights: Array = weights,
                    raised: float = raised,
                ) -> bool:
                    rest = left.copy()
                    rest[order[:gone]] = 0.0
                    return not weighted_mean(rest, weights) * raised > limit

                board.choose(rows[order[: bisect_left(range(len(rows)), True, key=suffices)]])


def weighted_mean(errors: Array, weights: Array) -> float:
    """The mean of the errors that are known, each by its weight; nan where none is."""
    known = ~np.isnan(errors)
    if not known.any():
        return float("nan")
    with np.errstate(invalid="ignore"):
        return float(np.sum(np.where(errors[known] > 0, errors[known] * weights[known], 0.0)) / weights[known].sum())


def _weights(evidence: Evidence, rows: Array) -> Array:
    population = numbers(evidence.answer, "population")[rows]
    return np.maximum(population, 1.0) if np.isfinite(population).all() else np.ones(len(rows))


def _raised(evidence: Evidence, measure: MeasureSpec) -> Array:
    """Of each window the bound of its mean error over the estimate; 1 where errors were measured."""
    judged, claimed = evidence.judged[measure.name], evidence.claimed[measure.name]
    together = zip(judged, claimed, strict=True)
    return np.array([bound.mean / told.mean if told.mean > 0 else 1.0 for bound, told in together])

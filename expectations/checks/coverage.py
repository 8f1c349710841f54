"""How many of the intervals hold the exact value, where the slot is audited."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

from expectations.checks.check import Finding, GateCheck
from expectations.evidence import Array, Evidence, numbers, positions
from expectations.repair_board import Board
from shedding.estimates.accuracy import checked_intervals
from shedding.spec.measure import MeasureSpec
from shedding.spec.query import QuerySpec

SIGNIFICANCE = 0.01
"""Coverage fails where a true coverage at the limit would come out this low less than once in a hundred slots."""

FLOOR = "coverage_floor"


class Coverage(GateCheck):
    """For every measure, the share of the slot's intervals that hold the exact value is not below the limit.

    Pooled over the slot's windows, because one window of a handful of keys says nothing about a 95 % interval. Not
    below means: not significantly, by a one-sided binomial test at 1 % (`coverage_floor`), so that a dozen keys do not
    fail by bad luck and ten thousand cannot hide a real shortfall.
    """

    key = "coverage"
    words = "interval coverage"
    sentence = (
        "At least $limit of the intervals hold the exact value, for every measure "
        "(pooled over the slot; short only where chance, 1 in 100, does not explain it)."
    )
    needs_exact = True
    repair_turn = 6
    shape = "column_pair"

    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """The slot's coverage, the same for every window; nan where nothing measures it."""
        return self.columns(evidence, measure)[self.key]

    def columns(self, evidence: Evidence, measure: MeasureSpec) -> dict[str, Array]:
        """Beside the coverage the least that passes."""
        limit, covered, floor = self.limit(evidence.query.gate), np.nan, np.nan
        estimates, misses = _counted(evidence, measure)
        if limit is not None and estimates:
            covered, floor = 1 - misses / estimates, _floor(estimates, evidence.query, limit)
        return {name: np.full(len(evidence.starts), value) for name, value in ((self.key, covered), (FLOOR, floor))}

    def finding(self, evidence: Evidence, batch: pd.DataFrame, limit: float) -> Finding:
        """The measure with the least margin; its limit is the specification's, less what chance explains."""
        measures = batch.drop_duplicates("measure").dropna(subset=[self.key])
        index = int((measures[self.key] - measures[FLOOR]).to_numpy().argmin())
        covered, floor = (float(measures[name].to_numpy()[index]) for name in (self.key, FLOOR))
        measure = measures["measure"].iat[index]
        text = f"{self.words} {covered:.4g} of {measure}, limit {limit:g} (less chance: {floor:.4g})"
        return Finding(covered, floor, text)

    def arguments(self, limit: float) -> dict[str, Any]:
        """The coverage is nowhere below its floor."""
        return {"column_A": self.key, "column_B": FLOOR, "or_equal": True}

    def at_last_audit(self, evidence: Evidence, measure: MeasureSpec, limit: float) -> Array:
        """How far the last audit's coverage was below its floor."""
        covered, estimates = (
            numbers(evidence.runs, f"{measure.name}_audit_{part}") for part in ("coverage", "estimates")
        )
        over = np.where(np.isnan(estimates), np.inf, 0.0)
        for index in np.flatnonzero(estimates > 0):
            over[index] = coverage_floor(int(estimates[index]), limit) / np.maximum(covered[index], 1e-9)
        return over

    def blame(self, board: Board, limit: float) -> None:
        """Keys that miss the exact value, until the rest of the intervals suffices."""
        for measure in board.evidence.query.measures:
            estimates, misses = uncovered(board.evidence, measure)
            kept = ~board.repaired[board.key]
            count, missed = int((estimates & kept).sum()), np.flatnonzero(misses & kept)

            def suffices(gone: int, count: int = count, missed: int = len(missed)) -> bool:
                rest = count - gone
                return rest == 0 or 1 - (missed - gone) / rest >= _floor(rest, board.evidence.query, limit)

            board.choose(missed[: bisect_left(range(len(missed)), True, key=suffices)])


def coverage_floor(estimates: int, limit: float) -> float:
    """The least share of `estimates` intervals covering that chance explains if truly `limit` of them do.

    One-sided binomial test at SIGNIFICANCE: with 10 intervals and a limit of 0.9 it is 0.6, with 10,000 0.893.
    """
    return float(binom.ppf(SIGNIFICANCE, estimates, limit)) / estimates


def _floor(estimates: int, query: QuerySpec, limit: float) -> float:
    """`coverage_floor` of the estimates that count as independent: overlapping windows share panes."""
    overlap = max(1, query.timeline.size // query.timeline.slide)
    return coverage_floor(max(1, estimates // overlap), limit)


def _counted(evidence: Evidence, measure: MeasureSpec) -> tuple[int, int]:
    """The slot's estimates and those that miss; none where no exact leg measures them."""
    if not evidence.audited or evidence.exact is None:
        return 0, 0
    estimates, misses = uncovered(evidence, measure)
    return int(estimates.sum()), int(misses.sum())


def uncovered(evidence: Evidence, measure: MeasureSpec) -> tuple[Array, Array]:
    """Which rows are estimates, and which of these miss the exact value (`checked_intervals`); of a key unknown to the
    exact leg every interval that has a width does."""
    rows = evidence.answer
    low, high = numbers(rows, f"{measure.name}_low"), numbers(rows, f"{measure.name}_high")
    if evidence.exact is None:
        return high > low, np.zeros(rows.num_rows, dtype=bool)
    place = positions(rows, evidence.exact, evidence.query.group_by)
    truth = np.append(numbers(evidence.exact, measure.name), np.nan)[place]
    estimates, inside = checked_intervals(truth, low, high)
    return estimates, estimates & ~inside

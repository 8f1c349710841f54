"""Which keys to compute exactly so that a refused slot passes: the fewest that greed finds.

A key is repaired in every window and measure of the slot at once, so the worst offenders of one check often
mend the others; checks are met one after the other, each on what the ones before left over:

- values: the keys with a broken value; missing keys: those the exact leg has (audited slots only);
- worst, p95: the keys of largest errors until the rest is within the limit; mean: those of largest errors for the
  rows they take to mend; coverage: uncovered keys until it suffices.

Errors that were not measured are brought down until their bound at the gate's risk is within the limit, not their
estimate: a repaired slot may be over as rarely as any other.
What no key is to blame for (drift, an old or failed audit, an empty slot, a budget overrun) takes the whole slot.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from expectations.evidence import Array, Evidence, micros, numbers, positions
from expectations.observations import (
    absent_keys,
    broken_values,
    coverage_floor,
    judged_errors,
    silent_rows,
    uncovered,
    window_laws_of,
)
from expectations.verdict import Verdict
from shedding.keys import align
from shedding.risk import STATISTICS, WindowLaws

BY_KEY = frozenset({
    "values", "missing_keys", "worst_relative_error", "p95_relative_error", "mean_relative_error", "coverage",
})  # fmt: skip
WIDEN_AT = 0.5
"""Share of the slot's rows above which a repair costs about as much as the exact leg, and becomes it."""


@dataclass(frozen=True)
class Repair:
    """The keys to compute exactly, one row a key; None means the whole slot. `why` is for the run's record."""

    keys: pa.Table | None
    why: str


def plan_repair(evidence: Evidence, verdict: Verdict) -> Repair:
    """What to compute exactly so that the checks that failed pass; a function of the judged rows alone."""
    failed = {check.name for check in verdict.failed}
    beyond = sorted(failed - BY_KEY)
    if beyond or not evidence.query.group_by:
        return Repair(None, f"the whole slot: {', '.join(beyond) or 'the query has no keys'}")
    order = [("window_start", "ascending"), *((key, "ascending") for key in evidence.query.group_by)]
    board = _Board(replace(evidence, answer=evidence.answer.sort_by(order)))
    for check, mend in _MENDS.items():
        if check in failed:
            mend(board)
    if not _suffices(board, failed):
        return Repair(None, "the whole slot: keys are missing and only its rows know which")
    keys, share = board.chosen(), board.share()
    if share > WIDEN_AT:
        return Repair(None, f"the whole slot: {keys.num_rows} failing keys hold {share:.0%} of its rows")
    return Repair(keys, f"{keys.num_rows} failing keys, {share:.2%} of the slot's rows: {', '.join(sorted(failed))}")


class _Board:
    """The answer's rows with a number for each key, and which keys are chosen so far."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        rows, names = evidence.answer, evidence.query.group_by
        self.key: Array = align([rows], names)[1][0]
        self.first: Array = np.unique(self.key, return_index=True)[1]
        self.repaired = np.zeros(len(self.first), dtype=bool)
        starts = micros(evidence.runs["window_start"])
        window = np.searchsorted(starts, micros(rows["window_start"]))
        self.windows = [np.flatnonzero(window == index) for index in range(len(starts))]
        self.missing = absent_keys(evidence)
        if evidence.exact is not None:  # what is missing is mended first, from the exact rows that are there
            self.missing[:] = 0

    @cached_property
    def cost(self) -> Array:
        """The rows that mending each key reads; 1 where populations are unknown."""
        rows = numbers(self.evidence.answer, "population")
        rows = rows if np.isfinite(rows).all() else np.ones(len(rows))
        summed: Array = np.bincount(self.key, rows, minlength=len(self.first))
        return np.asarray(np.maximum(summed, 1.0))

    def judged(self, statistic: str, errors: Array, cell: _Cell) -> float:
        """A statistic of errors as the gate judges it."""
        if cell.laws is not None:
            return cell.laws.bound(statistic, errors, cell.missing, self.evidence.query.gate.risk)
        return float(getattr(judged_errors(errors, cell.missing, None, 0.0), statistic))

    def choose(self, rows: Array) -> None:
        self.repaired[self.key[rows]] = True

    def left(self, rows: Array, values: Array) -> Array:
        """The values of some rows, 0 for rows of chosen keys."""
        return np.where(self.repaired[self.key[rows]], 0.0, values[rows])

    def chosen(self) -> pa.Table:
        """The chosen keys and, where the exact leg tells which, the missing ones; each once, sorted."""
        names = self.evidence.query.group_by
        places = np.sort(self.first[self.repaired])
        keys = self.evidence.answer.select(names).take(pa.array(places, pa.int64()))
        if self.evidence.exact is not None:
            lacking = positions(self.evidence.exact, self.evidence.answer, names) < 0
            keys = pa.concat_tables([keys, self.evidence.exact.filter(pa.array(lacking)).select(names)])
        return keys.group_by(names).aggregate([]).sort_by([(name, "ascending") for name in names])

    def share(self) -> float:
        """The chosen keys' share of the rows; of the keys where populations are unknown."""
        return float(self.cost[self.repaired].sum() / self.cost.sum()) if len(self.cost) else 0.0


def _mend_values(board: _Board) -> None:
    for measure in board.evidence.query.measures:
        board.choose(np.flatnonzero(broken_values(board.evidence, measure)))


def _mend_missing(board: _Board) -> None:
    board.choose(np.flatnonzero(silent_rows(board.evidence.answer, board.evidence.query)))


def _mend_worst(board: _Board) -> None:
    _mend_statistic(board, "worst", board.evidence.query.gate.worst_relative_error)


def _mend_p95(board: _Board) -> None:
    _mend_statistic(board, "p95", board.evidence.query.gate.p95_relative_error)


def _mend_mean(board: _Board) -> None:
    _mend_statistic(board, "mean", board.evidence.query.gate.mean_relative_error)


def _mend_statistic(board: _Board, statistic: str, limit: float | None) -> None:
    """Keys of a window without which its statistic is within the limit, as few of their kind as it takes.

    For the mean those whose errors are largest for the rows that mending them reads, else those of largest errors.
    """
    assert limit is not None
    for cell in _cells(board):
        left = board.left(cell.rows, cell.errors)
        worth = left / board.cost[board.key[cell.rows]] if statistic == "mean" else left
        order = np.argsort(-worth, kind="stable")  # equal errors in their order, so that any run chooses alike

        def suffices(gone: int, cell: _Cell = cell, left: Array = left, order: Array = order) -> bool:
            rest = left.copy()
            rest[order[:gone]] = 0.0
            return board.judged(statistic, rest, cell) <= limit

        board.choose(cell.rows[order[: bisect_left(range(len(cell.rows)), True, key=suffices)]])


def _mend_coverage(board: _Board) -> None:
    limit = board.evidence.query.gate.coverage
    assert limit is not None
    timeline = board.evidence.query.timeline
    overlap = max(1, timeline.size // timeline.slide)
    for measure in board.evidence.query.measures:
        estimates, misses = uncovered(board.evidence, measure)
        kept = ~board.repaired[board.key]
        count, missed = int((estimates & kept).sum()), np.flatnonzero(misses & kept)

        def suffices(gone: int, count: int = count, missed: int = len(missed)) -> bool:
            rest = count - gone
            return rest == 0 or 1 - (missed - gone) / rest >= coverage_floor(max(1, rest // overlap), limit)

        gone = bisect_left(range(len(missed)), True, key=suffices)
        board.choose(missed[:gone])


_MENDS = {
    "values": _mend_values,
    "missing_keys": _mend_missing,
    "worst_relative_error": _mend_worst,
    "p95_relative_error": _mend_p95,
    "mean_relative_error": _mend_mean,
    "coverage": _mend_coverage,
}


def _suffices(board: _Board, failed: set[str]) -> bool:
    """Whether the chosen keys mend the errors; missing keys that nothing here can name may keep them over budget."""
    if "missing_keys" in failed and board.missing.any():
        return False
    gate = board.evidence.query.gate
    limits = (gate.mean_relative_error, gate.p95_relative_error, gate.worst_relative_error)
    names = ("mean_relative_error", "p95_relative_error", "worst_relative_error")
    judged = [limit if name in failed else None for name, limit in zip(names, limits, strict=True)]
    for cell in _cells(board):
        left = board.left(cell.rows, cell.errors)
        for statistic, limit in zip(STATISTICS, judged, strict=True):
            if limit is not None and board.judged(statistic, left, cell) > limit:
                return False
    return True


@dataclass(frozen=True)
class _Cell:
    """One window and measure: its rows, all errors of the measure (NaN as 0), missing keys, and what bounds errors."""

    rows: Array
    errors: Array
    missing: int
    laws: WindowLaws | None


def _cells(board: _Board) -> list[_Cell]:
    cells = []
    for measure in board.evidence.query.measures:
        errors = np.nan_to_num(numbers(board.evidence.answer, f"{measure.name}_error"), nan=0.0, posinf=np.inf)
        together = zip(board.windows, board.missing, window_laws_of(board.evidence, measure.name), strict=True)
        cells += [_Cell(rows, errors, int(missing), laws) for rows, missing, laws in together if len(rows)]
    return cells

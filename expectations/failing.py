"""Which keys to compute exactly so that a refused slot passes: the fewest that greed finds.

A key is repaired in every window and measure of the slot at once, so the worst offenders of one check often
mend the others; checks are met one after the other, each on what the ones before left over:

- values: the keys with a broken value; missing keys: those the exact leg has (audited slots only);
- worst: every key over the limit; p95: the worst keys until at most 5 % are over; mean: the worst keys until
  the rest's errors add up to no more than the limit allows; coverage: uncovered keys until it suffices.

What no key is to blame for (drift, an old or failed audit, an empty slot, a budget overrun) takes the whole slot.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from expectations.evidence import Array, Evidence, micros, numbers, positions
from expectations.summary import (
    absent_keys,
    broken_values,
    coverage_floor,
    error_statistics,
    largest_errors,
    silent_rows,
    uncovered,
)
from expectations.verdict import Verdict
from shedding.keys import align

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
        rows = numbers(self.evidence.answer, "population")
        rows = rows if np.isfinite(rows).all() else np.ones(len(rows))
        total = float(rows.sum())
        return float(rows[self.repaired[self.key]].sum()) / total if total else 0.0


def _mend_values(board: _Board) -> None:
    for measure in board.evidence.query.measures:
        board.choose(np.flatnonzero(broken_values(board.evidence, measure)))


def _mend_missing(board: _Board) -> None:
    board.choose(np.flatnonzero(silent_rows(board.evidence.answer, board.evidence.query)))


def _mend_worst(board: _Board) -> None:
    limit = board.evidence.query.gate.worst_relative_error
    assert limit is not None
    for measure in board.evidence.query.measures:
        errors = numbers(board.evidence.answer, f"{measure.name}_error")
        board.choose(np.flatnonzero(largest_errors(errors, board.evidence.kind) > limit))


def _mend_p95(board: _Board) -> None:
    _mend_statistic(board, 1, board.evidence.query.gate.p95_relative_error)


def _mend_mean(board: _Board) -> None:
    _mend_statistic(board, 0, board.evidence.query.gate.mean_relative_error)


def _mend_statistic(board: _Board, which: int, limit: float | None) -> None:
    """The fewest of a window's worst keys without which its mean (0) or 95th percentile (1) is within the limit."""
    assert limit is not None
    for rows, errors, missing in _cells(board):
        left = board.left(rows, errors)
        order = np.argsort(-left, kind="stable")  # equal errors in their order, so that any run chooses alike

        def suffices(gone: int, left: Array = left, order: Array = order, missing: int = missing) -> bool:
            rest = left.copy()
            rest[order[:gone]] = 0.0
            return error_statistics(rest, missing, board.evidence.kind)[which] <= limit

        board.choose(rows[order[: bisect_left(range(len(rows)), True, key=suffices)]])


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
    for rows, errors, missing in _cells(board):
        found = error_statistics(board.left(rows, errors), missing, board.evidence.kind)
        if any(limit is not None and value > limit for value, limit in zip(found, judged, strict=True)):
            return False
    return True


def _cells(board: _Board) -> list[tuple[Array, Array, int]]:
    """Every window and measure: its rows, all errors of the measure (NaN as 0), and how many keys it lacks."""
    return [
        (rows, np.nan_to_num(numbers(board.evidence.answer, f"{measure.name}_error"), nan=0.0, posinf=np.inf), missing)
        for measure in board.evidence.query.measures
        for rows, missing in zip(board.windows, board.missing, strict=True)
        if len(rows)
    ]

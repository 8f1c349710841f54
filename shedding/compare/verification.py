"""Published rows beside the exact answer that was computed afterwards: one row of numbers per window and measure.

Pure: the published rows and the exact answer of a window go in, what is kept in `verifications/<query>` comes out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import special

from shedding.answers.answer import Answer
from shedding.answers.scores import Score, floor_of, measured
from shedding.estimates import Estimate
from shedding.estimates.accuracy import MEAN_OF_NORMAL, MISSING, STATISTICS
from shedding.keys import align
from shedding.measures import CONFIDENCE
from shedding.panes.panes import MICROS
from shedding.spec.gate import GateSpec
from shedding.spec.measure import MeasureSpec

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

SCHEMA = pa.schema([
    ("slot", pa.string()), ("window_start", MICROS), ("window_end", MICROS), ("measure", pa.string()),
    ("verdict", pa.string()), ("keys", pa.int64()), ("missing_keys", pa.int64()), ("is_exact", pa.bool_()),
    *[(f"{statistic}_{part}", pa.bool_() if part == "over" else pa.float64())
      for statistic in STATISTICS for part in ("truth", "estimate", "bound", "limit", "over")],
    ("interval_error", pa.float64()), ("estimates", pa.int64()), ("covered", pa.int64()),
    ("size_class", pa.list_(pa.int64())), ("size_keys", pa.list_(pa.int64())),
    ("size_truth", pa.list_(pa.float64())), ("size_interval_error", pa.list_(pa.float64())),
    ("size_estimates", pa.list_(pa.int64())), ("size_covered", pa.list_(pa.int64())),
    ("run_id", pa.string()), ("revision", pa.int64()), ("published_version", pa.int64()),
    ("results_version", pa.int64()), ("verified_at", MICROS),
])  # fmt: skip
"""The columns of `verifications/<query>`.

Of each statistic: the truth, the gate's estimate and bound (null where its run recorded none), the limit (null where
none is stated) and whether the truth is over it. `is_exact`: the window left nothing of the measure to estimate.
`interval_error`: the mean relative error that the published intervals expect. `size_...`: the same by size class,
floor(log2) of the key's rows.
"""


def published_answer(rows: pa.Table, exact: Answer, measures: Sequence[MeasureSpec]) -> Answer:
    """The published rows of one window as an answer over the exact answer's keys; what has no true row is left out."""
    size, at, taken = len(exact.sample.keys), *_places(rows, exact)
    shown = np.zeros(size, dtype=np.bool_)
    shown[at] = True

    def laid_out(column: str) -> Floats:
        values = np.full(size, np.nan)
        values[at] = rows[column].cast(pa.float64()).to_numpy(zero_copy_only=False)[taken]
        return values

    estimates = {}
    for measure in measures:
        value, low, high = (laid_out(measure.name + end) for end in ("", "_low", "_high"))
        deviation = (high - low) / 2 / float(special.ndtri((1 + CONFIDENCE) / 2))
        estimates[measure.name] = Estimate(value, low, high, deviation)
    nothing = np.zeros(size, dtype=np.bool_)
    return Answer(exact.sample, estimates, exact.present | shown, shown, nothing, nothing)


def without(exact: Answer, rows: pa.Table) -> Answer:
    """The exact answer of a window, knowing nothing of the keys of some rows: those that were left out on purpose."""
    kept = np.ones(len(exact.sample.keys), dtype=np.bool_)
    kept[_places(rows, exact)[0]] = False
    return exact.only(kept)


def verified_window(
    published: Answer,
    exact: Answer,
    measure: MeasureSpec,
    limits: Mapping[str, float],
    judged: Mapping[str, Any],
) -> dict[str, Any] | None:
    """The numbers of one window and measure; None where the exact answer has no key.

    Both answers are over the same keys. Errors are those of an audit (`scores.measured`): relative to the truth or to
    the floor of a measure that may be near zero, a missing key an error of 1. `judged` is the run row that the gate
    judged: its estimates and bounds are taken over where it has them.
    """
    score = measured(published, exact, measure)
    if not score.every.size:
        return None
    row: dict[str, Any] = {
        "measure": measure.name,
        "keys": int(exact.shown.sum()),
        "missing_keys": int((exact.shown & ~published.shown).sum()),
        "is_exact": score.estimates == 0 and score.window.worst == 0,
        "interval_error": _interval_error(published, exact, measure),
        "estimates": score.estimates,
        "covered": score.covered,
        **_by_size(published, exact, measure),
    }
    for statistic in STATISTICS:
        truth, limit = getattr(score.window, statistic), limits.get(statistic)
        row[f"{statistic}_truth"] = truth
        row[f"{statistic}_estimate"] = judged.get(f"{measure.name}_{statistic}_error")
        row[f"{statistic}_bound"] = judged.get(f"{measure.name}_{statistic}_bound")
        row[f"{statistic}_limit"] = limit
        row[f"{statistic}_over"] = None if limit is None else truth > limit
    return row


def stated_limits(gate: GateSpec) -> dict[str, float]:
    """The limits that a gate promises to keep, by statistic; a check that only warns promises nothing."""
    names = {statistic: f"{statistic}_relative_error" for statistic in STATISTICS}
    stated = {statistic: getattr(gate, name) for statistic, name in names.items() if name not in gate.warn}
    return {statistic: float(limit) for statistic, limit in stated.items() if limit is not None}


def _places(rows: pa.Table, exact: Answer) -> tuple[npt.NDArray[np.int64], Flags]:
    """For the rows whose key the exact answer knows its number there; and which rows these are."""
    keys = exact.sample.keys
    if not keys.names:
        return np.zeros(rows.num_rows, dtype=np.int64), np.ones(rows.num_rows, dtype=np.bool_)
    names = list(keys.names)
    every, (here, own) = align([rows.select(names), keys.table()], names)
    place = np.full(len(every), -1, dtype=np.int64)
    place[own] = np.arange(len(keys))
    known = place[here] >= 0
    return place[here][known], known


def _interval_error(published: Answer, exact: Answer, measure: MeasureSpec) -> float | None:
    """The mean relative error that the published intervals expect of the exact answer's keys; a missing key is 1."""
    estimate, truth = published.estimates[measure.name], exact.estimates[measure.name].value
    judged = exact.shown & ~np.isnan(truth)
    if not judged.any():
        return None
    value = np.where(published.shown, estimate.value, np.nan)[judged]
    scale = np.maximum(np.abs(value), floor_of(exact, measure))
    relative = estimate.deviation[judged] / np.where(scale > 0, scale, 1.0)
    return float(np.where(np.isnan(value), MISSING, MEAN_OF_NORMAL * relative).mean())


def _by_size(published: Answer, exact: Answer, measure: MeasureSpec) -> dict[str, list[Any]]:
    """Truth, expectation and coverage of the keys of each size class, smallest first."""
    size = np.floor(np.log2(np.maximum(np.nan_to_num(exact.sample.rows), 1.0))).astype(np.int64)
    found: dict[str, list[Any]] = {name: [] for name in SCHEMA.names if name.startswith("size_")}
    for one in np.unique(size[exact.shown]):
        of_size = exact.only(size == one)
        score: Score = measured(published.only(size == one), of_size, measure)
        expected = _interval_error(published, of_size, measure)
        found["size_class"].append(int(one))
        found["size_keys"].append(int(score.every.size))
        found["size_truth"].append(float(score.every.mean()))
        found["size_interval_error"].append(math.nan if expected is None else expected)
        found["size_estimates"].append(score.estimates)
        found["size_covered"].append(score.covered)
    return found

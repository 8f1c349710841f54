"""The batch that Great Expectations validates: one row per window and measure, one column per check.

Errors are over the keys of a window; a missing key counts as an error of 1. Coverage is pooled over the slot's
windows, because one window of a handful of keys says nothing about a 95 % interval.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.stats import binom

from expectations.evidence import Array, Evidence, doubled, micros, numbers, positions
from shedding.estimates.accuracy import checked_intervals
from shedding.risk import STATISTICS, Claims, WindowLaws, claims
from shedding.spec.query import GateSpec, MeasureSpec, QuerySpec
from shedding.spec.times import format_instant

MISSING = 1.0
"""The relative error of a key that the answer lacks."""

SIGNIFICANCE = 0.01
"""Coverage fails where a true coverage at the limit would come out this low less than once in a hundred slots."""

AUDITED_KEYS = {"missing_keys": "audit_missing_keys", "top_missed": "audit_top_missed"}
"""What a slot's run records of the keys at its last audit, by the check that judges it."""


def summarise(evidence: Evidence) -> pd.DataFrame:
    """The slot's batch; windows that have no key and miss none are not in it, so an empty slot gives no row."""
    starts = micros(evidence.runs["window_start"])
    place = np.searchsorted(starts, micros(evidence.answer["window_start"]))
    missing = np.nan_to_num(numbers(evidence.runs, "missing_keys")).astype(int)
    absent = absent_keys(evidence)
    keys = np.bincount(place, minlength=len(starts))
    again = np.bincount(place, weights=doubled(evidence.answer, evidence.query.group_by), minlength=len(starts))
    slot_wide = _per_window(evidence, keys)
    rows = []
    for measure in evidence.query.measures:
        errors = numbers(evidence.answer, f"{measure.name}_error")
        broken = broken_values(evidence, measure)
        covered, floor = _coverage(evidence, measure)
        audit = _last_audit(evidence, measure.name)
        laws = window_laws_of(evidence, measure.name)
        for index, start in enumerate(starts):
            here = place == index
            if not here.any() and not missing[index]:
                continue
            told = errors[here & ~np.isnan(errors)], int(absent[index])
            judged = judged_errors(*told, laws[index], evidence.query.gate.risk)
            claimed = judged if laws[index] is None else claims(*told)
            rows.append({
                "window_start": format_instant(int(start)), "measure": measure.name, "keys": int(keys[index]),
                **{f"{name}_relative_error": getattr(judged, name) for name in STATISTICS},
                **{f"{name}_estimate": getattr(claimed, name) for name in STATISTICS},
                "decided_by": _decided_by(evidence, measure.name, index),
                "missing_keys": int(missing[index]), "coverage": covered, "coverage_floor": floor,
                "broken_values": int(broken[here].sum()), "doubled_keys": int(again[index]),
                "last_audit": audit[index], **{name: values[index] for name, values in slot_wide.items()},
            })  # fmt: skip
    return pd.DataFrame(rows, columns=list(rows[0]) if rows else ["window_start", "measure"])


def silent_rows(rows: pa.Table, query: QuerySpec) -> Array:
    """Which rows show a key without a value that it should have: null, with an error."""
    found = np.zeros(rows.num_rows, dtype=bool)
    for measure in query.measures:
        found |= rows[measure.name].is_null().to_numpy() & (numbers(rows, f"{measure.name}_error") > 0)
    return found


def absent_keys(evidence: Evidence) -> Array:
    """Of each window the missing keys that have no row: those with a row have an error of their own there."""
    place = np.searchsorted(micros(evidence.runs["window_start"]), micros(evidence.answer["window_start"]))
    missing = np.nan_to_num(numbers(evidence.runs, "missing_keys")).astype(int)
    silent = silent_rows(evidence.answer, evidence.query)
    return np.asarray(np.maximum(missing - np.bincount(place[silent], minlength=len(missing)), 0))


def window_laws_of(evidence: Evidence, measure: str) -> list[WindowLaws | None]:
    """Of each window the laws that bound its errors; None where they were measured."""
    if evidence.kind == "measured":
        return [None] * evidence.runs.num_rows
    column = f"{measure}_law"
    known = column in evidence.runs.column_names
    texts = evidence.runs[column].to_pylist() if known else [None] * evidence.runs.num_rows
    return [WindowLaws.of_text(text) for text in texts]


def judged_errors(errors: Array, missing: int, laws: WindowLaws | None, risk: float) -> Claims:
    """Mean, 95th percentile and maximum of the keys' relative errors, missing keys counted as 1; NaN for none.

    Measured errors (no `laws`) are judged as they are. Expected ones are judged by the bounds that only a share `risk`
    of windows truly exceeds.
    """
    if laws is not None:
        return laws.bounds(errors, missing, risk)
    every = np.concatenate([errors, np.full(missing, MISSING)])
    if not every.size:
        return Claims(np.nan, np.nan, np.nan)
    with np.errstate(invalid="ignore"):  # an unbounded interval is an infinite error and fails as one, never NaN
        p95 = float(np.quantile(every, 0.95))
    return Claims(float(every.mean()), np.inf if np.isnan(p95) else p95, float(every.max()))


def _decided_by(evidence: Evidence, measure: str, window: int) -> str:
    """What the errors of a window rest on: the exact leg, past audits, or the slot's spot check."""
    if evidence.kind == "measured":
        return "exact leg"
    column = f"{measure}_decided_by"
    return str(evidence.runs[column][window].as_py() or "audits") if column in evidence.runs.column_names else "audits"


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


def coverage_floor(estimates: int, limit: float) -> float:
    """The least share of `estimates` intervals covering that chance explains if truly `limit` of them do.

    One-sided binomial test at SIGNIFICANCE: with 10 intervals and a limit of 0.9 it is 0.6, with 10,000 0.893.
    """
    return float(binom.ppf(SIGNIFICANCE, estimates, limit)) / estimates


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


def _coverage(evidence: Evidence, measure: MeasureSpec) -> tuple[float, float]:
    """Pooled coverage of the slot's estimates and the least that passes; NaN where nothing measures it."""
    limit = evidence.query.gate.coverage
    if limit is None or not evidence.audited or evidence.exact is None:
        return np.nan, np.nan
    estimates, misses = uncovered(evidence, measure)
    count = int(estimates.sum())
    if not count:
        return np.nan, np.nan
    # Overlapping windows share panes, so their intervals are not independent draws.
    overlap = max(1, evidence.query.timeline.size // evidence.query.timeline.slide)
    return 1 - float(misses.sum()) / count, coverage_floor(max(1, count // overlap), limit)


def _per_window(evidence: Evidence, keys: Array) -> dict[str, Array]:
    """The checks that do not depend on the measure."""
    runs, gate = evidence.runs, evidence.query.gate
    count = runs.num_rows
    over = np.full(count, np.nan)
    if evidence.leg != "exact":  # the exact leg is no shedding: its cost is recorded, not judged
        budget = numbers(runs, "budget_rows")
        over = np.divide(numbers(runs, "processed_rows"), budget, out=over, where=budget > 0)
    prior = numbers(runs, "prior_keys")
    change = np.divide(np.abs(keys - prior), prior, out=np.full(count, np.nan), where=prior > 0)
    return {
        "processed_over_budget": over,
        "top_missed": numbers(runs, "top_missed"),
        "drift": numbers(runs, "distance"),
        "row_count_change": change,
        "audit_age": np.full(count, np.nan) if gate.audit_age is None else np.full(count, _audit_age(evidence)),
    }


def _audit_age(evidence: Evidence) -> float:
    """Microseconds of event time since the last audited slot; infinite where none is known."""
    if evidence.audited or evidence.leg == "exact":
        return 0.0
    last = evidence.runs["last_audit"].drop_null()
    return float(evidence.slot - micros(last).max()) if len(last) else np.inf


def _last_audit(evidence: Evidence, measure: str) -> Array:
    """How many times over its budgets of keys and coverage the last audit was; NaN where this slot needs no trust.

    The errors that audits measured are in the laws that bound this slot's. The run records the last audited slot's
    other figures, a function of raw rows alone, so the answer is the same in any order of backfill. What nobody
    recorded is infinitely over: no audit, no trust.
    """
    runs, gate = evidence.runs, evidence.query.gate
    worst = np.full(runs.num_rows, np.nan)
    if evidence.audited or evidence.leg == "exact":
        return worst
    if any(_failing_limit(gate, f"{part}_relative_error") is not None for part in STATISTICS):
        worst = np.where(np.isnan(numbers(runs, f"{measure}_audit_mean_error")), np.inf, 0.0)
    for check, column in AUDITED_KEYS.items():
        limit = _failing_limit(gate, check)
        if limit is not None:
            worst = np.fmax(worst, _times_over(numbers(runs, column), limit))
    limit = _failing_limit(gate, "coverage")
    if limit is not None:
        covered, estimates = (numbers(runs, f"{measure}_audit_{column}") for column in ("coverage", "estimates"))
        for index, count in enumerate(estimates):
            floor = coverage_floor(int(count), limit) if count > 0 else 0.0
            short = floor / max(covered[index], 1e-9) if count > 0 else 0.0
            worst[index] = np.fmax(worst[index], np.inf if np.isnan(count) else short)
    return worst


def _times_over(values: Array, limit: float) -> Array:
    """Each value over the limit, infinite where the value is unknown or the limit is 0 and it is not."""
    known = np.where(np.isnan(values), np.inf, values)
    return known / limit if limit else np.where(known > 0, np.inf, 0.0)


def _failing_limit(gate: GateSpec, check: str) -> float | None:
    """The check's limit where it decides, None where it is not stated or only warns."""
    limit: float | None = None if check in gate.warn else getattr(gate, check)
    return limit

"""What a slot's run writes down: rows of `results/<query>` and of `runs/<query>`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding.answers.answer import Answer
from shedding.answers.omissions import Omissions
from shedding.answers.scores import Score, missing_keys
from shedding.measures import CONFIDENCE
from shedding.panes.panes import MICROS
from shedding.planning.drift_audits import WINDOW_DRIFT
from shedding.spec.measure import MeasureSpec
from shedding.spec.timeline import slot_name
from shedding.stopwatch import PARTS

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LegWindow:
    """One window of one leg with its scores per measure."""

    leg: str
    answer: Answer
    scores: Mapping[str, Score]
    error_kind: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    left_out: Omissions | None = None


def results_rows(slot: int, windows: Sequence[LegWindow], measures: Sequence[MeasureSpec]) -> pa.Table:
    """The shown keys of all windows and legs, in the order given, keys sorted inside a window."""
    return pa.concat_tables([_window_rows(slot, window, measures) for window in windows])


def omitted_rows(slot: int, windows: Sequence[LegWindow]) -> list[pa.Table]:
    """What the windows of the leg that is to be published leave out, a table for each that leaves out something."""
    left_out = [(w.left_out, w.answer.sample) for w in windows if w.left_out is not None and w.extra["published"]]
    return [omissions.rows(slot, sample) for omissions, sample in left_out if omissions.omitted.any()]


def _window_rows(slot: int, window: LegWindow, measures: Sequence[MeasureSpec]) -> pa.Table:
    answer = window.answer
    shown = np.flatnonzero(answer.shown)
    size = len(shown)
    columns: dict[str, Any] = {
        "slot": pa.repeat(slot_name(slot), size),
        "leg": pa.repeat(window.leg, size),
        "window_start": pa.repeat(pa.scalar(answer.sample.start, MICROS), size),
        "window_end": pa.repeat(pa.scalar(answer.sample.end, MICROS), size),
    }
    columns |= answer.sample.keys.take(shown)
    for measure in measures:
        estimate = answer.estimates[measure.name]
        empty = np.isnan(estimate.value[shown])
        whole = answer.integers.get(measure.name)
        ends = {"": estimate.value, "_low": estimate.low, "_high": estimate.high}
        for suffix, values in ends.items():
            columns[measure.name + suffix] = pa.array((values if whole is None else whole)[shown], mask=empty)
        errors = window.scores[measure.name].errors[shown]
        columns[f"{measure.name}_error"] = pa.array(errors, pa.float64())
    columns["error_kind"] = pa.repeat(window.error_kind, size)
    columns["confidence"] = pa.array(np.full(size, CONFIDENCE))
    columns["is_exact"] = pa.array(answer.exact[shown])
    columns["is_imputed"] = pa.array(answer.imputed[shown])
    columns["sampling_rate"] = pa.array(answer.rate[shown])
    columns["sampled_rows"] = pa.array(answer.sample.sampled_rows[shown].astype(np.int64))
    population = answer.sample.rows[shown]
    columns["population"] = pa.array(population, pa.float64(), mask=np.isnan(population))
    return pa.table(columns)


def run_rows(
    slot: int, windows: Sequence[LegWindow], measures: Sequence[MeasureSpec], shared: Mapping[str, Any]
) -> pa.Table:
    """One row per window and leg; `shared` are the columns that all of them have."""
    rows = [_run_row(slot, window, measures) | dict(shared) | dict(window.extra) for window in windows]
    return pa.Table.from_pylist(rows, schema=run_schema(measures))


def _run_row(slot: int, window: LegWindow, measures: Sequence[MeasureSpec]) -> dict[str, Any]:
    answer = window.answer
    row: dict[str, Any] = {
        "slot": slot_name(slot),
        "leg": window.leg,
        "window_start": answer.sample.start,
        "window_end": answer.sample.end,
        "error_kind": window.error_kind,
        "keys": int(answer.shown.sum()),
        "missing_keys": missing_keys(answer, window.scores),
        "imputed_keys": int((answer.shown & answer.imputed).sum()),
        **_left_out(window),
    }
    for measure in measures:
        score = window.scores[measure.name]
        row |= {f"{measure.name}_{name}": value for name, value in score.summary().items()}
        row[f"{measure.name}_row_error"] = _row_error(answer, score)
    return row


def _row_error(answer: Answer, score: Score) -> float | None:
    """The mean of the shown keys' errors, each by its rows; None where nobody counted them."""
    errors, rows = score.errors[answer.shown], answer.sample.rows[answer.shown]
    known = ~np.isnan(errors)
    if np.isnan(rows).any() or not rows[known].sum() > 0:
        return None
    return float(errors[known] @ rows[known] / rows[known].sum())


def _left_out(window: LegWindow) -> dict[str, Any]:
    """How many keys the window leaves out and their rows, beside all its rows; unknown where nobody counted."""
    rows = window.answer.sample.rows
    omitted = np.zeros(len(rows), np.bool_) if window.left_out is None else window.left_out.omitted
    return {
        "omitted_keys": int(omitted.sum()),
        "omitted_rows": float(rows[omitted].sum()),
        "window_rows": None if np.isnan(rows).any() else float(rows.sum()),
    }


def run_schema(measures: Sequence[MeasureSpec]) -> pa.Schema:
    """The columns of `runs/<query>`.

    `results_version` is the version of `results/<query>` that the same run wrote just before: a reader of run rows
    finds the results that belong to them, whatever other runs of the slot have written since.
    """
    numbers = ["mean_error", "p95_error", "worst_error", "row_error", "coverage", "half_width", "floor"]
    numbers += ["audit_mean_error", "audit_p95_error", "audit_worst_error", "audit_coverage", "audit_estimates"]
    numbers += ["mean_bound", "p95_bound", "worst_bound", "spot_error", "spot_ratio"]
    texts = ["law", "record", "decided_by"]
    return pa.schema([
        ("slot", pa.string()), ("leg", pa.string()), ("window_start", MICROS), ("window_end", MICROS),
        ("run_id", pa.string()), ("policy", pa.string()), ("published", pa.bool_()), ("audited", pa.bool_()),
        ("audit_reason", pa.string()), ("error_kind", pa.string()), ("keys", pa.int64()), ("missing_keys", pa.int64()),
        ("imputed_keys", pa.int64()), ("omitted_keys", pa.int64()), ("omitted_rows", pa.float64()),
        ("window_rows", pa.float64()), ("prior_keys", pa.int64()),
        *[(f"{measure.name}_{name}", pa.float64()) for measure in measures for name in numbers],
        *[(f"{measure.name}_{name}", pa.string()) for measure in measures for name in texts],
        ("spot_keys", pa.int64()),
        ("slot_rows", pa.float64()), ("budget_rows", pa.float64()), ("processed_rows", pa.float64()),
        ("budget_seconds", pa.float64()), ("spent_seconds", pa.float64()),
        ("processed_fraction", pa.float64()), ("charged_rows", pa.float64()), ("union_rows", pa.float64()),
        ("total_rows", pa.float64()), ("rows_read", pa.float64()), ("bytes_read", pa.int64()),
        ("seconds", pa.float64()), *[(f"{part}_seconds", pa.float64()) for part in PARTS],
        ("forecast_seconds", pa.float64()), ("forecast_exact_seconds", pa.float64()),
        ("overlap", pa.float64()), ("distance", pa.float64()),
        ("top_difference", pa.float64()), *[(name, pa.float64()) for name in WINDOW_DRIFT],
        ("top_missed", pa.float64()), ("prior_slots", pa.list_(pa.string())),
        ("last_audit", MICROS), ("audit_missing_keys", pa.float64()), ("audit_keys", pa.float64()),
        ("audit_top_missed", pa.float64()),
        ("exceeded_by", pa.float64()), ("raw_fingerprint", pa.string()), ("spec_fingerprint", pa.string()),
        ("results_version", pa.int64()), ("reason", pa.string()), ("arrivals_version", pa.int64()),
        ("plan_fingerprint", pa.string()), ("dropped_windows", pa.int64()),
    ])  # fmt: skip

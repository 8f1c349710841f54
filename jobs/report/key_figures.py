"""Answers by key: the series of a key with its intervals, the keys that err most, and how often intervals hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from expectations.evidence import numbers, positions
from jobs.report import tables
from jobs.report.figures import QueryFigures
from jobs.report.slots import EXACT
from shedding.compare.promise import clopper_pearson
from shedding.config import Settings
from shedding.estimates.accuracy import checked_intervals
from shedding.keys import align
from shedding.spec.measure import MeasureSpec
from shedding.spec.query import QuerySpec

Floats = npt.NDArray[np.float64]
Array = np.ndarray
SERIES_WINDOWS = 240
"""The newest windows that a key's chart shows."""
CHARTED_KEYS = 12
"""Keys that a file brings the charts of; the served page draws any."""
WORST_KEYS = 50
AUDITS = 24
"""The newest audited slots that calibration and errors look at."""


@dataclass(frozen=True)
class KeySeries:
    """One key's answers by window: value, interval, what kind it is, and the exact value where it was audited."""

    label: str
    start: Array
    value: Floats
    low: Floats
    high: Floats
    exact: Array
    imputed: Array
    truth: Floats


@dataclass(frozen=True, slots=True)
class WorstKey:
    """A key's largest error among the newest slots."""

    label: str
    error: float
    kind: str
    window: int
    value: float
    truth: float
    sampled: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """How many of the intervals of one class held the exact value, with the binomial interval of that share."""

    group: str
    intervals: int
    covered: int

    @property
    def share(self) -> float:
        """The measured coverage."""
        return self.covered / self.intervals

    @property
    def interval(self) -> tuple[float, float]:
        """Clopper and Pearson's interval of the coverage."""
        return clopper_pearson(self.covered, self.intervals)


@dataclass(frozen=True)
class KeyFigures:
    """What a query's page tells of keys, of one measure."""

    measure: str
    labels: Sequence[str]
    series: Sequence[KeySeries]
    worst: Sequence[WorstKey]
    by_sampled: Sequence[Calibration]


def shown_measure(query: QuerySpec, name: str | None = None) -> MeasureSpec:
    """The measure of that name, else the first that is of a column."""
    own = {measure.name: measure for measure in query.measures}
    return own.get(name or "") or next((m for m in query.measures if m.column is not None), query.measures[0])


def key_figures(
    settings: Settings, figures: QueryFigures, measure: str | None = None, chosen: str | None = None
) -> KeyFigures:
    """The figures of one measure; the series are of the keys with the most rows, and of `chosen` first if it is one."""
    query, of = figures.query, shown_measure(figures.query, measure)
    if not figures.slots:
        return KeyFigures(of.name, [], [], [], [])
    slots = -(-SERIES_WINDOWS * query.timeline.slide // query.timeline.slot)
    published = tables.published(settings, query, figures.slots[max(0, len(figures.slots) - slots)].start)
    audited = [slot.start for slot in figures.slots if slot.audited][-AUDITS:]
    answers = tables.results(settings, query, {*audited, *(slot.start for slot in figures.slots[-AUDITS:])})
    labels, number = labelled(published, query)
    exact = answers.filter(pc.equal(answers["leg"], EXACT)) if answers.num_rows else answers
    order = _largest_first(published, number, len(labels))
    keys = [labels.index(chosen)] if chosen in labels else []
    keys += [key for key in order[:CHARTED_KEYS] if key not in keys]
    truth = _truth(published, exact, query, of)
    return KeyFigures(
        of.name, sorted(labels), [_series(published, number, key, labels[key], of.name, truth) for key in keys],
        _worst(answers, exact, query, of), _by_sampled(answers, exact, query, of),
    )  # fmt: skip


def labelled(rows: pa.Table, query: QuerySpec) -> tuple[list[str], Array]:
    """The text of every key, and of each row which key it is of."""
    if not query.group_by or not rows.num_rows:
        return (["all rows"] if rows.num_rows else []), np.zeros(rows.num_rows, dtype=np.int64)
    every, (number,) = align([rows], query.group_by)
    columns = [column.to_pylist() for column in every.columns]
    return [" · ".join("null" if part is None else str(part) for part in key) for key in zip(*columns, strict=True)], (
        number
    )


def _series(rows: pa.Table, number: Array, key: int, label: str, measure: str, truth: Floats) -> KeySeries:
    here = np.flatnonzero(number == key)
    here = here[np.argsort(rows["window_start"].to_numpy()[here])][-SERIES_WINDOWS:]
    own = rows.take(pa.array(here))
    return KeySeries(
        label=label, start=own["window_start"].to_numpy(), value=numbers(own, measure),
        low=numbers(own, f"{measure}_low"), high=numbers(own, f"{measure}_high"),
        exact=own["is_exact"].to_numpy(zero_copy_only=False), imputed=own["is_imputed"].to_numpy(zero_copy_only=False),
        truth=truth[here],
    )  # fmt: skip


def _largest_first(rows: pa.Table, number: Array, keys: int) -> list[int]:
    """The keys by the rows that were sampled of them."""
    sampled = np.bincount(number, weights=np.nan_to_num(numbers(rows, "sampled_rows")), minlength=keys)
    return [int(key) for key in np.argsort(-sampled, kind="stable")]


def _truth(rows: pa.Table, exact: pa.Table, query: QuerySpec, measure: MeasureSpec) -> Floats:
    """The exact value beside each row; NaN where none was computed."""
    if not rows.num_rows or not exact.num_rows:
        return np.full(rows.num_rows, np.nan)
    place = positions(rows, exact, query.group_by)
    return np.asarray(np.append(numbers(exact, measure.name), np.nan)[place])


def _worst(answers: pa.Table, exact: pa.Table, query: QuerySpec, measure: MeasureSpec) -> list[WorstKey]:
    """Of each key the window with its largest error, the largest first; measured errors before expected ones."""
    own = answers.filter(pc.equal(answers["leg"], query.shed.policy)) if answers.num_rows else answers
    errors = numbers(own, f"{measure.name}_error")
    if not own.num_rows or not np.isfinite(errors).any():
        return []
    labels, number = labelled(own, query)
    order = np.argsort(-np.nan_to_num(errors, nan=-1.0), kind="stable")
    first = order[np.unique(number[order], return_index=True)[1]]
    first = first[np.argsort(-np.nan_to_num(errors[first], nan=-1.0), kind="stable")][:WORST_KEYS]
    truth, told = _truth(own, exact, query, measure), own.take(pa.array(first))
    return [
        WorstKey(
            label=labels[number[place]], error=float(errors[place]), kind=str(row["error_kind"]),
            window=int(row["window_start"]), value=_float(row[measure.name]), truth=float(truth[place]),
            sampled=int(row["sampled_rows"]),
        )
        for place, row in zip(first, told.to_pylist(), strict=True)
        if errors[place] > 0
    ]  # fmt: skip


def _by_sampled(answers: pa.Table, exact: pa.Table, query: QuerySpec, measure: MeasureSpec) -> list[Calibration]:
    """Coverage of the published policy's intervals by how many rows of the key were sampled."""
    own = answers.filter(pc.equal(answers["leg"], query.shed.policy)) if answers.num_rows else answers
    if not own.num_rows or not exact.num_rows or query.shed.policy == EXACT:
        return []
    truth = _truth(own, exact, query, measure)
    low, high = (numbers(own, f"{measure.name}{end}") for end in ("_low", "_high"))
    estimates, inside = checked_intervals(truth, low, high)
    estimates &= ~np.isnan(truth)
    sampled = numbers(own, "sampled_rows")
    size = np.where(sampled > 0, np.floor(np.log2(np.maximum(sampled, 1.0))), -1).astype(np.int64)
    found = []
    for one in np.unique(size[estimates]):
        here = estimates & (size == one)
        name = "0" if one < 0 else "1" if one == 0 else f"{2**one}-{2 ** (one + 1) - 1}"
        found.append(Calibration(name, int(here.sum()), int((here & inside).sum())))
    return found


def _float(value: object) -> float:
    return math.nan if value is None else float(value)  # type: ignore[arg-type]

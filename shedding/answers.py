"""A leg's answer for one window: a value with an interval for every key and measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
import numpy.typing as npt

from shedding.estimates import (
    Estimate,
    Strata,
    hajek_mean,
    horvitz_thompson_count,
    horvitz_thompson_sum,
    ratio_of_sums,
    sampled_quantile,
    stratified_mean,
)
from shedding.spec.query import MeasureSpec, TopSpec
from shedding.windowed import WindowSample, WindowStat

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Answer:
    """One window of one leg, arrays over the sample's keys.

    present: the keys the window has, as far as the leg can know. shown: those that the answer holds; a
    present key that is not shown is missing. imputed: shown without a sampled row. exact: no row left out.
    silent: by measure, the shown keys that have no value though rows were left out that may give them one.
    """

    sample: WindowSample
    estimates: Mapping[str, Estimate]
    present: Flags
    shown: Flags
    imputed: Flags
    exact: Flags
    silent: Mapping[str, Flags] = field(default_factory=dict)

    @property
    def rate(self) -> Floats:
        """The share of the key's rows that was sampled; where populations are unknown, the rate they were drawn at."""
        rows, sampled = self.sample.rows, self.sample.sampled_rows
        if self.sample.known:
            return quotient(sampled, rows, 0.0)
        drawn = (self.sample.sampled / positive(self.sample.rate)).sum(axis=0)
        widest = np.asarray(self.sample.rate.max(axis=0))
        return np.where(drawn > 0, quotient(sampled, drawn, 1.0), widest)

    def only(self, keys: Flags) -> Answer:
        """The same answer, showing only some of the keys and knowing of no others."""
        return replace(self, present=self.present & keys, shown=self.shown & keys)


def top_keys(answer: Answer, top: TopSpec) -> Flags:
    """The n shown keys of largest value, ties in the order of the keys.

    Only the published leg of a query with `top` is cut down to them; the other legs keep all keys, so that
    errors and coverage of the published rows can be told.
    """
    return largest(np.where(answer.shown, answer.estimates[top.by].value, np.nan), top.n)


def largest(values: Floats, n: int) -> Flags:
    """The n largest numbers, ties in their order; nan is none.

    >>> largest(np.array([1.0, np.nan, 3.0, 1.0]), 2)
    array([ True, False,  True, False])
    """
    chosen = np.argsort(-values, kind="stable")[:n]  # nan is last
    flags = np.zeros(len(values), dtype=np.bool_)
    flags[chosen] = True
    return flags & ~np.isnan(values)


def exact_answer(sample: WindowSample, measures: Sequence[MeasureSpec], whole: Mapping[str, Floats]) -> Answer:
    """The answer from all rows; `whole` are values computed over whole windows (quantiles, distinct counts)."""
    estimates = {m.name: Estimate.exact(_exact_value(sample, m, whole)) for m in measures}
    there = sample.rows > 0
    nothing = np.zeros_like(there)
    return Answer(sample, estimates, there, there, nothing, there)


def plain_answer(sample: WindowSample, measures: Sequence[MeasureSpec]) -> Answer:
    """The design-based answer, free of any history: unbiased, and without the keys that have no sampled row."""
    sampled = sample.sampled_rows
    present = sample.rows > 0 if sample.known else sampled > 0
    complete = present & (sampled >= sample.rows) if sample.known else present & (sample.rate.min(axis=0) >= 1)
    estimates = {m.name: exact_where(complete, sample, m, plain_estimate(sample, m)) for m in measures}
    wanted = {m.name: has_values(sample, m) & ~complete for m in measures}
    untold = np.any([np.isnan(estimates[name].value) & keys for name, keys in wanted.items()], axis=0)
    return shown_answer(sample, estimates, present, present & ((sampled > 0) | ~untold), complete, wanted)


def shown_answer(
    sample: WindowSample,
    estimates: Mapping[str, Estimate],
    present: Flags,
    shown: Flags,
    complete: Flags,
    wanted: Mapping[str, Flags],
) -> Answer:
    """The answer that shows some of the present keys, silent about the values that are wanted and not known."""
    silent = {name: np.isnan(estimates[name].value) & keys & shown for name, keys in wanted.items()}
    return Answer(sample, estimates, present, shown, shown & (sample.sampled_rows == 0), complete, silent)


def exact_where(complete: Flags, sample: WindowSample, measure: MeasureSpec, estimate: Estimate) -> Estimate:
    """The estimate, and of keys that lack no row the exact leg's value, the same bits.

    Counts are exact there already, and so are quantiles (`sampled_quantile`).
    """
    if measure.agg in ("count", "quantile"):
        return estimate
    exact = Estimate.exact(_exact_value(sample, measure, {}))
    pairs = ((getattr(exact, part.name), getattr(estimate, part.name)) for part in fields(Estimate))
    return Estimate(*(np.where(complete, known, told) for known, told in pairs))


def has_values(sample: WindowSample, measure: MeasureSpec) -> Flags:
    """Which keys have a value to estimate; where populations are unknown, as far as the sample shows."""
    if measure.agg == "count":
        return sample.rows > 0 if sample.known else sample.sampled_rows > 0
    stat = sample.measures[measure.name]
    known = np.asarray(stat.population.sum(axis=0) > 0)
    return known if sample.known else np.asarray(stat.moments.count.sum(axis=0) > 0)


def plain_estimate(sample: WindowSample, measure: MeasureSpec) -> Estimate:
    """One measure's design-based estimate: stratified where populations are known, else by the rates."""
    if measure.agg == "count":
        if sample.known:
            return Estimate.exact(sample.rows)
        return horvitz_thompson_count(sample.sampled, positive(sample.rate), CONFIDENCE)
    stat = sample.measures[measure.name]
    if measure.agg == "quantile":
        return _quantile(sample, stat, measure)
    if measure.agg == "ratio":
        return _ratio(sample, stat)
    return _mean_or_sum(sample, stat, measure)


def quotient(top: Floats, bottom: Floats, otherwise: float) -> Floats:
    """top / bottom, and `otherwise` where the bottom is 0."""
    there = bottom != 0
    return np.where(there, top / np.where(there, bottom, 1.0), otherwise)


def _mean_or_sum(sample: WindowSample, stat: WindowStat, measure: MeasureSpec) -> Estimate:
    if sample.known:
        mean = stratified_mean(Strata(stat.population, stat.moments), CONFIDENCE)
        return mean if measure.agg == "avg" else mean.scaled(stat.population.sum(axis=0))
    rates = positive(sample.rate)
    estimate = hajek_mean if measure.agg == "avg" else horvitz_thompson_sum
    return estimate(stat.moments, rates, CONFIDENCE)


def _ratio(sample: WindowSample, stat: WindowStat) -> Estimate:
    assert stat.over is not None
    assert stat.cross is not None
    rows = _ratio_rows(sample, stat)
    return ratio_of_sums(Strata(rows, stat.moments), Strata(rows, stat.over), stat.cross, CONFIDENCE)


def _exact_value(sample: WindowSample, measure: MeasureSpec, whole: Mapping[str, Floats]) -> Floats:
    if measure.name in whole:
        return np.asarray(whole[measure.name])
    if measure.agg == "count":
        return sample.rows
    stat = sample.measures[measure.name]
    if measure.agg in ("min", "max"):
        assert stat.extreme is not None
        return np.asarray(stat.extreme[0 if measure.agg == "min" else 1])
    total = (stat.moments.count * stat.moments.mean).sum(axis=0)
    count = stat.moments.count.sum(axis=0)
    if measure.agg == "ratio":
        assert stat.over is not None
        over = (stat.over.count * stat.over.mean).sum(axis=0)
        return quotient(total, over, np.nan)
    return np.where(count > 0, total, np.nan) if measure.agg == "sum" else quotient(total, count, np.nan)


def _quantile(sample: WindowSample, stat: WindowStat, measure: MeasureSpec) -> Estimate:
    assert stat.values is not None
    assert measure.q is not None
    rates = value_rates(sample, stat)
    drawn = (stat.moments.count / positive(sample.rate)).sum(axis=0)
    population = stat.population.sum(axis=0) if sample.known else drawn
    values = stat.values
    rate = rates[values.stratum, values.key]
    return sampled_quantile(values.value, values.key, measure.q, population, rate=rate, confidence=CONFIDENCE)


def value_rates(sample: WindowSample, stat: WindowStat) -> Floats:
    """(S, K): the share of a stratum's values that was sampled; the rate it was drawn at where nobody counted."""
    if not sample.known:
        return positive(sample.rate)
    share = quotient(stat.moments.count, np.maximum(stat.population, stat.moments.count), 1.0)
    return positive(share)


def _ratio_rows(sample: WindowSample, stat: WindowStat) -> Floats:
    """How many rows of a stratum have both parts of a ratio: the share that the sampled ones show, of its rows.

    Nobody counts them at arrival. Where all rows were sampled it is exact; strata of different shares weigh rightly.
    """
    if sample.known:
        return np.maximum(sample.population * quotient(stat.moments.count, sample.sampled, 1.0), stat.moments.count)
    return stat.moments.count / positive(sample.rate)


def positive(rate: Floats) -> Floats:
    """Rates with 1 in place of 0: an omitted key has no sampled row to divide by."""
    return np.where(rate > 0, rate, 1.0)

"""A leg's answer with what the priors teach: shrunk to the keys' histories, imputed where nothing was sampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy import stats

from shedding.answers import (
    CONFIDENCE,
    Answer,
    exact_where,
    has_values,
    plain_estimate,
    positive,
    shown_answer,
    value_rates,
)
from shedding.estimates import Estimate, Strata, gamma_poisson_count, sampled_quantile
from shedding.shrinkage import Calibration, History, sample_prior, shrink
from shedding.spec.query import MeasureSpec
from shedding.windowed import WindowSample, WindowStat

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

COUNT_WEIGHT = 0.5
"""Windows' worth of trust in the expected rows of a key where nobody counted."""
WIDE = 2.55
"""Half-width over deviation of a value that no sampled row supports."""


@dataclass(frozen=True, slots=True)
class Learnt:
    """What the priors say, over the keys of the samples it is used with.

    block_share: a history block's length over the window's, 1 where windows fit into a slot.
    """

    histories: Mapping[str, History] = field(default_factory=dict)
    calibrations: Mapping[str, Calibration] = field(default_factory=dict)
    block_share: float = 1.0


def learnt_answer(
    sample: WindowSample, measures: Sequence[MeasureSpec], learnt: Learnt, expected: Floats | None = None
) -> Answer:
    """The answer for every key that the counts, the sample or the priors know.

    `expected` (S, K): rows of each key in each stratum as the priors expect them, where nobody counted.
    Guarantee: with known populations every key of the window is shown and counts are exact. A key without a sampled
    row is imputed, with a wide interval; a value that neither the sample nor an audit can tell is null (and the key
    missing to the gate), whatever else is known of the key.
    """
    rows = None if sample.known else _estimated_rows(sample, expected)
    sampled = sample.sampled_rows
    if rows is None:
        present = sample.rows > 0
        complete = present & (sampled >= sample.rows)
    else:
        whole = sample.rate.min(axis=0) >= 1
        hoped = np.zeros_like(whole) if expected is None else (expected > 0).any(axis=0) & ~whole
        present = (sampled > 0) | hoped  # a key that was kept whole and had no row is known not to be there
        complete = present & whole
    wanted = {m.name: (has_values(sample, m) if sample.known else present) & ~complete for m in measures}
    estimates = {
        m.name: exact_where(complete, sample, m, _estimate(sample, m, learnt, rows, wanted[m.name])) for m in measures
    }
    return shown_answer(sample, estimates, present, present, complete, wanted)


def _estimate(
    sample: WindowSample, measure: MeasureSpec, learnt: Learnt, rows: list[Estimate] | None, wanted: Flags
) -> Estimate:
    if measure.agg == "count":
        return Estimate.exact(sample.rows) if rows is None else _added(rows)
    if measure.agg in ("avg", "sum"):
        return _mean_or_sum(sample, measure, learnt, rows)
    plain = plain_estimate(sample, measure)
    return _steadied(plain, wanted, *_pooled(sample, measure, plain), _reach(plain))


def _mean_or_sum(sample: WindowSample, measure: MeasureSpec, learnt: Learnt, rows: list[Estimate] | None) -> Estimate:
    stat = sample.measures[measure.name]
    if rows is None:
        population = np.maximum(stat.population, stat.moments.count)
    else:
        population = np.maximum(np.stack([part.value for part in rows]), stat.moments.count)
    drawn = Strata(population, stat.moments).combine()
    calibration = learnt.calibrations.get(measure.name, Calibration())
    history = learnt.histories.get(measure.name)
    if history is None:
        prior = sample_prior(drawn)
    else:
        prior = history.prior(drawn.population * learnt.block_share, calibration.drift)
    mean = shrink(drawn, prior, calibration).estimate
    if measure.agg == "avg":
        return mean
    return mean.scaled(drawn.population) if rows is None else mean.times(_added(rows), CONFIDENCE)


def _estimated_rows(sample: WindowSample, expected: Floats | None) -> list[Estimate]:
    """The rows of each key in each stratum, where nobody counted: Gamma-Poisson around what history expects."""
    found = []
    for s in range(len(sample.rate)):
        rate = positive(sample.rate[s])
        if expected is None:
            found.append(gamma_poisson_count(sample.sampled[s], rate, confidence=CONFIDENCE))
        else:
            weight = np.where(expected[s] > 0, COUNT_WEIGHT, 0.0)
            found.append(
                gamma_poisson_count(
                    sample.sampled[s], rate, prior_mean=expected[s], prior_weight=weight, confidence=CONFIDENCE
                )
            )
    return found


def _added(parts: Sequence[Estimate]) -> Estimate:
    """The sum of independent estimates; the ends' distances add as squares."""
    if len(parts) == 1:
        return parts[0]
    value = np.sum([part.value for part in parts], axis=0)
    below = np.sqrt(np.sum([(part.value - part.low) ** 2 for part in parts], axis=0))
    above = np.sqrt(np.sum([(part.high - part.value) ** 2 for part in parts], axis=0))
    deviation = np.sqrt(np.sum([part.deviation**2 for part in parts], axis=0))
    return Estimate(value, value - below, value + above, deviation)


def _pooled(sample: WindowSample, measure: MeasureSpec, plain: Estimate) -> tuple[float, float]:
    """The value over all keys together, and how far a single key's is expected from it."""
    stat = sample.measures[measure.name]
    if measure.agg == "quantile":
        centre = _pooled_quantile(sample, stat, measure)
    else:
        assert stat.over is not None
        bottom = float((stat.over.count * stat.over.mean).sum())
        centre = float((stat.moments.count * stat.moments.mean).sum()) / bottom if bottom else np.nan
    some = np.isfinite(plain.value)
    keys = int(some.sum())
    # one key tells nothing of how keys differ: by as much as their value, for all that is known
    between = float(np.sum((plain.value[some] - centre) ** 2)) / (keys - 1) if keys > 1 else centre**2
    freedom = float(np.maximum(stat.moments.count - 1, 0.0).sum())
    within = float(stat.moments.m2.sum()) / freedom if freedom and measure.agg == "quantile" else 0.0
    return centre, float(np.sqrt(between + within)) or abs(centre)


def _pooled_quantile(sample: WindowSample, stat: WindowStat, measure: MeasureSpec) -> float:
    assert stat.values is not None
    assert measure.q is not None
    if not stat.values.value.size:
        return np.nan
    alike = np.zeros(stat.values.value.size, dtype=np.int64)
    rows = np.array([float(np.nansum(sample.population)) or 1.0])
    rate = value_rates(sample, stat)[stat.values.stratum, stat.values.key]
    return float(sampled_quantile(stat.values.value, alike, measure.q, rows, rate=rate).value[0])


def _reach(plain: Estimate) -> float:
    """Half-width over deviation of a value that other keys tell: Student's, since few keys tell little of a spread."""
    keys = int(np.isfinite(plain.value).sum())
    return max(WIDE, float(stats.t.ppf(0.5 + CONFIDENCE / 2, keys - 1) * np.sqrt(1 + 1 / keys))) if keys > 1 else WIDE


def _steadied(plain: Estimate, wanted: Flags, centre: float, deviation: float, reach: float) -> Estimate:
    """Quantiles and ratios are not shrunk; a key that its sample gives no value or no interval takes the pooled one."""
    silent = wanted & np.isnan(plain.value)
    value = np.where(silent, centre, plain.value)
    half = reach * deviation
    low = np.where(wanted & ~np.isfinite(plain.low), value - half, plain.low)
    high = np.where(wanted & ~np.isfinite(plain.high), value + half, plain.high)
    spread = np.where(wanted & ~np.isfinite(plain.deviation), deviation, plain.deviation)
    return Estimate(value, np.minimum(low, value), np.maximum(high, value), spread)

"""A leg's answer with what the priors teach: shrunk to the keys' histories, imputed where nothing was sampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shedding.answers.answer import Answer, exact_where, shown_answer, told_by_counts
from shedding.arrays import positive
from shedding.estimates import Estimate, gamma_poisson_count
from shedding.estimates.shrinkage import Calibration, History, sample_prior, shrink
from shedding.measures import CONFIDENCE, learnable, measure_of, value_rates
from shedding.panes.windows import WindowSample
from shedding.planning.populations import COUNT_WEIGHT
from shedding.spec.measure import MeasureSpec

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


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
        complete = present & ((sampled >= sample.rows) | told_by_counts(sample, measures))
    else:
        whole = sample.rate.min(axis=0) >= 1
        hoped = np.zeros_like(whole) if expected is None else (expected > 0).any(axis=0) & ~whole
        present = (sampled > 0) | hoped  # a key that was kept whole and had no row is known not to be there
        complete = present & whole
    wanted = {m.name: (measure_of(m).has_values(sample) if sample.known else present) & ~complete for m in measures}
    estimates = {m.name: exact_where(complete, sample, m, _estimate(sample, m, learnt, rows)) for m in measures}
    return shown_answer(sample, estimates, present, present, complete, wanted)


def _estimate(sample: WindowSample, spec: MeasureSpec, learnt: Learnt, rows: list[Estimate] | None) -> Estimate:
    if not spec.traits.estimated:
        return measure_of(spec).plain(sample) if rows is None else _added(rows)
    measure = learnable(spec)
    stat = measure.stat(sample)
    if rows is None:
        population = measure.value_rows(sample)
    else:
        population = np.maximum(np.stack([part.value for part in rows]), stat.moments.count)
    drawn = measure.sampled_rows(stat, population, value_rates(sample, stat))
    calibration = learnt.calibrations.get(spec.name, Calibration())
    history = learnt.histories.get(spec.name)
    if history is None:
        prior = sample_prior(drawn)
    else:
        prior = history.prior(drawn.population * learnt.block_share, calibration.drift)
    mean = shrink(drawn, prior, calibration).estimate
    return measure.of_mean(mean, drawn.population if rows is None else _added(rows))


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

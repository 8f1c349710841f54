"""Calibration at audited slots, where the truth is known: drift, size of the factors, kappa, interval widths.

A record is a function of one audited slot (its exact values, its shed sample) and of the history before it, with no
earlier calibration. The sample's rates follow from the same history. So a
record depends on J + 1 audited slots, and a slot that merges the records of its last J audits on at most 2 J.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shedding.estimates.accuracy import MEAN_OF_NORMAL, relative_errors
from shedding.estimates.estimate import check_confidence
from shedding.estimates.moments import Floats
from shedding.estimates.shrinkage.calibration import KINDS, SAMPLE_CLASSES, Calibration, default_quantiles, sample_class
from shedding.estimates.shrinkage.factors import window_factors
from shedding.estimates.shrinkage.history import History
from shedding.estimates.shrinkage.mixture import learnt_weights
from shedding.estimates.shrinkage.prior import Prior, classes_of
from shedding.estimates.shrinkage.shrink import Model
from shedding.estimates.shrinkage.variance_component import variance_component
from shedding.estimates.strata import Sampled

FEWEST = 20
ALONE = 60.0
"""Scores that one slot's are worth, however many they are: the next slot is another."""
QUANTILE_PULL = 20.0
"""Keys' worth of the all-class quantile that each class's quantile starts with."""
MOST_KEYS = 3000
"""Keys of a class that the mix is chosen by, spread evenly over the audits' keys; more would only cost time."""


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """What one audited window teaches: its movement, its sample and exact values, and the history before it.

    `there` are the keys with rows. `slot` tells the windows of one audited slot from those of another.
    """

    drift: float
    factor2: float
    class2: float
    history: History
    sampled: Sampled
    exact: Floats
    there: NDArray[np.bool_]
    slot: int = 0


def calibrate(history: History, exact: Floats, sampled: Sampled, slot: int = 0) -> AuditRecord:
    """The record of an audited window: its `exact` values (K,), its shed `sampled`, and the history before it.

    All aligned over the same K keys; keys without rows in the window are left out.
    """
    there = (sampled.population > 0) & np.isfinite(exact)
    prior = history.prior(sampled.population)
    drift, factor2, class2 = _movement(prior, np.where(there, exact, np.nan))
    drift = history.drift if drift is None else drift
    return AuditRecord(drift, factor2, class2, history, sampled, exact, there, slot)


def _movement(prior: Prior, exact_mean: Floats) -> tuple[float | None, float, float]:
    """Drift variance and squared sizes of the factors that an audited window really had."""
    spread2 = prior.spread2
    present = prior.population > 0
    noise = np.where(present, spread2 / np.maximum(prior.population, 1.0), np.nan)
    level = np.where(present, exact_mean + prior.shift, np.nan)
    factors = window_factors(prior, level, noise, np.inf, np.inf)
    some = factors.class_variance > 0
    least = 1e-3 * prior.pooled
    factor2 = (factors.overall - 1) ** 2 - factors.overall_variance
    moved2 = np.maximum((factors.by_class - 1) ** 2 - factors.class_variance, 0.0)
    class2 = float(moved2[some].mean()) if some.any() else 0.0
    moved = prior.mean * factors.overall * factors.by_class[classes_of(prior)]
    known = present & prior.seen
    with np.errstate(divide="ignore", invalid="ignore"):  # a key whose history is zero tells nothing of drift
        change = level / moved - 1
    drift = variance_component(change[known] ** 2, (noise + prior.remaining)[known])
    return drift, max(factor2, least), max(class2, least)


def merge_records(records: Sequence[AuditRecord], confidence: float = 0.95) -> Calibration:
    """The calibration that the records of the last audits give together; the defaults if there are none.

    Each record is answered as an unaudited window would be: with the drift and the factors' sizes that the *other*
    audited slots showed. By class of sample size that tells the best mix of plain and learnt, q (the `confidence`
    quantile of |error| over the deviation, pulled to that of all classes), and the scale that makes E|error| / |exact|
    = sqrt(2 / pi) deviation / |value| hold on average. Guarantee: the order of the records does not matter beyond
    rounding.
    """
    check_confidence(confidence)
    if not records:
        return Calibration(quantile=default_quantiles(confidence))
    tested = [
        _Tested.of(record, _means([r for r in records if r.slot != record.slot] or [record])) for record in records
    ]
    classes = np.concatenate([one.classes for one in tested])
    weights = _mix(tested, classes)
    found = [one.judged(weights) for one in tested]
    errors, reaches, deviations, exact, value = (np.concatenate(parts) for parts in zip(*found, strict=True))
    slots = np.concatenate([np.full(one.classes.size, r.slot) for one, r in zip(tested, records, strict=True)])
    drift, factor2, class2 = _means(records)
    return Calibration(
        drift=drift,
        factor2=factor2,
        class2=class2,
        weights=weights,
        quantile=_quantiles(errors / np.maximum(reaches, 1e-300), classes, slots, confidence),
        scale=_scales(errors, deviations, exact, value, classes),
    )


def _means(records: Sequence[AuditRecord]) -> tuple[float, float, float]:
    return (
        float(np.mean([record.drift for record in records])),
        float(np.mean([record.factor2 for record in records])),
        float(np.mean([record.class2 for record in records])),
    )


@dataclass(frozen=True, slots=True)
class _Tested:
    """A record answered anew, over its keys that were not seen whole (`open_keys`)."""

    model: Model
    exact: Floats
    shift: float
    classes: NDArray[np.int64]

    @classmethod
    def of(cls, record: AuditRecord, expected: tuple[float, float, float]) -> _Tested:
        drift, factor2, class2 = expected
        sampled, history = record.sampled, record.history
        model = Model.of(sampled, history.prior(sampled.population, drift), factor2, class2)
        left = record.there & (sampled.count < sampled.population)
        classes = sample_class(sampled.count, history.seen)[left]
        return cls(model.only(left), record.exact[left], history.shift, classes)

    def candidate_errors(self, chosen: NDArray[np.bool_]) -> Floats:
        """(candidates, keys): relative errors of some keys."""
        model, exact = self.model.only(chosen), self.exact[chosen]
        values = [model.whole(rest) for _, rest, _ in model.blend.candidates()]
        return np.array([relative_errors(exact + self.shift, value + self.shift) for value in values])

    def judged(self, weights: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """|error|, reach and deviation, and |exact| and |value| that they are relative to."""
        found = self.model.posterior(weights, self.classes)
        error, scale = np.abs(found.value - self.exact), np.abs(found.value + self.shift)
        return error, found.reach, found.deviation, np.abs(self.exact + self.shift), scale


def _mix(tested: Sequence[_Tested], classes: NDArray[np.int64]) -> Floats:
    """The mix by class, from at most `MOST_KEYS` keys of each."""
    place = np.empty(classes.size, dtype=np.int64)
    order = np.argsort(classes, kind="stable")
    sizes = np.bincount(classes, minlength=SAMPLE_CLASSES)
    place[order] = np.arange(classes.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    step = np.maximum(1, -(-sizes // MOST_KEYS))
    chosen = place % step[classes] == 0
    ends = np.cumsum([one.classes.size for one in tested])[:-1]
    parts = [one.candidate_errors(some) for one, some in zip(tested, np.split(chosen, ends), strict=True)]
    return learnt_weights(np.concatenate(parts, axis=1), classes[chosen], KINDS)


def _scales(errors: Floats, deviations: Floats, exact: Floats, value: Floats, classes: NDArray[np.int64]) -> Floats:
    """True over claimed mean relative error of each class, pulled to that of all."""
    told = MEAN_OF_NORMAL * deviations / np.maximum(value, 1e-300)
    true = np.where(exact > 0, errors / np.maximum(exact, 1e-300), np.where(errors > 0, 1.0, 0.0))
    usable = np.isfinite(told) & (value > 0)
    if usable.sum() < FEWEST or not told[usable].sum() > 0:
        return np.ones(SAMPLE_CLASSES)
    overall = true[usable].sum() / told[usable].sum()
    scale = np.empty(SAMPLE_CLASSES)
    for j in range(SAMPLE_CLASSES):
        own = usable & (classes == j)
        pull = QUANTILE_PULL * (told[own].mean() if own.any() else 1.0)
        scale[j] = (true[own].sum() + pull * overall) / (told[own].sum() + pull)
    return scale


def _quantiles(scores: Floats, classes: NDArray[np.int64], slots: NDArray[np.int64], confidence: float) -> Floats:
    """q by class: what the next window's scores stay below, pulled to that of all, and that up to the default."""
    default = default_quantiles(confidence)
    if not scores.size:
        return default
    level = _conformal(scores, slots, confidence)
    common = float(np.quantile(scores, level))
    overall = (scores.size * common + FEWEST * np.maximum(default, common)) / (scores.size + FEWEST)
    quantile = np.empty(SAMPLE_CLASSES)
    for j in range(SAMPLE_CLASSES):
        own = scores[classes == j]
        found = float(np.quantile(own, max(level, _next(own.size, confidence)))) if own.size else 0.0
        quantile[j] = (own.size * found + QUANTILE_PULL * overall[j]) / (own.size + QUANTILE_PULL)
    return quantile


def _conformal(scores: Floats, slots: NDArray[np.int64], confidence: float) -> float:
    """The level of the scores' quantile that the next *window's* scores stay below with the given confidence.

    n scores that are independent: (n + 1) / n of it. Those of a window err together, so n is their effective number:
    as many as would make the shares of misses of single slots differ as they do.
    """
    numbers, place = np.unique(slots, return_inverse=True)
    level = _next(scores.size, confidence)
    if numbers.size < 2:
        return max(level, _next(ALONE, confidence))
    missed = np.bincount(place, scores > np.quantile(scores, level)) / np.bincount(place)
    chance = confidence * (1 - confidence)
    effective = numbers.size * chance / max(float(missed.var(ddof=1)), 1e-300)
    return _next(float(np.clip(effective, ALONE, scores.size)) if scores.size > ALONE else scores.size, confidence)


def _next(size: float, confidence: float) -> float:
    return min(1.0, confidence * (size + 1) / max(size, 1.0))

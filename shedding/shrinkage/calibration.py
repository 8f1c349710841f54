"""Calibration at audited slots, where the truth is known: drift, size of the factors, kappa, interval widths.

A record is a function of one audited slot (its exact means, its shed sample) and of the history before it, evaluated
with what that slot itself shows and no earlier calibration. The sample's rates follow from the same history. So a
record depends on J + 1 audited slots, and a slot that merges the records of its last J audits on at most 2 J.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shedding.estimates.estimate import check_confidence
from shedding.estimates.strata import Sampled
from shedding.moments import Floats
from shedding.shrinkage.calibrated import SAMPLE_CLASSES, Calibration, default_quantiles, sample_class
from shedding.shrinkage.components import variance_component
from shedding.shrinkage.factors import window_factors
from shedding.shrinkage.history import History
from shedding.shrinkage.posterior import Model
from shedding.shrinkage.prior import Prior, classes_of

KAPPAS = np.array([0.0, 0.03, 0.1, 0.3, 1.0, 3.0])
_NEUTRAL = 4
BETTER = 0.97
"""A kappa other than 1 must have been better by more than 3 %."""
FEWEST = 20
QUANTILE_PULL = 20.0
"""Keys' worth of the all-class quantile that each class's quantile starts with."""


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """What one audited window teaches; arrays over its keys that were not seen whole, (6, K) over KAPPAS."""

    drift: float
    factor2: float
    class2: float
    classes: NDArray[np.int64]
    errors: Floats
    scores: Floats


def calibrate(history: History, exact_mean: Floats, sampled: Sampled) -> AuditRecord:
    """The record of an audited window: its `exact_mean` (K,), its shed `sampled`, and the history before it.

    All aligned over the same K keys; keys without rows in the window are left out. `errors` are relative (to the exact
    mean plus the history's shift), `scores` are |error| over the deviation that the estimate claims.
    """
    own = history.prior(sampled.population)
    drift, factor2, class2 = _movement(own, exact_mean)
    drift = history.drift if drift is None else drift
    model = Model.of(sampled, history.prior(sampled.population, drift), factor2, class2)
    open_keys = (sampled.population > 0) & (sampled.count < sampled.population)
    errors, scores = [], []
    for kappa in KAPPAS:
        value, deviation, _ = model.posterior(float(kappa))
        error = np.abs(value - exact_mean)[open_keys]
        errors.append(error / np.maximum(np.abs(exact_mean[open_keys] + history.shift), 1e-300))
        scores.append(error / np.maximum(deviation[open_keys], 1e-300))
    classes = sample_class(sampled.count, history.seen)[open_keys]
    return AuditRecord(drift, factor2, class2, classes, np.array(errors), np.array(scores))


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

    q is the `confidence` quantile of the scores in each class of sample size, pulled to that of all classes; kappa
    the one with the least mean error in the class, 1 unless another was better by more than 3 %. Guarantee: the
    order of the records does not matter beyond rounding.
    """
    check_confidence(confidence)
    if not records:
        return Calibration(quantile=default_quantiles(confidence))
    classes = np.concatenate([record.classes for record in records])
    errors = np.concatenate([record.errors for record in records], axis=1)
    scores = np.concatenate([record.scores for record in records], axis=1)
    kappa = np.array([_best_kappa(errors[:, classes == j]) for j in range(SAMPLE_CLASSES)])
    chosen = scores[kappa[classes], np.arange(classes.size)] if classes.size else np.empty(0)
    return Calibration(
        drift=float(np.mean([record.drift for record in records])),
        factor2=float(np.mean([record.factor2 for record in records])),
        class2=float(np.mean([record.class2 for record in records])),
        kappa=KAPPAS[kappa],
        quantile=_quantiles(chosen, classes, confidence),
    )


def _best_kappa(errors: Floats) -> int:
    if errors.shape[1] < FEWEST:
        return _NEUTRAL
    mean = errors.mean(axis=1)
    best = int(mean.argmin())
    return best if mean[best] < BETTER * mean[_NEUTRAL] else _NEUTRAL


def _quantiles(scores: Floats, classes: NDArray[np.int64], confidence: float) -> Floats:
    default = default_quantiles(confidence)
    if scores.size < FEWEST:
        return default
    overall = _reach(scores, confidence)
    quantile = np.empty(SAMPLE_CLASSES)
    for j in range(SAMPLE_CLASSES):
        own = scores[classes == j]
        level = _reach(own, confidence) if own.size else 0.0
        quantile[j] = (own.size * level + QUANTILE_PULL * overall) / (own.size + QUANTILE_PULL)
    return quantile


def _reach(scores: Floats, confidence: float) -> float:
    """What the next score stays below with the given confidence: the quantile at (n + 1) / n of it (conformal)."""
    return float(np.quantile(scores, min(1.0, confidence * (scores.size + 1) / scores.size)))

"""What a slot may know of its keys: the exact statistics of the last audited slots, in ratio units.

A function of those slots alone. Hence the rates of a slot, which follow from its history, depend on J audited slots.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shedding.errors import DataError
from shedding.estimates.moments import Floats, Moments
from shedding.estimates.shrinkage.prior import Prior
from shedding.estimates.shrinkage.size_classes import CLASSES, class_means, size_class
from shedding.estimates.shrinkage.variance_component import variance_component

DECAY = 0.9
POOLED_WEIGHT = 4.0
"""Degrees of freedom that the pooled spread is worth in a key's own; between 2 and 10 it does not matter."""
LEAST_RATIO = 0.05
"""Relative variances of keys whose mean is (nearly) zero are taken at this ratio instead."""
SHIFT_SPREADS = 20.0
DRIFT_SHARE = 0.05
"""Drift variance over the pooled relative variance, as long as one audit alone cannot tell."""
OUTER = 0.99
LEAN = 0.02


@dataclass(frozen=True, slots=True)
class History:
    """Decayed statistics of each of K keys over J audits, as ratios to the size class's mean of the same audit.

    `ratio`, `spread2` (relative variance of one row) and `doubt` (variance of the ratio per unit of relative row
    variance) and `drift_doubt` (per unit of drift variance) are arrays (K,); `seen` tells which keys any audit had.
    `class_mean` (8,) is in the measure's unit plus `shift`. `drift` is the relative variance by which a key's ratio
    moves from one audit to the next, as the audits among themselves show it; `pooled` the relative row variance of all
    keys. Near zero (`near_zero`, or where the mean is not positive) a `shift` of 20 row deviations is added to the
    measure, so that ratios become differences: the absolute-variance form, by the same formulas.
    """

    seen: NDArray[np.bool_]
    ratio: Floats
    spread2: Floats
    squares: Floats
    freedom: Floats
    doubt: Floats
    drift_doubt: Floats
    class_mean: Floats
    pooled: float
    drift: float
    common: float
    shift: float

    @classmethod
    def of(cls, audits: Moments, ages: Floats | None = None, *, near_zero: bool = False) -> History:
        """History from exact moments (J, K), newest audit first; `ages` (J,) default to 0, 1, 2, ...

        Keys are aligned over the union of the audits' keys, with count 0 where a key is absent. Weights are .9^age.
        Several rows of one age are several blocks (windows) of one audited slot. At least one audit.
        """
        if audits.count.ndim != 2 or audits.count.shape[0] == 0:
            raise DataError("a history needs the moments of at least one audit, (J, K); without one use sample_prior")
        rows = audits.count.shape[0]
        weight = DECAY ** (np.arange(rows) if ages is None else np.asarray(ages, dtype=np.float64))
        if weight.shape != (rows,):
            raise DataError(f"{weight.size} ages for {rows} audits; give one age for each")
        count = audits.count
        shift = _shift(audits, near_zero)
        level = audits.mean + shift
        means = np.array([class_means(count[a], level[a]) for a in range(rows)])
        means = np.where(means > 0, means, 1.0)  # only where an audit has no rows at all
        scale = np.take_along_axis(means, size_class(count), axis=1)
        ratios = np.where(count > 0, level / scale, 0.0)
        squares = (weight[:, None] * np.where(count > 0, audits.m2 / scale**2, 0.0)).sum(axis=0)
        freedom = (weight[:, None] * np.maximum(count - 1, 0.0)).sum(axis=0)

        weighted = weight[:, None] * count
        effective = weighted.sum(axis=0)
        seen = effective > 0
        divisor = np.where(seen, effective, 1.0)
        ratio = np.where(seen, (weighted * ratios).sum(axis=0) / divisor, 1.0)
        relative = squares / np.maximum(ratio, LEAST_RATIO) ** 2
        pooled = _pooled(relative, freedom)
        spread2 = (relative + POOLED_WEIGHT * pooled) / (freedom + POOLED_WEIGHT)
        own, common = _drift(count, weighted, ratios, spread2, means)
        return cls(
            seen=seen,
            ratio=ratio,
            spread2=spread2,
            squares=relative,
            freedom=freedom,
            doubt=np.where(seen, (weight[:, None] * weighted).sum(axis=0) / divisor**2, 0.0),
            drift_doubt=((weighted / divisor) ** 2).sum(axis=0),
            class_mean=weight @ means / weight.sum(),
            pooled=pooled,
            drift=DRIFT_SHARE * pooled if own is None else own,
            common=common,
            shift=shift,
        )

    def prior(self, population: Floats, drift: float | None = None) -> Prior:
        """What history expects of each key in a window of `population` (K,) rows; `drift` overrides its own.

        The key's ratio is shrunk to the mean ratio by the between-key variance; a key never seen has the mean ratio
        and the between-key variance.
        """
        moved = self.drift if drift is None else drift
        doubt = self.ratio**2 * (self.spread2 * self.doubt + moved * self.drift_doubt)
        centre, between = _centre(self.ratio[self.seen], doubt[self.seen], self.pooled)
        kept = between / np.maximum(between + doubt, 1e-300)
        ratio = np.where(self.seen, centre + kept * (self.ratio - centre), centre)
        left = np.where(self.seen, kept * doubt, between) / np.maximum(ratio, LEAST_RATIO) ** 2
        rows = np.asarray(population, dtype=np.float64)
        variance = left + moved
        return Prior(
            population=np.asarray(population, dtype=np.float64),
            seen=self.seen,
            mean=np.maximum(ratio, LEAST_RATIO) * self.class_mean[size_class(population)],
            variance=variance,
            common=_hidden(self.common, variance, self.spread2, rows),
            remaining=left,
            squares=self.squares,
            freedom=self.freedom,
            pooled=self.pooled,
            shift=self.shift,
            zero=self.seen & (self.ratio == 0) & (self.squares == 0),
        )


def _shift(audits: Moments, near_zero: bool) -> float:
    present = audits.count > 0
    if not present.any():
        return 1.0
    values = audits.mean[present]
    if not near_zero and values.mean() > 0:
        return 0.0
    freedom = np.maximum(audits.count - 1, 0.0).sum()
    deviation = float(np.sqrt(audits.m2.sum() / freedom)) if freedom > 0 else 0.0
    return SHIFT_SPREADS * deviation + 2 * float(np.quantile(np.abs(values), 0.995)) or 1.0


def _pooled(relative: Floats, freedom: Floats) -> float:
    """Relative row variance of all keys, each key's own clipped at the 99 % quantile of the keys'."""
    some = freedom > 0
    if not some.any():
        return 0.25
    own = relative[some] / freedom[some]
    own = np.minimum(own, np.quantile(own, OUTER))
    return max(float(np.average(own, weights=freedom[some])), 1e-8)


def _centre(ratio: Floats, doubt: Floats, pooled: float) -> tuple[float, float]:
    """Mean ratio (sure keys count more) and between-key variance of the keys seen."""
    if ratio.size == 0:
        return 1.0, 0.25
    centre = max(float(np.average(ratio, weights=1 / (doubt + 0.1 * pooled))), LEAST_RATIO)
    between = variance_component((ratio - centre) ** 2, doubt)
    return centre, 0.25 if between is None else between


def _hidden(common: float, variance: Floats, spread2: Floats, population: Floats) -> float:
    """What a sample of a fiftieth of the rows leaves unknown of the keys' common movement, which varies by `common`."""
    there = population > 0
    known = float(np.sum(1 / (variance[there] + spread2[there] / (LEAN * population[there]))))
    return common / (1 + common * known)


def _drift(
    count: Floats, weighted: Floats, ratios: Floats, spread2: Floats, means: Floats
) -> tuple[float | None, float]:
    """Drift variance, each audit against the decayed merge of the older ones, and the mean square of the common
    movement that is taken out of it: of the ratios, and of the classes' means behind them."""
    squares, known, common2 = [], [], []
    for newer in range(count.shape[0] - 1):
        older = weighted[newer + 1 :]
        total = older.sum(axis=0)
        both = (count[newer] > 0) & (total > 0)
        if not both.any():
            continue
        share = older[:, both] / total[both]
        expected = np.maximum((share * ratios[newer + 1 :, both]).sum(axis=0), LEAST_RATIO)
        rows = 1 / count[newer, both] + 1 / total[both]
        moved = ratios[newer, both] / expected - 1
        common = float(np.average(np.clip(moved, -1, 1), weights=1 / rows))
        levels = np.average(
            means, axis=1, weights=np.bincount(size_class(count[newer]), count[newer] > 0, minlength=CLASSES)
        )
        common2.append((levels[newer] / levels[newer + 1 :].mean() * (1 + common) - 1) ** 2)
        moved = (1 + moved) / max(1 + common, LEAST_RATIO) - 1
        factor = 1 + (share**2).sum(axis=0)
        squares.append(moved**2 / factor)
        known.append(spread2[both] * rows / factor)
    if not squares:
        return None, 0.0
    return variance_component(np.concatenate(squares), np.concatenate(known)), float(np.mean(common2))

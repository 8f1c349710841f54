"""The law of a window's error scale: how many times its claim the true error is, as audits and spot checks tell.

rho = truth / claim of one statistic in one window. Audits of the same query show how rho varies; a spot check measures
it in the slot itself. With rho ~ inverse gamma(a, b) and the mean of k errors around rho ~ gamma of shape k / h, the
ratio of truth to claim is a scaled F variable: the bound holds for few keys, few audits and few checked keys alike.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats

from shedding.risk.record import WindowRecord

SLOPE = 0.5
"""Prior deviation of the slope of log rho over log claim: windows that claim more are often wrong by more than that."""
SPREAD, SPREAD_WEIGHT = 0.2, 4.0
"""Prior deviation of log rho between windows, and how many audits' worth of belief it is."""
OWN = 1.0
"""Audits' worth of belief that claims are right on average."""
DISPERSION = 1.0
"""Prior squared coefficient of variation of one key's error around its claim; .57 for a normal law."""
LEAST_DISPERSION, MOST_DISPERSION, SURE_KEYS = 0.57, 30.0, 20.0
MOVED, MOVED_SHAPE, MOVED_TIMES = 0.05, 2.0, 2.0
"""Prior share of windows whose keys moved as no audit has shown; rho is then some MOVED_TIMES the usual, or more."""
LEAST_TOLD = 0.3
"""Least truth / claim that an audit is taken for: how much too small errors came out says nothing of too large ones."""
WORST_SHAPE = 10.0
"""Shape of the largest error around its claim, however many keys there are."""
_LEAST_SHAPE, _LEAST_RATIO = 0.25, 1e-3
_HALVINGS = 40
_SURE = 0.95


@dataclass(frozen=True, slots=True)
class ErrorLaw:
    """A mixture of inverse gamma laws of rho, `parts` (weight, shape, scale); `usual` is the centre of the first.

    `dispersion` is h, `fixed_shape` the shape of the statistic's own chance where it does not follow from the keys.
    """

    parts: tuple[tuple[float, float, float], ...]
    usual: float
    dispersion: float
    fixed_shape: float | None = None

    @property
    def moved(self) -> float:
        """The probability that the window's keys moved as no audit has shown."""
        return self.parts[-1][0]

    def updated(self, ratio: float, keys: float) -> ErrorLaw:
        """The law after `keys` independent errors were measured to be `ratio` times their claims."""
        evidence = keys / self.dispersion
        if evidence <= 0:
            return self
        seen = max(ratio, _LEAST_RATIO)
        likely = np.array([weight * _density(seen, evidence, a, b) for weight, a, b in self.parts])
        total = float(likely.sum())
        weights = likely / total if total > 0 else np.array([0.0] * (len(self.parts) - 1) + [1.0])
        parts = tuple(
            (float(weight), a + evidence, b + evidence * ratio)
            for weight, (_, a, b) in zip(weights, self.parts, strict=True)
        )
        return ErrorLaw(parts, self.usual, self.dispersion, self.fixed_shape)

    def reach(self, keys: float, risk: float) -> float:
        """What truth / claim stays below but for `risk` of all windows, `keys` being the effective number of keys.

        Guarantee: falls in risk; grows without bound as risk goes to 0.
        """
        shape = max(keys / self.dispersion, _LEAST_SHAPE) if self.fixed_shape is None else self.fixed_shape
        own = [b / a / float(special.fdtri(2 * a, 2 * shape, risk)) for _, a, b in self.parts]
        low, high = min(own), max(own)
        for _ in range(_HALVINGS if high > low else 0):
            middle = float(np.sqrt(low * high))
            above = sum(w * float(special.fdtrc(2 * shape, 2 * a, middle * a / b)) for w, a, b in self.parts)
            low, high = (middle, high) if above > risk else (low, middle)
        return high

    def text(self) -> str:
        """As JSON, every digit kept."""
        return json.dumps([self.parts, self.usual, self.dispersion, self.fixed_shape])

    @classmethod
    def of_text(cls, text: str) -> ErrorLaw:
        """The inverse of `text`."""
        parts, usual, dispersion, fixed = json.loads(text)
        return cls(tuple((float(w), float(a), float(b)) for w, a, b in parts), usual, dispersion, fixed)


def fit_law(audits: Sequence[Sequence[WindowRecord]], claim: float, statistic: str) -> ErrorLaw:
    """The law that the windows of past audits give for a window of this claim, before any spot check.

    log rho = mu + slope log claim + deviation, by least squares with weak priors; each audit counts once, however many
    windows it has. The deviation's spread has Student's law, so few audits give wide bounds. A small share of windows
    may have moved as no audit has shown. Guarantee: defined without any audit; the order of the audits does not matter
    beyond rounding.
    """
    line = _Line.of(audits, statistic)
    place = float(np.log(claim)) if claim > 0 and np.isfinite(claim) else line.centre
    usual, variance = line.at(place)
    deviation = float(np.sqrt(variance) * stats.t.ppf(_SURE, line.freedom) / special.ndtri(_SURE))
    shape = 1 / deviation**2
    return ErrorLaw(
        parts=(
            (1 - MOVED, shape, _scale(usual, shape)),
            (MOVED, MOVED_SHAPE, _scale(usual + float(np.log(MOVED_TIMES)), MOVED_SHAPE)),
        ),
        usual=float(np.exp(usual)),
        dispersion=_dispersion(audits),
        fixed_shape=WORST_SHAPE if statistic == "worst" else None,
    )


def _dispersion(audits: Sequence[Sequence[WindowRecord]]) -> float:
    """h as the audits' windows show it, those of more keys more surely; the prior counts as one audit of many keys."""
    total, weight = DISPERSION, 1.0
    for record, share in ((record, 1 / len(audit)) for audit in audits for record in audit):
        sure = share * min(max(record.keys - 1, 0.0), SURE_KEYS) / SURE_KEYS
        total, weight = total + sure * record.dispersion, weight + sure
    return min(max(total / weight, LEAST_DISPERSION), MOST_DISPERSION)


@dataclass(frozen=True, slots=True)
class _Line:
    """log rho over log claim: the fitted line at `centre`, its covariance, and the spread around it."""

    centre: float
    level: float
    slope: float
    level_variance: float
    slope_variance: float
    spread2: float
    freedom: float

    def at(self, place: float) -> tuple[float, float]:
        """Expected log rho, and the variance of a new window's.

        A window that claims more than the audits did on average is not taken to be less wrong for that: first audits
        claim much because they know little, and a falling line through them would excuse every quiet hour.
        """
        away = place - self.centre
        rise = self.slope * away if away < 0 else max(self.slope, 0.0) * away
        return self.level + rise, self.spread2 + self.level_variance + self.slope_variance * away**2

    @classmethod
    def of(cls, audits: Sequence[Sequence[WindowRecord]], statistic: str) -> _Line:
        found = [(record, 1 / len(audit)) for audit in audits for record in audit if record.tells(statistic)]
        freedom = SPREAD_WEIGHT + max(len(audits) - 1, 0)
        if not found:
            return cls(0.0, 0.0, 0.0, SPREAD**2 / OWN, 0.0, SPREAD**2, freedom)
        weight = np.array([share for _, share in found])
        y = np.log([max(record.ratio(statistic), LEAST_TOLD) for record, _ in found])
        x = np.log([record.claim(statistic) for record, _ in found])
        centre = float(np.average(x, weights=weight))
        x = x - centre
        chance = float(weight @ np.array([record.chance(statistic) for record, _ in found]))
        spread2 = SPREAD**2
        level = slope = 0.0
        for _ in range(3):  # spread and line depend on each other; three rounds settle them
            level = float(weight @ y) / (float(weight.sum()) + OWN)
            slope = float(weight @ (x * (y - level))) / (float(weight @ (x * x)) + spread2 / SLOPE**2)
            left = float(weight @ np.square(y - level - slope * x))
            spread2 = (SPREAD_WEIGHT * SPREAD**2 + max(left - chance, 0.0)) / freedom
        total = float(weight.sum()) + OWN
        return cls(
            centre, level, slope, spread2 / total, spread2 / (float(weight @ (x * x)) + spread2 / SLOPE**2),
            spread2, freedom,
        )  # fmt: skip


def _scale(centre: float, shape: float) -> float:
    """b of an inverse gamma law whose logarithm has this mean."""
    return float(np.exp(centre + special.digamma(shape)))


def _density(ratio: float, evidence: float, shape: float, scale: float) -> float:
    """The density of a measured ratio under one inverse gamma law."""
    found: Any = stats.f.pdf(ratio * shape / scale, 2 * evidence, 2 * shape) * shape / scale
    return float(found)

"""The mix of plain and learnt estimates that was best at past audits, by class of sample size: blended, not switched.

A candidate draws the rows not seen from the sample y and the moved prior p: y^W p^(1 - W) on the log scale, or the
plain mean W y + (1 - W) p, with W = P / (P + kappa V). kappa 0 is the plain estimate, 1 the model's own. Errors count
relative to the truth, so that too high costs more than too low: what is left uncertain, S, takes the estimate down by
exp(-1.5 beta S). That is the least expected relative error where a key's value is lognormal around its mean (beta 1).
g is a bias that all keys of a class share, as that of an extreme quantile of few rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shedding.estimates.moments import Floats

Flags = NDArray[np.bool_]

KAPPAS = (0.0, 0.1, 0.3, 1.0, 3.0, 30.0)
LEVELS = ((1.0, 0.0), (1.0, 0.5), (1.0, 1.0), (1.0, 2.0), (0.85, 0.5), (1.2, 0.0), (1.2, 1.0))
"""(g, beta)"""
CANDIDATES = tuple((logs, kappa, *level) for logs, kappa, level in product((True, False), KAPPAS, LEVELS))
DEFAULT = CANDIDATES.index((False, 1.0, 1.0, 0.0))
SKEW = 1.5
PULL = 20.0
"""Keys' worth of evidence that a class is like all of its kind, and that no candidate is better than the default,"""
HANDICAP = 0.1
"""which the latter says the others are worse than by this share."""
TEMPERATURE = 0.03
"""A candidate that was worse than the best by this share has 1 / e of its weight."""
LEAST_WEIGHT = 1e-3
ALL = np.ones(len(CANDIDATES), dtype=np.bool_)
BLOCK = 1 << 14
"""Keys that are blended at a time: what is made of them stays in the processor's cache."""


def default_weights(classes: int) -> Floats:
    """(classes, candidates): the default alone."""
    weights = np.zeros((classes, len(CANDIDATES)))
    weights[:, DEFAULT] = 1.0
    return weights


def learnt_weights(errors: Floats, classes: NDArray[np.int64], kinds: NDArray[np.int64]) -> Floats:
    """(classes, candidates): weights by the relative errors (candidates, keys) that past audits measured.

    A class of few keys takes its weights from all classes of its kind (`kinds` (classes,): sampled or not), and few
    keys of a kind take the default's. A candidate is judged by its mean error plus a standard error: one that is rarely
    but wildly wrong is not trusted.
    """
    weights = default_weights(kinds.size)
    for kind in np.unique(kinds):
        alike = np.isin(classes, np.flatnonzero(kinds == kind))
        if not alike.any():
            continue
        handicap = np.full(len(CANDIDATES), 1 + HANDICAP)
        handicap[DEFAULT] = 1.0
        common = _pulled(errors[:, alike], handicap)
        for j in np.flatnonzero(kinds == kind):
            own = errors[:, classes == j]
            weights[j] = _softmin(_pulled(own, common / max(common[DEFAULT], 1e-300)) if own.shape[1] else common)
    return weights


def _pulled(errors: Floats, expected: Floats) -> Floats:
    """Each candidate's error, pulled to what is `expected` of it in units of the default's."""
    keys = errors.shape[1]
    judged = errors.mean(axis=1) + errors.std(axis=1) / np.sqrt(keys)
    return np.asarray((keys * judged + PULL * judged[DEFAULT] * expected) / (keys + PULL))


def _softmin(score: Floats) -> Floats:
    least = float(score.min())
    weight = np.exp(-(score - least) / max(TEMPERATURE * least, 1e-300))
    weight = np.where(weight < LEAST_WEIGHT * weight.sum(), 0.0, weight)
    return np.asarray(weight / weight.sum())


@dataclass(frozen=True, slots=True)
class Blend:
    """What the candidates say of the rows not seen, arrays (K,).

    `sampled` y (nan: no row) with relative variance `noise` V, `expected` p with relative `variance` P; `least` is the
    least weight that a sample has. `positive`: values are above 0, so that logs and a loss relative to them make sense.
    """

    sampled: Floats
    noise: Floats
    expected: Floats
    variance: Floats
    least: Floats
    positive: bool

    def only(self, keys: Any) -> Blend:
        """The blend of some of the keys."""
        parts = {part: getattr(self, part)[keys] for part in ("sampled", "noise", "expected", "variance", "least")}
        return replace(self, **parts)

    def candidates(self, wanted: Flags = ALL) -> Iterator[tuple[int, Floats, Floats]]:
        """Number, value and weight W of the sample, of the `wanted` ones of `CANDIDATES` in order."""
        has = np.isfinite(self.sampled)
        y = np.where(has, self.sampled, 1.0)
        logs = has & (y > 0) & (self.expected > 0) & self.positive
        ratio = np.log(np.where(logs, self.expected / np.where(logs, y, 1.0), 1.0))
        prior, noise = np.log1p(self.variance), np.log1p(self.noise)
        for family, (on_logs, kappa) in enumerate(product((True, False), KAPPAS)):
            first = family * len(LEVELS)
            if not wanted[first : first + len(LEVELS)].any():
                continue
            weight = np.where(has, self.variance / np.maximum(self.variance + kappa * self.noise, 1e-300), 0.0)
            weight = np.maximum(weight, self.least)
            value = weight * y + (1 - weight) * self.expected
            if on_logs:
                value = np.where(logs, y * np.exp((1 - weight) * ratio), value)
            uncertain = SKEW * (weight**2 * noise + (1 - weight) ** 2 * prior)
            for i, (g, beta) in enumerate(LEVELS, first):
                if wanted[i]:
                    yield i, (g * value * np.exp(-beta * uncertain) if self.positive else value), weight

    def mixed(self, weights: Floats, classes: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
        """Value, weight of the sample and variance among the candidates, blended by the `weights` of a key's class.

        `weights` (classes, candidates), `classes` (K,). Class by class and block by block, and only of candidates that
        have weight: memory does not grow with keys times candidates.
        """
        value, share, square = (np.empty(self.expected.shape) for _ in range(3))
        order = np.argsort(classes, kind="stable")
        ends = np.cumsum(np.bincount(classes, minlength=len(weights)))
        for own, end, size in zip(weights, ends.tolist(), np.diff(ends, prepend=0).tolist(), strict=True):
            for start in range(end - size, end, BLOCK):
                keys = order[start : min(start + BLOCK, end)]
                value[keys], share[keys], square[keys] = self.only(keys)._blended(own)
        return value, share, square

    def _blended(self, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """The same of keys that have one class, by its weights (candidates,)."""
        value, share, square = (np.zeros(self.expected.shape) for _ in range(3))
        parts = []
        for i, told, weight in self.candidates(weights > 0):
            value += weights[i] * told
            share += weights[i] * weight
            parts.append((weights[i], told))
        for own, told in parts:
            square += own * (told - value) ** 2
        return value, share, square

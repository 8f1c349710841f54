"""The spread of a column's rows, estimated: standard deviation and variance from second to fourth moments.

To first order a variance is a mean over rows: of z = (x - mean)^2, whose own variance needs the fourth moment. Spreads
err upwards by more than downwards, so what history learns of is the root of the standard deviation, whose errors are
nearer to even and which is 0 where the spread is. Standard deviation and variance are its second and fourth power, ends
and all, so that their intervals hold together or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from shedding.arrays import quotient
from shedding.estimates.estimate import Estimate, check_confidence
from shedding.estimates.moments import Floats, Moments
from shedding.estimates.strata import Sampled, Strata

ROOT = 2
"""The root of a standard deviation that is learnt."""
_POWER = 1 / (2 * ROOT)
POOLED_ROWS = 20.0
"""Rows that the kurtosis of all keys is worth in a key's own, which a small sample takes for too low."""


@dataclass(frozen=True, slots=True)
class Powers:
    """Count, mean and centred sums of powers up to the fourth, all of one shape."""

    moments: Moments
    m3: Floats
    m4: Floats

    def squares(self, centre: Floats) -> Moments:
        """The moments of (x - centre)^2 over the same rows."""
        count, m2 = self.moments.count, self.moments.m2
        away = np.where(count > 0, self.moments.mean - centre, 0.0)
        mean = quotient(m2, count, 0.0) + np.where(count > 0, away**2, 0.0)
        spread = self.m4 - quotient(m2**2, count, 0.0) + 4 * away * self.m3 + 4 * away**2 * m2
        return Moments(count, mean, np.maximum(spread, 0.0))


def root_rows(powers: Powers) -> Moments:
    """Roots of standard deviations as means over rows: rows, value g, and row variance times (rows - 1); none
    below two rows.

    The row variance is g^2 (kurtosis - 1) / 16. A sample of n rows shows 3 (n - 1) / (n + 1)
    where the kurtosis is 3: 6 / (n + 1) is added, so that for normal values it is right at every n.
    """
    count, m2 = powers.moments.count, powers.moments.m2
    usable = count > 1
    value = np.where(usable, m2 / np.maximum(count - 1, 1.0), 0.0) ** _POWER
    spread = _relative(quotient(powers.m4, m2**2, 0.0) * count - 1, count) * _POWER**2
    m2_of_rows = np.where(usable, value**2 * spread * (count - 1), 0.0)
    return Moments(np.where(usable, count, 0.0), value, m2_of_rows)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Of a sample of each key, (K,): rows seen and unseen by their mean of (x - m)^2, and the relative row variance of
    the variance."""

    squares: Sampled
    seen: Floats
    rest: Floats
    relative: Floats

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Keys of at least two sampled rows."""
        return np.asarray(self.squares.count > 1)

    @property
    def effective(self) -> Floats:
        """Rows that know the variance; one has gone into the mean."""
        return self.squares.effective * quotient(self.squares.count - 1, self.squares.count, 0.0)

    @property
    def left(self) -> Floats:
        """1 - n / N."""
        return np.maximum(1 - self.squares.share, 0.0)

    @classmethod
    def of(cls, population: Floats, powers: Powers) -> _Drawn:
        """With m the stratified mean: N / (N - 1) (mean of (x - m)^2 + variance of m)."""
        means = Strata(population, powers.moments).combine()
        squares = Strata(population, powers.squares(np.where(means.count > 0, means.value, 0.0))).combine()
        left = np.maximum(1 - squares.share, 0.0)
        of_mean = left * quotient(quotient(means.m2, means.freedom, 0.0), means.effective, 0.0)
        scale = np.where(squares.count > 1, quotient(squares.population, squares.population - 1, 0.0), np.nan)
        shape = quotient(squares.m2, squares.count * np.where(squares.count > 0, squares.mean, 0.0) ** 2, 0.0)
        seen, rest = ((part + of_mean) * scale for part in (squares.mean, squares.rest))
        return cls(squares, seen, rest, _relative(shape, squares.count))


def sampled_root(population: Floats, powers: Powers) -> Sampled:
    """What a sample says of the root of the standard deviation of all rows, `population` (S, K); nothing from fewer
    than two rows.

    Guarantee: exact at n = N. What was not seen is the root of the unbiased variance, and the bias of such a root,
    3 v (1 - n / N) / 32 n with v the relative row variance of the variance, taken out.
    """
    drawn = _Drawn.of(population, powers)
    some, squares = drawn.usable, drawn.squares
    rest = drawn.rest**_POWER
    bias = _POWER * (1 - _POWER) / 2 * drawn.left * quotient(drawn.relative, drawn.effective, 0.0)
    return Sampled(
        population=squares.population,
        count=np.where(some, squares.count, 0.0),
        mean=drawn.seen**_POWER,
        rest=rest * (1 + bias),
        effective=np.where(some, drawn.effective, 0.0),
        m2=np.where(some, rest**2 * drawn.relative * _POWER**2 * squares.freedom, 0.0),
        freedom=np.where(some, squares.freedom, 0.0),
    )


def sampled_spread(population: Floats, powers: Powers, confidence: float = 0.95) -> Estimate:
    """The standard deviation of all rows as the root of the unbiased variance, with an interval from the fourth moment.

    Relative variance (kurtosis - 1) / 4 (1 - n / N) / (n - 1), the kurtosis drawn to that of all keys, Student's t with
    n - 1 degrees, even on the log scale. Without a value from fewer than two rows; exact at n = N.
    """
    check_confidence(confidence)
    drawn = _Drawn.of(population, powers)
    some, count, share = drawn.usable, drawn.squares.count, drawn.squares.share
    value = np.sqrt(share * drawn.seen + (1 - share) * drawn.rest)
    pooled = float(np.average(drawn.relative[some], weights=count[some])) if some.any() else 0.0
    relative = (count * drawn.relative + POOLED_ROWS * pooled) / (count + POOLED_ROWS)
    deviation = np.sqrt(drawn.left * quotient(relative, 4 * drawn.effective, 0.0))
    reach = stats.t.ppf(0.5 + confidence / 2, np.maximum(count - 1, 1.0)) * deviation
    low, high = np.where(some, value * np.exp(-reach), -np.inf), np.where(some, value * np.exp(reach), np.inf)
    return Estimate(value, low, high, np.where(some, value * deviation, np.inf))


def raised(estimate: Estimate, power: int) -> Estimate:
    """The estimate of a power of a number that is not negative: its interval holds where the number's does."""
    value, low = np.maximum(estimate.value, 0.0), np.maximum(estimate.low, 0.0)
    deviation = np.where(value > 0, power * value ** (power - 1), 1.0) * estimate.deviation
    return Estimate(value**power, low**power, estimate.high**power, deviation)


def _relative(shape: Floats, count: Floats) -> Floats:
    """Relative row variance of a variance: kurtosis - 1 (`shape`), and what a small sample lacks of it."""
    return np.maximum(shape, 0.0) + 6 / (count + 1)

"""Arithmetic on pairs of doubles (double-double), for differences that cancel in plain floating point.

A pair (high, low) stands for the unevaluated sum high + low with |low| at most half a unit in the last
place of high: about 106 significant bits. Every operation is made of plain IEEE operations in a fixed
order, so results are the same bits on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Pair = tuple[Floats, Floats]

SPLITTER = float(2**27 + 1)
_BLOCK = 1 << 13


def blocks(size: int) -> Iterator[slice]:
    """The numbers up to `size` in stretches whose intermediate results stay in the cache."""
    return (slice(start, start + _BLOCK) for start in range(0, size, _BLOCK))


def two_sum(a: Floats, b: Floats) -> Pair:
    """a + b exactly, as rounded sum and its error (Knuth, TAOCP 4.2.2)."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def two_product(a: Floats, b: Floats) -> Pair:
    """a * b exactly, as rounded product and its error (Dekker 1971); operands below 2**996."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def add(pair: Pair, value: Floats) -> Pair:
    """pair + value, to 106 bits."""
    high, error = two_sum(pair[0], value)
    return _renormalise(high, error + pair[1])


def subtract(left: Pair, right: Pair) -> Pair:
    """left - right, to 106 bits."""
    high, error = two_sum(left[0], -right[0])
    low, low_error = two_sum(left[1], -right[1])
    high, error = _renormalise(high, error + low)
    return _renormalise(high, error + low_error)


def multiply(left: Pair, right: Pair) -> Pair:
    """left * right, to about 104 bits."""
    high, error = two_product(left[0], right[0])
    return _renormalise(high, error + (left[0] * right[1] + left[1] * right[0]))


def divide(left: Pair, divisor: Floats) -> Pair:
    """left / divisor, to about 104 bits; the divisor is not zero."""
    first = left[0] / divisor
    product, error = two_product(first, divisor)
    rest = subtract(left, (product, error))
    return _renormalise(first, rest[0] / divisor)


def centred(square_sum: Pair, left: Pair, right: Pair, count: Floats) -> Floats:
    """sum(x y) - sum(x) sum(y) / n, the centred second moment, without cancellation; 0 where count is 0."""
    found = np.zeros_like(count)
    for part in blocks(len(count)):
        square, first, second = ((high[part], low[part]) for high, low in (square_sum, left, right))
        safe = np.maximum(count[part], 1.0)
        found[part] = subtract(square, divide(multiply(first, second), safe))[0]
    return np.where(count > 0, found, 0.0)


def centred_powers(sums: tuple[Pair, Pair, Pair, Pair], count: Floats) -> tuple[Floats, Floats]:
    """From the sums of x, x^2, x^3 and x^4 the centred third and fourth moments; 0 where count is 0.

    With m = sum(x) / n: s3 - m (3 s2 - 2 m s1) and s4 - m (4 s3 - m (6 s2 - 3 m s1)).
    """
    third, fourth = np.zeros_like(count), np.zeros_like(count)
    for part in blocks(len(count)):
        s1, s2, s3, s4 = ((high[part], low[part]) for high, low in sums)
        mean = divide(s1, np.maximum(count[part], 1.0))
        inner = subtract(_times(s2, 3.0), _times(multiply(mean, s1), 2.0))
        third[part] = subtract(s3, multiply(mean, inner))[0]
        inner = subtract(_times(s2, 6.0), _times(multiply(mean, s1), 3.0))
        inner = subtract(_times(s3, 4.0), multiply(mean, inner))
        fourth[part] = subtract(s4, multiply(mean, inner))[0]
    return np.where(count > 0, third, 0.0), np.where(count > 0, fourth, 0.0)


def _times(pair: Pair, factor: float) -> Pair:
    return multiply(pair, (np.full_like(pair[0], factor), np.zeros_like(pair[0])))


def _halves(value: Floats) -> Pair:
    scaled = value * SPLITTER
    high = scaled - (scaled - value)
    return high, value - high


def _renormalise(high: Floats, low: Floats) -> Pair:
    total = high + low
    return total, low - (total - high)

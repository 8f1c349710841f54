from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.scan.double_double import centred, divide, multiply, subtract, two_product, two_sum

doubles = st.floats(min_value=-1e12, max_value=1e12, allow_nan=False, allow_subnormal=False).filter(
    lambda x: x == 0 or abs(x) > 1e-12
)


def pair(value: float) -> tuple[np.ndarray, np.ndarray]:
    return np.array([value]), np.zeros(1)


def exact(value: tuple[np.ndarray, np.ndarray]) -> Fraction:
    return Fraction(float(value[0][0])) + Fraction(float(value[1][0]))


@given(doubles, doubles)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_sum_and_product_of_two_doubles_are_exact(a, b):
    assert exact(two_sum(np.array([a]), np.array([b]))) == Fraction(a) + Fraction(b)
    assert exact(two_product(np.array([a]), np.array([b]))) == Fraction(a) * Fraction(b)


@given(doubles, doubles, doubles)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_a_difference_of_products_keeps_thirty_digits(a, b, c):
    found = exact(subtract(multiply(pair(a), pair(b)), multiply(pair(b), pair(c))))
    true = Fraction(a) * Fraction(b) - Fraction(b) * Fraction(c)
    assert abs(found - true) <= (abs(Fraction(a) * Fraction(b)) + abs(Fraction(b) * Fraction(c))) * Fraction(1, 2**98)


@given(doubles, st.integers(min_value=1, max_value=10**9))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_a_quotient_keeps_thirty_digits(a, n):
    found = exact(divide(pair(a), np.array([float(n)])))
    assert abs(found - Fraction(a) / n) <= abs(Fraction(a) / n) * Fraction(1, 2**98)


def test_a_tiny_spread_on_a_huge_offset_does_not_cancel():
    values = [1e8 + i / 4 for i in range(8)]
    total, squares = sum(Fraction(v) for v in values), sum(Fraction(v) ** 2 for v in values)
    high = float(squares)
    square_sum = (np.array([high]), np.array([float(squares - Fraction(high))]))
    spread = centred(square_sum, pair(float(total)), pair(float(total)), np.array([8.0]))[0]
    assert spread == float(squares - total**2 / 8)

"""Around a support threshold: the stated probability is the one that sampling gives, and real patterns gain."""

from __future__ import annotations

import gzip
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from shedding.allocation.concept import Concept
from shedding.allocation.hull import hull_rows
from shedding.allocation.support_curve import DRIFT, SupportCurve
from tests.oracles.coefficients import wrong_side

Floats = NDArray[np.float64]
DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
WINDOW = 10_000


@pytest.mark.parametrize("frequency", [60.0, 95.0, 140.0, 400.0])
@pytest.mark.parametrize("rate", [0.05, 0.3, 0.9])
def test_the_curve_is_how_often_a_drifting_count_is_misjudged(frequency: float, rate: float) -> None:
    rng = np.random.default_rng(9)
    truth = rng.normal(frequency, np.sqrt(frequency + (DRIFT * frequency) ** 2), 200_000)
    seen = truth + rng.normal(0, np.sqrt(frequency * (1 / rate - 1)), truth.size)
    curve = SupportCurve(np.array([1000.0]), np.array([frequency]), 100.0)
    expected = float(curve.errors(np.array([0]), np.array([[rate * 1000]]))[0, 0])
    assert np.mean((seen > 100) != (truth > 100)) == pytest.approx(expected, abs=0.015)


@pytest.mark.data
@pytest.mark.parametrize(("part", "least"), [(0.1, 0.99), (0.2, 0.95), (0.3, 0.75), (0.5, 0.3)])
def test_fewer_real_patterns_are_misjudged_than_by_uniform(
    patterns: tuple[Floats, Floats], part: float, least: float
) -> None:
    """Kosarak's second window judged at 1 %, candidates and frequencies from the first at half of it."""
    before, truth = patterns
    curve = SupportCurve(np.full(before.size, float(WINDOW)), before, 0.01 * WINDOW)
    strata = Concept.grouped(curve.population).strata
    rows = hull_rows(strata, curve, part * WINDOW * before.size, np.full(before.size, 1.0))
    hull = wrong_side(truth, 0.01 * WINDOW, rows / WINDOW).sum()
    uniform = wrong_side(truth, 0.01 * WINDOW, np.full(before.size, part)).sum()
    assert hull < least * uniform


@pytest.fixture(scope="module")
def patterns() -> tuple[Floats, Floats]:
    """Frequencies in the first and the second window of the pairs and items at half support in the first."""
    with gzip.open(DATA / "kosarak_tx000001-024000.dat.gz", "rt") as lines:
        baskets = [frozenset(map(int, line.split())) for line in lines][: 2 * WINDOW]
    windows = baskets[:WINDOW], baskets[WINDOW:]
    single = Counter(item for basket in windows[0] for item in basket)
    frequent = {item for item, count in single.items() if count >= 0.005 * WINDOW}
    counts = [Counter[tuple[int, ...]]() for _ in windows]
    for window, found in zip(windows, counts, strict=True):
        for basket in window:
            kept = sorted(basket & frequent)
            for length in (1, 2):
                found.update(combinations(kept, length))
    names = [name for name, count in counts[0].items() if count >= 0.005 * WINDOW]
    return tuple(np.array([float(found[name]) for name in names]) for found in counts)  # type: ignore[return-value]

"""Standard deviations and variances of samples: unbiased, exact at n = N, and as sure as they say."""

from __future__ import annotations

import numpy as np
import pytest

from shedding.estimates.moments import Floats, Moments
from shedding.estimates.spread import ROOT, Powers, raised, root_rows, sampled_root, sampled_spread


def powers_of(*strata: Floats) -> Powers:
    """One key's strata, (S, 1)."""
    parts = [
        (values.size, values.mean(), *(((values - values.mean()) ** p).sum() for p in (2, 3, 4))) for values in strata
    ]
    count, mean, m2, m3, m4 = (np.array(column, dtype=np.float64)[:, None] for column in zip(*parts, strict=True))
    return Powers(Moments(count, mean, m2), m3, m4)


def column(*rows: float) -> Floats:
    return np.array(rows, dtype=np.float64)[:, None]


def test_a_sample_of_all_rows_is_exact() -> None:
    values = np.random.default_rng(1).gamma(2.0, 1.0, 90)
    powers = powers_of(values[:30], values[30:])
    found = sampled_spread(column(30, 60), powers)
    assert found.value[0] == pytest.approx(values.std(ddof=1), rel=1e-12)
    assert found.low[0] == found.high[0] == found.value[0]
    assert sampled_root(column(30, 60), powers).value[0] ** ROOT == pytest.approx(values.std(ddof=1), rel=1e-12)


@pytest.mark.parametrize("rates", [(0.1, 0.1), (0.05, 0.3)])
def test_the_variance_of_strata_with_means_of_their_own_is_unbiased(rates: tuple[float, float]) -> None:
    rng = np.random.default_rng(3)
    whole = [rng.gamma(2.0, 1.0, 400), rng.gamma(2.0, 1.0, 200) + 3]
    truth = np.concatenate(whole).var(ddof=1)
    found = []
    for _ in range(600):
        drawn = [
            rng.choice(rows, int(rows.size * rate), replace=False) for rows, rate in zip(whole, rates, strict=True)
        ]
        found.append(sampled_spread(column(400, 200), powers_of(*drawn)).value[0] ** 2)
    assert np.mean(found) == pytest.approx(truth, rel=0.02)


@pytest.mark.parametrize(("law", "least"), [("normal", 0.93), ("uniform", 0.93), ("exponential", 0.85)])
def test_the_interval_holds_as_often_as_the_law_allows(law: str, least: float) -> None:
    """Of exponential values fourth moments of 25 rows are too low too often, as second ones are for means."""
    rng = np.random.default_rng(5)
    held = []
    for _ in range(150):
        rows = getattr(rng, law)(size=(2000, 8))
        drawn = rng.choice(2000, 25, replace=False)
        away = rows[drawn] - rows[drawn].mean(axis=0)
        m2, m3, m4 = ((away**p).sum(axis=0)[None] for p in (2, 3, 4))
        moments = Moments(np.full((1, 8), 25.0), rows[drawn].mean(axis=0)[None], m2)
        found = sampled_spread(np.full((1, 8), 2000.0), Powers(moments, m3, m4))
        truth = rows.std(axis=0, ddof=1)
        held.append((found.low <= truth) & (truth <= found.high))
    assert least <= np.mean(held) <= 0.99


def test_one_row_says_nothing_of_the_spread() -> None:
    powers = powers_of(np.array([3.0]))
    found = sampled_spread(column(9), powers)
    assert np.isnan(found.value[0])
    assert sampled_root(column(9), powers).count[0] == 0
    assert root_rows(powers).count[0, 0] == 0


def test_the_row_variance_of_the_root_is_what_its_samples_show() -> None:
    rng = np.random.default_rng(4)
    rows = rng.gamma(4.0, 1.0, 20_000)
    found = root_rows(powers_of(rows))
    picks = [rng.choice(rows, 100).std(ddof=1) ** (1 / ROOT) for _ in range(3000)]
    assert float(found.m2[0, 0] / (found.count[0, 0] - 1)) == pytest.approx(100 * np.var(picks), rel=0.15)


def test_the_interval_of_a_power_holds_where_the_number_s_does() -> None:
    from shedding.estimates import Estimate

    number = Estimate(*(np.array([x]) for x in (2.0, -0.5, 3.0, 0.6)))
    square = raised(number, 2)
    assert (square.value[0], square.low[0], square.high[0]) == (4.0, 0.0, 9.0)
    assert square.deviation[0] == pytest.approx(2.4)

import numpy as np
import pytest
from scipy import special

from shedding.estimates.mixture_quantile import mixture_quantile

LAWS = {
    "wide": lambda rng, n: rng.lognormal(-2, 1, n),
    "sure": lambda rng, n: np.zeros(n),
    "half sure": lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, rng.gamma(1, 0.1, n)),
    "missing": lambda rng, n: np.where(rng.random(n) < 0.03, np.nan, rng.gamma(1, 0.1, n)),
    "equal": lambda rng, n: np.full(n, 0.3),
    "unknown": lambda rng, n: np.where(rng.random(n) < 0.01, np.inf, rng.lognormal(-1, 2, n)),
}


def halved(deviation):
    """Forty-five halvings, each a pass over all keys."""
    sd = np.where(np.isnan(deviation), 1.0, deviation)
    low, high = 0.0, max(40 * float(sd[np.isfinite(sd)].max()), 1.0)
    for _ in range(45):
        middle = (low + high) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.where(sd > 0, special.erf(middle / (sd * np.sqrt(2))), 1.0)
        inside = np.where(np.isnan(deviation), float(middle >= 1), inside)
        low, high = (middle, high) if inside.sum() / inside.size < 0.95 else (low, middle)
    return high


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("keys", [3, 20_000])
def test_secants_give_the_bits_of_halving(law, keys):
    deviation = LAWS[law](np.random.default_rng(keys), keys)
    assert mixture_quantile(deviation) == halved(deviation)


def test_more_unknown_keys_than_the_tail_holds_leave_it_unknown():
    assert mixture_quantile(np.array([np.inf] + [0.1] * 9)) == np.inf

"""The bound of a window's error: how often the truth is above it, in worlds where that is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shedding.estimates.accuracy import WindowErrors
from shedding.risk import SpotCheck, WindowLaws, WindowRecord, window_laws, window_record
from shedding.risk.law import ErrorLaw, fit_law

RISK, TRIALS = 0.05, 150
CHANCE = 2.5 * float(np.sqrt(RISK * (1 - RISK) / TRIALS))
"""What a true share of RISK may come out higher in so many trials, once in a hundred times."""


def world(seed: int, *, keys: int, spread: float, scale: float = 1.0, slope: float = 0.0) -> tuple[np.ndarray, ...]:
    """One window: expected and true errors of its keys; claims are wrong by a factor of the window's own."""
    rng = np.random.default_rng(seed)
    expected = 0.1 * rng.lognormal(0, 0.5) * rng.lognormal(0, 0.6, keys)
    factor = scale * (expected.mean() / 0.12) ** slope * rng.lognormal(0, spread)
    return expected, np.abs(rng.normal(0, factor * expected * np.sqrt(np.pi / 2)))


def over(audits: int, **how: float) -> dict[str, float]:
    """Share of windows whose true statistics are above their bounds, each after so many audits of the same world."""
    above = dict.fromkeys(("mean", "p95", "worst"), 0)
    for trial in range(TRIALS):
        records = [[window_record(*world(1000 * trial + i, **how))] for i in range(1, audits + 1)]  # type: ignore[arg-type]
        expected, errors = world(1000 * trial, **how)  # type: ignore[arg-type]
        bounds = window_laws(records, _claims(expected)).bounds(expected, 0, RISK)
        above["mean"] += errors.mean() > bounds.mean
        above["p95"] += np.quantile(errors, 0.95) > bounds.p95
        above["worst"] += errors.max() > bounds.worst
    return {name: count / TRIALS for name, count in above.items()}


def _claims(expected: np.ndarray) -> WindowErrors:
    from shedding.risk import claims

    return claims(expected)


@pytest.mark.slow
@pytest.mark.parametrize(("keys", "audits", "spread"), [(3, 1, 0.3), (3, 6, 0.05), (40, 1, 0.05), (40, 6, 0.3)])
def test_at_most_the_stated_share_of_windows_is_above_the_bound(keys: int, audits: int, spread: float) -> None:
    found = over(audits, keys=keys, spread=spread)
    assert max(found.values()) <= RISK + CHANCE, found


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "slope"), [(2.0, 0.0), (0.5, 0.0), (1.3, 0.5)])
def test_claims_that_are_wrong_as_audits_have_shown_are_bounded_rightly(scale: float, slope: float) -> None:
    found = over(5, keys=60, spread=0.15, scale=scale, slope=slope)
    assert max(found.values()) <= RISK + CHANCE, found


def test_a_bound_is_no_wider_than_it_must_be() -> None:
    records = [[window_record(*world(i, keys=300, spread=0.05))] for i in range(8)]
    expected, _ = world(99, keys=300, spread=0.05)
    assert window_laws(records, _claims(expected)).bound("mean", expected, 0, RISK) < 1.5 * expected.mean()


def law_of(ratio: float, claimed: float, keys: float) -> ErrorLaw:
    return fit_law([[WindowRecord((claimed,) * 3, (ratio * claimed,) * 3, keys, 1.0)]], claimed, "mean")


laws = st.builds(law_of, st.floats(0.2, 5), st.floats(0.01, 1), st.floats(1, 1000))


@given(laws, st.floats(1, 1000), st.floats(0.001, 0.2), st.floats(1.01, 2))
def test_a_smaller_risk_has_a_wider_bound(law: ErrorLaw, keys: float, risk: float, times: float) -> None:
    assert law.reach(keys, risk / times) >= law.reach(keys, risk)


@given(laws, st.floats(0.05, 20), st.floats(1, 200))
def test_a_check_moves_the_bound_towards_what_it_measured(law: ErrorLaw, ratio: float, keys: float) -> None:
    low, same, high = (law.updated(r, keys).reach(50, RISK) for r in (ratio * 0.5, ratio, ratio * 2))
    assert low <= same * (1 + 1e-9)
    assert same <= high * (1 + 1e-9)


def test_a_jump_that_no_audit_has_shown_is_believed_when_a_check_measures_it() -> None:
    quiet = [[WindowRecord((0.1, 0.3, 0.5), (0.1, 0.3, 0.5), 200.0, 1.0)] for _ in range(8)]
    laws = {n: window_laws(quiet, WindowErrors(0.1, 0.3, 0.5), SpotCheck(n, n, 4.0, 0.4)) for n in (5, 10, 20)}
    reach = {n: law.laws[0].reach(200, RISK) for n, law in laws.items()}
    assert min(reach.values()) > 3
    assert laws[20].laws[0].moved > 0.9


@given(laws)
def test_a_law_read_back_is_the_same_to_the_bit(law: ErrorLaw) -> None:
    assert ErrorLaw.of_text(law.text()) == law


def test_without_any_audit_the_bound_is_wide_and_defined() -> None:
    laws = WindowLaws.of_text(None)
    assert 1.5 < laws.bound("mean", np.full(50, 0.1), 0, RISK) / 0.1 < 5
    assert laws.bound("mean", np.zeros(3), 0, RISK) == 0
    assert laws.bound("mean", np.zeros(3), 1, RISK) == 0.25
    assert laws.bound("p95", np.array([0.1, np.inf]), 0, RISK) == np.inf
    assert np.isnan(laws.bound("mean", np.zeros(0), 0, RISK))


@given(st.floats(0.1, 3.0), st.floats(1.0, 20.0))
def test_a_larger_claim_than_the_audits_is_never_taken_to_be_less_wrong(steep: float, times: float) -> None:
    """Audits that claim more and are less wrong: first ones, which know little. Quiet hours claim much as well."""
    claimed = np.array([0.1, 0.15, 0.2, 0.4])
    ratio = (claimed / 0.2) ** -steep
    records = [[WindowRecord((c,) * 3, (c * r,) * 3, 50.0, 0.7)] for c, r in zip(claimed, ratio, strict=True)]
    centre = float(np.exp(np.log(claimed).mean()))
    assert fit_law(records, times * centre, "mean").usual >= fit_law(records, centre, "mean").usual * (1 - 1e-12)


@given(st.floats(0.2, 5.0))
def test_keys_of_the_window_that_were_checked_move_its_laws_as_far_as_they_were_wrong(times: float) -> None:
    expected, _ = world(5, keys=40, spread=0.1)
    laws = window_laws([], _claims(expected))
    assert laws.checked(expected[:0], expected[:0]) is laws
    bound, more = (laws.checked(expected, t * expected).bound("mean", expected, 0, RISK) for t in (times, 1.1 * times))
    assert bound < more
    assert bound < laws.bound("mean", expected, 0, RISK) or times > 1

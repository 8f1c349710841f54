"""Error limits in numbers: who is admitted, what they get, and that more budget never leaves out more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.allocation.admission import admitted_rows
from shedding.allocation.budget import Budget
from shedding.allocation.concept import Concept
from shedding.allocation.posterior_curve import PosteriorCurve
from shedding.allocation.width_curve import WidthCurve
from shedding.policies import POLICIES, get_policy

SHEDDING = [name for name in POLICIES if name != "exact"]


@st.composite
def concepts(draw: st.DrawFn) -> Concept:
    size = draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return Concept.grouped(
        np.ceil(rng.lognormal(2, 1.5, size)),
        cv=rng.lognormal(-0.5, 0.5, size),
        prior_variance=rng.lognormal(-3, 1, size),
        weight=rng.choice([0.5, 1.0, 4.0], size),
        cost=rng.choice([1.0, 3.0], size),
    )


def widths(concept: Concept) -> WidthCurve:
    return WidthCurve(PosteriorCurve.of(concept), np.ones(len(concept)), lambda n: np.where(n < 1, 2.55, 2.16))


@given(concepts(), st.floats(0.01, 1.0), st.sampled_from([0.0, 0.1, 0.5]), st.sampled_from(SHEDDING))
@settings(max_examples=60, deadline=None)
def test_more_budget_never_leaves_out_more(concept: Concept, part: float, limit: float, policy: str) -> None:
    curve, whole = widths(concept), float(concept.full_cost.sum())
    needed = curve.rows_for(limit)
    made = [
        get_policy(policy).allocate(concept, Budget(rows=share * whole), needed) for share in (part, min(1, 1.2 * part))
    ]
    met = [curve.at_rates(one.shares) <= limit * (1 + 1e-9) for one in made]
    assert np.all(met[0] <= met[1])
    for one, share in zip(made, (part, min(1, 1.2 * part)), strict=True):
        assert one.expected_cost <= share * whole * (1 + 1e-6)


@given(concepts(), st.floats(0.01, 1.0), st.sampled_from([0.0, 0.1, 0.5]))
@settings(max_examples=60, deadline=None)
def test_who_is_out_is_worth_less_for_its_cost_than_who_is_in(concept: Concept, part: float, limit: float) -> None:
    needed = widths(concept).rows_for(limit)
    rows = admitted_rows(concept.strata, needed, part * float(concept.full_cost.sum()))
    inside = rows >= needed
    price = needed * concept.cost
    if inside.all() or not (price > 0).any():
        return
    worth = np.where(price > 0, concept.weight / np.where(price > 0, price, 1.0), np.inf)
    assert worth[inside].min(initial=np.inf) >= worth[~inside].max() * (1 - 1e-12)
    assert np.sum((rows > 0) & ~inside) <= 1  # one key at most has rows that are of no use to it


def test_a_key_whose_history_is_good_enough_needs_no_row() -> None:
    concept = Concept.grouped([100.0, 100.0], cv=[0.01, 0.5], prior_variance=[1e-6, 1.0])
    needed = WidthCurve(
        PosteriorCurve(concept.population, concept.spread(), concept.uncertainty()), np.ones(2), lambda n: 2.0 + 0 * n
    ).rows_for(0.1)
    assert needed[0] == 0
    assert 0 < needed[1] < 100


def test_a_limit_of_zero_takes_all_rows_of_a_key_or_leaves_it_out() -> None:
    concept = Concept.grouped([10.0, 20.0, 400.0], cv=[1.0, 1.0, 1.0])
    made = get_policy("posterior").allocate(concept, Budget(rows=40), widths(concept).rows_for(0.0))
    assert made.rates[:2].tolist() == [1.0, 1.0]
    assert made.rates[2] == pytest.approx(10 / 400)

"""The laws that every registered policy must keep; `test_battery` runs them all on each one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from shedding.allocation.budget import Allocation, Budget
from shedding.allocation.concept import Concept
from shedding.policies import POLICIES, Policy, get_policy
from shedding.policies.k_optimal import KOptimal
from shedding.policies.optimal import Optimal
from shedding.policies.uniform import Uniform

Law = Callable[[Policy, Concept, float], None]
FREE_OF_BUDGET = {"exact"}
REGROUPS = {"k_optimal"}
"""A larger budget caps other keys and so groups them otherwise: a key may fall into a group of a lower rate."""


def random_concept(seed: int, keys: int | None = None) -> Concept:
    """Sizes, spreads and priors as skewed as real ones, with gaps: unknown, infinite and zero spreads."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 40)) if keys is None else keys
    measures = int(rng.integers(1, 4))
    cv = rng.lognormal(-1, 1, (size, measures))
    prior = rng.lognormal(-4, 1.5, (size, measures))
    gaps = rng.random((size, measures))
    cv = np.where(gaps < 0.1, np.nan, np.where(gaps < 0.15, np.inf, np.where(gaps < 0.2, 0.0, cv)))
    return Concept.grouped(
        np.ceil(rng.lognormal(2, 1.5, size)),
        cv=cv,
        scale=rng.lognormal(2, 1, (size, measures)),
        prior_variance=np.where(gaps < 0.1, np.nan, prior),
        weight=rng.uniform(0.5, 2, size),
        cost=rng.uniform(0.5, 2, size),
    )


def with_options(name: str, **options: object) -> Policy:
    """The policy with those of the options that it has."""
    return get_policy(name, **{option: options[option] for option in options if option in POLICIES[name].model_fields})


def spend(policy: Policy, concept: Concept, part: float) -> Allocation:
    return policy.allocate(concept, Budget(rows=part * float(concept.full_cost.sum())))


def rates_lie_in_the_half_open_unit_interval(policy: Policy, concept: Concept, part: float) -> None:
    rates = spend(policy, concept, part).rates
    assert rates.shape == (len(concept),)
    assert np.all((rates > 0) & (rates <= 1))


def the_budget_is_met_in_expectation(policy: Policy, concept: Concept, part: float) -> None:
    got = spend(policy, concept, part)
    whole = float(concept.full_cost.sum())
    wanted = whole if policy.name in FREE_OF_BUDGET else min(part, 1.0) * whole
    assert got.expected_cost == pytest.approx(wanted, rel=1e-9)
    assert got.expected_cost == pytest.approx(float(got.rates @ concept.full_cost), rel=1e-9)
    assert got.expected_rows == pytest.approx(float(got.rates @ concept.population), rel=1e-9)
    assert got.exceeded_by == pytest.approx(max(0.0, wanted - part * whole), rel=1e-9, abs=1e-9 * whole)


def more_budget_never_lowers_a_rate(policy: Policy, concept: Concept, part: float) -> None:
    small, large = spend(policy, concept, part), spend(policy, concept, 1.3 * part)
    assert policy.name in REGROUPS or np.all(small.rates <= large.rates * (1 + 1e-9))
    assert large.total_error <= small.total_error * (1 + 1e-9)


def the_scale_of_weights_does_not_matter(policy: Policy, concept: Concept, part: float) -> None:
    scaled = replace(concept, weight=concept.weight * 1024.0)
    np.testing.assert_allclose(spend(policy, scaled, part).rates, spend(policy, concept, part).rates, rtol=1e-9)


def the_scale_of_costs_does_not_matter(policy: Policy, concept: Concept, part: float) -> None:
    scaled = replace(concept, cost=concept.cost * 0.125)
    np.testing.assert_allclose(spend(policy, scaled, part).rates, spend(policy, concept, part).rates, rtol=1e-9)


def the_order_of_the_keys_does_not_matter(policy: Policy, concept: Concept, part: float) -> None:
    order = np.random.default_rng(len(concept)).permutation(len(concept))
    names = ("population", "cv", "scale", "prior_variance", "weight", "cost", "least_u")
    shuffled = replace(concept, **{name: getattr(concept, name)[order] for name in names})
    got, wanted = spend(policy, shuffled, part), spend(policy, concept, part)
    np.testing.assert_allclose(got.rates, wanted.rates[order], rtol=1e-9)
    np.testing.assert_allclose(got.expected_error, wanted.expected_error[order], rtol=1e-6, atol=1e-7)


def equal_keys_get_equal_rates(policy: Policy, concept: Concept, part: float) -> None:
    names = ("population", "cv", "scale", "prior_variance", "weight", "cost", "least_u")
    twice = replace(concept, **{name: np.concatenate([getattr(concept, name)] * 2) for name in names})
    rates = spend(policy, twice, part).rates
    np.testing.assert_allclose(rates[: len(concept)], rates[len(concept) :], rtol=1e-9)


def the_same_question_has_the_same_answer(policy: Policy, concept: Concept, part: float) -> None:
    first, second = spend(policy, concept, part), spend(policy, concept, part)
    assert np.array_equal(first.rates, second.rates)
    assert np.array_equal(first.expected_error, second.expected_error)
    assert first.total_error == second.total_error


def it_errs_no_more_than_uniform_if_it_says_so(policy: Policy, concept: Concept, part: float) -> None:
    if isinstance(policy, Optimal | KOptimal):
        curve = policy.objective().curve(concept)
        if curve.reciprocal is None:
            return  # the optimum of the hulls: the one key at the margin may err more than its hull
        uniform = curve.total(concept.weight, curve.at_rates(spend(Uniform(), concept, part).rates))
        assert spend(policy, concept, part).total_error <= uniform * (1 + 1e-9)


def errors_are_finite_and_vanish_without_shedding(policy: Policy, concept: Concept, part: float) -> None:
    errors = spend(policy, concept, part).expected_error
    assert np.all(np.isfinite(errors) & (errors >= 0))
    whole = spend(policy, concept, 2.0)
    assert np.all(whole.rates == 1)
    assert whole.total_error == 0


def required_completeness_loses_no_key(policy: Policy, concept: Concept, part: float) -> None:
    whole = float(concept.full_cost.sum())
    got = policy.allocate(concept, Budget(rows=part * whole, completeness="required"))
    missed = np.power(1 - got.rates, concept.population)
    assert missed.sum() <= 0.01 * (1 + 1e-9)
    assert got.exceeded_by == pytest.approx(max(0.0, got.expected_cost - part * whole), abs=1e-9 * whole)
    assert got.expected_cost >= min(part, 1.0) * whole * (1 - 1e-9)


def unseen_keys_have_a_rate_inside_the_budget(policy: Policy, concept: Concept, part: float) -> None:
    budget = Budget(rows=part * float(concept.full_cost.sum()), unseen_share=0.3)
    got = policy.allocate(replace(concept, known=False), budget)
    unseen = float(concept.population.sum()) * 0.3 / 0.7
    row_cost = float(concept.full_cost.sum() / concept.population.sum())
    assert 0 < got.unseen_rate <= 1
    spent = float(got.rates @ concept.full_cost) + got.unseen_rate * unseen * row_cost
    assert got.expected_cost == pytest.approx(spent, rel=1e-9)
    if policy.name not in FREE_OF_BUDGET:
        assert spent <= budget.rows * (1 + 1e-9)


LAWS: list[Law] = [
    rates_lie_in_the_half_open_unit_interval,
    the_budget_is_met_in_expectation,
    more_budget_never_lowers_a_rate,
    the_scale_of_weights_does_not_matter,
    the_scale_of_costs_does_not_matter,
    the_order_of_the_keys_does_not_matter,
    equal_keys_get_equal_rates,
    the_same_question_has_the_same_answer,
    it_errs_no_more_than_uniform_if_it_says_so,
    errors_are_finite_and_vanish_without_shedding,
    required_completeness_loses_no_key,
    unseen_keys_have_a_rate_inside_the_budget,
]

"""Every registered policy against every law of the battery, and on inputs that break naive formulas."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from shedding import policies
from shedding.allocation.budget import Allocation, Budget
from shedding.allocation.concept import Concept
from shedding.allocation.problem import Problem
from shedding.errors import BudgetError
from shedding.fields import Number
from shedding.policies import POLICIES, Policy, get_policy, registered
from shedding.spec.policy_options import PolicyName
from tests.shedding.policies.battery import LAWS, Law, random_concept, spend, with_options

every_policy = pytest.mark.parametrize("name", list(POLICIES))


@every_policy
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), part=st.floats(0.002, 1.1))
def test_every_policy_keeps_every_law(name: str, law: Law, seed: int, part: float) -> None:
    law(with_options(name, groups=4), random_concept(seed), part)


@pytest.mark.parametrize("name", [name for name, policy in POLICIES.items() if "goal" in policy.model_fields])
@pytest.mark.parametrize(("goal", "support"), [("variance", None), ("support", 0.05)])
@settings(max_examples=15, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), part=st.floats(0.01, 0.9))
def test_the_laws_hold_under_the_other_goals(
    name: str, goal: str, support: float | None, seed: int, part: float
) -> None:
    if (name, goal) == ("k_optimal", "support"):
        with pytest.raises(BudgetError, match="relative or variance"):
            get_policy(name, goal=goal, support=support)
        return
    policy = get_policy(name, goal=goal, support=support)
    for law in LAWS:
        law(policy, random_concept(seed), part)


@every_policy
def test_no_keys_give_an_empty_allocation(name: str) -> None:
    got = get_policy(name).allocate(Concept.grouped([]), Budget(rows=10))
    assert got.rates.size == 0
    assert (got.expected_cost, got.total_error, got.exceeded_by) == (0.0, 0.0, 0.0)


@every_policy
def test_a_scalar_query_gets_one_rate(name: str) -> None:
    got = get_policy(name).allocate(Concept.scalar(1000, 5.0, 4.0), Budget(rows=50))
    assert got.rates.tolist() == [pytest.approx(1.0 if name == "exact" else 0.05)]


@pytest.mark.slow
@every_policy
def test_a_million_keys_take_seconds(name: str) -> None:
    concept = random_concept(1, 1_000_000)
    start = time.perf_counter()
    got = spend(get_policy(name), concept, 0.05)
    assert time.perf_counter() - start < 60  # about 0.1 to 5 s; the limit only catches a wrong order of growth
    assert np.all((got.rates > 0) & (got.rates <= 1))
    assert name == "exact" or got.exceeded_by == 0


@every_policy
@pytest.mark.parametrize(
    "cv",
    [
        [np.nan] * 3,
        [np.inf] * 3,
        [0.0] * 3,
        [np.nan, np.inf, 0.0],
        [1e300, 1e-300, 1.0],
        [0.0, 0.0, 1e308],
        [1e-300] * 3,
    ],
    ids=["unknown", "zero mean", "zero variance", "mixed", "huge", "huge and zero", "tiny"],
)
@pytest.mark.parametrize("population", [[1, 1, 1], [1, 1e3, 1e15]], ids=["single rows", "huge"])
def test_degenerate_statistics_have_a_defined_result(name: str, cv: list[float], population: list[float]) -> None:
    concept = Concept.grouped(population, cv=cv, prior_variance=[np.nan, np.inf, 0.0], scale=[0.0, np.nan, 1e300])
    for goal, support in (("relative", None), ("variance", None), ("support", 0.1)):
        if name == "k_optimal" and goal == "support":
            continue
        got = spend(with_options(name, goal=goal, support=support), concept, 0.1)
        assert np.all((got.rates > 0) & (got.rates <= 1))
        assert np.all(np.isfinite(got.expected_error))
        assert name == "exact" or got.expected_cost == pytest.approx(0.1 * float(concept.full_cost.sum()), rel=1e-6)


@every_policy
def test_a_query_of_counts_alone_has_no_measure_and_still_rates(name: str) -> None:
    none = np.zeros((2, 0))
    concept = Concept.grouped([10, 1000], cv=none, scale=none, prior_variance=none)
    assert np.all(spend(get_policy(name), concept, 0.1).rates > 0)


@every_policy
def test_fewer_rows_than_keys_keep_the_budget_by_best_effort_and_exceed_it_if_all_are_required(name: str) -> None:
    concept = Concept.grouped(np.full(100, 50.0), cv=np.ones(100))
    kept = get_policy(name).allocate(concept, Budget(rows=20))
    complete = get_policy(name).allocate(concept, Budget(rows=20, completeness="required"))
    assert complete.exceeded_by == pytest.approx(complete.expected_cost - 20)
    assert complete.exceeded_by >= 80
    assert name == "exact" or kept.exceeded_by == 0


@every_policy
def test_with_the_smallest_u_known_completeness_costs_one_row_a_key(name: str) -> None:
    rng = np.random.default_rng(4)
    sizes = rng.integers(1, 60, 400)
    u = [rng.random(n) for n in sizes]
    concept = Concept.grouped(sizes, cv=rng.lognormal(-1, 1, 400), least_u=[x.min() for x in u])
    got = get_policy(name).allocate(concept, Budget(rows=100, completeness="required"))
    kept = np.array([np.sum(x < rate) for x, rate in zip(u, got.rates, strict=True)])
    assert np.all(kept >= 1)
    assert np.all(got.rates[sizes == 1] == 1)
    if name == "exact":
        assert np.all(got.rates == 1)
    else:
        assert kept.sum() == 400
        assert got.expected_rows == pytest.approx(400)
        assert got.exceeded_by == pytest.approx(300)


@every_policy
def test_without_any_prior_the_unseen_stratum_has_the_whole_budget(name: str) -> None:
    budget = Budget(rows=50, unseen_share=1.0, slot_rows=1000)
    got = get_policy(name).allocate(Concept.grouped([], known=False), budget)
    assert got.unseen_rate == pytest.approx(1.0 if name == "exact" else 0.05)


@every_policy
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("unseen", [0.0, 0.1, 0.9])
def test_a_budget_of_all_rows_leaves_none_out_whatever_is_rounded_on_the_way(
    name: str, known: bool, unseen: float
) -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        concept = Concept.grouped(
            rng.gamma(0.5, 100, 30) + 0.5, known=known, cv=rng.gamma(1, 1, 30), prior_variance=rng.gamma(1, 0.1, 30)
        )
        rows = float(concept.population.sum()) / (1.0 if known else 1 - unseen)
        got = get_policy(name).allocate(concept, Budget(rows=rows, unseen_share=unseen, slot_rows=rows))
        assert np.all(got.rates == 1)
        assert got.unseen_rate == 1


def test_a_query_may_name_every_policy_that_has_a_file() -> None:
    folder = Path(policies.__file__).parent
    assert set(get_args(PolicyName)) == set(POLICIES) == {file.stem for file in folder.glob("[a-z]*.py")} - {"policy"}


def test_a_new_policy_is_known_by_being_there_and_its_options_are_keys_of_yaml() -> None:
    class Half(Policy):
        name = "half"
        part: Number = Field(default=0.5, gt=0, description="of the budget")

        def solve(self, problem: Problem) -> Allocation:
            share = problem.share()
            return problem.settle(self.part * problem.uniform_rate(share.capacity), share)

    got = Half(part=0.1).allocate(Concept.grouped([100, 300]), Budget(rows=40))
    assert got.rates.tolist() == pytest.approx([0.01, 0.01])
    assert dict(registered())["half"] is Half


def test_names_and_options_are_read_without_numpy() -> None:
    code = "import sys, shedding.spec; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

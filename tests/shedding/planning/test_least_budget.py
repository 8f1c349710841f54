"""A budget by its error: the least rows that a slot is planned to need, and what the specification says of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shedding import warehouse
from shedding.allocation.concept import Concept
from shedding.config import Settings
from shedding.keys import Keys
from shedding.planning.allocate import allocate
from shedding.planning.error_limits import PlannedErrors, shrunk_quantile, student
from shedding.planning.least_budget import LEAST_FRACTION, Planned, Wish, least_fraction
from shedding.planning.slot_concept import SlotConcept
from tests.shedding.answers.test_slot import elsewhere, make_query, run
from tests.shedding.rows_in_memory import HOUR


def world(keys: int = 50) -> tuple[SlotConcept, PlannedErrors]:
    rng = np.random.default_rng(1)
    rows = np.ceil(rng.lognormal(3, 1, keys))
    spread, prior = rng.lognormal(-0.7, 0.3, (keys, 1)), np.full((keys, 1), 0.02)
    concept = Concept.grouped(rows, cv=spread, prior_variance=prior)
    ones = np.ones((keys, 1))
    errors = PlannedErrors(("mean",), spread, prior, ones, np.inf * ones, 0.1, plain=False)
    return SlotConcept(Keys(("key",), (), keys), concept, float(rows.sum()), 0.0), errors


@pytest.mark.parametrize("wish", [Wish(0.05), Wish(0.02), Wish(0.1, 0.9), Wish(0.3, 0.5)])
@pytest.mark.parametrize("policy", ["posterior", "optimal", "cod", "uniform"])
def test_it_meets_the_wish_and_a_hundredth_less_does_not(wish: Wish, policy: str) -> None:
    query = make_query(shed={"policy": policy, "budget": {"fraction": 0.1}})
    concept, errors = world()
    fraction = least_fraction(query, concept, errors, wish)

    def met(part: float) -> bool:
        return wish.met(Planned.of(concept, errors, allocate(query, policy, concept, part * concept.rows)))

    assert LEAST_FRACTION < fraction < 1
    assert met(fraction)
    assert not met(0.99 * fraction)


def test_a_smaller_error_takes_more_rows_and_none_takes_all_but_a_few() -> None:
    query, (concept, errors) = make_query(), world()
    fractions = [least_fraction(query, concept, errors, Wish(error)) for error in (0.2, 0.1, 0.05, 0.01)]
    assert fractions == sorted(fractions)
    assert least_fraction(query, concept, errors, Wish(1e-9)) > 0.99
    assert least_fraction(query, concept, errors, Wish(2.0)) == LEAST_FRACTION


def test_one_key_is_cods_scalar_concept() -> None:
    """sd / mean, an accuracy, hence a rate: n = N b / (b + e^2) without history, as for a plain mean (Table II)."""
    query = make_query(estimates="plain", shed={"policy": "uniform", "budget": {"fraction": 0.1}})
    spread = np.array([[0.5]])
    concept = SlotConcept(Keys((), (), 1), Concept.scalar(10_000, 2.0, 1.0), 10_000.0, 0.0)
    errors = PlannedErrors(("mean",), spread, spread, np.ones((1, 1)), np.full((1, 1), np.inf), 0.9, plain=True)
    fraction = least_fraction(query, concept, errors, Wish(0.02 * np.sqrt(2 / np.pi)))
    assert fraction == pytest.approx(1 / (1 + 10_000 * 0.02**2 / 0.5**2), rel=2e-3)


def test_quantiles_of_planned_widths_fall_with_the_rows() -> None:
    n = np.array([0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 100.0])
    assert (np.diff(shrunk_quantile(n)) <= 0).all()
    with np.errstate(invalid="ignore"):
        assert not (np.diff(student(n)) > 0).any()
    assert student(np.array([5.0, 11.0, 31.0])) == pytest.approx([2.776, 2.228, 2.042], rel=0.01)


def test_the_slot_spends_what_its_error_takes_in_any_order(settings: Settings, tmp_path: Any) -> None:
    rows = {}
    for name, order in {"on": [6, 7], "back": [7, 6]}.items():
        for error in (0.03, 0.1):
            own = elsewhere(settings, tmp_path, f"{name}{error}")
            query = make_query(shed={"policy": "posterior", "budget": {"error": error}})
            run(own, query, [hour * HOUR for hour in order])
            runs = warehouse.runs(own, "q").read([("leg", "=", "posterior")]).to_pylist()
            rows[name, error] = {(row["slot"], row["budget_rows"]) for row in runs}
            assert all(f"a mean error of {error} takes" in row["reason"] for row in runs)
            assert all(row["processed_rows"] < 1.5 * row["budget_rows"] + 20 for row in runs)
    assert rows["on", 0.03] == rows["back", 0.03]
    assert min(budget for _, budget in rows["on", 0.03]) > max(budget for _, budget in rows["on", 0.1])


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({"error": 0.1, "rows": 5}, "exactly one of"),
        ({"fraction": 0.1, "keys": 0.9}, "goes with budget.error"),
        ({"error": 0}, "greater than 0"),
    ],
)
def test_budgets_that_make_no_sense_are_refused(budget: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_query(shed={"budget": budget})

"""Weights reach the rows: a key that counts more is sampled more, within the same budget."""

import pytest

from tests.shedding.answers.test_slot import elsewhere, make_query, run
from tests.shedding.rows_in_memory import HOUR

SLOT = 7 * HOUR


def sampled(settings, policy, **weights):
    """Rows sampled of each key of a slot, and all of them."""
    shed = {"policy": policy, "budget": {"fraction": 0.1}, "weights": weights, "spot_check": 0}
    query = make_query(shed=shed, window={"size": "1 hour"}, audit={"one_in": 50})
    found, _ = run(settings, query, [SLOT])
    mine = found[found.leg == policy].set_index("key")
    return mine.sampled_rows, mine.n


@pytest.mark.parametrize("policy", ["optimal", "posterior"])
def test_a_key_that_counts_more_is_sampled_more_and_the_others_pay(settings, tmp_path, policy):
    alike, rows = sampled(elsewhere(settings, tmp_path, "alike"), policy)
    dear, _ = sampled(elsewhere(settings, tmp_path, "dear"), policy, keys=[{"key": "k001", "weight": 100}])
    assert dear["k001"] > 1.5 * alike["k001"]
    assert dear.drop("k001").sum() < alike.drop("k001").sum()
    assert rows["k001"] > 30


@pytest.mark.parametrize("policy", ["optimal", "posterior"])
def test_weights_by_size_move_rows_to_large_keys(settings, tmp_path, policy):
    alike, rows = sampled(elsewhere(settings, tmp_path, "alike"), policy)
    by_rows, _ = sampled(elsewhere(settings, tmp_path, "rows"), policy, size=1)
    largest = rows.idxmax()
    assert by_rows[largest] > 1.3 * alike[largest]

"""Weights as an owner writes them: each key beside its weight, wrong ones told with their remedy."""

import pytest
from pydantic import ValidationError

from shedding.spec.query import QuerySpec
from shedding.spec.weights import WeightsSpec


def test_keys_stand_beside_their_weight_and_come_out_as_written():
    given = {"default": 1, "keys": [{"zone": 132, "kind": "a", "weight": 10}], "size": 0.5}
    weights = WeightsSpec.model_validate(given)
    assert weights.keys[0].values == {"zone": 132, "kind": "a"}
    assert weights.model_dump(mode="json") == given
    assert WeightsSpec.model_validate(weights.model_dump()) == weights


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"keys": [{"zone": 1}]}, "weight"),
        ({"keys": [{"weight": 2}]}, "values"),
        ({"keys": [{"zone": 1, "weight": -1}]}, "greater than or equal to 0"),
        ({"size": 3}, "less than or equal to 2"),
        ({"sise": 1}, "Extra inputs"),
    ],
)
def test_wrong_weights_are_refused(wrong, told):
    with pytest.raises(ValidationError, match=told):
        WeightsSpec.model_validate(wrong)


def test_weights_of_columns_that_are_no_keys_are_refused_with_those_that_are():
    query = {
        "name": "q", "dataset": "d", "window": {"size": "1 hour"}, "group_by": ["zone"],
        "schedule": {"every": "1 hour"}, "measures": [{"name": "n", "agg": "count"}],
        "shed": {"budget": {"fraction": 0.1}, "weights": {"keys": [{"route": "x", "weight": 2}]}},
    }  # fmt: skip
    with pytest.raises(ValidationError, match="names 'route', which is no key; write columns of group_by: zone"):
        QuerySpec.model_validate(query)

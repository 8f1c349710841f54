"""The table of aggregates is whole and its traits do not contradict each other."""

from __future__ import annotations

from typing import get_args

import pytest

from shedding.spec.aggregates import AGGREGATES, EXTREME, Aggregate, Traits


def test_every_aggregate_that_may_be_written_has_its_traits() -> None:
    assert set(AGGREGATES) == set(get_args(Aggregate))


@pytest.mark.parametrize("traits", AGGREGATES.values(), ids=AGGREGATES)
def test_no_aggregate_is_estimated_and_never_sampled(traits: Traits) -> None:
    assert not (traits.estimated and traits.exact_only)
    assert not (traits.joined and traits.exact_only)
    assert not (traits.state is EXTREME and not traits.exact_only)
    assert not (traits.estimated and traits.state is None)

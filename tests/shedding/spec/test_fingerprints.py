"""Every key of a specification is known to decide something or nothing, and fingerprints follow that list."""

from __future__ import annotations

from typing import Any

import pytest

from shedding.spec.fingerprints import DECIDES, Decides, panes_fingerprint, spec_fingerprint
from shedding.spec.keyset import keyset_of
from shedding.spec.query import QuerySpec
from shedding.spec.shed import EXACT

BASE: dict[str, Any] = {
    "name": "q", "dataset": "d", "window": {"size": "1 hour"}, "group_by": ["key"],
    "measures": [{"name": "mean", "agg": "avg", "column": "value"}], "schedule": {"every": "1 hour"},
    "shed": {"policy": "posterior", "budget": {"fraction": 0.1}},
}  # fmt: skip
OTHER: dict[str, Any] = {
    "name": "r", "description": "words", "owner": "us", "tags": ["t"], "dataset": "e", "where": "value > 1",
    "join": {"dataset": "d", "on": ["key"]}, "window": {"size": "30 minutes"}, "group_by": ["route"],
    "measures": [{"name": "mean", "agg": "sum", "column": "value"}], "top": {"by": "mean", "n": 3},
    "schedule": {"every": "2 hours"}, "shed": {"policy": "posterior", "budget": {"fraction": 0.2}},
    "estimates": "plain", "audit": {"one_in": 3}, "publish": "best", "gate": {"mean_relative_error": 0.1},
    "objective": {"share": 0.9}, "notify": [{"on": ["late"], "call": "mail:Letter"}],
}  # fmt: skip
"""Another value for every key but `source`, which is another dataset, and `enrich`, whose functions are files."""


def test_every_key_of_a_specification_is_classified() -> None:
    assert set(DECIDES) == set(QuerySpec.model_fields) == {*OTHER, "enrich", "source"}


def fingerprints(content: dict[str, Any], leg: str) -> tuple[str, str]:
    """Those of the panes and of the answer of a leg."""
    query = QuerySpec.model_validate(content)
    return panes_fingerprint(query, keyset_of(query, "left", ["value"]), leg), spec_fingerprint(query, leg)


@pytest.mark.parametrize("key", OTHER)
@pytest.mark.parametrize("leg", [EXACT, "posterior"])
def test_a_key_changes_the_fingerprints_of_what_it_decides_and_no_others(key: str, leg: str) -> None:
    decides, shed = DECIDES[key], leg != EXACT
    before, after = fingerprints(BASE, leg), fingerprints({**BASE, key: OTHER[key]}, leg)
    everywhere = decides in (Decides.PANES, Decides.ROWS) or (shed and decides == Decides.SAMPLES)
    answered = everywhere or decides == Decides.ANSWERS or (shed and decides == Decides.ESTIMATES)
    assert (before[0] != after[0], before[1] != after[1]) == (everywhere, answered)


def test_a_leg_has_the_fingerprints_it_would_have_alone() -> None:
    beside = {**BASE, "shed": {**BASE["shed"], "policy": "uniform", "compare": ["posterior"]}}
    assert fingerprints(beside, "posterior") == fingerprints(BASE, "posterior")

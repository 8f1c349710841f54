"""What a slot knows of its keys before a row of it is read."""

import numpy as np
import pytest

from shedding.planning.planner import learn
from tests.shedding.answers.test_slot import make_query
from tests.shedding.rows_in_memory import HOUR, make_rows, side_of


class NothingLearnt:
    """Priors of a dataset's first slot."""

    def __init__(self, query, side):
        self.query, self.side = query, side

    def keys(self, slot):
        return []

    def history(self, slot, keys):
        return {}


def learnt(rows, **changes):
    query = make_query(**changes)
    return learn(query, [NothingLearnt(query, side_of(rows, query))], 2 * HOUR)


def smallest(rows):
    inside = rows[(rows.time >= 2 * HOUR) & (rows.time < 3 * HOUR)]
    return inside.groupby("key").u.min()


def test_a_slot_of_one_window_knows_the_smallest_u_of_every_key():
    rows = make_rows()
    found = learnt(rows, window={"size": "1 hour"})
    expected = smallest(rows)
    assert found.keys.columns[0].to_pylist() == expected.index.tolist()
    assert found.concept.least_u.tolist() == expected.tolist()
    assert found.concept.population.sum() == found.rows


def test_in_overlapping_windows_only_a_key_of_a_single_pane_knows_it():
    rows = make_rows()
    found = learnt(rows, window={"size": "1 hour", "slide": "30 minutes"})
    inside = rows[(rows.time >= 2 * HOUR) & (rows.time < 3 * HOUR)]
    alone = (inside.time // (HOUR // 2)).groupby(inside.key).nunique() == 1
    assert alone.any()
    assert not alone.all()
    np.testing.assert_array_equal(np.isfinite(found.concept.least_u), alone.to_numpy())
    known = found.concept.least_u[alone.to_numpy()]
    assert known.tolist() == pytest.approx(smallest(rows)[alone].tolist(), abs=0)


def test_a_window_that_outlasts_the_slot_knows_it_of_no_key():
    found = learnt(make_rows(), window={"size": "2 hours", "slide": "1 hour"})
    assert np.isnan(found.concept.least_u).all()

"""What a slot of a join knows before a row is read: which keys can meet, and on which sides rows are worth anything."""

import numpy as np
import pandas as pd
import pytest

from shedding.allocation.budget import Budget
from shedding.answers.join import measures_by_side
from shedding.planning.join_concept import learn_join
from shedding.policies import get_policy
from tests.shedding.answers.test_join import make_join
from tests.shedding.rows_in_memory import HOUR, joined_sides

LEFT = {"both": (0, 40), "apart": (0, 10), "left only": (0, 10)}
RIGHT = {"both": (0, 20), "apart": (1, 10), "right only": (1, 10)}


class NothingLearnt:
    """Priors of a side's first slot."""

    def __init__(self, query, side, measures):
        self.query, self.side, self.reads_rows = query, side, bool(measures)

    def keys(self, slot):
        return []

    def history(self, slot, keys):
        return {}


def frame(column, counts):
    """`counts`: key -> (hour, rows)."""
    parts = [pd.DataFrame({"time": hour * HOUR, "key": [key] * rows}) for key, (hour, rows) in counts.items()]
    rows = pd.concat(parts, ignore_index=True)
    return rows.assign(u=(np.arange(len(rows)) + 0.5) / len(rows), **{column: 1.0})


def learnt(measures=slice(None), **window):
    query = make_join(window=window)
    schedule = query.schedule.model_copy(update={"every": 2 * HOUR})
    query = query.model_copy(update={"schedule": schedule, "measures": query.measures[measures]})
    left, right = frame("value", LEFT), frame("weight", RIGHT)
    sides = joined_sides(left, right, query)
    by_side = measures_by_side(query, left.columns)
    priors = [NothingLearnt(query, side, own) for side, own in zip(sides, by_side, strict=True)]
    return learn_join(query, priors, 0)


def rates(concept, rows=30.0):
    made = get_policy("uniform").allocate(concept.concept, Budget(rows=concept.strata_rows(rows)))
    names = concept.keys.columns[0].to_pylist()
    return [dict(zip(names, side.values, strict=True)) for side in concept.rates("leg", made, rows)]


def test_only_keys_that_meet_in_a_window_are_sampled():
    left, right = rates(learnt(size="1 hour"))
    assert left["both"] == right["both"] == pytest.approx(30 / 60)
    assert left["apart"] == right["apart"] == left["left only"] == right["right only"] == 0


def test_where_windows_reach_into_the_next_slot_lonely_keys_take_their_part_of_the_budget():
    concept = learnt(size="2 hours", slide="1 hour")
    left, right = rates(concept)
    assert left["left only"] == right["right only"] == pytest.approx(30 / 100)
    spent = sum(left[key] * rows for key, (_, rows) in LEFT.items())
    spent += sum(right[key] * rows for key, (_, rows) in RIGHT.items())
    assert spent == pytest.approx(30)


def test_a_side_that_no_measure_reads_leaves_the_budget_to_the_other():
    left, right = rates(learnt(measures=slice(2), size="1 hour"))
    assert set(right.values()) == {0.0}
    assert left["both"] == pytest.approx(30 / 40)


def test_a_count_alone_samples_neither_side():
    concept = learnt(measures=slice(1), size="1 hour")
    left, right = rates(concept)
    assert concept.counted
    assert set(left.values()) == set(right.values()) == {0.0}

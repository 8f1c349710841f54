import numpy as np
import pytest

from shedding.panes.blocks import levels_of
from shedding.panes.exact_panes import ExactPanes
from shedding.panes.memory import Memory
from shedding.panes.panes import Panes
from shedding.panes.windows import PaneRun
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_blocks
from shedding.stretches import Stretches
from tests.shedding.rows_in_memory import HOUR, MINUTE, RowsScans, make_rows, side_of


def exact_panes(settings, query, side, scans):
    return ExactPanes(Memory(settings, query, side, query.measures), scans)


def make_query(size="1 hour", slide="30 minutes", every="4 hours"):
    return QuerySpec.model_validate({
        "name": "q", "dataset": "d", "window": {"size": size, "slide": slide}, "group_by": ["key"],
        "measures": [{"name": "p90", "agg": "quantile", "column": "value", "q": 0.9},
                     {"name": "middle", "agg": "quantile", "column": "other", "q": 0.5}],
        "schedule": {"every": every}, "shed": {"policy": "posterior", "budget": {"fraction": 0.2}},
    })  # fmt: skip


@pytest.mark.parametrize("times", [("1 hour", "30 minutes", "4 hours"), ("6 hours", "1 hour", "2 hours")])
def test_the_exact_quantiles_of_every_block_are_remembered_and_read_again(settings, times):
    query, rows = make_query(*times), make_rows()
    slot, side = 4 * HOUR, side_of(rows, query)
    made = exact_panes(settings, query, side, RowsScans(query)).exact(slot)
    scans = RowsScans(query)
    again = exact_panes(settings, query, side, scans).exact(slot)
    assert scans.calls == 0
    for panes in (made, again, Panes.of_table(made.table({}), ["key"], query.measures)):
        run = PaneRun([panes], ["key"])
        for start, end in slot_blocks(query.timeline, slot):
            inside = rows[(rows.time >= start) & (rows.time < end)]
            window = run.window(start, end)
            for name, column, q in (("p90", "value", 0.9), ("middle", "other", 0.5)):
                found = window.measures[name].levels
                for key, values in inside.groupby("key")[column]:
                    at = window.keys.columns[0].to_pylist().index(key)
                    np.testing.assert_allclose(found[:, at], np.quantile(values, levels_of(q)), rtol=1e-9)


def test_shed_legs_and_tails_remember_no_quantiles_of_blocks(settings):
    query, rows = make_query(), make_rows()
    panes = exact_panes(settings, query, side_of(rows, query), RowsScans(query))
    tail = panes.exact(4 * HOUR, Stretches.of((7 * HOUR + 30 * MINUTE, 9 * HOUR)))
    assert tail.measures["p90"].levels is None

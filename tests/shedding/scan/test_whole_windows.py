import numpy as np
import pytest

from shedding.panes.blocks import level_measures
from shedding.scan.whole_windows import whole_blocks
from shedding.spec.measure import MeasureSpec
from shedding.spec.timeline import Timeline, slot_blocks
from tests.shedding.rows_in_memory import HOUR, MINUTE, make_rows

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    "times", [(HOUR, HOUR, 4 * HOUR), (45 * MINUTE, 30 * MINUTE, 2 * HOUR), (6 * HOUR, HOUR, HOUR)]
)
def test_quantiles_of_blocks_are_those_of_their_rows(spark, times):
    data = make_rows(hours=10)
    timeline = Timeline(*times)
    blocks = [block for slot in (4 * HOUR, 8 * HOUR) for block in slot_blocks(timeline, slot)]
    measures = level_measures([MeasureSpec(name="p", agg="quantile", column="value", q=0.9)])
    rows = spark.createDataFrame(data[["time", "key", "value"]]).selectExpr(
        "timestamp_micros(time) AS event_time", "key", "value"
    )
    found = whole_blocks(rows, blocks, ["key"], measures).to_pandas().set_index(["window_start", "key"])
    for start, end in blocks:
        inside = data[(data.time >= start) & (data.time < end)]
        for key, values in inside.groupby("key")["value"]:
            for measure in measures:
                assert np.isclose(found.loc[(start, key), measure.name], np.quantile(values, measure.q))
    pairs = sum(len(set(data[(data.time >= a) & (data.time < b)].key)) for a, b in blocks)
    assert len(found) == pairs

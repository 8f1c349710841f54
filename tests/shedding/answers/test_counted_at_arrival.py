"""A query that only counts is answered by the counts of arrival: nothing is sampled and nothing read for it."""

import pytest

from shedding.tables import Table
from tests.shedding.answers.test_join import both_sides, joined, make_join
from tests.shedding.answers.test_join import run as run_join
from tests.shedding.answers.test_slot import make_query, run
from tests.shedding.rows_in_memory import HOUR, make_rows

COUNT = [{"name": "n", "agg": "count"}]


def unaudited(query, hours):
    from shedding.planning.audit_plan import AuditPlan

    plan = AuditPlan(length=HOUR, one_in=query.audit.one_in, salt=query.name, first=0)
    return next(h * HOUR for h in hours if not plan.is_audited(h * HOUR))


@pytest.mark.parametrize("policy", ["optimal", "posterior"])
@pytest.mark.parametrize("estimates", ["shrunk", "plain"])
def test_counts_are_exact_without_a_scan_of_their_slot(settings, policy, estimates):
    query = make_query(
        measures=COUNT, estimates=estimates, shed={"policy": policy, "budget": {"fraction": 0.2}}, audit={"one_in": 5}
    )
    slot, rows = unaudited(query, range(6, 12)), make_rows()
    found, _ = run(settings, query, [slot], rows)
    for start, group in found.groupby("window_start"):
        begin = int(start.value // 1000)
        counts = rows[(rows.time >= begin) & (rows.time < begin + HOUR)].groupby("key").size()
        assert dict(zip(group.key, group.n, strict=True)) == counts.to_dict()
    assert found.is_exact.all()
    assert not found.is_imputed.any()
    assert (found.n_low == found.n).all()
    told = Table(settings.table("runs", "q")).read().to_pandas()
    assert (told.processed_rows == 0).all()
    assert told.reason.str.contains("counts of arrival").all()


def test_where_nobody_counted_the_rows_are_sampled(settings):
    query = make_query(measures=COUNT, audit={"one_in": 5})
    found, scans = run(settings, query, [unaudited(query, range(6, 12))], known=False)
    assert scans.calls > 0
    assert (found.sampled_rows > 0).any()


def test_a_count_of_joined_rows_is_the_product_of_the_counts(settings):
    query = make_join(one_in=5)
    query = query.model_copy(update={"measures": query.measures[:1]})
    left, right = both_sides()
    slot = unaudited(query, range(2, 6))
    found = run_join(settings, query, [slot], left, right).set_index("key")
    assert found.pairs.to_dict() == joined(left, right, slot, slot + HOUR).pairs.to_dict()
    assert found.is_exact.all()
    told = Table(settings.table("runs", "j")).read().to_pandas()
    assert (told.processed_rows == 0).all()

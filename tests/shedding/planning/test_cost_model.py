"""Never slower than exact: where the model says that a sample costs more, the slot is computed exactly."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.answers.slot import answer_sides
from shedding.config import Settings
from shedding.costs import CostLine, Costs
from shedding.errors import ConfigError, DataError
from shedding.planning.cost_model import break_even, exact_instead, forecast, predicted
from shedding.planning.drift_audits import AuditPlans
from shedding.planning.fingerprints import raw_fingerprint
from shedding.spec.query import QuerySpec
from tests.shedding.rows_in_memory import HOUR, RowsScans, make_rows, side_of

DEAR_GROUPS = Costs(
    exact=CostLine(start=0, row=1e-6, kept=0, group=1e-6), plain=CostLine(start=0, row=1e-6, kept=0, group=1), worth=0
)
ROWS = make_rows(hours=6)
SLOT = 4 * HOUR


def query(**shed):
    return QuerySpec.model_validate({
        "name": "q", "dataset": "d", "window": {"size": "1 hour"}, "group_by": ["key"],
        "measures": [{"name": "mean", "agg": "avg", "column": "value"}], "schedule": {"every": "1 hour"},
        "shed": {"policy": "posterior", "budget": {"fraction": 0.1}, **shed}, "audit": {"one_in": 1000},
    })  # fmt: skip


def test_small_slots_are_sampled_as_asked_by_the_costs_that_ship():
    spec = query()
    assert not exact_instead(spec, side_of(ROWS, spec), SLOT, Costs())


def test_a_slot_of_many_keys_is_exact_by_the_costs_that_ship():
    spec = query(budget={"fraction": 0.02})
    side = side_of(ROWS, spec)
    assert predicted(spec, side, 1_000_000, 800_000, Costs()).saves(Costs())
    assert not predicted(spec, side, 100_000_000, 3_000, Costs()).saves(Costs())


def test_the_owner_may_insist_on_the_sample():
    spec = query(unless_cheaper=False)
    assert not exact_instead(spec, side_of(ROWS, spec), SLOT, DEAR_GROUPS)


def test_the_model_is_silent_where_it_cannot_tell():
    spec = query()
    assert forecast(spec, side_of(ROWS, spec, known=False), SLOT, DEAR_GROUPS) is None
    assert not exact_instead(spec, side_of(ROWS, spec, known=False), SLOT, DEAR_GROUPS)
    distinct = spec.model_copy(update={"measures": [spec.measures[0].model_copy(update={"agg": "quantile", "q": 0.9})]})
    assert forecast(distinct, side_of(ROWS, spec), SLOT, DEAR_GROUPS) is None


@given(st.floats(1e3, 1e9), st.floats(1e-9, 1e-5), st.floats(1e-9, 1e-5))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_from_the_break_even_on_exact_costs_less(rows, row, group):
    costs = Costs(
        exact=CostLine(start=0, row=2 * row, kept=0, group=group),
        plain=CostLine(start=0, row=row, kept=0, group=3 * group),
    )
    spec = query()
    side = side_of(ROWS, spec)
    pairs = break_even(spec, side, rows, costs)
    fewer, more = (predicted(spec, side, rows, int(pairs * by), costs) for by in (0.9, 1.1))
    assert fewer.shed_seconds <= fewer.exact_seconds or pairs < 10
    assert more.shed_seconds >= more.exact_seconds or pairs < 10


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """The slot by the costs that ship, by those under which exact costs less, and by `policy: exact`."""

    tmp_path = tmp_path_factory.mktemp("costs")

    def made(spec, costs, name):
        told = Settings(warehouse=str(tmp_path / name), costs=costs)
        return answer_sides(told, spec, SLOT, [side_of(ROWS, spec)], RowsScans(spec))

    exact = query(policy="exact", budget={"fraction": 1.0})
    return made(query(), Costs(), "a"), made(query(), DEAR_GROUPS, "b"), made(exact, Costs(), "c")


def test_a_slot_that_is_cheaper_exactly_is_published_exactly_and_says_why(answers):
    sampled, cheaper, exact = answers
    assert [window.leg for window in sampled.windows] == ["posterior"]
    (window,) = cheaper.windows
    assert (window.leg, window.error_kind, window.extra["published"]) == ("exact", "exact", True)
    assert "costs less" in cheaper.shared["reason"]
    assert not cheaper.audited
    assert cheaper.shared["forecast_seconds"] == cheaper.shared["forecast_exact_seconds"]
    told, wanted = window.answer, exact.windows[0].answer
    shown = told.estimates["mean"].value[told.shown], wanted.estimates["mean"].value[wanted.shown]
    assert shown[0].tolist() == shown[1].tolist()


def test_a_slot_of_more_groups_than_a_driver_takes_is_refused_before_a_row_is_read(tmp_path):
    spec = query()
    scans = RowsScans(spec)
    with pytest.raises(DataError, match="raise SLUICE_MOST_GROUPS"):
        answer_sides(Settings(warehouse=str(tmp_path), most_groups=5), spec, SLOT, [side_of(ROWS, spec)], scans)
    assert scans.calls == 0


def test_the_parts_of_a_run_are_recorded(answers):
    parts = answers[0].watch.seconds
    assert all(parts[name] > 0 for name in ("plan", "scan", "estimate", "write"))


def test_a_sample_is_stale_where_exact_has_become_the_cheaper_leg():
    spec = query()
    side = side_of(ROWS, spec)
    now, then = (
        raw_fingerprint(AuditPlans(spec, [side], costs), SLOT, "posterior") for costs in (DEAR_GROUPS, Costs())
    )
    assert now != then
    exact = {raw_fingerprint(AuditPlans(spec, [side], costs), SLOT, "exact") for costs in (DEAR_GROUPS, Costs())}
    assert len(exact) == 1


def test_costs_come_from_the_file_beside_the_queries_and_reach_child_processes(tmp_path, monkeypatch):
    monkeypatch.delenv("SLUICE_COSTS", raising=False)
    (tmp_path / "costs.json").write_text(DEAR_GROUPS.model_dump_json())
    loaded = Settings.load(specs=str(tmp_path))
    assert loaded.costs == DEAR_GROUPS
    assert json.loads(loaded.environment()["SLUICE_COSTS"]) == DEAR_GROUPS.model_dump()
    (tmp_path / "costs.json").write_text('{"exact": 3}')
    with pytest.raises(ConfigError, match="costs"):
        Settings.load(specs=str(tmp_path))

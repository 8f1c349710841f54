"""Members of a pool: the same bits alone, together and in any order, from one pass, within one budget."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shedding.answers.pool import PoolSlot
from shedding.config import Settings
from shedding.errors import DataError
from shedding.planning.audit_plan import AuditPlan
from shedding.spec.pool import Pooled
from tests.shedding.answers.pools import city_rows, make_pool, results, run_alone, run_pool
from tests.shedding.rows_in_memory import HOUR, RowsScans, side_of

SLOTS = [hour * HOUR for hour in range(5)]
PLAN = AuditPlan(HOUR, 3, "pool city", first=0)
SHED = next(slot for slot in (hour * HOUR for hour in range(3, 8)) if not PLAN.is_audited(slot))
"""A slot that has a history and no audit of its own."""
SHUFFLED = random.Random(5).sample(SLOTS, len(SLOTS))


def elsewhere(settings: Settings, tmp_path: Path, name: str) -> Settings:
    return settings.model_copy(update={"warehouse": str(tmp_path / name)})


def assert_same(found: dict[str, pd.DataFrame], others: dict[str, pd.DataFrame]) -> None:
    for name, rows in found.items():
        pd.testing.assert_frame_equal(rows, others[name], check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "known"), [("posterior", True), ("optimal", False)])
def test_alone_together_and_in_any_order_the_rows_are_the_same(
    settings: Settings, tmp_path: Path, policy: str, known: bool
) -> None:
    pool, rows = make_pool(shed={"policy": policy, "budget": {"fraction": 0.2}}), city_rows(hours=5, per_hour=120)
    here, there, apart = (elsewhere(settings, tmp_path, name) for name in ("here", "there", "apart"))
    run_pool(here, pool, SLOTS, rows, known)
    run_pool(there, pool, SHUFFLED, rows, known)
    for query in pool.queries()[::-1]:
        run_alone(apart, query, SHUFFLED, rows, known)
    together = results(here, pool)
    assert_same(together, results(there, pool))
    assert_same(together, results(apart, pool))


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, Pooled, pd.DataFrame]:
    """A pool whose first slots were run."""
    place = tmp_path_factory.mktemp("pool")
    (place / "landing").mkdir()
    settings = Settings(warehouse=str(place / "warehouse"), landing=place / "landing", docs=place / "docs")
    shed = {"policy": "optimal", "budget": {"fraction": 0.2}, "spot_check": 0}
    pool, rows = make_pool(shed=shed), city_rows(per_hour=3000)
    run_pool(settings, pool, list(range(0, SHED, HOUR)), rows)
    return settings, pool, rows


def test_a_shed_slot_is_one_scan_and_its_union_keeps_the_budget(
    ran: tuple[Settings, Pooled, pd.DataFrame],
) -> None:
    settings, pool, rows = ran
    assert run_pool(settings, pool, [SHED], rows) == 1
    runs = results(settings, pool, "runs")
    last = {name: one[one.slot == one.slot.max()].iloc[0] for name, one in runs.items()}
    unions = {one.union_rows for one in last.values()}
    assert len(unions) == 1
    budget = last["by_key"].budget_rows
    assert budget == pytest.approx(0.2 * last["by_key"].slot_rows)
    assert unions.pop() == pytest.approx(budget, rel=0.1)  # 600 rows: four deviations
    assert all(one.processed_rows < one.union_rows for one in last.values())
    assert sum(one.charged_rows for one in last.values()) == pytest.approx(budget, rel=0.02)


def test_members_are_audited_together(ran: tuple[Settings, Pooled, pd.DataFrame]) -> None:
    settings, pool, _ = ran
    runs = results(settings, pool, "runs")
    audited = [set(one[one.audited].slot) for one in runs.values()]
    assert audited[0] == audited[1] == audited[2]


class Broken(RowsScans):
    """Scans that fail for one member, in the shared pass and alone."""

    def __init__(self, query, name: str) -> None:  # type: ignore[no-untyped-def]
        super().__init__(query)
        self.name = name

    def of(self, query):  # type: ignore[no-untyped-def]
        return Broken(query, self.name)

    def panes(self, side, measures, stretches, legs, exact):  # type: ignore[no-untyped-def]
        if self.query.name == self.name and not exact:
            raise DataError("a value that no measure can hold")
        return super().panes(side, measures, stretches, legs, exact)

    def together(self, asks):  # type: ignore[no-untyped-def]
        if any(ask.query.name == self.name for ask in asks):
            raise DataError("a value that no measure can hold")
        return super().together(asks)


def test_a_member_that_fails_leaves_the_others_with_the_same_bits(
    ran: tuple[Settings, Pooled, pd.DataFrame], tmp_path: Path
) -> None:
    settings, pool, rows = ran
    slot, first = SHED, pool.queries()[0]
    here, there = (elsewhere(settings, tmp_path, name) for name in ("whole", "broken"))
    run_pool(here, pool, [slot], rows)
    work = PoolSlot(there, pool, slot, side_of(rows, first), Broken(first, "by_zone"))  # type: ignore[arg-type]
    work.fetch()
    for name in ("by_cab", "by_key"):
        work.answer(name).write(there, "run", 0.0)
    with pytest.raises(DataError):
        work.answer("by_zone")
    whole = results(here, pool)
    for name in ("by_cab", "by_key"):
        members = tuple(one for one in pool.members if one.name == name)
        assert_same(results(there, Pooled(pool.spec, members)), {name: whole[name]})


def test_a_heavier_member_has_the_smaller_errors(settings: Settings) -> None:
    rows = city_rows(per_hour=800)
    means = []
    for weight in (1, 16):
        own = {"group_by": ["cab"], "window": {"size": "1 hour"}, "shed": {"weight": weight}}
        other = {"group_by": ["key"], "window": {"size": "1 hour"}}
        shed = {"policy": "optimal", "budget": {"fraction": 0.1}, "spot_check": 0}
        pool = make_pool({"heavy": own, "light": other}, shed=shed, fairness={"at_least_alone": False})
        first = pool.queries()[0]
        work = PoolSlot(settings, pool, 6 * HOUR, side_of(rows, first), RowsScans(first))  # type: ignore[arg-type]
        assert work.budget is not None
        parts = [work.budget.part(6 * HOUR, "optimal", name).allocation for name in ("heavy", "light")]
        means.append([float(np.mean(part.total_error)) for part in parts])
    assert means[1][0] < 0.95 * means[0][0]
    assert means[1][1] > 1.5 * means[0][1]

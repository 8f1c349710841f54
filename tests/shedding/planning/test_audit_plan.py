"""Laws of the audit plan: a function of event time and the specification alone."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.planning.audit_plan import PRIOR_SLOTS, SEASONS, AuditPlan

LAWS = settings(max_examples=150, deadline=None, derandomize=True)
HOUR = 3_600_000_000

plans = st.builds(AuditPlan, length=st.just(HOUR), one_in=st.integers(1, 12), salt=st.text(max_size=8))
indexes = st.integers(-500, 500)


@LAWS
@given(plans, indexes)
def test_exactly_one_slot_of_each_block_is_audited(plan: AuditPlan, block: int) -> None:
    slots = [(block * plan.one_in + place) * HOUR for place in range(plan.one_in)]
    assert sum(plan.is_audited(slot) for slot in slots) == 1


@LAWS
@given(plans, indexes)
def test_the_first_two_slots_and_extra_slots_are_always_audited(plan: AuditPlan, index: int) -> None:
    slot = index * HOUR
    assert replace(plan, first=slot).is_audited(slot)
    assert replace(plan, first=slot).is_audited(slot + HOUR)
    assert replace(plan, extra=frozenset({slot})).is_audited(slot)


@LAWS
@given(plans, indexes)
def test_extra_audits_take_none_away(plan: AuditPlan, index: int) -> None:
    more = replace(plan, extra=frozenset({index * HOUR}))
    around = [(index + i) * HOUR for i in range(-15, 16)]
    assert all(more.is_audited(slot) for slot in around if plan.is_audited(slot))


@LAWS
@given(plans, indexes, st.integers(1, 6))
def test_priors_are_the_last_audited_slots_before_newest_first(plan: AuditPlan, index: int, count: int) -> None:
    slot = index * HOUR
    found = plan.priors(slot, count)
    assert len(found) == count
    assert found == sorted(found, reverse=True)
    assert all(prior < slot and plan.is_audited(prior) for prior in found)
    between = range(found[-1], slot, HOUR)
    assert [s for s in between if plan.is_audited(s)] == found[::-1]  # none was passed over


@LAWS
@given(plans, indexes)
def test_priors_lie_in_a_bounded_stretch_of_time(plan: AuditPlan, index: int) -> None:
    slot = index * HOUR
    assert min(plan.priors(slot)) >= slot - (PRIOR_SLOTS + 1) * plan.one_in * HOUR


@LAWS
@given(plans, indexes, st.integers(0, 30))
def test_no_prior_lies_before_the_first_slot(plan: AuditPlan, index: int, later: int) -> None:
    first = index * HOUR
    found = replace(plan, first=first).priors(first + later * HOUR)
    assert all(prior >= first for prior in found)
    assert (found == []) is (later == 0)  # the first slot is audited, so each later one has a prior


def test_with_one_in_one_the_prior_is_the_slot_before() -> None:
    assert AuditPlan(length=HOUR, one_in=1, salt="q").priors(10 * HOUR, 2) == [9 * HOUR, 8 * HOUR]


def test_queries_are_audited_at_different_slots() -> None:
    places = {
        next(i for i in range(50) if AuditPlan(length=HOUR, one_in=50, salt=f"query_{q}").is_audited(i * HOUR))
        for q in range(20)
    }
    assert len(places) > 10


@LAWS
@given(plans, indexes, st.sampled_from([6, 24]))
def test_with_a_season_a_slot_learns_from_the_newest_audit_and_from_those_of_the_nearest_phase(
    plan: AuditPlan, index: int, hours: int
) -> None:
    slot, season = index * HOUR, hours * HOUR
    found = replace(plan, season=season).priors(slot)
    before = [slot - i * HOUR for i in range(1, SEASONS * hours + 1) if plan.is_audited(slot - i * HOUR)]
    assert found == sorted(found, reverse=True)
    assert len(found) == PRIOR_SLOTS
    if len(before) >= PRIOR_SLOTS:

        def apart(audit: int) -> int:
            return min((slot - audit) % season, (audit - slot) % season)

        assert found[0] == before[0]
        assert sorted(map(apart, found[1:])) == sorted(map(apart, before[1:]))[: PRIOR_SLOTS - 1]


@LAWS
@given(plans, indexes)
def test_a_season_looks_no_further_back_than_it_must(plan: AuditPlan, index: int) -> None:
    slot = index * HOUR
    found = replace(plan, season=24 * HOUR, first=slot - 400 * HOUR).priors(slot)
    assert all(prior >= slot - SEASONS * 24 * HOUR for prior in found) or plan.one_in * HOUR * 4 > SEASONS * 24 * HOUR

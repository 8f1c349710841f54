"""The law: no key that the slot's concept, its sample or the last J audits know is missing from the answer."""

import itertools

import pytest

from shedding.planning.drift_audits import audit_plan
from shedding.spec.timeline import slot_name
from shedding.tables import Table
from tests.shedding.answers.test_slot import POLICIES, make_query, run
from tests.shedding.rows_in_memory import HOUR, make_rows, side_of

pytestmark = pytest.mark.slow

WINDOWS = {
    "tumbling": {"size": "1 hour"},
    "sliding": {"size": "1 hour", "slide": "30 minutes"},
    "longer than a slot": {"size": "3 hours", "slide": "1 hour"},
    "with gaps": {"size": "15 minutes", "slide": "30 minutes"},
}
SLOT = 8 * HOUR
MEASURES = [{"name": "mean", "agg": "avg", "column": "value"}, {"name": "n", "agg": "count"}]


def every_policy(**changes):
    """An audited slot answers all policies at once: the default and, beside it, the others."""
    others = [policy for policy in POLICIES if policy != "posterior"]
    shed = {"policy": "posterior", "compare": others, "budget": {"fraction": 0.05}}
    return make_query(**{"audit": {"one_in": 1}, "shed": shed, **changes})


def keys_between(rows, start, end):
    return set(rows[(rows.time >= start) & (rows.time < end)].key)


def by_window(found, policy):
    mine = found[found.leg == policy]
    return {int(start.value // 1000): group for start, group in mine.groupby("window_start")}


@pytest.mark.parametrize("window", WINDOWS)
def test_with_counts_every_policy_answers_every_key_of_every_window(settings, window):
    query, rows = every_policy(window=WINDOWS[window]), make_rows(per_hour=300)
    found, _ = run(settings, query, [SLOT], rows)
    for policy, (start, end) in itertools.product(POLICIES, query.timeline.windows(SLOT)):
        answer = by_window(found, policy)[start]
        assert set(answer.key) == keys_between(rows, start, end), (policy, start)
        assert answer[["mean", "mean_low", "mean_high"]].notna().all(axis=None)
    runs = Table(settings.table("runs", "q")).read().to_pandas()
    assert (runs.missing_keys == 0).all()


def test_a_value_that_nothing_can_tell_does_not_hide_the_others_of_its_key(settings):
    ratio = {"name": "per_toll", "agg": "ratio", "column": "value", "over": "other"}
    query, rows = every_policy(measures=[*MEASURES, ratio]), make_rows(per_hour=300)
    rows["other"] = 0.0
    found, _ = run(settings, query, [SLOT], rows)
    for policy, (start, end) in itertools.product(POLICIES, query.timeline.windows(SLOT)):
        answer = by_window(found, policy)[start]
        assert set(answer.key) == keys_between(rows, start, end), (policy, start)
        assert answer[["mean", "n"]].notna().all(axis=None)
        assert answer.per_toll.isna().all()
    runs = Table(settings.table("runs", "q")).read().to_pandas()
    assert (runs.missing_keys == 0).all()  # the exact answer has no such ratio either


@pytest.mark.parametrize("window", WINDOWS)
def test_without_counts_every_key_of_the_audits_and_of_the_sample_is_answered(settings, window):
    query, rows = every_policy(window=WINDOWS[window]), make_rows(per_hour=300)
    found, _ = run(settings, query, [SLOT], rows, known=False)
    side = side_of(rows, query, known=False)
    audits = audit_plan(query, [side], SLOT).priors(SLOT)
    assert len(audits) == 3
    inside = side_rows(query, rows)
    known = set().union(*(keys_between(inside, audit, audit + HOUR) for audit in audits))
    panes = Table(settings.table("panes", "q")).read().to_pandas()
    for policy, (start, end) in itertools.product(POLICIES, query.timeline.windows(SLOT)):
        answer = by_window(found, policy)[start]
        begun = panes.pane_start.astype("datetime64[us, UTC]").astype("int64")
        mine = panes[(panes.leg == policy) & (begun >= start) & (begun < end)]
        sampled = set(mine[mine.sampled > 0].key)
        left_out = (known | sampled) - set(answer.key)  # only what was kept whole and had no row: it is not there
        reached = [slot_name(slot) for slot in query.timeline.slots_needed(SLOT)]
        own = (panes.leg == policy) & panes.slot.isin(reached)
        rates = panes[own & panes.key.isin(left_out)].rate
        assert not left_out & keys_between(inside, start, end), (policy, start)
        assert (rates == 1).all(), (policy, start)
        assert answer[["mean", "n"]].notna().all(axis=None)


def side_rows(query, rows):
    timeline = query.timeline
    return rows if timeline.size >= timeline.slide else rows[rows.time % timeline.slide < timeline.size]


@pytest.mark.parametrize("known", [True, False])
def test_a_scalar_query_is_answered_in_every_window_by_every_policy(settings, known):
    query = every_policy(group_by=[])
    found, _ = run(settings, query, [SLOT], make_rows(per_hour=300), known=known)
    for policy in POLICIES:
        assert {start: len(group) for start, group in by_window(found, policy).items()} == {
            start: 1 for start, _ in query.timeline.windows(SLOT)
        }


def test_the_top_n_are_n_keys_as_long_as_the_window_has_so_many(settings):
    query, rows = every_policy(top={"by": "mean", "n": 5}), make_rows(per_hour=300)
    found, _ = run(settings, query, [SLOT], rows)
    for start, end in query.timeline.windows(SLOT):
        assert len(by_window(found, "posterior")[start]) == min(5, len(keys_between(rows, start, end)))
        assert set(by_window(found, "uniform")[start].key) == keys_between(rows, start, end)


def test_a_key_that_only_the_audits_know_is_answered_without_counts_and_is_imputed(settings):
    query, rows = every_policy(window=WINDOWS["tumbling"]), make_rows(per_hour=300)
    rows.loc[(rows.key == "k000") & (rows.time >= SLOT), "key"] = "k001"
    found, _ = run(settings, query, [SLOT], rows, known=False)
    gone = found[(found.key == "k000") & (found.leg != "exact")]
    assert set(gone.leg) == set(POLICIES)
    assert gone.is_imputed.all()


@pytest.mark.parametrize("policy", POLICIES)
def test_required_completeness_samples_every_key_and_says_by_how_much_it_exceeds(settings, policy):
    shed = {"policy": policy, "budget": {"rows": 12}, "completeness": "required"}
    query = make_query(audit={"one_in": 3}, window=WINDOWS["tumbling"], shed=shed)
    found, _ = run(settings, query, [SLOT])
    runs = Table(settings.table("runs", "q")).read().to_pandas()
    mine = runs[runs.leg == policy]
    assert (mine.budget_rows == 12).all()
    assert (mine.exceeded_by > 0).all()
    expected = mine.budget_rows + mine.exceeded_by
    assert ((mine.processed_rows - expected).abs() <= 3 * expected**0.5).all()
    assert (found[found.leg == policy].sampled_rows > 0).all()


@pytest.mark.parametrize("budget", [{"rows": 40}, {"fraction": 0.1}])
def test_best_effort_keeps_the_budget_and_what_was_read_is_written_down(settings, budget):
    others = [policy for policy in POLICIES if policy != "posterior"]
    query = make_query(audit={"one_in": 1}, shed={"policy": "posterior", "compare": others, "budget": budget})
    rows, slots = make_rows(), [h * HOUR for h in range(3, 9)]
    run(settings, query, slots, rows)
    runs = Table(settings.table("runs", "q")).read().to_pandas()
    for policy in POLICIES:
        mine = runs[runs.leg == policy].drop_duplicates("slot")
        assert (mine.exceeded_by == 0).all()
        total = mine.budget_rows.sum()
        assert total == pytest.approx(
            6 * 40 if "rows" in budget else 0.1 * len(rows[rows.time.between(3 * HOUR, 9 * HOUR - 1)])
        )
        assert abs(mine.processed_rows.sum() - total) <= 3 * total**0.5, policy
    read = runs.drop_duplicates("slot").set_index("slot")
    assert (read.rows_read > 0).all()
    assert (read.bytes_read == 8 * read.rows_read).all()
    exact = runs[runs.leg == "exact"].drop_duplicates("slot")
    assert (exact.processed_fraction == 1).all()


def with_idle_key(**changes):
    """A ratio whose denominator is 0 in most rows of key k000, so that samples of it see nothing else."""
    rows = make_rows(per_hour=300)
    mine = rows.key == "k000"
    rows.loc[mine, "other"] = (rows.u[mine] > 0.97) * 1.0  # what a sample keeps has a small u
    measures = [{"name": "share", "agg": "ratio", "column": "value", "over": "other"}, {"name": "n", "agg": "count"}]
    return every_policy(window=WINDOWS["tumbling"], measures=measures, **changes), rows


@pytest.mark.parametrize("known", [True, False])
def test_a_ratio_whose_sampled_denominator_is_zero_takes_the_value_of_all_keys(settings, known):
    query, rows = with_idle_key()
    found, _ = run(settings, query, [SLOT], rows, known=known)
    idle = found[(found.key == "k000") & (found.leg != "exact")]
    assert set(idle.leg) == set(POLICIES)
    assert idle[["share", "share_low", "share_high"]].notna().all(axis=None)


@pytest.mark.parametrize("known", [True, False])
def test_without_history_such_a_key_is_shown_as_null_and_counts_as_missing(settings, known):
    query, rows = with_idle_key(estimates="plain")
    found, _ = run(settings, query, [SLOT], rows, known=known)
    idle = found[(found.key == "k000") & (found.leg == "uniform")]
    assert len(idle) == 1
    assert idle[["share", "share_low", "share_high"]].isna().all(axis=None)
    assert idle[["share_error", "error_kind"]].to_numpy().tolist() == [[1.0, "measured"]]
    assert idle.n.notna().all()
    runs = Table(settings.table("runs", "q")).read().to_pandas()
    assert (runs[runs.leg == "uniform"].missing_keys >= 1).all()
    assert (runs[runs.leg == "exact"].missing_keys == 0).all()


def test_a_ratio_that_has_no_value_is_null_in_every_leg_that_read_all_its_rows(settings):
    query, rows = with_idle_key(shed={"policy": "uniform", "budget": {"fraction": 1.0}})
    rows.loc[rows.key == "k000", "other"] = 0.0
    found, _ = run(settings, query, [SLOT], rows)
    idle = found[found.key == "k000"]
    assert set(idle.leg) == {"exact", "uniform"}
    assert idle.is_exact.all()
    assert idle.share.isna().all()
    assert (idle.share_error == 0).all()
    runs = Table(settings.table("runs", "q")).read().to_pandas()
    assert (runs.missing_keys == 0).all()

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from shedding.answers.join import measures_by_side
from shedding.answers.slot import answer_sides
from shedding.answers.window import shed_window
from shedding.errors import NotReadyError
from shedding.estimates.moments import Moments
from shedding.keys import Keys
from shedding.panes.states import WindowStat
from shedding.panes.windows import WindowSample
from shedding.spec.query import QuerySpec
from shedding.tables import Table
from tests.shedding.rows_in_memory import HOUR, RowsScans, joined_sides, make_rows

pytestmark = pytest.mark.slow


def make_join(policy="cod", one_in=1, fraction=0.3, window=None):
    return QuerySpec.model_validate({
        "name": "j", "dataset": "left", "join": {"dataset": "right", "on": ["key"]}, "group_by": ["key"],
        "window": window or {"size": "1 hour"}, "schedule": {"every": "1 hour"}, "audit": {"one_in": one_in},
        "measures": [
            {"name": "pairs", "agg": "count"}, {"name": "total", "agg": "sum", "column": "value"},
            {"name": "middle", "agg": "avg", "column": "weight"},
        ],
        "shed": {"policy": policy, "budget": {"fraction": fraction}},
    })  # fmt: skip


def both_sides(seed=1):
    left = make_rows(hours=6, per_hour=600, seed=seed)
    right = make_rows(hours=6, per_hour=300, keys=30, seed=seed + 50).rename(columns={"value": "weight"})
    right = right.drop(columns="other")
    right.loc[right.key == "k002", "key"] = "only-right"
    return left, right


def run(settings, query, slots, left, right, known=True):
    scans = RowsScans(query)
    for slot in slots:
        sides = joined_sides(left, right, query, known=known)
        answer_sides(settings, query, slot, sides, scans).write(settings, "run", 0.0)
    return Table(settings.table("results", "j")).read().to_pandas().sort_values(["leg", "window_start", "key"])


def joined(left, right, start, end):
    a = left[(left.time >= start) & (left.time < end)]
    b = right[(right.time >= start) & (right.time < end)]
    rows = a.merge(b, on="key", suffixes=("", "_right"))
    return rows.groupby("key").agg(pairs=("key", "size"), total=("value", "sum"), middle=("weight", "mean"))


@pytest.mark.parametrize("window", [{"size": "1 hour"}, {"size": "2 hours", "slide": "1 hour"}])
def test_the_exact_leg_is_the_real_join(settings, window):
    query = make_join(window=window)
    left, right = both_sides()
    found = run(settings, query, [4 * HOUR], left, right)
    exact = found[found.leg == "exact"].set_index("key")
    truth = joined(left, right, 5 * HOUR - query.timeline.size, 5 * HOUR)
    assert set(exact.index) == set(truth.index)
    for column in ("pairs", "total", "middle"):
        np.testing.assert_allclose(exact[column].loc[truth.index], truth[column], rtol=1e-12)


def test_counts_of_pairs_are_exact_and_no_joined_key_is_missing(settings):
    left, right = both_sides()
    found = run(settings, make_join(), [3 * HOUR], left, right)
    shed = found[found.leg == "cod"].set_index("key")
    truth = joined(left, right, 3 * HOUR, 4 * HOUR)
    assert set(shed.index) == set(truth.index)
    assert (shed.pairs.loc[truth.index] == truth.pairs).all()
    assert (shed.pairs_low == shed.pairs_high).all()
    assert ((shed.total_low <= shed.total) & (shed.total <= shed.total_high)).all()


KEYS = Keys(("key",), (pa.array([f"k{i}" for i in range(4)]),), 4)
RATES = {"left": (0.5, 0.25), "right": (0.3, 0.7)}


def drawn(rng, frame, rates, name, column):
    """A window's sample of one side: two slots as strata, each with its own rate, drawn anew."""
    parts = []
    for slot, rate in enumerate(rates):
        rows = frame[frame.slot == slot]
        kept = rows[rng.random(len(rows)) < rate]
        valued = kept[kept[column].notna()]
        counts = [np.bincount(part.code, minlength=4) for part in (rows, rows[rows[column].notna()], kept)]
        parts.append((*counts, Moments.grouped(valued[column], valued.code, 4)))
    population, values, sampled = (np.stack([part[i] for part in parts]).astype(float) for i in range(3))
    moments = Moments(*(np.stack([getattr(part[3], x) for part in parts]) for x in ("count", "mean", "m2")))
    rate = np.repeat(np.array(rates)[:, None], 4, axis=1)
    return WindowSample(0, 2 * HOUR, KEYS, True, population, sampled, rate, {name: WindowStat(values, moments)})


@pytest.fixture(scope="module")
def repeated():
    """Plain answers for 1,500 draws of a window of two slots; a third of the right side's values are null."""
    rng = np.random.default_rng(11)
    frames = []
    for column, sizes in (("value", (40, 60, 90, 120)), ("weight", (50, 70, 80, 110))):
        code = np.repeat(np.arange(4), sizes)
        value = 20.0 + 5 * code + rng.normal(0, 4, len(code))
        frames.append(pd.DataFrame({"slot": rng.integers(0, 2, len(code)), "code": code, column: value}))
    left, right = frames
    right.loc[right.index % 3 == 0, "weight"] = np.nan
    query = make_join()
    by_side = measures_by_side(query, ["key", "value"])
    answers = []
    for _ in range(1500):
        samples = [
            drawn(rng, left, RATES["left"], "total", "value"), drawn(rng, right, RATES["right"], "middle", "weight")
        ]  # fmt: skip
        answers.append(shed_window(query, by_side, samples, None))
    times = [frame.assign(key=frame.code, time=0) for frame in (left, right)]
    return joined(*times, 0, HOUR), answers


@pytest.mark.parametrize("measure", ["total", "middle"])
def test_over_joined_rows_sums_and_means_are_not_biased_at_any_rates(repeated, measure):
    truth, answers = repeated
    values = np.array([answer.estimates[measure].value for answer in answers])
    error = values.mean(axis=0) - truth[measure].to_numpy()
    assert np.all(np.abs(error) < 4 * values.std(axis=0) / np.sqrt(len(values)))


@pytest.mark.parametrize("measure", ["total", "middle"])
def test_the_intervals_of_joined_rows_hold_what_they_say_for_even_values(repeated, measure):
    truth, answers = repeated
    exact = truth[measure].to_numpy()
    held = [(a.estimates[measure].low <= exact) & (exact <= a.estimates[measure].high) for a in answers]
    assert 0.935 <= np.mean(held) <= 0.965


def test_counts_of_joined_rows_do_not_depend_on_the_sample(repeated):
    truth, answers = repeated
    assert all((answer.estimates["pairs"].value == truth.pairs.to_numpy()).all() for answer in answers)


def test_a_null_key_joins_nothing_and_costs_nothing(settings):
    left, right = both_sides()
    for frame in (left, right):
        frame.loc[frame.key == "k001", "key"] = None
    found = run(settings, make_join(), [3 * HOUR], left, right)
    assert found.key.notna().all()
    panes = Table(settings.table("panes", "j")).read().to_pandas()
    nulls = panes[panes.key.isna() & panes.leg.str.startswith("cod")]
    assert len(nulls)
    assert (nulls.sampled == 0).all()


def test_a_side_that_no_measure_reads_is_not_sampled(settings):
    query = make_join(one_in=100)
    query = query.model_copy(update={"measures": query.measures[:2]})
    left, right = both_sides()
    found = run(settings, query, [4 * HOUR], left, right)
    shed = found[found.leg == "cod"].set_index("key")
    truth = joined(left, right, 4 * HOUR, 5 * HOUR)
    assert (shed.pairs.loc[truth.index] == truth.pairs).all()
    panes = Table(settings.table("panes", "j")).read().to_pandas()
    assert (panes[panes.leg == "cod.right"].sampled == 0).all()
    runs = Table(settings.table("runs", "j")).read().to_pandas()
    assert runs.processed_rows.sum() == pytest.approx(runs.budget_rows.sum(), rel=0.2)


def test_joined_keys_without_a_sampled_row_are_told_from_their_own_history(settings):
    query = make_join(policy="uniform", one_in=1, fraction=0.04)
    left, right = both_sides()
    found = run(settings, query, [h * HOUR for h in range(2, 6)], left, right)
    exact = found[found.leg == "exact"].set_index(["window_start", "key"])
    shed = found[found.leg == "uniform"].set_index(["window_start", "key"])
    guessed = shed[shed.is_imputed]
    assert len(guessed) > 20
    truth = exact.loc[guessed.index]
    error = (guessed.middle / truth.middle - 1).abs().mean()
    assert error < 0.8 * (shed.middle.mean() / truth.middle - 1).abs().mean()
    runs = Table(settings.table("runs", "j")).read().to_pandas()
    assert runs.prior_slots.map(len).max() == 3


def test_rows_of_the_other_side_that_came_late_change_the_rates_of_both(settings):
    query, slot = make_join(one_in=100), 4 * HOUR
    left, right = both_sides()
    run(settings, query, [slot], left, right)
    more = right[(right.time >= slot) & (right.time < slot + HOUR)].assign(u=0.5, key="k000")
    late = pd.concat([right, more], ignore_index=True)
    again = run(settings, query, [slot], left, late)
    there = settings.model_copy(update={"warehouse": str(settings.landing.parent / "fresh")})
    pd.testing.assert_frame_equal(again, run(there, query, [slot], left, late), check_exact=True)


def test_the_budget_covers_both_sides_and_lonely_keys_cost_nothing(settings):
    left, right = both_sides()
    run(settings, make_join(), [h * HOUR for h in range(1, 6)], left, right)
    runs = Table(settings.table("runs", "j")).read().to_pandas()
    mine = runs[runs.leg == "cod"]
    assert abs(mine.processed_rows.sum() - mine.budget_rows.sum()) <= 3 * np.sqrt(mine.budget_rows.sum())
    panes = Table(settings.table("panes", "j")).read().to_pandas()
    lonely = panes[(panes.leg == "cod.right") & (panes.key == "only-right")]
    assert len(lonely)
    assert (lonely.sampled == 0).all()


def test_a_join_waits_for_counts_of_both_sides(settings):
    with pytest.raises(NotReadyError, match="sluice ingest left"):
        run(settings, make_join(), [HOUR], *both_sides(), known=False)


def test_a_join_gives_the_same_rows_in_any_order(settings, tmp_path):
    left, right = both_sides()
    query = make_join(one_in=2)
    slots = [h * HOUR for h in range(6)]
    forwards = run(settings, query, slots, left, right)
    there = settings.model_copy(update={"warehouse": str(tmp_path / "backwards")})
    backwards = run(there, query, slots[::-1], left, right)
    pd.testing.assert_frame_equal(
        forwards.sort_values(["slot", "leg", "key"]).reset_index(drop=True),
        backwards.sort_values(["slot", "leg", "key"]).reset_index(drop=True),
        check_exact=True,
    )

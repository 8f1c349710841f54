"""`sluice compare`'s experiment: its laws on made rows, and the floors on the real slices (without a JVM)."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shedding.compare.comparison import compare
from shedding.compare.experiment import Leg
from shedding.planning.drift_audits import audit_plan
from shedding.policies import POLICIES
from shedding.spec import load_catalog
from tests.shedding.answers.test_join import both_sides, make_join
from tests.shedding.answers.test_slot import make_query
from tests.shedding.rows_in_memory import HOUR, RowsScans, joined_sides, make_rows, side_of

ROOT = Path(__file__).resolve().parents[3]
BASELINES = ["uniform", "proportional", "oracle"]


def experiment(query, rows, legs, estimates, right=None):
    sides = [side_of(rows, query)] if right is None else joined_sides(rows, right, query)
    length = query.timeline.slot
    slots = sorted({int(slot) * length for slot in np.unique(rows.time // length)})
    lines = compare(query, sides, audit_plan(query, sides, slots[-1]), RowsScans(query), slots, legs, estimates)
    return {(line["policy"], line["budget"], line["estimates"], line["measure"]): line for line in lines}


@pytest.mark.slow
def test_more_rows_give_smaller_errors_and_the_fraction_is_the_measured_one():
    query = make_query(audit={"one_in": 2})
    legs = [Leg(policy, fraction) for policy in ("uniform", "posterior") for fraction in (0.05, 0.4)]
    lines = experiment(query, make_rows(per_hour=1000), legs, ["plain", "shrunk"])
    for policy in ("uniform", "posterior"):
        for kind in ("plain", "shrunk"):
            few, many = (lines[policy, fraction, kind, "mean"] for fraction in (0.05, 0.4))
            assert many["mean_error"] < few["mean_error"]
            assert few["processed_fraction"] == pytest.approx(0.05, rel=0.15)
            assert many["total_fraction"] > many["processed_fraction"]
        assert lines[policy, 0.05, "shrunk", "mean"]["missing_keys"] == 0
        assert lines[policy, 0.05, "shrunk", "n"]["mean_error"] == 0


@pytest.mark.slow
def test_ratios_and_quantiles_of_keys_that_a_few_others_tell_are_covered():
    ratio = {"name": "unit", "agg": "ratio", "column": "value", "over": "other"}
    median = {"name": "half", "agg": "quantile", "q": 0.5, "column": "value"}
    query = make_query(measures=[ratio, median], window={"size": "1 hour"}, audit={"one_in": 1})
    found = [
        experiment(query, make_rows(hours=6, per_hour=300, seed=seed), [Leg("posterior", 0.01)], ["shrunk"])
        for seed in range(1, 6)
    ]
    for measure in ("unit", "half"):
        lines = [lines["posterior", 0.01, "shrunk", measure] for lines in found]
        assert all(line["imputed_keys"] > 100 for line in lines)
        assert np.mean([line["coverage"] for line in lines]) >= 0.9


def test_legs_named_twice_count_once_and_near_budgets_are_two_legs():
    query, rows = make_query(audit={"one_in": 2}), make_rows()
    once = experiment(query, rows, [Leg("uniform", 0.05)], ["plain"])
    near = Leg("uniform", 0.050000001)
    lines = experiment(query, rows, [Leg("uniform", 0.05), Leg("uniform", 0.05), near], ["plain", "plain"])
    assert {line[1] for line in lines} == {0.05, near.fraction}
    for budget in (0.05, near.fraction):
        line, alone = (found["uniform", at, "plain", "mean"] for found, at in ((lines, budget), (once, 0.05)))
        assert (line["windows"], line["missing_keys"]) == (alone["windows"], alone["missing_keys"])


def test_a_query_without_keys_is_compared_also_where_its_windows_reach_into_a_slot_without_rows():
    lines = experiment(make_query(group_by=[]), make_rows(), [Leg("optimal", 0.1), Leg("oracle", 1.0)], ["plain"])
    assert lines["optimal", 0.1, "plain", "mean"]["processed_fraction"] == pytest.approx(0.1, rel=0.1)
    assert lines["oracle", 1.0, "plain", "mean"]["mean_error"] == pytest.approx(0, abs=1e-12)


def test_everything_sampled_is_exact():
    lines = experiment(make_query(), make_rows(), [Leg("uniform", 1.0)], ["plain"])
    assert lines["uniform", 1.0, "plain", "mean"]["mean_error"] == pytest.approx(0, abs=1e-12)
    assert lines["uniform", 1.0, "plain", "mean"]["missing_keys"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("window", [{"size": "1 hour"}, {"size": "2 hours", "slide": "1 hour"}])
def test_a_join_is_compared_by_every_policy_and_its_rows_are_those_of_both_sides(window):
    query = make_join(one_in=2, window=window)
    left, right = both_sides()
    policies = [name for name in POLICIES if name != "exact"]
    legs = [Leg(policy, fraction) for policy in policies for fraction in (0.1, 0.4)]
    lines = experiment(query, left, legs, ["plain", "shrunk"], right)
    for policy in policies:
        for kind in ("plain", "shrunk"):
            few, many = (lines[policy, fraction, kind, "total"] for fraction in (0.1, 0.4))
            assert many["mean_error"] < few["mean_error"]
            assert few["processed_fraction"] == pytest.approx(0.1, abs=0.02)
        assert lines[policy, 0.1, "shrunk", "total"]["missing_keys"] == 0
        assert lines[policy, 0.1, "shrunk", "pairs"]["mean_error"] == 0


def test_a_join_of_all_rows_is_exact():
    left, right = both_sides()
    lines = experiment(make_join(), left, [Leg("uniform", 1.0)], ["plain"], right)
    for measure in ("pairs", "total", "middle"):
        assert lines["uniform", 1.0, "plain", measure]["mean_error"] == pytest.approx(0, abs=1e-12)
        assert lines["uniform", 1.0, "plain", measure]["missing_keys"] == 0


def green(data):
    files = sorted(data.glob("green_tripdata_*.parquet"))
    rows = pd.concat([pd.read_parquet(f)[["lpep_pickup_datetime", "PULocationID", "fare_amount"]] for f in files])
    rows = rows.rename(columns={"lpep_pickup_datetime": "at", "PULocationID": "pickup_zone"})
    return rows[rows["at"] >= "2013-08-01"]


def taxi_cells(data):
    wanted = ["pickup_datetime", "trip_time_in_secs", "pickup_longitude", "pickup_latitude"]
    rows = pd.read_parquet(next(data.glob("nyc_taxi_trips_*.parquet")), columns=wanted)
    east = np.floor((rows.pickup_longitude + 74.916578) / 0.005986) + 1
    south = np.floor((41.47718278 - rows.pickup_latitude) / 0.004491556) + 1
    inside = east.between(1, 300) & south.between(1, 300)
    cell = (east * 1000 + south)[inside].astype(int).astype(str)
    return pd.DataFrame({
        "at": pd.to_datetime(rows.pickup_datetime[inside]), "pickup_cell": cell,
        "trip_time_in_secs": rows.trip_time_in_secs[inside],
    })  # fmt: skip


def google(data):
    columns = {0: "time", 6: "user_id", 7: "scheduling_class", 9: "cpu_request"}
    files = sorted(data.glob("google2011_task_events_*.csv.gz"))
    rows = pd.concat([pd.read_csv(f, header=None, usecols=list(columns)) for f in files]).rename(columns=columns)
    rows = rows[rows.time > 0]
    rows["at"] = pd.to_datetime(rows.time + 23 * HOUR, unit="us")
    return rows.drop(columns="time")


def flights(data):
    rows = pd.read_parquet(next(data.glob("us_flights_*.parquet")))
    return pd.DataFrame({"at": rows.date, "route": rows.origin + "-" + rows.destination, "delay": rows.delay})


FLOORS = {
    "green_zone_fare": (green, "mean_fare", 0.6),
    "taxi_cell_duration": (taxi_cells, "mean_duration", 0.6),
    "google_user_class_cpu": (google, "mean_cpu", None),  # keys jump and hardly vary: plain means win
    "flights_route_delay": (flights, "mean_delay", 0.6),
}
"""query -> how its slice is read, its measure, and the share of the oracle's error that the default may have."""


@pytest.mark.data
@pytest.mark.parametrize("name", FLOORS)
def test_the_default_policy_meets_its_floors_on_the_real_slice(name, data_dir):
    read, measure, of_oracle = FLOORS[name]
    query = load_catalog(ROOT / "jobs").query(name)
    rows = read(data_dir)
    rows = rows.assign(
        time=rows["at"].astype("datetime64[us]").astype("int64"), u=np.random.default_rng(7).random(len(rows))
    )
    rows = rows.drop(columns="at").sort_values("time").reset_index(drop=True)
    plain = experiment(query, rows, [Leg(policy, 0.05) for policy in BASELINES], ["plain"])
    mine = experiment(query, rows, [Leg("posterior", 0.05)], ["shrunk"])["posterior", 0.05, "shrunk", measure]
    error = {policy: plain[policy, 0.05, "plain", measure]["mean_error"] for policy in BASELINES}
    print(f"{name}: posterior {mine['mean_error']:.4f}, coverage {mine['coverage']:.3f}, {error}")
    assert mine["processed_fraction"] <= 0.0525
    assert mine["missing_keys"] == 0
    assert mine["mean_error"] <= 0.5 * error["proportional"]
    assert mine["mean_error"] <= 0.5 * error["uniform"]
    assert of_oracle is None or mine["mean_error"] <= of_oracle * error["oracle"]
    assert 0.92 <= mine["coverage"] <= 0.98

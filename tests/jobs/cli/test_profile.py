"""`sluice profile` on a generated dataset, against pandas on the rows it made; and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from jobs.cli.application import main
from jobs.cli.profile import as_text, default_keys, default_window, figures
from shedding.compare.profile import profile
from shedding.config import Settings
from shedding.ingest.arrivals import Arrivals, Source
from shedding.spec import load_catalog
from shedding.spec.times import UNITS
from tests.chaos.city import HOUR, START, build_city

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def city(tmp_path: Path) -> Settings:
    return build_city(tmp_path)


def sluice(city: Settings, *words: str) -> int:
    return main(["--warehouse", city.warehouse, "--specs", str(city.specs), *words])


@pytest.mark.spark
def test_the_profile_of_generated_trips_is_that_of_pandas(
    spark: SparkSession, city: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from jobs.ingest import ingest

    made = ingest(spark, city, load_catalog(city.specs), "trips", interval=(START, START + 2 * HOUR))
    picture = tmp_path / "trips.png"
    assert sluice(city, "profile", "trips", "--format", "json", "--plot", str(picture)) == 0
    said = json.loads(capsys.readouterr().out)
    rows = spark.read.format("delta").load(city.table("raw", "trips")).select("pickup_datetime", "route").toPandas()
    window = rows["pickup_datetime"].dt.floor("30min")
    keys = rows.groupby(window)["route"].nunique()
    sizes = rows["route"].value_counts()
    assert said["rows"] == made.kept == len(rows)
    assert (said["by"], said["window"], said["windows"]) == (["route"], "30 minutes", 4)
    assert (said["keys"], said["keys_seen_once"]) == (len(sizes), (sizes == 1).sum())
    assert said["top_1_share"] == pytest.approx(sizes.max() / len(rows))
    assert said["per_window"]["keys"] == {"least": keys.min(), "median": keys.median(), "most": keys.max()}
    floor = (keys / window.value_counts()).max()
    assert said["per_window"]["keys_over_rows"]["most"] == pytest.approx(floor)
    assert said["late_share"] == 0.0
    assert [line["short"] for line in said["budgets"]][-1] == float(floor > 0.2)
    assert picture.read_bytes().startswith(b"\x89PNG")

    assert sluice(city, "profile", "trips", "--by", "pickup_zone,route", "--window", "1 hour") == 0
    text = capsys.readouterr().out
    assert "pickup_zone, route" in text
    assert "no sampler can show every key" in text


def test_a_dataset_without_rows_says_how_to_get_some(city: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert sluice(city, "profile", "trips") == 2
    assert "run `sluice ingest trips` first" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--by", "colour"], "has no such column; it has: pickup_datetime, route"),
        (["--by", "route,route"], "names a column twice"),
        (["--plot", "nowhere/x.png"], "its directory does not exist"),
        (["--plot", "x.txt"], "no file of a picture; name one that ends in .png, .svg, .pdf, .jpg"),
    ],
)
def test_what_cannot_be_profiled_is_refused_before_any_work(
    city: Settings, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sluice(city, "profile", "trips", *words) == 2
    assert message in capsys.readouterr().err


def test_a_wrong_window_is_explained(city: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        sluice(city, "profile", "trips", "--window", "soon")
    assert "e.g. '30 minutes'" in capsys.readouterr().err


def test_keys_and_window_are_those_of_the_first_query_else_of_the_dataset(city: Settings) -> None:
    catalog = load_catalog(city.specs)
    trips = catalog.dataset("trips")
    assert (default_keys(catalog, trips), default_window(catalog, trips)) == (["route"], 30 * UNITS["minute"])
    for query in (city.specs / "queries").iterdir():
        query.unlink()
    catalog = load_catalog(city.specs)
    assert (default_keys(catalog, trips), default_window(catalog, trips)) == ([], HOUR)


def test_one_window_has_no_drift_and_says_which_budget_is_too_small(city: Settings) -> None:
    counts = pa.table({"window_start": [0, 0], "route": ["a", "b"], "rows": [19, 1]})
    source = Source("s", "s", "s", 1, first_event=0, last_event=4_000_000)
    trips = load_catalog(city.specs).dataset("trips")
    report = figures(profile(counts, ["route"], HOUR), trips, ["route"], Arrivals(visible=(source,)))
    assert (report["rows_per_second"], report["per_window"]["overlap"]) == (5.0, None)
    lines = as_text(report).splitlines()
    assert next(line for line in lines if line.startswith("overlap")) == "overlap"
    assert next(line for line in lines if line.startswith("5%")).split() == ["5%", "100.0%", "50.0%", "33.6%"]
    assert next(line for line in lines if line.startswith("10%")).split()[:3] == ["10%", "0.0%", "100.0%"]
    assert "Below a budget of 10 % no sampler can show every key of the median window" in lines[-2]

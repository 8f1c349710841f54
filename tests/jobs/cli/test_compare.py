import argparse

import pytest

from jobs.cli import compare
from shedding.errors import SluiceError


def parse(*words):
    parser = argparse.ArgumentParser()
    compare.configure(parser.add_subparsers())
    return parser.parse_args(["compare", *words])


INTERVAL = ["--from", "2026-11-01", "--to", "2026-11-02"]


def test_budgets_that_are_no_fractions_are_refused(capsys):
    with pytest.raises(SystemExit):
        parse("taxi_route_fare", *INTERVAL, "--budgets", "0.05,2")
    assert "fractions in (0, 1]" in capsys.readouterr().err


def test_an_unknown_policy_is_named_with_those_there_are(settings):
    arguments = parse("taxi_route_fare", *INTERVAL, "--policies", "uniform,guess")
    with pytest.raises(SluiceError, match=r"no policy guess; choose from: .*posterior.*oracle"):
        arguments.run(arguments, settings)


def test_a_join_has_no_oracle_and_says_what_it_has(settings):
    arguments = parse("higgs_mentions_and_retweets", *INTERVAL, "--policies", "cod,oracle")
    with pytest.raises(SluiceError, match=r"is a join: .*choose from: cod, .*uniform$"):
        arguments.run(arguments, settings)


def test_a_join_without_rows_says_where_to_look(settings):
    arguments = parse("higgs_mentions_and_retweets", *INTERVAL, "--policies", "cod")
    with pytest.raises(SluiceError, match="sluice status"):
        arguments.run(arguments, settings)


def test_a_dataset_without_rows_says_where_to_look_before_java_starts(settings, monkeypatch):
    monkeypatch.setattr("shedding.spark.session.spark_session", lambda *_: pytest.fail("a session was started"))
    arguments = parse("taxi_route_fare", *INTERVAL)
    with pytest.raises(SluiceError, match="sluice status"):
        arguments.run(arguments, settings)


def test_a_picture_that_cannot_be_written_is_refused_before_anything_is_compared(settings, monkeypatch):
    monkeypatch.setattr(compare, "_compare", lambda *_: pytest.fail("rows were compared"))
    arguments = parse("taxi_route_fare", *INTERVAL, "--plot", "nowhere/error.png")
    with pytest.raises(SluiceError, match="its directory does not exist; make it"):
        arguments.run(arguments, settings)


@pytest.mark.slow
def test_the_picture_is_written(settings, tmp_path):
    from shedding.spec import load_catalog

    query = load_catalog(settings.specs).query("taxi_route_fare")
    lines = [
        {
            "policy": policy,
            "estimates": "shrunk",
            "measure": "mean_fare",
            "processed_fraction": f,
            "mean_error": 0.1 / f,
        }
        for policy in ("uniform", "posterior")
        for f in (0.02, 0.1)
    ]
    compare.plot(lines, query, tmp_path / "error.png")
    assert (tmp_path / "error.png").read_bytes().startswith(b"\x89PNG")

"""`sluice ingest --complete-to`: the owner's word on what has come."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.cli import main
from jobs.run_slot import missing_raw
from shedding.config import Settings
from shedding.spec import load_catalog
from tests.jobs.test_stale_slots import HOUR, arrive
from tests.small_specs import generated_trips, write_specs

END = "1970-01-05T08:00:00Z"
"""Of hour 103, the last with rows; the last one is a microsecond before."""


def complete(settings: Settings, specs: Path, *options: str) -> int:
    return main(["--warehouse", settings.warehouse, "--specs", str(specs), "ingest", "trips", *options])


def test_a_slot_whose_file_ends_a_moment_early_need_not_wait(
    settings: Settings, specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = load_catalog(specs)
    arrive(settings, "day", "1", [102, 103])
    query = catalog.query("fares")
    assert list(missing_raw(settings, catalog, query, 103 * HOUR)) == ["trips"]
    assert complete(settings, specs, "--complete-to", END) == 0
    assert f"watermark {END}" in capsys.readouterr().out
    assert not missing_raw(settings, catalog, query, 103 * HOUR)
    assert list(missing_raw(settings, catalog, query, 104 * HOUR)) == ["trips"]
    assert complete(settings, specs, "--complete-to", "1970-01-05T07:00:00Z") == 0  # an earlier word takes nothing back
    assert not missing_raw(settings, catalog, query, 103 * HOUR)


def test_it_is_refused_where_it_means_nothing(
    settings: Settings, specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complete(settings, specs, "--complete-to", END) == 2
    assert "has no row before" in capsys.readouterr().err
    arrive(settings, "day", "1", [102])
    assert complete(settings, specs, "x.csv", "--complete-to", END) == 2
    assert "goes alone" in capsys.readouterr().err
    write_specs(specs, [generated_trips(100, "1 hour")], [])
    assert complete(settings, specs, "--complete-to", END) == 2
    assert "comes from a generator, which knows" in capsys.readouterr().err

"""The order of a slot's steps, and that only a passed verdict leads to `published`."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from jobs.run_slot import Outcome, missing_raw, require_raw, run_slot
from shedding.config import Settings
from shedding.errors import NotReadyError
from shedding.ingest.arrivals_log import write_log
from shedding.spec import Catalog, load_catalog
from shedding.spec.times import as_datetime
from tests.small_specs import DATASET, QUERY, generated_trips, write_specs

HOUR = 3_600_000_000


def catalog_with(tmp_path: Path, on_failure: str) -> Catalog:
    specs = write_specs(tmp_path / "specs")
    (specs / "queries" / "fares.yaml").write_text(QUERY + f"gate: {{on_failure: {on_failure}}}\n")
    return load_catalog(specs)


def run_with(monkeypatch: pytest.MonkeyPatch, catalog: Catalog, verdicts: list[bool]) -> tuple[list[str], Outcome]:
    """The steps taken when the gate decides as `verdicts` say."""
    steps: list[str] = []
    decisions = iter(verdicts)

    def judge(settings: object, query: object, slot: int, run_id: str, attempt: int = 0) -> object:
        steps.append(f"judge {attempt}")
        return SimpleNamespace(passed=next(decisions), reason="too wide")

    def step(name: str, told: object = 7) -> object:
        return lambda *_: steps.append(name) or told  # type: ignore[func-returns-value]

    stubs = {
        "expectations.gate": {"judge": judge},
        "jobs.aggregate": {"aggregate": step("aggregate", SimpleNamespace(advice=["write near_zero: true"]))},
        "jobs.repair": {"repair": step("repair")},
        "jobs.publish": {
            "publish": step("publish"),
            "quarantine": step("quarantine"),
            "drop_slot": step("drop"),
        },
    }
    for name, content in stubs.items():
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(**content))
    outcome = run_slot(lambda: None, Settings(), catalog, "fares", 0, "r")  # type: ignore[arg-type,return-value]
    return steps, outcome


@pytest.mark.parametrize(
    ("on_failure", "verdicts", "wanted", "published"),
    [
        ("repair", [True], ["aggregate", "judge 0", "publish"], True),
        ("repair", [False, True], ["aggregate", "judge 0", "repair", "judge 1", "publish"], True),
        ("repair", [False, False], ["aggregate", "judge 0", "repair", "judge 1", "quarantine"], False),
        ("widen", [False, True], ["aggregate", "judge 0", "repair", "judge 1", "publish"], True),
        ("quarantine", [False], ["aggregate", "judge 0", "quarantine"], False),
        ("ask", [False], ["aggregate", "judge 0", "quarantine"], False),
    ],
)
def test_a_slot_takes_the_steps_its_gate_asks_for(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    on_failure: str,
    verdicts: list[bool],
    wanted: list[str],
    published: bool,
) -> None:
    steps, outcome = run_with(monkeypatch, catalog_with(tmp_path, on_failure), verdicts)
    assert steps == wanted
    assert outcome.published is published
    assert outcome.repaired is ("repair" in steps)
    assert ("too wide" in str(outcome)) is not published
    assert outcome.advice == ["write near_zero: true"]


def test_a_slot_whose_rows_have_not_arrived_says_what_to_ingest(settings: Settings, tmp_path: Path) -> None:
    catalog = catalog_with(tmp_path, "repair")
    with pytest.raises(NotReadyError, match="sluice ingest trips --from 1970-01-01T00:00:00Z --to 1970"):
        require_raw(settings, catalog, "fares", [0])


def test_a_watermark_at_the_slots_end_is_enough(settings: Settings, tmp_path: Path) -> None:
    catalog = catalog_with(tmp_path, "repair")
    row = {"state": "watermark", "interval_start": 0, "interval_end": HOUR}
    write_log(settings, "trips", [row], as_datetime(HOUR))
    assert list(missing_raw(settings, catalog, catalog.query("fares"), 0)) == []
    assert list(missing_raw(settings, catalog, catalog.query("fares"), HOUR)) == ["trips"]


def test_a_hole_that_the_windows_reach_into_keeps_a_slot_waiting_until_it_is_filled(
    settings: Settings, tmp_path: Path
) -> None:
    sliding = QUERY.replace("size: 1 hour", "size: 2 hours, slide: 1 hour").replace(
        "column: fare", "column: fare_amount"
    )
    specs = write_specs(tmp_path / "specs", [generated_trips(10, "1 hour")], [sliding])
    catalog = load_catalog(specs)
    query = catalog.query("fares")

    def arrive(hour: int) -> None:
        row = {"state": "committed", "source_id": str(hour), "name": str(hour), "content_hash": str(hour)}
        interval = {"interval_start": hour * HOUR, "interval_end": (hour + 1) * HOUR}
        write_log(settings, "trips", [row | interval], as_datetime(0))

    arrive(2)
    assert list(missing_raw(settings, catalog, query, 2 * HOUR)) == []  # the generator begins here
    arrive(4)
    assert list(missing_raw(settings, catalog, query, 4 * HOUR)) == ["trips"]  # windows from 3 o'clock on have a hole
    with pytest.raises(NotReadyError, match="sluice ingest trips --from 1970-01-01T03:00:00Z --to 1970-01-01T05"):
        require_raw(settings, catalog, "fares", [4 * HOUR])
    arrive(3)
    require_raw(settings, catalog, "fares", [4 * HOUR])


def test_of_a_join_the_dataset_that_lacks_rows_is_named(settings: Settings, tmp_path: Path) -> None:
    joined = QUERY + "join: {dataset: tolls, on: [route]}\n"
    catalog = load_catalog(write_specs(tmp_path / "specs", [DATASET, DATASET.replace("trips", "tolls")], [joined]))
    write_log(settings, "trips", [{"state": "watermark", "interval_start": 0, "interval_end": HOUR}], as_datetime(HOUR))
    with pytest.raises(NotReadyError, match="sluice ingest tolls"):
        require_raw(settings, catalog, "fares", [0])

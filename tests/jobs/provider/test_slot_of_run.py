from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from shedding.config import Settings
from shedding.errors import SpecError
from shedding.spec import QuerySpec
from shedding.spec.times import as_datetime, parse_instant
from tests.small_specs import QUERY

SPEC = QuerySpec.model_validate(yaml.safe_load(QUERY))
NOON = parse_instant("2026-03-02T12:00:00Z")


def run(kind: str = "scheduled", end: int | None = NOON) -> Any:
    ends = None if end is None else as_datetime(end)
    return SimpleNamespace(run_type=kind, data_interval_end=ends, run_after=as_datetime(NOON + 7))


@pytest.mark.airflow
def test_a_run_computes_its_own_slot_or_the_one_it_is_told(airflow_home: Settings) -> None:
    from jobs.provider.slot_of_run import slot_of_run

    own = NOON - SPEC.timeline.slot
    assert slot_of_run(SPEC, run(), {}) == own
    assert slot_of_run(SPEC, run(end=NOON + 99), {"slot": None}) == own
    assert slot_of_run(SPEC, run("manual", end=None), {}) == own
    assert slot_of_run(SPEC, run("backfill"), {"slot": ""}) == own
    told = slot_of_run(SPEC, run("manual"), {"slot": "2026-03-01T05:10:00Z"})
    assert told == SPEC.timeline.slot_of(parse_instant("2026-03-01T05:10:00Z"))


@pytest.mark.airflow
def test_a_backfill_that_names_one_slot_is_refused_in_one_line(airflow_home: Settings) -> None:
    from airflow.models.dagrun import DagRunType

    from jobs.provider.slot_of_run import slot_of_run

    for kind in ("backfill", DagRunType.BACKFILL_JOB):
        with pytest.raises(SpecError, match="compute the same slot; leave it empty"):
            slot_of_run(SPEC, run(kind), {"slot": "2026-03-01T05:10:00Z"})

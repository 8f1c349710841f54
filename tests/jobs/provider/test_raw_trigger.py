"""Slots that wait for rows: each goes on when its own have come, and a hundred cost no more than one."""

from __future__ import annotations

import asyncio
import datetime as dt
from typing import Any

import pytest

from jobs.raw_needed import RawNeeded
from shedding.config import Settings
from shedding.ingest.arrivals import Arrivals
from shedding.ingest.arrivals_log import watermark_row, write_log
from shedding.tables import Table

HOUR = 3_600_000_000
WAITING = 100


def needed(slot: int, generated: bool = False) -> dict[str, Any]:
    return {"datasets": {"trips": generated}, "derived": {}, "start": slot, "end": slot + HOUR, "reach": slot}


def arrive(settings: Settings, until: int) -> None:
    write_log(settings, "trips", [watermark_row((0, until))], dt.datetime.now(dt.UTC))


@pytest.fixture
def here(airflow_home: Settings, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    from jobs.provider import raw_trigger

    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(raw_trigger, "LOOK_EVERY", 0.05)
    monkeypatch.setattr(raw_trigger, "_watches", {})
    return settings


async def first_event(slot: int) -> Any:
    from airflow.triggers.base import BaseTrigger

    from jobs.provider.raw_trigger import RawArrived

    path, arguments = RawArrived(needed(slot)).serialize()
    assert path == "jobs.provider.raw_trigger.RawArrived"
    trigger: BaseTrigger = RawArrived(**arguments)  # as another process rebuilds it
    return await anext(trigger.run())


@pytest.mark.airflow
def test_a_slot_goes_on_when_its_rows_have_come_and_a_later_one_waits(here: Settings) -> None:
    async def story() -> None:
        early, late = asyncio.create_task(first_event(0)), asyncio.create_task(first_event(HOUR))
        await asyncio.sleep(0.2)
        assert not early.done()
        await asyncio.to_thread(arrive, here, HOUR)
        assert (await asyncio.wait_for(early, 10)).payload == {"arrived": True}
        assert not late.done()
        await asyncio.to_thread(arrive, here, 2 * HOUR)
        await asyncio.wait_for(late, 10)

    asyncio.run(story())


@pytest.mark.airflow
def test_a_hundred_waiting_slots_look_as_often_as_one_and_read_a_log_once_a_version(
    here: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jobs.provider.raw_trigger import ArrivalsWatch

    arrive(here, HOUR)
    looks, reads = [], []
    version, load = Table.version, Arrivals.load.__func__
    monkeypatch.setattr(Table, "version", lambda table: looks.append(table) or version(table))
    monkeypatch.setattr(Arrivals, "load", classmethod(lambda cls, *told: reads.append(told) or load(cls, *told)))

    async def story() -> None:
        watch = ArrivalsWatch(here, every=3600)
        await asyncio.gather(*(watch.refresh(RawNeeded(**needed(0))) for _ in range(WAITING)))
        assert watch("trips").watermark == HOUR
        soon = ArrivalsWatch(here, every=0)
        for _ in range(5):
            await soon.refresh(RawNeeded(**needed(0)))

    asyncio.run(story())
    assert len(reads) == 2
    assert len(looks) == 2 + 2 + 4  # each watch looks and reads once, which looks too; then four looks


@pytest.mark.airflow
def test_a_store_that_does_not_answer_is_asked_again(here: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = [OSError("gone"), OSError("still")]
    version = Table.version

    def flaky(table: Table) -> int | None:
        if failures:
            raise failures.pop()
        return version(table)

    arrive(here, HOUR)
    monkeypatch.setattr(Table, "version", flaky)
    assert asyncio.run(first_event(0)).payload == {"arrived": True}
    assert failures == []

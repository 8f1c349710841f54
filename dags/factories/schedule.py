"""From a slot's length to a timetable whose data intervals are the slots."""

from __future__ import annotations

import datetime as dt
from typing import Any

from airflow.sdk import CronDataIntervalTimetable, DeltaDataIntervalTimetable

MINUTE, HOUR, DAY, WEEK = 60_000_000, 3_600_000_000, 86_400_000_000, 604_800_000_000
START = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
"""Every DAG starts at the epoch: any past slot may be backfilled, and catch-up is off."""


def scheduled(every: int | None) -> dict[str, Any]:
    """What every DAG is made with: one run per interval, none for the past, registered by its module; None: no runs."""
    schedule = None if every is None else timetable(every)
    return {"schedule": schedule, "start_date": START, "catchup": False, "auto_register": False}


def timetable(every: int) -> CronDataIntervalTimetable | DeltaDataIntervalTimetable:
    """Data intervals of `every` microseconds, aligned to the epoch.

    Lengths that a clock or a week divides evenly become cron, which aligns backfills too. The others
    become a delta, which Airflow aligns for scheduled runs only: tasks round a run's interval down to
    its slot, so a backfill from an odd instant still computes whole slots, each once.
    """
    if every % MINUTE == 0 and HOUR % every == 0:
        minutes = every // MINUTE
        return CronDataIntervalTimetable("0 * * * *" if minutes == 60 else f"*/{minutes} * * * *", timezone="UTC")
    if every % HOUR == 0 and DAY % every == 0:
        hours = every // HOUR
        return CronDataIntervalTimetable("0 0 * * *" if hours == 24 else f"0 */{hours} * * *", timezone="UTC")
    if every == WEEK:
        return CronDataIntervalTimetable("0 0 * * 4", timezone="UTC")  # the epoch was a Thursday
    return DeltaDataIntervalTimetable(dt.timedelta(microseconds=every))

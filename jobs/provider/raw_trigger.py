"""Waiting for raw rows in the triggerer: no worker, no process a look, one read a dataset for all who wait for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from jobs.provider.deployment import deployed_settings
from jobs.raw_needed import RawNeeded
from shedding import warehouse
from shedding.config import Settings
from shedding.ingest.arrivals import Arrivals

LOOK_EVERY = 15.0
"""Seconds between two looks at a dataset's log, however many slots wait for it."""


class ArrivalsWatch:
    """The newest arrivals of datasets, read again only where `every` seconds are over and the log has a new version."""

    def __init__(self, settings: Settings, every: float = LOOK_EVERY) -> None:
        self._settings, self._every = settings, every
        self._known: dict[str, tuple[float, Arrivals]] = {}
        self._looking: dict[str, asyncio.Lock] = {}

    async def refresh(self, needed: RawNeeded) -> None:
        """Look at what nobody has looked at lately; in a thread, so that other triggers go on."""
        for name in needed.datasets:
            async with self._looking.setdefault(name, asyncio.Lock()):
                looked, known = self._known.get(name, (-self._every, Arrivals()))
                if time.monotonic() - looked >= self._every:
                    newest = await asyncio.to_thread(self._newer, needed, name, known)
                    self._known[name] = (time.monotonic(), newest)

    def __call__(self, dataset: str) -> Arrivals:
        """The arrivals as of the last look."""
        return self._known[dataset][1]

    def _newer(self, needed: RawNeeded, name: str, known: Arrivals) -> Arrivals:
        log = (warehouse.windows if name in needed.derived else warehouse.ingests)(self._settings, name)
        return known if log.version() == known.version else needed.load(self._settings, name)


_watches: dict[Settings, ArrivalsWatch] = {}
"""One a deployment: all triggers of a triggerer run in one loop."""


class RawArrived(BaseTrigger):
    """Fires once when the raw rows of a slot have arrived; a store that does not answer is asked again."""

    def __init__(self, needed: dict[str, Any], **options: Any) -> None:
        super().__init__(**options)
        self.needed = RawNeeded(**needed)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """How another triggerer takes it over."""
        return f"{type(self).__module__}.{type(self).__name__}", {"needed": self.needed.facts()}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look until nothing is missing."""
        settings = deployed_settings()
        watch = _watches.setdefault(settings, ArrivalsWatch(settings, LOOK_EVERY))
        shown: dict[str, str] = {}
        while True:
            try:
                await watch.refresh(self.needed)
            except Exception as error:  # whatever the store says: the next look may find it well
                self.log.warning("the arrivals could not be read, trying again: %s", error)
            else:
                missing = self.needed.missing(watch)
                if not missing:
                    break
                if missing != shown:
                    self.log.info("waiting for %s", told(missing))
                    shown = missing
            await asyncio.sleep(LOOK_EVERY)
        yield TriggerEvent({"arrived": True})


def told(missing: Mapping[str, str]) -> str:
    """What is missing, in one line."""
    return "; ".join(f"{name}: {what}" for name, what in missing.items()) or "nothing"

"""One line of JSON for each slot that is decided, for whoever collects logs: logger `sluice.slot`, level INFO.

Airflow keeps it in the log of the task that decided; `sluice run` prints its own line for people instead.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from shedding.spec.times import format_instant

LOGGER = "sluice.slot"


def log_slot(event: str, query: str, slot: int, run_id: str, **facts: Any) -> None:
    """Say that a slot was published, refused or dropped; never a key's value among the facts."""
    line = {"event": event, "query": query, "slot": format_instant(slot), "run_id": run_id, **facts}
    logging.getLogger(LOGGER).info(json.dumps(line, sort_keys=True, default=str))

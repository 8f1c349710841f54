"""A decided slot is one line of JSON, with no value of the data in it."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from expectations.gate import judge
from jobs.publish import drop_slot, publish, quarantine
from jobs.slot_log import LOGGER
from shedding.config import Settings
from shedding.spec.times import format_instant
from tests.expectations.answers import SLOT, Answer, make_query


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [json.loads(record.getMessage()) for record in caplog.records if record.name == LOGGER]


def test_each_decision_is_one_line_that_machines_read(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    query = make_query()
    with caplog.at_level(logging.INFO, LOGGER):
        Answer(query).write(settings, "good")
        version = publish(settings, query, SLOT, judge(settings, query, SLOT, "good"), "good")
        Answer(query, errors=[0.9] * 4).write(settings, "bad")
        quarantine(settings, query, SLOT, judge(settings, query, SLOT, "bad"), "bad")
        drop_slot(settings, query, SLOT, "none")
    good, bad, none = lines(caplog)
    told = {"query": "fares", "slot": format_instant(SLOT)}
    assert all(line | told == line for line in (good, bad, none))
    assert [(line["event"], line["run_id"]) for line in (good, bad, none)] == [
        ("published", "good"), ("refused", "bad"), ("dropped", "none"),
    ]  # fmt: skip
    assert (good["version"], good["failed"], good["repaired"]) == (version, [], False)
    assert bad["failed"] == ["mean_relative_error"]

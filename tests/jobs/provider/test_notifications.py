"""Whom `notify` names is told of what it says, and of nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from shedding.config import Settings
from shedding.errors import SpecError
from shedding.spec import load_catalog
from tests.small_specs import DATASET, QUERY, write_specs

TELLER = "tests.jobs.provider.telling:Teller"


def dag_of(settings: Settings, specs: Path, on_failure: str, *notify: dict[str, Any]) -> Any:
    from factories.query import query_dag

    query = {**yaml.safe_load(QUERY), "gate": {"on_failure": on_failure}, "notify": list(notify)}
    catalog = load_catalog(write_specs(specs, [DATASET], [query]))
    assert catalog.problems == ()
    return query_dag(catalog.query("fares"), catalog, settings)


@pytest.mark.airflow
def test_each_event_is_told_to_those_who_asked_for_it(airflow_home: Settings, tmp_path: Path) -> None:
    told = [{"on": ["refused", "late"], "call": TELLER, "arguments": {"to": "ann"}},
            {"on": ["refused", "repaired"], "call": TELLER, "arguments": {"to": "bob"}},
            {"on": ["approval_needed"], "call": TELLER, "arguments": {"to": "cat"}}]  # fmt: skip
    mended = dag_of(airflow_home, tmp_path / "repair", "repair", *told)
    assert [one.to for one in mended.get_task("quarantine").on_failure_callback] == ["ann", "bob"]
    assert [one.to for one in mended.get_task("repair").on_success_callback] == ["bob"]
    (alert,) = mended.deadline
    assert alert.interval.total_seconds() == 3600
    assert alert.callback.kwargs == {"to": "ann"}
    asked = dag_of(airflow_home, tmp_path / "ask", "ask", *told)
    assert [one.to for one in asked.get_task("ask").notifiers] == ["cat"]
    silent = dag_of(airflow_home, tmp_path / "silent", "repair")
    assert not silent.deadline
    assert not silent.get_task("quarantine").on_failure_callback


@pytest.mark.airflow
@pytest.mark.parametrize("call", ["nowhere.at_all:Teller", "tests.jobs.provider.telling:Nobody", TELLER])
def test_a_notifier_that_cannot_be_used_is_named_with_a_remedy(
    airflow_home: Settings, tmp_path: Path, call: str
) -> None:
    entry = {"on": ["refused"], "call": call, "arguments": {"whom": "ann"}}
    with pytest.raises(SpecError, match=r"fares\.yaml: notify: .* cannot be used here: .*; install the provider"):
        dag_of(airflow_home, tmp_path, "quarantine", entry)


def test_what_is_no_notifier_is_refused_by_check(tmp_path: Path) -> None:
    wrong = {**yaml.safe_load(QUERY), "notify": [{"on": ["never"], "call": "x"}]}
    problems = "\n".join(map(str, load_catalog(write_specs(tmp_path, [DATASET], [wrong])).problems))
    assert "notify" in problems
    assert "module:function" in problems

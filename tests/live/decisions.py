"""`python -m tests.live.decisions`: people, late rows and maintenance in a live Airflow, through REST.

A refused slot is approved, another rejected, a third left alone until its time is over; a late file has its slot
published again by the ingest that brings it; the maintenance DAG runs over all of it. Prints a line a story.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infra.airflow_api import AirflowApi
from shedding.config import Settings
from shedding.tables import Table
from tests.live.airflow import live_airflow, live_world, run_dag, tasks_of, wait_for

DAY = "2026-03-02"
INTERVAL = {"from": f"{DAY}T00:00:00Z", "to": f"{DAY}T12:00:00Z"}


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="sluice-live-") as directory:
        settings = live_world(Path(directory))
        drop(settings, "morning.csv", range(6, 10))
        with live_airflow(settings, Path(directory)) as api:
            assert run_dag(api, "ingest_sales", INTERVAL) == "success"
            told = [*asked(api, settings), *late(api, settings), *maintained(api, settings)]
    for story, fine in told:
        print(f"{'passed' if fine else 'FAILED'}: {story}")
    return 0 if all(fine for _, fine in told) else 1


def drop(settings: Settings, name: str, hours: range) -> None:
    """A file of sales: ten shops, thirty sales an hour each."""
    lines = [
        f"{DAY} {hour:02}:{minute:02}:00,shop {shop},{(shop * 7 + minute * 3 + hour) % 50 + 1}.5"
        for hour in hours
        for shop in range(10)
        for minute in range(0, 60, 2)
    ]
    (settings.landing / "sales" / name).write_text("\n".join(["at,shop,amount", *lines]) + "\n")


def asked(api: AirflowApi, settings: Settings) -> Iterator[tuple[str, bool]]:
    """Three slots over budget at once: one approved, one rejected, one that nobody answers."""
    api.unpause("query_shop_ask")
    runs = {
        answer: api.trigger("query_shop_ask", {"slot": f"{DAY}T{hour:02}:00:00Z"})
        for hour, answer in ((6, "Publish"), (7, "Reject"), (8, ""))
    }
    for answer in ("Publish", "Reject"):
        path = f"/api/v2/dags/query_shop_ask/dagRuns/{runs[answer]}/taskInstances/ask/-1/hitlDetails"
        wait_for(api, f"the question of {answer}", lambda p=path: api.call("GET", p, refused={404}))
        api.call("PATCH", path, {"chosen_options": [answer], "params_input": {}}, refused={409})
    ended = {answer: _ended(api, run) for answer, run in runs.items()}
    slots = set(Table(settings.table("published", "shop_ask")).read(columns=["slot"])["slot"].to_pylist())
    yield f"an approved slot is published ({ended['Publish']})", ended["Publish"]["publish"] == "success"
    yield f"a rejected slot is quarantined ({ended['Reject']})", ended["Reject"]["quarantine"] == "failed"
    yield f"silence means no ({ended['']})", ended[""]["quarantine"] == "failed"
    yield f"consumers see the approved slot only ({slots})", slots == {"20260302T060000Z"}


def late(api: AirflowApi, settings: Settings) -> Iterator[tuple[str, bool]]:
    """A file that comes after its slot was published has it published again, by itself."""
    assert run_dag(api, "query_shop_total", {"slot": f"{DAY}T09:00:00Z"}) == "success"
    before = _shops(settings)
    (settings.landing / "sales" / "late.csv").write_text(f"at,shop,amount\n{DAY} 09:30:00,shop late,5\n")
    assert run_dag(api, "ingest_sales", INTERVAL) == "success"
    after = wait_for(api, "the second publication", lambda: _shops(settings) if _shops(settings) != before else None)
    yield f"a late row is published with a higher revision ({before} became {after})", after == (11, 2)


def maintained(api: AirflowApi, settings: Settings) -> Iterator[tuple[str, bool]]:
    """The maintenance DAG leaves what consumers see as it was."""
    before = _shops(settings)
    state = run_dag(api, "maintenance", {})
    yield f"maintenance ends {state} and changes no answer", state == "success" and _shops(settings) == before


def _shops(settings: Settings) -> tuple[int, int]:
    rows = Table(settings.table("published", "shop_total")).read()
    return rows.num_rows, max(rows["revision"].to_pylist())


def _ended(api: AirflowApi, run_id: str) -> dict[str, Any]:
    wait_for(api, run_id, lambda: api.run_state("query_shop_ask", run_id) in ("success", "failed"))
    return {task["task_id"]: task["state"] for task in tasks_of(api, "query_shop_ask", run_id)}


if __name__ == "__main__":
    raise SystemExit(main())

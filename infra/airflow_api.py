"""As much of Airflow's REST API as starting the example needs."""

from __future__ import annotations

import datetime as dt
import json
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from infra.airflow_home import USER, AirflowHome
from shedding.errors import ConfigError

TIMEOUT = 90.0
POLL_SECONDS = 2.0
CONFLICT = 409
NOT_FOUND = 404
BUSY = 503
FINISHED = frozenset({"success", "failed"})


@dataclass(slots=True)
class AirflowApi:
    """A client of one Airflow; `alive` is called while waiting and raises if waiting is pointless."""

    home: AirflowHome
    alive: Callable[[], None]
    token: str = ""

    def wait_until_up(self, patience: float = 180.0) -> None:
        """Return when the API answers and has given a token."""
        give_up = time.monotonic() + patience
        while time.monotonic() < give_up:
            self.alive()
            try:
                credentials = {"username": USER, "password": self.home.password()}
                self.token = self.call("POST", "/auth/token", credentials)["access_token"]
                return
            except ConfigError:
                time.sleep(1.0)
        raise ConfigError(f"Airflow did not answer at {self.home.url} within {patience:.0f} s; see {self.home.logs}")

    def wait_for_dag(self, dag_id: str, patience: float = 120.0) -> None:
        """Return when the DAG has been parsed."""
        give_up = time.monotonic() + patience
        while time.monotonic() < give_up:
            self.alive()
            if self.call("GET", f"/api/v2/dags/{dag_id}", refused={NOT_FOUND}) is not None:
                return
            time.sleep(1.0)
        raise ConfigError(f"the DAG {dag_id} did not appear within {patience:.0f} s; see {self.home.logs}")

    def ensure_pool(self, name: str, slots: int) -> None:
        """Create the pool if it is not there; an existing one keeps the size an engineer gave it."""
        self.call("POST", "/api/v2/pools", {"name": name, "slots": slots}, refused={CONFLICT})

    def unpause(self, dag_id: str) -> None:
        """Let the scheduler run the DAG."""
        self.call("PATCH", f"/api/v2/dags/{dag_id}", {"is_paused": False})

    def trigger(self, dag_id: str, conf: dict[str, str]) -> str:
        """Start a run by hand; its id."""
        body = {"logical_date": None, "conf": conf}
        return str(self.call("POST", f"/api/v2/dags/{dag_id}/dagRuns", body)["dag_run_id"])

    def run_state(self, dag_id: str, run_id: str) -> str:
        """The state of one run."""
        return str(self.call("GET", f"/api/v2/dags/{dag_id}/dagRuns/{run_id}")["state"])

    def backfill(
        self,
        dag_id: str,
        start: dt.datetime,
        end: dt.datetime,
        at_once: int,
        newest_first: bool = False,
        reprocess: str = "failed",
    ) -> int | None:
        """Backfill the runs whose logical date is in [start, end]; its id, None where it must be asked for again.

        `reprocess` says which of the runs that are there already run again: none, failed or completed (these too).
        """
        body = {
            "dag_id": dag_id, "from_date": start.isoformat(), "to_date": end.isoformat(),
            "max_active_runs": at_once, "reprocess_behavior": reprocess, "run_backwards": newest_first,
            "dag_run_conf": {},
        }  # fmt: skip
        made = self.call("POST", "/api/v2/backfills", body, refused={CONFLICT, BUSY})
        return None if made is None else int(made["id"])

    def run_states(self, dag_id: str, start: dt.datetime, end: dt.datetime) -> Counter[str]:
        """How many runs with a logical date in [start, end] are in which state."""
        query = f"logical_date_gte={_stamp(start)}&logical_date_lte={_stamp(end)}&limit=200"
        runs = self.call("GET", f"/api/v2/dags/{dag_id}/dagRuns?{query}")["dag_runs"]
        return Counter(run["state"] for run in runs)

    def import_errors(self) -> list[str]:
        """The files that do not parse, with their last line of trouble."""
        errors = self.call("GET", "/api/v2/importErrors")["import_errors"]
        return [f"{error['filename']}: {error['stack_trace'].strip().splitlines()[-1]}" for error in errors]

    def call(self, method: str, path: str, body: object = None, refused: Collection[int] = ()) -> Any:
        """One request; None where Airflow answers with a code of `refused`, ConfigError with its words on any other."""
        request = urllib.request.Request(
            f"{self.home.url}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                return json.loads(answer.read() or "null")
        except urllib.error.HTTPError as error:
            if error.code in refused:
                return None
            text = error.read().decode(errors="replace")
            raise ConfigError(f"Airflow answered {error.code} to {method} {path}: {text}") from error
        except OSError as error:
            raise ConfigError(f"Airflow does not answer at {self.home.url}: {error}; see {self.home.logs}") from error


def _stamp(moment: dt.datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")

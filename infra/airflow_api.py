"""As much of Airflow's REST API as starting the example needs."""

from __future__ import annotations

import datetime as dt
import http.client
import json
import time
import urllib.error
import urllib.request
import uuid
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from infra.airflow_home import USER, AirflowHome
from shedding.errors import ConfigError, innermost

TIMEOUT = 90.0
POLL_SECONDS = 2.0
PATIENCE = 180.0
"""How long a server that fails or is not there is waited for, in seconds: a start takes half a minute on two cores."""
CONFLICT = 409
NOT_FOUND = 404
SERVER_ERROR, BUSY = 500, 503
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
                self.token = self._ask("POST", "/auth/token", credentials)["access_token"]
                return
            except ConfigError:
                time.sleep(1.0)
        raise ConfigError(f"Airflow did not answer at {self.home.url} within {patience:.0f} s; see {self.home.logs}")

    def wait_for_dag(self, dag_id: str, patience: float = 120.0) -> None:
        """Return when the DAG has been parsed, and was there when its file was last parsed."""
        give_up = time.monotonic() + patience
        while time.monotonic() < give_up:
            self.alive()
            known = self.call("GET", f"/api/v2/dags/{dag_id}", refused={NOT_FOUND})
            if known is not None and not known["is_stale"]:
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
        run_id = f"manual__{uuid.uuid4().hex}"  # so that asking twice starts one
        body = {"dag_run_id": run_id, "logical_date": None, "conf": conf}
        self.call("POST", f"/api/v2/dags/{dag_id}/dagRuns", body, refused={CONFLICT})
        return run_id

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
        """One request; None where Airflow answers with a code of `refused`, ConfigError with its words on any other.

        An error of the server, and a server that does not answer, is waited for: whatever died is being started
        again. So the same request may arrive twice.
        """
        give_up = time.monotonic() + PATIENCE
        while True:
            try:
                return self._ask(method, path, body, refused)
            except _PassingError:
                if time.monotonic() > give_up:
                    raise
                self.alive()
                time.sleep(POLL_SECONDS)

    def _ask(self, method: str, path: str, body: object, refused: Collection[int] = ()) -> Any:
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
            kind = _PassingError if error.code >= SERVER_ERROR else ConfigError
            raise kind(f"Airflow answered {error.code} to {method} {path}: {_words(error)}") from error
        except (OSError, http.client.HTTPException, ValueError) as error:  # nobody there, or gone amid the answer
            text = f"Airflow does not answer at {self.home.url}: {innermost(error)}; see {self.home.logs}"
            raise _PassingError(text) from error


class _PassingError(ConfigError):
    """Raised when the server failed or is not there; it may be back in a moment."""


def _words(error: urllib.error.HTTPError) -> str:
    try:
        return error.read().decode(errors="replace")
    except (OSError, http.client.HTTPException):
        return error.reason


def _stamp(moment: dt.datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")

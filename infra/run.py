"""`make run`: Airflow on this machine, the example's last 24 hours ingested and published through it."""

from __future__ import annotations

import argparse
import datetime as dt
import fcntl
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.airflow_api import FINISHED, AirflowApi
from infra.airflow_home import PROJECT, USER, AirflowHome, free_port
from infra.family import Family, stop
from infra.report import published_report
from infra.services import Services, running
from shedding.config import Settings
from shedding.errors import ConfigError, SluiceError
from shedding.spec import QuerySpec, load_catalog
from shedding.spec.times import as_datetime, format_instant, parse_instant

QUERY = "taxi_route_fare"
DAY = 86_400_000_000
SPARK_POOL = "spark"
AGAIN_AFTER = 5.0


def main() -> int:
    """0 after Ctrl-C, or after the table with --once; 2 where something could not be done."""
    parser = argparse.ArgumentParser(prog="make run", description=__doc__)
    parser.add_argument("--once", action="store_true", help="stop after the table instead of staying up")
    parser.add_argument("--home", type=Path, default=PROJECT / ".airflow", help="Airflow's home")
    arguments = parser.parse_args()
    for ending in (signal.SIGINT, signal.SIGTERM):  # also of the first: a shell's background is deaf to it otherwise
        signal.signal(ending, signal.default_int_handler)
    try:
        with _only_one(arguments.home):
            _run(arguments.home, arguments.once)
    except KeyboardInterrupt:
        say("stopped")
    except SluiceError as error:
        print(f"[run] error: {error}", file=sys.stderr)
        return 2
    return 0


def say(text: str) -> None:
    """One line of progress."""
    print(f"[run] {text}", flush=True)


def _run(directory: Path, once: bool) -> None:
    begin = time.monotonic()
    settings = Settings.load()
    settings.landing.mkdir(parents=True, exist_ok=True)
    catalog = load_catalog(settings.specs)
    for problem in catalog.problems:
        say(f"warning: {problem}")
    home = AirflowHome(directory, free_port(), settings)
    services = Services(home)
    query = catalog.query(QUERY)
    start, end = _last_day(query)
    # The rows come while Airflow is made and started: both take about one core.
    with _ingesting(home, query, start, end) as arrived:
        say("preparing Airflow's database")
        services.migrate()
        say(f"starting Airflow at {home.url} (user {USER}, password {home.password()}); logs in {home.logs}")
        with running(services):
            _fill(AirflowApi(home, services.check), query, start, end, arrived)
            print(f"\n{published_report(settings, query)}\n", flush=True)
            say(f"ready after {time.monotonic() - begin:.0f} s: {home.url} (user {USER}, password {home.password()})")
            if not once:
                say("scheduled runs go on; Ctrl-C stops everything")
            say(f"the error budgets: {home.url}/sluice/ (log in first)")
            while not once:
                services.check()
                time.sleep(1.0)
            say("stopping")


def _fill(api: AirflowApi, query: QuerySpec, start: int, end: int, arrived: Callable[[], None]) -> None:
    """Publish the example's slots in [start, end) through Airflow, then let its scheduled runs begin."""
    api.wait_until_up()
    api.ensure_pool(SPARK_POOL, os.cpu_count() or 2)
    arrived()
    _backfill(api, query, start, end)
    api.unpause(f"ingest_{query.dataset}")
    for error in api.import_errors():
        say(f"warning: {error}")


def _last_day(query: QuerySpec) -> tuple[int, int]:
    """The whole slots of about the last 24 hours."""
    end = query.timeline.slot_of(parse_instant(dt.datetime.now(dt.UTC)))
    return query.timeline.slot_of(end - DAY), end


@contextmanager
def _ingesting(home: AirflowHome, query: QuerySpec, start: int, end: int) -> Iterator[Callable[[], None]]:
    """Ingest with the command beside Airflow's start; the function given waits for its end and raises if it failed."""
    first = query.timeline.slots_needed(start)[0]  # the first windows begin before their slot
    say(f"ingesting {query.dataset} from {format_instant(first)} to {format_instant(end)}")
    interval = ["--from", format_instant(first), "--to", format_instant(end)]
    log = home.logs / "ingest.log"
    log.write_bytes(b"")
    family = Family([sys.executable, "-m", "jobs.cli", "ingest", query.dataset, *interval], home.environment(), log)

    def arrived() -> None:
        code = family.exit_code(wait=True)
        last = next(reversed(log.read_text(errors="replace").split("\n")[:-1]), "no output")
        if code:
            raise ConfigError(f"ingest failed: {last}; all of it: {log}")
        say(last)

    try:
        yield arrived
    finally:
        stop([family])  # killed, it leaves no trace: unfinished arrivals are never visible


def _backfill(api: AirflowApi, query: QuerySpec, begin: int, end: int) -> None:
    """Backfill [begin, end) through Airflow and show how far it is; slots that are there already stay as they are."""
    dag_id, slots = f"query_{query.name}", (end - begin) // query.timeline.slot
    start, last = as_datetime(begin), as_datetime(end - query.timeline.slot)
    api.wait_for_dag(dag_id)
    api.unpause(dag_id)
    say(f"backfilling {dag_id}: {slots} slots from {format_instant(begin)} on")
    shown, asked, accepted = "", 0.0, False
    while True:
        api.alive()
        states = api.run_states(dag_id, start, last)
        text = ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "waiting"
        if text != shown:
            say(f"{dag_id}: {text}")
            shown = text
        idle = states.total() == sum(states[state] for state in FINISHED)
        if (idle or not accepted) and time.monotonic() - asked > AGAIN_AFTER:
            if accepted and states.total() >= slots:
                break
            # Not accepted while an earlier backfill is active (an interrupted `make run`) or SQLite is locked.
            accepted = api.backfill(dag_id, start, last, at_once=os.cpu_count() or 2) is not None
            asked = time.monotonic()
        time.sleep(1.0)
    if states["failed"]:
        say(f"warning: {states['failed']} slots were refused or failed; see them red in the UI")


@contextmanager
def _only_one(directory: Path) -> Iterator[None]:
    """Hold the home's lock: two Airflows on one database would fight."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "running.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(f"another `make run` is using {directory}; stop it with Ctrl-C first") from None
        yield


if __name__ == "__main__":
    sys.exit(main())

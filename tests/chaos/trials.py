"""kill -9 at random moments, a re-run, and a comparison with a run that nothing disturbed."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shedding.arrivals import Arrivals
from shedding.concepts import read_counts
from shedding.config import Settings
from shedding.spec import load_catalog
from shedding.spec.keyset import keysets
from shedding.tables import Table
from tests.chaos.city import HOUR, HOURS, ROOT, START, build_city
from tests.chaos.stages import QUERY, STAGES, Session, finish, judge_after

VOLATILE = {"run_id", "revision", "published_at"}


@dataclass
class Chaos:
    """A reference run with a copy of the warehouse before each stage, and the trials against it."""

    work: Path
    session: Session
    seed: int = 0
    say: Callable[[str], None] = print
    seconds: dict[str, float] = field(default_factory=dict)
    expected: dict[str, Any] = field(default_factory=dict)

    def prepare(self) -> None:
        """The undisturbed run: each stage in a process of its own, its time taken."""
        here = self.work / "reference"
        build_city(here)
        for stage in STAGES:
            shutil.copytree(here, self.work / f"before-{stage}")
            process = _start(stage, here)
            begun = time.monotonic()
            assert process.wait() == 0, f"the undisturbed {stage} failed"
            self.seconds[stage] = time.monotonic() - begun
            judge_after(stage, here)
            self.say(f"undisturbed {stage}: {self.seconds[stage]:.1f} s")
        self.expected = visible(build_city(here))

    def trial(self, number: int) -> list[str]:
        """Kill one stage at a random moment, run again, and list what differs from the undisturbed run."""
        chance = random.Random(f"{self.seed}/{number}")
        stage = STAGES[number % len(STAGES)]
        here = self.work / f"trial-{number}"
        moment = 2 * chance.uniform(0, self.seconds[stage])
        died = False
        while not died:  # a stage that was quicker than its moment was not killed: again, at half of it
            shutil.rmtree(here, ignore_errors=True)
            shutil.copytree(self.work / f"before-{stage}", here)
            moment /= 2
            died = _kill_after(_start(stage, here), moment)
        finish(stage, here, self.session)
        found = visible(build_city(here))
        wrong = [name for name in self.expected if found[name] != self.expected[name]]
        state = "passed" if not wrong else f"FAILED: {', '.join(wrong)}"
        self.say(f"{number + 1}: {stage} killed after {moment:.2f} s: {state}")
        if not wrong:
            shutil.rmtree(here)
        return wrong


def visible(settings: Settings) -> dict[str, Any]:
    """Everything that later runs and readers can see, in a comparable form."""
    catalog = load_catalog(settings.specs)
    arrivals = Arrivals.load(settings, "trips")
    raw = Table(settings.table("raw", "trips")).read().to_pylist()
    rows = [row for row in raw if row["_source"] not in arrivals.hidden]
    found: dict[str, Any] = {
        "raw rows": sorted((row["u"], row["event_time"], row["route"], row["fare_amount"]) for row in rows),
        "rows in the log": sum(source.kept for source in arrivals.visible),
    }
    for keyset in keysets(catalog, "trips"):
        counts = read_counts(settings, keyset, START, START + HOURS * HOUR, arrivals)
        found[f"counts of {keyset.id}"] = counts.to_pylist()
    for kind in ("results", "published"):
        table = Table(settings.table(kind, QUERY)).read()
        kept = [{k: v for k, v in row.items() if k not in VOLATILE} for row in table.to_pylist()]
        found[f"{kind} rows"] = sorted(map(str, kept))
    return found


def _start(stage: str, directory: Path) -> subprocess.Popen[str]:
    """The stage in a process group of its own, returned when it is about to begin."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.chaos.step", stage, str(directory)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "ready":
            return process
    raise AssertionError(f"the process for {stage} ended with {process.wait()} before it began")


def _kill_after(process: subprocess.Popen[str], seconds: float) -> bool:
    """kill -9 of the process and its JVM; whether it was still at work."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    assert process.returncode == 0, "a stage that nobody killed failed"
    return False

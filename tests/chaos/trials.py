"""kill -9 at random moments, a re-run, and a comparison with a run that nothing disturbed.

Every other round of stages is killed at a random second, the rounds between at a random file: a stage computes for
seconds and writes for milliseconds, so that the clock alone would hardly ever hit a half-written table.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shedding.config import Settings
from shedding.ingest.arrivals import Arrivals
from shedding.ingest.key_counts import read_counts
from shedding.ingest.source_number import source_number
from shedding.spec import load_catalog
from shedding.spec.keyset import keysets
from shedding.stretches import Stretches
from shedding.tables import Table
from tests.chaos.city import HOUR, HOURS, ROOT, START, build_city
from tests.chaos.stages import QUERY, STAGES, Session, finish, judge_after

VOLATILE = {"run_id", "revision", "published_at"}
PLACES = ("before its first file", "between its first file and its last commit", "after its last commit")


@dataclass
class Chaos:
    """A reference run with a copy of the warehouse before each stage, and the trials against it."""

    work: Path
    session: Session
    seed: int = 0
    say: Callable[[str], None] = print
    seconds: dict[str, float] = field(default_factory=dict)
    written: dict[str, Written] = field(default_factory=dict)
    expected: dict[str, Any] = field(default_factory=dict)
    hit: Counter[tuple[str, str]] = field(default_factory=Counter)

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
            self.written[stage] = Written.since(self.work / f"before-{stage}", here)
            judge_after(stage, here)
            self.say(f"undisturbed {stage}: {self.seconds[stage]:.1f} s, {self.written[stage]}")
        self.expected = visible(build_city(here))

    def trial(self, number: int) -> list[str]:
        """Kill one stage at a random moment, run again, and list what differs from the undisturbed run."""
        chance = random.Random(f"{self.seed}/{number}")
        stage = STAGES[number % len(STAGES)]
        before, here = self.work / f"before-{stage}", self.work / f"trial-{number}"
        by_file = bool(number // len(STAGES) % 2)
        moment = chance.randint(1, self.written[stage].files) if by_file else chance.uniform(0, self.seconds[stage])
        while True:
            shutil.rmtree(here, ignore_errors=True)
            shutil.copytree(before, here)
            process, begun = _start(stage, here), time.monotonic()
            if _kill(process, lambda begun=begun, moment=moment: _reached(by_file, moment, begun, before, here)):
                break
            moment /= 2  # a stage that was quicker than its moment was not killed: again, at half of it
        found = Written.since(before, here)
        where = found.place(self.written[stage])
        self.hit[stage, where] += 1
        killed = f"{stage} killed after {time.monotonic() - begun:.2f} s, {found} ({where})"
        finish(stage, here, self.session)
        seen = visible(build_city(here))
        wrong = [name for name in self.expected if seen[name] != self.expected[name]]
        state = f"FAILED: {', '.join(wrong)}" if wrong else "passed"
        self.say(f"{number + 1}: {killed}: {state}")
        if not wrong:
            shutil.rmtree(here)
        return wrong

    def spread(self) -> str:
        """Where the kills fell, a line a stage."""
        return "\n".join(
            f"{stage}: " + ", ".join(f"{self.hit[stage, where]} {where}" for where in PLACES) for stage in STAGES
        )


@dataclass(frozen=True, slots=True)
class Written:
    """What a stage has written so far: files, and the Delta commits among them."""

    files: int
    commits: int

    @classmethod
    def since(cls, before: Path, now: Path) -> Written:
        """What the warehouse of `now` has more than that of `before`."""
        new = _files(now) - _files(before)
        return cls(len(new), sum(name.endswith(".json") and "_delta_log" in name for name in new))

    def place(self, whole: Written) -> str:
        """Where in the stage this is, by what the whole stage writes."""
        if not self.files:
            return PLACES[0]
        return PLACES[1] if self.commits < whole.commits else PLACES[2]

    def __str__(self) -> str:
        return f"{self.files} files and {self.commits} commits written"


def _reached(by_file: bool, moment: float, begun: float, before: Path, here: Path) -> bool:
    return Written.since(before, here).files >= moment if by_file else time.monotonic() - begun >= moment


def _files(directory: Path) -> set[str]:
    root = str(directory / "warehouse")
    return {f"{where}/{name}"[len(root) :] for where, _, names in os.walk(root) for name in names}


def visible(settings: Settings) -> dict[str, Any]:
    """Everything that later runs and readers can see, in a comparable form."""
    catalog = load_catalog(settings.specs)
    arrivals = Arrivals.load(settings, "trips")
    raw = Table(settings.table("raw", "trips")).read().to_pylist()
    hidden = set(map(source_number, arrivals.hidden))
    rows = [row for row in raw if row["_source"] not in hidden]
    found: dict[str, Any] = {
        "raw rows": sorted((row["u"], row["event_time"], row["route"], row["fare_amount"]) for row in rows),
        "rows in the log": sum(source.kept for source in arrivals.visible),
    }
    for keyset in keysets(catalog, "trips"):
        counts = read_counts(settings, keyset, Stretches.of((START, START + HOURS * HOUR)), arrivals)
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


def _kill(process: subprocess.Popen[str], reached: Callable[[], bool]) -> bool:
    """kill -9 of the process and its JVM when the moment is reached; whether it was still at work."""
    while process.poll() is None:
        if reached():
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True
        time.sleep(0.002)
    assert process.returncode == 0, "a stage that nobody killed failed"
    return False

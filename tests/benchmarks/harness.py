"""The harness of every benchmark: warm-up, interleaved repetitions, medians and spread, peak memory, one result file.

A benchmark is one function `run(bench: Bench)` in `tests/benchmarks/bench_<name>.py`.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import statistics
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psutil

MEGABYTE = 1024 * 1024
SAMPLE_SECONDS = 0.02


class PeakMemory:
    """Highest resident memory of this process and its children (the JVM among them) while it is entered.

    Sampled every 20 ms: a shorter peak may be missed. `grown_mb` is what it rose above the level at entry.
    """

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._before = 0
        self._peak = 0

    def __enter__(self) -> PeakMemory:
        gc.collect()
        self._before = self._peak = self._resident()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._peak = max(self._peak, self._resident())

    @property
    def peak_mb(self) -> float:
        """The highest total, in megabytes."""
        return self._peak / MEGABYTE

    @property
    def grown_mb(self) -> float:
        """The highest total less the total at entry, in megabytes."""
        return (self._peak - self._before) / MEGABYTE

    def _watch(self) -> None:
        while not self._stop.wait(SAMPLE_SECONDS):
            self._peak = max(self._peak, self._resident())

    def _resident(self) -> int:
        total = 0
        for process in [self._process, *self._process.children(recursive=True)]:
            try:
                total += process.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        return total


@dataclass(slots=True)
class Bench:
    """One benchmark's run: what it measured, where it may find the real slices (`data`), and which `part` is wanted."""

    name: str
    data: Path | None = None
    part: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    spread: dict[str, float] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)
    peak_mb: dict[str, float] = field(default_factory=dict)
    grown_mb: dict[str, float] = field(default_factory=dict)
    records: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def measure(
        self, work: Mapping[str, Callable[[], object]], repetitions: int = 5, warmup: int = 1
    ) -> dict[str, float]:
        """Median seconds of each label. Labels take turns, so that a slow minute hits all of them alike.

        Memory is watched in the last warm-up (else the first repetition), never in a run that is timed alone.
        """
        timings: dict[str, list[float]] = {label: [] for label in work}
        for turn in range(-warmup, repetitions):
            for label, task in work.items():
                self.progress(f"{label}: {'warm-up' if turn < 0 else f'repetition {turn + 1}/{repetitions}'}")
                if turn == (-1 if warmup else 0):
                    with PeakMemory() as memory:
                        elapsed = _timed(task)
                    self.peak_mb[label], self.grown_mb[label] = memory.peak_mb, memory.grown_mb
                else:
                    elapsed = _timed(task)
                if turn >= 0:
                    timings[label].append(elapsed)
        for label, values in timings.items():
            self.seconds[label] = statistics.median(values)
            self.spread[label] = max(values) - min(values)
        return {label: self.seconds[label] for label in work}

    def ratio(self, label: str, value: float) -> None:
        """Record a ratio of two measured things."""
        self.ratios[label] = float(value)

    def record(self, key: str, values: Mapping[str, Any]) -> None:
        """Record anything else, as JSON."""
        self.records[key] = dict(values)

    def note(self, text: str) -> None:
        """Say something that a reader of the figures must know."""
        self.notes.append(text)

    def progress(self, text: str) -> None:
        """One line of progress, on standard error."""
        print(f"[bench {self.name}] {text}", file=sys.stderr, flush=True)

    def result(self) -> dict[str, Any]:
        """What the result file holds."""
        return {
            "name": self.name, "environment": environment(), "ratios": self.ratios, "seconds": self.seconds,
            "spread": self.spread, "peak_mb": self.peak_mb, "grown_mb": self.grown_mb,
            "records": self.records, "notes": self.notes,
        }  # fmt: skip

    def write(self, directory: Path) -> Path:
        """Write `<directory>/<name>.json`; its path."""
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / f"{self.name}.json"
        file.write_text(json.dumps(self.result(), indent=2, default=float) + "\n")
        return file

    def table(self) -> str:
        """The figures for the terminal."""
        lines = [f"{self.name} ({environment()})"]
        width = max((len(label) for label in [*self.seconds, *self.ratios, *self.records]), default=0)
        for label, seconds in self.seconds.items():
            spread = f" ±{self.spread[label] / 2:.3f}" if label in self.spread else ""
            memory = f"  peak {self.peak_mb[label]:.0f} MB" if label in self.peak_mb else ""
            lines.append(f"  {label:<{width}}  {seconds:.4f} s{spread}{memory}")
        lines += [f"  {label:<{width}}  {value:.4g}x" for label, value in self.ratios.items()]
        lines += [f"  {key:<{width}}  {_short(values)}" for key, values in self.records.items()]
        lines += [f"  note: {text}" for text in self.notes]
        return "\n".join(lines)


def workers() -> ProcessPoolExecutor:
    """Processes for work without timings: two, or as `SLUICE_BENCH_PROCESSES` says."""
    return ProcessPoolExecutor(int(os.environ.get("SLUICE_BENCH_PROCESSES", "2")), mp_context=get_context("spawn"))


def environment() -> str:
    """One line on where the figures come from."""
    memory = psutil.virtual_memory().total / 1024**3
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores, {memory:.0f} GiB, {platform.machine()}, Python {platform.python_version()}"


def _timed(task: Callable[[], object]) -> float:
    begin = time.perf_counter()
    task()
    return time.perf_counter() - begin


def _short(values: Mapping[str, Any]) -> str:
    return "  ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in values.items())

"""Optimal load shedding, Table I and Fig. 5c: seconds of the optimum for millions of keys."""

from __future__ import annotations

import statistics
import time

from shedding.allocation.water_filling import Method, optimal_rates
from tests.benchmarks.bench_allocator import PAPER, SIZES, problem
from tests.reproduce.evidence import Evidence

TURNS = 3


def run(evidence: Evidence) -> None:
    """Seconds of the linear form, and of the sorting one over it."""
    rows = []
    for label, keys in SIZES.items():
        seconds = {method: _seconds(keys, method) for method in ("linear", "sorting")}
        rows.append({"keys": keys} | seconds)
        if label in PAPER:
            evidence.expect(
                "Optimal, Table I", f"seconds of the optimum, {label} keys", paper=f"{PAPER[label]}",
                measured=f"{seconds['linear']:.3f}", verdict="reproduced", holds=seconds["linear"] < PAPER[label],
                why="another machine",
            )  # fmt: skip
    evidence.table("Optimal, Fig. 5c", rows)
    gains = [row["sorting"] / row["linear"] for row in rows]
    evidence.expect(
        "Optimal, Fig. 5c", "sorting over linear, 1M / 10M / 20M keys", paper="at least 5",
        measured=" / ".join(f"{gain:.0f}" for gain in gains), verdict="reproduced", holds=min(gains) >= 5,
    )  # fmt: skip
    with evidence.plot("Optimal, Fig. 5c", "keys", "seconds", xscale="log", yscale="log") as on:
        for method in ("linear", "sorting"):
            on.plot([row["keys"] for row in rows], [row[method] for row in rows], marker="o", label=method)


def _seconds(keys: int, method: Method) -> float:
    b, v, c, capacity = problem(keys)
    timings = []
    for _ in range(TURNS):
        begin = time.perf_counter()
        optimal_rates(b, v, c, capacity, method=method)
        timings.append(time.perf_counter() - begin)
    return statistics.median(timings)

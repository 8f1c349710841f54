"""Every kind of measure on the real slices: error against plain sampling, coverage of unaudited windows, gate's figure.

Each stream is answered by the pipeline's own code (`measure_replay`). `over_plain` is the mean error of `posterior`
over the better of plain `optimal` and plain `proportional`; `told_over_true` the error that the intervals expect in
unaudited windows over the true one. SUM with known populations has AVG's relative errors, and
VARIANCE, the square of STDDEV, its coverage.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np

from tests.benchmarks.harness import Bench, workers
from tests.benchmarks.measure_replay import MEASURES, Outcome, Replay
from tests.benchmarks.measure_streams import MEASURE_STREAMS, measure_stream

BUDGETS = (0.02, 0.05, 0.10)
ONE_IN = (4, 10, 20)
SEED = 1


def run(bench: Bench) -> None:
    """Record every stream, measure, budget and share of audits."""
    if bench.data is None:
        bench.note("needs the real slices: DATA=<directory>")
        return
    tasks = list(product(MEASURE_STREAMS, MEASURES, [bench.data]))
    with workers() as pool:
        for found in pool.map(measured_cells, *zip(*tasks, strict=True)):
            for cell, figures in found.items():
                bench.record(cell, figures)
            bench.progress(f"{next(iter(found))} replayed")


def measured_cells(name: str, measure: str, data: Path) -> dict[str, dict[str, float]]:
    """The figures of one stream and measure."""
    replay = Replay(measure_stream(name, data), MEASURES[measure], SEED)
    cells = {}
    for budget in BUDGETS:
        plain = [_error(replay.run(policy, budget, 10, plain=True)) for policy in ("optimal", "proportional")]
        for one_in in ONE_IN:
            cells[f"{name} / {measure} / {budget:.0%} / 1 in {one_in}"] = _figures(
                replay.run("posterior", budget, one_in), min(plain)
            )
    return cells


def _figures(found: list[Outcome], plain: float) -> dict[str, float]:
    blind = [outcome for outcome in found if not outcome.audited] or found
    return {
        "mean_error": _error(found),
        "over_plain": _error(found) / plain,
        "coverage": sum(o.covered for o in blind) / max(sum(o.tested for o in blind), 1),
        "told_over_true": float(np.mean([o.expected for o in blind])) / max(_error(blind), 1e-12),
        "windows": len(found),
    }


def _error(found: list[Outcome]) -> float:
    return float(np.mean([outcome.error for outcome in found]))

"""The promise, measured: of the windows published without an exact leg, how many are truly over their limit?

Every family of streams is replayed by the pipeline's own code with several seeds; limits stand at 1 to 3 times the
median error that the query's own audits measured. A row of the result: the share over the limit of all published
windows, of those published at once and of those after repair; the share published without being computed whole; the
rows processed, audits and repairs included, over the budget; the coverage of the intervals.
`SLUICE_PROMISE=N` wants N windows a family (default 400), `SLUICE_FAMILY=text` only the families so named.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from scipy import stats

from shedding.spec.query import QuerySpec
from tests.benchmarks.harness import Bench
from tests.benchmarks.promise_replay import Count, Replay, coverage
from tests.benchmarks.promise_streams import FAMILIES, Family

TIMES = (1.0, 1.25, 1.5, 2.0, 3.0)
"""Limits, in medians of the query's own audited errors."""
Figures = tuple[dict[float, Count], int, int, float, float]


def run(bench: Bench) -> None:
    """Replay every family until it has enough windows."""
    if bench.data is None:
        bench.note("needs the real slices: DATA=<directory>")
        return
    wanted, only = int(os.environ.get("SLUICE_PROMISE", "400")), os.environ.get("SLUICE_FAMILY", "")
    families = [name for name in FAMILIES if only in name]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        futures = {name: pool.submit(measure, name, bench.data, wanted) for name in families}
        for name, future in futures.items():
            counts, tested, covered, budget, read = future.result()
            bench.record(f"{name}: coverage", {"tested": tested, "covered": covered / max(tested, 1)})
            for times, count in counts.items():
                bench.record(f"{name} x{times:g}", _row(count, budget, read))
            bench.progress(f"{name}: coverage {covered / max(tested, 1):.3f}")
            for times in TIMES:
                shown = bench.records[f"{name} x{times:g}"]
                bench.progress("  x{:<4g} {}".format(times, "  ".join(f"{k} {v:.3g}" for k, v in shown.items())))


def measure(name: str, data: Path, wanted: int) -> Figures:
    """One family: counts at every limit, intervals tested and covered, budgeted and read rows."""
    family = FAMILIES[name]
    counts = {times: Count() for times in TIMES}
    tested = covered = seed = 0
    budget = read = 0.0
    while counts[1.0].windows < wanted:
        seed += 1
        replay = Replay(_query(family, seed), _rows(family, data, seed)).run()
        medians = {name: float(np.median(errors)) for name, errors in replay.audited.items()}
        for slot in replay.slots:
            for times, count in counts.items():
                count.add(slot, {name: times * median for name, median in medians.items()})
            found = coverage(slot)
            tested, covered = tested + found[0], covered + found[1]
        budget += family.fraction * replay.all_rows
        read += replay.read_rows
    return counts, tested, covered, budget, read


def _query(family: Family, seed: int) -> QuerySpec:
    """The family's query; its name salts audits and spot checks."""
    return QuerySpec.model_validate({
        "name": f"promise{seed}", "dataset": "stream", "window": family.windows or {"size": family.every},
        "group_by": ["key"], "measures": list(family.measures), "schedule": {"every": family.every},
        "shed": {"policy": "posterior", "budget": {"fraction": family.fraction}}, "audit": {"one_in": family.one_in},
    })  # fmt: skip


def _rows(family: Family, data: Path, seed: int):  # type: ignore[no-untyped-def]
    rows = family.load(data, seed).sort_values("time", kind="stable").reset_index(drop=True)
    return rows.assign(u=np.random.default_rng([seed, 3]).random(len(rows)))


def _row(count: Count, budget: float, read: float) -> dict[str, float]:
    published, over = count.at_once + count.repaired, count.over + count.repaired_over
    low, high = stats.beta.ppf([0.025, 0.975], [over, over + 1], [published - over + 1, published - over])
    return {
        "windows": count.windows,
        "published": published,
        "over": over / max(published, 1),
        "low": float(np.nan_to_num(low)),
        "high": float(np.nan_to_num(high, nan=1.0)),
        "over_at_once": count.over / max(count.at_once, 1),
        "over_repaired": count.repaired_over / max(count.repaired, 1),
        "published_share": published / max(count.windows, 1),
        "at_once_share": count.at_once / max(count.windows, 1),
        "rows_over_budget": (read + count.repair_rows) / budget,
    }

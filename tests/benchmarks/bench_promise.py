"""The promise, measured: every row that is wanted of it, wanted beside measured, by one command.

Its parts, each a name that `PART=text` may choose by:
- `stream: ...`: a family of streams, replayed by the pipeline's own code with several seeds until 2,000 windows were
  published without an exact leg (`SLUICE_PROMISE=N` for N). Limits stand at 1 to 3 times the median error that the
  query's own audits measured, or at that of the shipped query;
- `measure: ...`: a stream and a kind of measure against plain sampling (see `bench_measures`);
- `accuracy: ...`: a stream of the README's table of accuracy (see `bench_accuracy`);
- `gate`: the gate's seconds at 100,000 keys.
All of it takes hours. What was measured on this very code is kept in `build/bench/promise/` and not measured again, so
that parts may be run one after another; the table at the end is of all parts that this code has.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from shedding.spec.query import QuerySpec
from tests.benchmarks import bench_gate
from tests.benchmarks.accuracy_streams import STREAMS, stream_of
from tests.benchmarks.bench_accuracy import BUDGETS, SEEDS, replay
from tests.benchmarks.bench_measures import measured_cells
from tests.benchmarks.harness import Bench, workers
from tests.benchmarks.measure_replay import MEASURES
from tests.benchmarks.measure_streams import MEASURE_STREAMS
from tests.benchmarks.promise_replay import Count, Replay, coverage
from tests.benchmarks.promise_streams import FAMILIES, Family
from tests.benchmarks.promise_table import lines_of, readme_cells, table

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "bench" / "promise"
TIMES = (1.0, 1.25, 1.5, 2.0, 3.0)
"""Limits, in medians of the query's own audited errors."""
MOST_TRIES = 3
"""Windows that are replayed for each that is wanted: where most slots are computed whole, fewer are published."""
Figures = dict[str, dict[str, float]]


def parts() -> list[str]:
    """Every part by name."""
    measures = [f"measure: {stream} / {measure}" for stream in MEASURE_STREAMS for measure in MEASURES]
    accuracy = [f"accuracy: {stream}" for stream in STREAMS if stream in readme_cells()]
    return [*(f"stream: {name}" for name in FAMILIES), *accuracy, *measures, "gate"]


def run(bench: Bench) -> None:
    """Measure what this code lacks of the parts that are asked for; print the table of all that it has."""
    if bench.data is None:
        bench.note("needs the real slices: DATA=<directory>")
        return
    wanted = int(os.environ.get("SLUICE_PROMISE", "2000"))
    kept = KEPT / f"{code_of_now()}-{wanted}"
    kept.mkdir(parents=True, exist_ok=True)
    lacking = [part for part in parts() if bench.part in part and not _file(kept, part).exists()]
    with workers() as pool:
        futures = {part: pool.submit(measure, part, bench.data, wanted) for part in lacking if part != "gate"}
        for part, future in futures.items():
            _keep(bench, kept, part, future.result())
    if "gate" in lacking:
        timed = Bench("gate")
        bench_gate.run(timed)
        _keep(bench, kept, "gate", {"seconds": timed.seconds["100000"]})
    have = {part: json.loads(_file(kept, part).read_text()) for part in parts() if _file(kept, part).exists()}
    lines = [line for part, figures in have.items() for line in lines_of(part, figures)]
    for part, figures in have.items():
        bench.record(part, figures)
    bench.progress("\n" + table(lines))
    bench.note(
        f"{sum(line.met for line in lines)} of {len(lines)} are met; {len(have)} of {len(parts())} parts measured"
    )


def measure(part: str, data: Path, wanted: int) -> Any:
    """The figures of one part."""
    kind, _, name = part.partition(": ")
    if kind == "stream":
        return measured_family(FAMILIES[name], data, wanted)
    if kind == "measure":
        return measured_cells(*name.split(" / "), data)
    outcomes = [one for seed in SEEDS for one in replay(stream_of(name, STREAMS[name](data)), seed)]
    errors = {b: [o[3].errors.mean for o in outcomes if o[1:3] == (b, "recipe, thresholds")] for b in BUDGETS}
    return {f"{budget:.0%}": float(np.mean(found)) for budget, found in errors.items()}


def measured_family(family: Family, data: Path, wanted: int) -> Figures:
    """One family: what became of its windows at every limit, and the coverage of its intervals."""
    labels = {f"x{times:g}": times for times in TIMES} if family.limit is None else {"as shipped": 0.0}
    counts = {label: Count() for label in labels}
    tested = covered = seed = 0
    budget = read = 0.0
    least = counts["x2" if family.limit is None else "as shipped"]
    while least.published < wanted and least.windows < MOST_TRIES * wanted:
        seed += 1
        replay = Replay(_query(family, seed), _rows(family, data, seed)).run()
        medians = {name: float(np.median(errors)) for name, errors in replay.audited.items()}
        for slot in replay.slots:
            for label, times in labels.items():
                counts[label].add(slot, {name: family.limit or times * median for name, median in medians.items()})
            found = coverage(slot)
            tested, covered = tested + found[0], covered + found[1]
        budget += family.fraction * replay.all_rows
        read += replay.read_rows
    figures = {label: _row(count, budget, read) for label, count in counts.items()}
    return {"coverage": {"tested": tested, "covered": covered / max(tested, 1)}, **figures}


def code_of_now() -> str:
    """A digest of everything that the figures depend on."""
    files = (file for room in ("shedding", "expectations", "tests/benchmarks") for file in (ROOT / room).rglob("*.py"))
    digest = hashlib.blake2b(digest_size=6)
    for file in sorted(files):
        digest.update(file.relative_to(ROOT).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _file(kept: Path, part: str) -> Path:
    return kept / f"{part.replace('/', 'of').replace(':', '').replace(',', '').replace(' ', '_')}.json"


def _keep(bench: Bench, kept: Path, part: str, figures: Mapping[str, Any]) -> None:
    _file(kept, part).write_text(json.dumps(figures, indent=2, default=float))
    bench.progress(f"{part} measured")


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
    published, over = count.published, count.over + count.repaired_over
    low, high = stats.beta.ppf([0.025, 0.975], [over, over + 1], [published - over + 1, published - over])
    return {
        "windows": count.windows,
        "published": published,
        "over": over / max(published, 1),
        "low": float(np.nan_to_num(low)),
        "high": float(np.nan_to_num(high, nan=1.0)),
        "repaired": count.repaired,
        "over_at_once": count.over / max(count.at_once, 1),
        "over_repaired": count.repaired_over / max(count.repaired, 1),
        "published_share": published / max(count.windows, 1),
        "at_once_share": count.at_once / max(count.windows, 1),
        "rows_over_budget": (read + count.repair_rows) / budget,
    }

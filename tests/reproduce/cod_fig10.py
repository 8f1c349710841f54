"""CoD, Fig. 10: error against the share of the data, by concept and with history."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.benchmarks.accuracy_replay import Replay, Truth
from tests.benchmarks.accuracy_streams import STREAMS, stream_of
from tests.benchmarks.bench_accuracy import Known, Leg, judged, recipe_answer
from tests.reproduce.evidence import Evidence
from tests.reproduce.sliding import by_policy, shed, trips

PARTS = (0.02, 0.10, 0.25, 0.50)


def run(evidence: Evidence) -> None:
    """Taxi trips by pickup cell, 30-minute windows: uniform and cod with plain means, posterior with history."""
    cells = trips(evidence.data, "cell")
    errors = {
        (way, part): shed(cells, 1800.0, 600.0, part, by_policy(way)).mean
        for way in ("uniform", "cod")
        for part in PARTS
    }
    errors |= {("posterior", part): error for part, error in zip(PARTS, _learnt(evidence), strict=True)}
    ways = ("uniform", "cod", "posterior")
    evidence.table("CoD, Fig. 10", [{"share": part} | {way: errors[way, part] for way in ways} for part in PARTS])
    with evidence.plot("CoD, Fig. 10", "share of the rows", "mean relative error") as on:
        for way in ways:
            on.plot(PARTS, [errors[way, part] for part in PARTS], marker="o", label=way)
    evidence.expect(
        "CoD, Fig. 10", "error of cod at 2 % and of uniform at 50 % of the rows", paper="cod is below",
        measured=f"{errors['cod', 0.02]:.2f}, {errors['uniform', 0.5]:.2f}", verdict="contradicted",
        holds=errors["cod", 0.02] > errors["uniform", 0.5],
        why="at equal rows; below keys / rows a sample alone cannot show every key",
    )  # fmt: skip
    evidence.expect(
        "CoD, Fig. 10", "error of posterior, which has history too, at 2 % and of uniform at 50 %",
        paper="(beyond the paper)", measured=f"{errors['posterior', 0.02]:.2f}, {errors['uniform', 0.5]:.2f}",
        verdict="reproduced", holds=errors["posterior", 0.02] < errors["uniform", 0.5],
    )  # fmt: skip
    gains = [errors["cod", part] / errors["uniform", part] for part in PARTS]
    evidence.expect(
        "CoD, Fig. 10", "cod over uniform at 2 / 10 / 25 / 50 %", paper="far below 1 everywhere", verdict="reproduced",
        measured=" / ".join(f"{gain:.2f}" for gain in gains), holds=max(gains) < 1 and gains[-1] < 0.3,
    )  # fmt: skip


def _learnt(evidence: Evidence) -> Iterator[float]:
    """Mean error of the recipe at each share, every window before an audit."""
    stream = stream_of("taxi", STREAMS["taxi 30 min"](evidence.data))
    truth = Truth.of(stream)
    rows, windows = Replay(stream, truth, seed=1), range(1, len(truth.exact.count))
    known = {window: Known.of(truth, window) for window in windows}
    for part in PARTS:
        leg, rng, errors = Leg(1, thresholds=True), np.random.default_rng(7), []
        for window in windows:
            answer, size = recipe_answer(rows, known[window], part, leg, rng)
            errors.append(judged(truth, window, answer, size)[0].errors.mean)
        yield float(np.mean(errors))

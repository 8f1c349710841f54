"""The accuracy table: every dataset, budget and way to shed, on the real slices, three seeds.

Equal rows really processed, a missing key counts as 100 %, the first window is left out. Plain variants have Student's
t intervals, counted where they exist (`interval_share`); where the budget allows they give every key a row, and the
rest in proportion to size (`proportional`), evenly (`equal`) or to the rows' relative spread, as priors (`n ~ cv`) or
the window itself (`oracle`) know it. Every window is an audit for those after it, in `recipe, 1 in 10` one in ten.
`recipe, thresholds` samples as the pipeline does (u < rate), the others n rows a key, n rounded at random.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shedding.allocation.budget import Budget
from shedding.allocation.concept import Concept
from shedding.estimates import Estimate, stratified_mean
from shedding.estimates.accuracy import (
    WindowErrors,
    checked_intervals,
    half_widths,
    mean_half_width,
    relative_errors,
)
from shedding.estimates.moments import Moments
from shedding.estimates.shrinkage import AuditRecord, History, Prior, calibrate, merge_records, shrink
from shedding.policies import get_policy
from tests.benchmarks.accuracy_replay import Replay, Truth
from tests.benchmarks.accuracy_streams import STREAMS, Stream, load_streams
from tests.benchmarks.harness import Bench, workers

Floats = NDArray[np.float64]
BUDGETS = (0.02, 0.05, 0.10)
SEEDS = (1, 2, 3)
PAGE = {
    "flights day": (0.192, 0.156, 0.131),
    "flights week": (0.109, 0.086, 0.075),
    "taxi 30 min": (0.261, 0.160, 0.100),
    "fares 6 h": (0.383, 0.316, 0.226),
    "green week": (0.140, 0.076, 0.034),
    "green day": (0.285, 0.142, 0.070),
    "google 15 min": (0.014, 0.0027, 0.0005),
}
"""Mean errors of the recipe as the project was given them."""
PLAIN = ("uniform", "proportional", "equal", "n ~ cv", "oracle")
RECIPES = {"recipe": 1, "recipe, thresholds": 1, "recipe, 1 in 10": 10}


@dataclass(frozen=True)
class Accuracy:
    """One window's errors, and of its bounded intervals the share that holds the truth and the mean half-width."""

    errors: WindowErrors
    coverage: float
    half_width: float


Outcome = tuple[str, float, str, Accuracy, float, float]


@dataclass
class Leg:
    """One recipe on one replay: the records of its audits so far."""

    one_in: int
    thresholds: bool
    records: dict[int, AuditRecord] = field(default_factory=dict)


def run(bench: Bench) -> None:
    """Replay every stream and record mean error, p95, coverage, half-width and processed fraction."""
    if bench.data is None:
        bench.note("needs the real slices: DATA=<directory>")
        return
    streams = load_streams(bench.data)
    bench.progress(f"{len(streams)} streams loaded")
    outcomes: list[Outcome] = []
    tasks = [(stream, seed) for stream in sorted(streams, key=lambda s: -s.value.size) for seed in SEEDS]
    with workers() as pool:
        for done in pool.map(replay, *zip(*tasks, strict=True)):
            outcomes += done
            bench.progress(f"{done[0][0]} replayed")
    for name in STREAMS:
        for place, budget in enumerate(BUDGETS):
            for variant in (*PLAIN, *RECIPES):
                figures = _figures([o for o in outcomes if o[:3] == (name, budget, variant)])
                bench.record(f"{name} / {budget:.0%} / {variant}", figures)
                if variant == "recipe" and name in PAGE:
                    bench.ratio(f"{name} {budget:.0%}: recipe over page", figures["mean_error"] / PAGE[name][place])
    bench.progress("\n" + _table(bench))


def replay(stream: Stream, seed: int) -> list[Outcome]:
    """All windows, budgets and variants of one stream under one seed."""
    truth = Truth.of(stream)
    rows = Replay(stream, truth, seed)
    rng = np.random.default_rng([seed, 7])
    outcomes: list[Outcome] = []
    legs = {
        budget: {name: Leg(one_in, name == "recipe, thresholds") for name, one_in in RECIPES.items()}
        for budget in BUDGETS
    }
    for window in range(1, len(truth.exact.count)):
        known = Known.of(truth, window)
        for budget in BUDGETS:
            for variant, size in _plain_sizes(rows, known, budget, rng):
                answer = stratified_mean(rows.sample(window, size))
                outcomes.append((stream.name, budget, variant, *judged(truth, window, answer, size)))
            for variant, leg in legs[budget].items():
                answer, size = recipe_answer(rows, known, budget, leg, rng)
                outcomes.append((stream.name, budget, variant, *judged(truth, window, answer, size)))
    return outcomes


@dataclass(frozen=True)
class Known:
    """What is known of a window: histories and priors by `one_in`, and `own`, which only an oracle knows."""

    window: int
    population: Floats
    histories: dict[int, History]
    priors: dict[int, Prior]
    own: Prior

    @classmethod
    def of(cls, truth: Truth, window: int) -> Known:
        exact, population = truth.exact, truth.exact.count[window]
        histories = {one_in: truth.history(window, one_in) for one_in in set(RECIPES.values())}
        priors = {one_in: history.prior(population) for one_in, history in histories.items()}
        this = Moments(exact.count[[window]], exact.mean[[window]], exact.m2[[window]])
        return cls(window, population, histories, priors, History.of(this).prior(population))


def _plain_sizes(rows: Replay, known: Known, budget: float, rng: np.random.Generator) -> Iterator[tuple[str, Floats]]:
    population = known.population
    capacity = budget * population.sum()
    yield "uniform", rows.below(known.window, np.full(population.shape, budget))
    shares = {
        "proportional": population,
        "equal": np.ones_like(population),
        "n ~ cv": known.priors[1].cv,
        "oracle": known.own.cv,
    }
    for name, share in shares.items():
        yield name, _rounded(_in_proportion(share, population, capacity), population, rng)


def recipe_answer(
    rows: Replay, known: Known, budget: float, leg: Leg, rng: np.random.Generator
) -> tuple[Estimate, Floats]:
    """The learnt answer of a window and the rows sampled of each key; an audited window adds its record to the leg."""
    population, window = known.population, known.window
    wanted = _posterior_rows(known.priors[leg.one_in], budget * population.sum())
    if leg.thresholds:
        size = rows.below(window, wanted / np.maximum(population, 1.0))
    else:
        size = _rounded(wanted, population, rng)
    sampled = rows.sample(window, size).combine()
    audits = rows.truth.audits_before(window, leg.one_in)
    calibration = merge_records([leg.records[a] for a in audits if a in leg.records])
    history = known.histories[leg.one_in]
    answer = shrink(sampled, history.prior(population, calibration.drift), calibration).estimate
    if window % leg.one_in == 0:
        leg.records[window] = calibrate(history, rows.truth.exact.mean[window], sampled, window)
    return answer, size


def _posterior_rows(prior: Prior, capacity: float) -> Floats:
    """Rows a key by the `posterior` policy; keys without rows get none."""
    here = prior.population > 0
    concept = Concept.grouped(prior.population[here], cv=prior.cv[here], prior_variance=prior.planned[here])
    rows = np.zeros(prior.population.size)
    rows[here] = get_policy("posterior").allocate(concept, Budget(rows=capacity)).rates * prior.population[here]
    return rows


def _in_proportion(share: Floats, population: Floats, capacity: float) -> Floats:
    """Rows in proportion to `share`, at most all and, as far as they go round, at least one a key."""
    first = np.minimum(population, 1.0)
    if capacity <= first.sum():
        return first * capacity / first.sum()
    low, high = 0.0, float(population.max() / share[population > 0].min())
    for _ in range(60):
        scale = (low + high) / 2
        low, high = (scale, high) if np.clip(scale * share, first, population).sum() < capacity else (low, scale)
    return np.clip(high * share, first, population)


def _rounded(size: Floats, population: Floats, rng: np.random.Generator) -> Floats:
    whole = np.floor(size)
    return np.minimum(population, whole + (rng.random(size.size) < size - whole))


def judged(truth: Truth, window: int, answer: Estimate, size: Floats) -> tuple[Accuracy, float, float]:
    """Accuracy, the share of keys with a bounded interval, and the processed fraction."""
    processed = float(size.sum() / truth.exact.count[window].sum())
    here = truth.exact.count[window] > 0
    exact = truth.exact.mean[window][here]
    value, low, high = answer.value[here], answer.low[here], answer.high[here]
    errors = WindowErrors.of(relative_errors(exact, value))
    bounded = np.isfinite(low) & np.isfinite(high)
    if not bounded.any():
        return Accuracy(errors, 0.0, 0.0), 0.0, processed
    exact, value, low, high = exact[bounded], value[bounded], low[bounded], high[bounded]
    covered = ~np.isnan(value) & checked_intervals(exact, low, high)[1]
    widths = half_widths(exact, low, high)[~np.isnan(value)]
    return Accuracy(errors, float(covered.mean()), mean_half_width(widths)), float(bounded.mean()), processed


def _figures(found: list[Outcome]) -> dict[str, float]:
    accuracies = [outcome[3] for outcome in found]
    weight = np.array([outcome[4] for outcome in found])
    bounded = max(float(weight.sum()), 1e-12)
    return {
        "mean_error": float(np.mean([a.errors.mean for a in accuracies])),
        "p95": float(np.mean([a.errors.p95 for a in accuracies])),
        "p95_of_windows": float(np.quantile([a.errors.mean for a in accuracies], 0.95)),
        "coverage": sum(a.coverage * w for a, w in zip(accuracies, weight, strict=True) if w > 0) / bounded,
        "windows_below_90": float(np.mean([a.coverage < 0.9 for a in accuracies])),
        "half_width": sum(a.half_width * w for a, w in zip(accuracies, weight, strict=True) if w > 0) / bounded,
        "interval_share": float(weight.mean()),
        "processed": float(np.mean([outcome[5] for outcome in found])),
        "windows": len(found) // len(SEEDS),
    }


def _table(bench: Bench) -> str:
    lines = [f"{'mean error':<26}" + "".join(f"{variant:>19}" for variant in (*PLAIN, *RECIPES)) + "  coverage  page"]
    for name in STREAMS:
        for place, budget in enumerate(BUDGETS):
            cells = [bench.records[f"{name} / {budget:.0%} / {variant}"] for variant in (*PLAIN, *RECIPES)]
            recipe = bench.records[f"{name} / {budget:.0%} / recipe"]
            lines.append(
                f"{name:<20}{budget:>5.0%} "
                + "".join(f"{cell['mean_error']:>19.4f}" for cell in cells)
                + f"{recipe['coverage']:>10.3f}  {PAGE[name][place] if name in PAGE else '-'}"
            )
    return "\n".join(lines)

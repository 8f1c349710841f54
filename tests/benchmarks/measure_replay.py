"""A stream's windows answered by the pipeline's own code, for any measure, policy, budget and share of audits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shedding.allocation.budget import Budget
from shedding.allocation.concept import Concept
from shedding.answers.answer import Answer, exact_answer, plain_answer
from shedding.answers.learnt import Learnt, learnt_answer
from shedding.answers.scores import expected, measured
from shedding.estimates.moments import Moments
from shedding.estimates.shrinkage import AuditRecord, Calibration, History, merge_records
from shedding.keys import Keys
from shedding.panes.blocks import levels_of
from shedding.panes.states import SampledValues, WindowPair, WindowPowers, WindowStat, WindowSums, WindowValues
from shedding.panes.windows import WindowSample
from shedding.planning.audit_plan import AuditPlan
from shedding.planning.calibrations import block_record
from shedding.planning.priors import measure_history
from shedding.policies import get_policy
from shedding.scan.double_double import two_product
from shedding.scan.exact_sums import ExactSums
from shedding.spec.measure import MeasureSpec
from tests.benchmarks.measure_streams import MeasureStream

Floats = NDArray[np.float64]
MEASURES = {
    "avg": MeasureSpec(name="m", agg="avg", column="value"),
    "ratio": MeasureSpec(name="m", agg="ratio", column="value", over="over"),
    "stddev": MeasureSpec(name="m", agg="stddev", column="value"),
    "p50": MeasureSpec(name="m", agg="quantile", column="value", q=0.5),
    "p90": MeasureSpec(name="m", agg="quantile", column="value", q=0.9),
    "p99": MeasureSpec(name="m", agg="quantile", column="value", q=0.99),
}
"""SUM with known populations is AVG times N: its relative errors are AVG's. VARIANCE is STDDEV squared, ends and all:
its intervals hold where STDDEV's do."""


@dataclass(frozen=True)
class Outcome:
    """One window of one leg: mean relative error, what the gate expects of it, intervals tested and those that held."""

    window: int
    audited: bool
    error: float
    expected: float
    tested: int
    covered: int
    processed: float


@dataclass
class Windows:
    """The rows of each window, and its exact samples."""

    stream: MeasureStream
    measure: MeasureSpec
    seed: int
    exact: dict[int, WindowSample] = field(default_factory=dict)

    def __post_init__(self) -> None:
        stream = self.stream
        self.count = int(stream.window.max()) + 1
        size = int(stream.key.max()) + 1
        self.keys = Keys(("key",), (pa.array(np.arange(size)),), size)
        self.u = np.random.default_rng(self.seed).random(stream.value.size)
        self.edges = np.searchsorted(stream.window, np.arange(self.count + 1))

    def sample(self, window: int, rates: Floats | None) -> WindowSample:
        """The rows with u below their key's rate; all of them without rates."""
        here = slice(self.edges[window], self.edges[window + 1])
        key, size = self.stream.key[here], len(self.keys)
        population = np.bincount(key, minlength=size).astype(np.float64)
        kept = np.ones(key.size, dtype=bool) if rates is None else self.u[here] < rates[key]
        key, value, over = key[kept], self.stream.value[here][kept], self.stream.over[here][kept]
        stat = self._stat(population[None], key, value, over, exact=rates is None)
        rate = np.ones(size) if rates is None else rates
        measures = {self.measure.name: stat}
        return WindowSample(
            window, window + 1, self.keys, True, population[None], stat.moments.count, rate[None], measures
        )

    def _stat(
        self, population: Floats, key: NDArray[np.int64], value: Floats, over: Floats, *, exact: bool
    ) -> WindowStat:
        """What a window keeps of the measure, by its state."""
        size = len(self.keys)
        moments, total = _moments(value, key, size), ExactSums.of_doubles(value, key, size)
        if self.measure.agg == "quantile":
            values = None if exact else SampledValues(value, key, np.zeros(key.size, dtype=np.int64))
            levels = exact_levels(value, key, size, self.measure) if exact else None
            return WindowValues(population, moments, values, levels)
        if self.measure.agg == "ratio":
            other = _moments(over, key, size)
            away = (value - moments.mean[0, key]) * (over - other.mean[0, key])
            cross = np.bincount(key, away, minlength=size)[None]
            return WindowPair(population, moments, total, other, ExactSums.of_doubles(over, key, size), cross)
        if self.measure.agg in ("stddev", "variance"):
            away = value - moments.mean[0, key]
            m3, m4 = (np.bincount(key, away**power, minlength=size)[None] for power in (3, 4))
            return WindowPowers(population, moments, m3, m4, total, exact_squares(value, key, size))
        return WindowSums(population, moments, total)

    def exact_sample(self, window: int) -> WindowSample:
        """All rows of a window, made once."""
        if window not in self.exact:
            self.exact[window] = self.sample(window, None)
        return self.exact[window]

    def truth(self, window: int) -> Answer:
        """The exact answer."""
        whole = {}
        if self.measure.agg == "quantile":
            whole = {self.measure.name: exact_quantiles(self, window)}
        return exact_answer(self.exact_sample(window), [self.measure], whole)

    def least_u(self, window: int) -> Floats:
        here = slice(self.edges[window], self.edges[window + 1])
        least = np.full(len(self.keys), np.inf)
        np.minimum.at(least, self.stream.key[here], self.u[here])
        return least


def exact_quantiles(windows: Windows, window: int) -> Floats:
    """SQL's percentile of each key's rows."""
    here = slice(windows.edges[window], windows.edges[window + 1])
    return percentile_by_key(windows.stream.value[here], windows.stream.key[here], len(windows.keys), windows.measure.q)


def percentile_by_key(value: Floats, key: NDArray[np.int64], size: int, q: float) -> Floats:
    order = np.lexsort((value, key))
    data, count = value[order], np.bincount(key, minlength=size)
    first = np.cumsum(count) - count
    place = np.maximum(count - 1, 0) * q
    low = np.floor(place).astype(np.int64)
    high = np.ceil(place).astype(np.int64)
    last = max(data.size - 1, 0)
    below, above = data[np.minimum(first + low, last)], data[np.minimum(first + high, last)]
    return np.where(count > 0, below + (place - low) * (above - below), np.nan)


def exact_levels(value: Floats, key: NDArray[np.int64], size: int, measure: MeasureSpec) -> Floats:
    assert measure.q is not None
    return np.stack([percentile_by_key(value, key, size, level) for level in levels_of(measure.q)])


def exact_squares(value: Floats, key: NDArray[np.int64], size: int) -> ExactSums:
    """The exact sums of squares by key."""
    parts = np.concatenate(two_product(value, value))
    return ExactSums.of_doubles(parts, np.concatenate([key, key]), size)


def _moments(value: Floats, key: NDArray[np.int64], size: int) -> Moments:
    """Moments (1, K) by key."""
    moments = Moments.grouped(value, key, size)
    return Moments(*(part[None] for part in (moments.count, moments.mean, moments.m2)))


class Replay:
    """One stream, measure and seed; `run` answers its windows under one policy and budget."""

    def __init__(self, stream: MeasureStream, measure: MeasureSpec, seed: int) -> None:
        self.windows = Windows(stream, measure, seed)
        self.measure = measure
        self._histories: dict[tuple[int, ...], History] = {}
        self._truths: dict[int, Answer] = {}

    def run(self, policy: str, budget: float, one_in: int, *, plain: bool = False) -> list[Outcome]:
        """All windows but the first two, which are audited and have next to no history."""
        plan = AuditPlan(length=1, one_in=one_in, salt=self.windows.stream.name, first=0)
        records: dict[int, AuditRecord | None] = {}
        calibrations: dict[tuple[int, ...], Calibration] = {}
        found = []
        for window in range(1, self.windows.count):
            audited = plan.is_audited(window)
            audits = plan.priors(window)
            history = self.history(audits)
            rates = self.rates(window, history, policy, budget)
            sample = self.windows.sample(window, rates)
            if plain:
                answer = plain_answer(sample, [self.measure])
            else:
                used = tuple(a for a in audits if records.get(a) is not None)
                if used not in calibrations:
                    calibrations[used] = merge_records([records[a] for a in used])
                learnt = Learnt({"m": history}, {"m": calibrations[used]})
                answer = learnt_answer(sample, [self.measure], learnt)
            if audited and not plain:
                records[window] = block_record(history, self.windows.exact_sample(window), sample, self.measure, window)
            if window > 1:
                found.append(self.judged(window, audited, answer, sample))
        return found

    def history(self, audits: Sequence[int]) -> History:
        if tuple(audits) not in self._histories:
            samples = [self.windows.exact_sample(a) for a in audits]
            self._histories[tuple(audits)] = measure_history(self.measure, samples, np.arange(len(audits), dtype=float))
        return self._histories[tuple(audits)]

    def rates(self, window: int, history: History, policy: str, budget: float) -> Floats:
        population = self.windows.exact_sample(window).rows
        there = population > 0
        prior = history.prior(population)
        concept = Concept.grouped(
            population[there],
            cv=prior.cv[there],
            scale=np.abs(prior.value[there]),
            prior_variance=prior.planned[there],
            least_u=self.windows.least_u(window)[there],
        )
        rates = np.ones(population.size)
        rates[there] = get_policy(policy).allocate(concept, Budget(rows=budget * population.sum())).rates
        return rates

    def judged(self, window: int, audited: bool, answer: Answer, sample: WindowSample) -> Outcome:
        if window not in self._truths:
            self._truths[window] = self.windows.truth(window)
        score = measured(answer, self._truths[window], self.measure)
        gate = expected(answer, self.measure)
        told = gate.every
        processed = float(sample.sampled_rows.sum() / sample.rows.sum())
        return Outcome(
            window, audited, float(score.every.mean()), float(told.mean()), score.estimates, score.covered, processed
        )

"""A leg's answer for one window: a value with an interval for every key and measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
import numpy.typing as npt

from shedding.arrays import positive, quotient
from shedding.estimates import Estimate
from shedding.measures import measure_of
from shedding.panes.windows import WindowSample
from shedding.spec.measure import MeasureSpec
from shedding.spec.query import TopSpec

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Answer:
    """One window of one leg, arrays over the sample's keys.

    present: the keys the window has, as far as the leg can know. shown: those that the answer holds; a
    present key that is not shown is missing. imputed: shown without a sampled row. exact: no row left out.
    silent: by measure, the shown keys that have no value though rows were left out that may give them one.
    integers: by measure, the same values as whole numbers, where doubles may not hold them (min and max).
    """

    sample: WindowSample
    estimates: Mapping[str, Estimate]
    present: Flags
    shown: Flags
    imputed: Flags
    exact: Flags
    silent: Mapping[str, Flags] = field(default_factory=dict)
    integers: Mapping[str, Integers] = field(default_factory=dict)

    @property
    def rate(self) -> Floats:
        """The share of the key's rows that was sampled; where populations are unknown, the rate they were drawn at."""
        rows, sampled = self.sample.rows, self.sample.sampled_rows
        if self.sample.known:
            return quotient(sampled, rows, 0.0)
        drawn = (self.sample.sampled / positive(self.sample.rate)).sum(axis=0)
        widest = np.asarray(self.sample.rate.max(axis=0))
        return np.where(drawn > 0, quotient(sampled, drawn, 1.0), widest)

    def only(self, keys: Flags) -> Answer:
        """The same answer, showing only some of the keys and knowing of no others."""
        return replace(self, present=self.present & keys, shown=self.shown & keys)


def top_keys(answer: Answer, top: TopSpec) -> Flags:
    """The n shown keys of largest value, ties in the order of the keys.

    Only the published leg of a query with `top` is cut down to them; the other legs keep all keys, so that
    errors and coverage of the published rows can be told.
    """
    return largest(np.where(answer.shown, answer.estimates[top.by].value, np.nan), top.n)


def largest(values: Floats, n: int) -> Flags:
    """The n largest numbers, ties in their order; nan is none.

    >>> largest(np.array([1.0, np.nan, 3.0, 1.0]), 2)
    array([ True, False,  True, False])
    """
    chosen = np.argsort(-values, kind="stable")[:n]  # nan is last
    flags = np.zeros(len(values), dtype=np.bool_)
    flags[chosen] = True
    return flags & ~np.isnan(values)


def exact_answer(sample: WindowSample, measures: Sequence[MeasureSpec], whole: Mapping[str, Floats]) -> Answer:
    """The answer from all rows; `whole` are values computed over whole windows (quantiles, distinct counts)."""
    estimates = {m.name: Estimate.exact(_exact_value(sample, m, whole)) for m in measures}
    there = sample.rows > 0
    nothing = np.zeros_like(there)
    told = {m.name: measure_of(m).integers(sample) for m in measures}
    integers = {name: values for name, values in told.items() if values is not None}
    return Answer(sample, estimates, there, there, nothing, there, integers=integers)


def plain_answer(sample: WindowSample, measures: Sequence[MeasureSpec]) -> Answer:
    """The design-based answer, free of any history: unbiased, and without the keys that have no sampled row."""
    sampled = sample.sampled_rows
    present = sample.rows > 0 if sample.known else sampled > 0
    if sample.known:
        complete = present & ((sampled >= sample.rows) | told_by_counts(sample, measures))
    else:
        complete = present & (sample.rate.min(axis=0) >= 1)
    estimates = {m.name: exact_where(complete, sample, m, measure_of(m).plain(sample)) for m in measures}
    wanted = {m.name: measure_of(m).has_values(sample) & ~complete for m in measures}
    untold = np.any([np.isnan(estimates[name].value) & keys for name, keys in wanted.items()], axis=0)
    return shown_answer(sample, estimates, present, present & ((sampled > 0) | ~untold), complete, wanted)


def shown_answer(
    sample: WindowSample,
    estimates: Mapping[str, Estimate],
    present: Flags,
    shown: Flags,
    complete: Flags,
    wanted: Mapping[str, Flags],
) -> Answer:
    """The answer that shows some of the present keys, silent about the values that are wanted and not known."""
    silent = {name: np.isnan(estimates[name].value) & keys & shown for name, keys in wanted.items()}
    return Answer(sample, estimates, present, shown, shown & (sample.sampled_rows == 0) & ~complete, complete, silent)


def told_by_counts(sample: WindowSample, measures: Sequence[MeasureSpec]) -> bool:
    """Whether the counts of arrival are the whole answer: no measure is estimated, and every row is counted."""
    return sample.known and not any(measure.traits.estimated for measure in measures)


def exact_where(complete: Flags, sample: WindowSample, spec: MeasureSpec, estimate: Estimate) -> Estimate:
    """The estimate, and of keys that lack no row the exact leg's value, the same bits.

    What panes keep nothing of, the number of rows, is exact there already.
    """
    if spec.traits.state is None or not complete.any():
        return estimate
    exact = Estimate.exact(measure_of(spec).exact(sample))
    pairs = ((getattr(exact, part.name), getattr(estimate, part.name)) for part in fields(Estimate))
    return Estimate(*(np.where(complete, known, told) for known, told in pairs))


def _exact_value(sample: WindowSample, spec: MeasureSpec, whole: Mapping[str, Floats]) -> Floats:
    return np.asarray(whole[spec.name]) if spec.name in whole else measure_of(spec).exact(sample)

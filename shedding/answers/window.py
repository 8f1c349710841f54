"""A leg's answer for one window from the samples of the query's sides: one dataset, or two that are joined.

`measures` and `samples` are lists over the sides, as `measures_by_side` gives them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shedding.answers.answer import Answer, exact_answer, plain_answer
from shedding.answers.join import joined_answer
from shedding.answers.learnt import Learnt, learnt_answer
from shedding.panes.windows import WindowSample
from shedding.spec.measure import MeasureSpec
from shedding.spec.query import QuerySpec

Floats = npt.NDArray[np.float64]
Measures = Sequence[Sequence[MeasureSpec]]


def exact_window(
    query: QuerySpec, measures: Measures, samples: Sequence[WindowSample], whole: Mapping[str, Floats]
) -> Answer:
    """The answer from all rows; `whole` are values that do not merge over panes (never a join's)."""
    sides = [exact_answer(sample, own, whole) for sample, own in zip(samples, measures, strict=True)]
    return sides[0] if query.join is None else joined_answer(query, measures, samples, sides)


def shed_window(
    query: QuerySpec,
    measures: Measures,
    samples: Sequence[WindowSample],
    learnt: Sequence[Learnt] | None,
    expected: Floats | None = None,
) -> Answer:
    """The answer from a sample: with what the priors taught of each side, or plain where `learnt` is None."""
    if learnt is None:
        sides = [plain_answer(sample, own) for sample, own in zip(samples, measures, strict=True)]
    else:
        together = zip(samples, measures, learnt, strict=True)
        sides = [learnt_answer(sample, own, what, expected) for sample, own, what in together]
    return sides[0] if query.join is None else joined_answer(query, measures, samples, sides)

"""Values near zero: relative to them any error is large, so a measure that has some should say `near_zero`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shedding.answers.answer import Answer
from shedding.answers.scores import floor_of
from shedding.spec.measure import MeasureSpec

NEAR = 0.1
"""A value is near zero below this part of a row's spread."""
FEW = 0.01
"""Share of the values that may be near zero."""


def near_zero_share(exact: Sequence[Answer], measure: MeasureSpec) -> float:
    """The share of the exact values, those that are 0 left out, whose distance from zero is a small part of a row's
    spread; 0 where there is no value."""
    near = every = 0
    for answer in exact:
        value = np.abs(answer.estimates[measure.name].value[answer.shown])
        floor = floor_of(answer, measure.model_copy(update={"near_zero": True}))
        near += int(((value > 0) & (value < NEAR * floor)).sum())
        every += int(np.isfinite(value).sum())
    return near / every if every else 0.0


def near_zero_advice(exact: Sequence[Answer], measures: Sequence[MeasureSpec]) -> list[str]:
    """A sentence for each measure that should say `near_zero` by an audit's exact answers."""
    shares = {m.name: near_zero_share(exact, m) for m in measures if m.traits.estimated and not m.near_zero}
    return [
        f"{name}: {share:.1%} of the exact values are within a tenth of a row's spread of zero, where relative errors "
        "are endless; write near_zero: true at the measure to have them judged by the spread"
        for name, share in shares.items()
        if share > FEW
    ]

"""What an aggregate is: its exact value, its estimate from a sample, and how history may be learnt of it.

    measure_of(spec).exact(sample)     # from all rows
    measure_of(spec).plain(sample)     # from a sample alone, with its interval
    learnable(spec).row_moments(stat)  # as the mean of rows that history, shrinkage and allocation know

One aggregate a file, by its name in YAML; what may be asked of it without knowing its name: `spec/aggregates.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shedding.measures.avg import Avg
from shedding.measures.base import CONFIDENCE, Learnable, Measure, value_rates
from shedding.measures.count import Count
from shedding.measures.count_distinct import CountDistinct
from shedding.measures.min_max import MinMax
from shedding.measures.quantile import Quantile
from shedding.measures.ratio import Ratio
from shedding.measures.stddev import Stddev
from shedding.measures.sum import Sum
from shedding.measures.variance import Variance
from shedding.spec.aggregates import Aggregate
from shedding.spec.measure import MeasureSpec

__all__ = ["CONFIDENCE", "MEASURES", "Learnable", "Measure", "learnable", "measure_of", "value_rates"]

MEASURES: Mapping[Aggregate, Callable[[MeasureSpec], Measure[Any]]] = {
    "avg": Avg,
    "sum": Sum,
    "count": Count,
    "min": MinMax,
    "max": MinMax,
    "quantile": Quantile,
    "count_distinct": CountDistinct,
    "ratio": Ratio,
    "stddev": Stddev,
    "variance": Variance,
}
"""Registry: an aggregate's name -> how to make the measure from its specification."""


def measure_of(spec: MeasureSpec) -> Measure[Any]:
    """The measure that a specification names."""
    return MEASURES[spec.agg](spec)


def learnable(spec: MeasureSpec) -> Learnable[Any]:
    """The same for an aggregate that is estimated."""
    measure = measure_of(spec)
    assert isinstance(measure, Learnable), f"{spec.agg} is not estimated"
    return measure

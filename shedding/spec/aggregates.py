"""The aggregates that a measure may name, and what the rest of the code may ask of one without knowing its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Aggregate = Literal["avg", "sum", "count", "min", "max", "quantile", "count_distinct", "ratio"]
State = Literal["sums", "pair", "values", "extreme"]
"""What a pane keeps of a measure: sums of its values; sums of two columns and of their products; the sampled values
themselves, beside their sums; the least or largest value."""


@dataclass(frozen=True, slots=True)
class Traits:
    """`state`: what panes keep of it, None for nothing but the number of rows.

    `estimated`: from a sample, with an interval, and with what audits teach; else it is counted or always exact.
    `exact_only`: no sample tells it. `whole`: its exact value does not merge over panes. `nullable`: it has no value
    where a key's values are all null. `additive`: twice the rows give twice the value. `joined`: a join answers it.
    """

    state: State | None = None
    estimated: bool = False
    exact_only: bool = False
    whole: bool = False
    nullable: bool = True
    additive: bool = False
    joined: bool = False


AGGREGATES: Mapping[Aggregate, Traits] = {
    "count": Traits(nullable=False, additive=True, joined=True),
    "sum": Traits("sums", estimated=True, additive=True, joined=True),
    "avg": Traits("sums", estimated=True, joined=True),
    "ratio": Traits("pair", estimated=True),
    "quantile": Traits("values", estimated=True, whole=True),
    "min": Traits("extreme", exact_only=True),
    "max": Traits("extreme", exact_only=True),
    "count_distinct": Traits(exact_only=True, whole=True, nullable=False),
}

"""The aggregates that a measure may name, and what the rest of the code may ask of one without knowing its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Aggregate = Literal["avg", "sum", "count", "min", "max", "quantile", "count_distinct", "ratio", "stddev", "variance"]


@dataclass(frozen=True, slots=True)
class Total:
    """A sum over rows: `of` is the product of columns, v the measure's and w its denominator's.

    An `exact` one loses no bit of any value; in others each product is rounded once. Both are the same in any order.
    """

    name: str
    of: str
    exact: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """What a pane keeps of a measure: `name` is that of its file in `panes/states`.

    The rest is what a scan must tell for it, in Spark and in NumPy alike: sums, the least or largest value
    (`extreme`), the sampled values themselves (`values`).
    """

    name: str
    totals: tuple[Total, ...] = ()
    extreme: bool = False
    values: bool = False


SUMS = State("sums", (Total("s", "v", exact=True), Total("q", "vv")))
PAIR = State("pair", (*SUMS.totals, Total("over_s", "w", exact=True), Total("over_q", "ww"), Total("cross", "vw")))
VALUES = State("values", SUMS.totals, values=True)
POWERS = State(
    "powers", (*SUMS.totals, Total("squares", "vv", exact=True), Total("cubes", "vvv"), Total("fourths", "vvvv"))
)
EXTREME = State("extreme", extreme=True)


@dataclass(frozen=True, slots=True)
class Traits:
    """`state`: what panes keep of it, None for nothing but the number of rows.

    `estimated`: from a sample, with an interval, and with what audits teach; else it is counted or always exact.
    `exact_only`: no sample tells it. `whole`: its exact value does not merge over panes. `nullable`: it has no value
    where a key's values are all null. `infinite`: its value may be infinite. `additive`: twice the rows give twice the
    value. `joined`: a join answers it.
    """

    state: State | None = None
    estimated: bool = False
    exact_only: bool = False
    whole: bool = False
    nullable: bool = True
    infinite: bool = False
    additive: bool = False
    joined: bool = False


AGGREGATES: Mapping[Aggregate, Traits] = {
    "count": Traits(nullable=False, additive=True, joined=True),
    "sum": Traits(SUMS, estimated=True, additive=True, joined=True),
    "avg": Traits(SUMS, estimated=True, joined=True),
    "ratio": Traits(PAIR, estimated=True),
    "stddev": Traits(POWERS, estimated=True),
    "variance": Traits(POWERS, estimated=True),
    "quantile": Traits(VALUES, estimated=True, whole=True),
    "min": Traits(EXTREME, exact_only=True, infinite=True),
    "max": Traits(EXTREME, exact_only=True, infinite=True),
    "count_distinct": Traits(exact_only=True, whole=True, nullable=False),
}

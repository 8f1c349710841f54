"""What panes keep of a measure, one state a file.

A state owns its fields: how they come from a scan's sums, are written and read as columns, merge into windows, and what
they are of no rows. What a scan sums for it is data in `spec/aggregates.py`, read by Spark's scan and its NumPy twin.
"""

from __future__ import annotations

from collections.abc import Mapping

from shedding.panes.states.extreme import Extreme, WindowExtreme
from shedding.panes.states.pair import Pair, WindowPair
from shedding.panes.states.powers import PanePowers, WindowPowers
from shedding.panes.states.stat import Kept, Stat, WindowStat
from shedding.panes.states.sums import Sums, WindowSums
from shedding.panes.states.values import LEVELS, SampledValues, Values, WindowValues
from shedding.spec.measure import MeasureSpec

__all__ = [
    "LEVELS",
    "STATES",
    "Extreme",
    "Kept",
    "Pair",
    "PanePowers",
    "SampledValues",
    "Stat",
    "Sums",
    "Values",
    "WindowExtreme",
    "WindowPair",
    "WindowPowers",
    "WindowStat",
    "WindowSums",
    "WindowValues",
    "state_of",
]

STATES: Mapping[str, type[Stat]] = {
    "sums": Sums,
    "pair": Pair,
    "values": Values,
    "extreme": Extreme,
    "powers": PanePowers,
}
"""Registry: a state's name in `spec/aggregates.py` -> its class."""


def state_of(measure: MeasureSpec) -> type[Stat]:
    """The state that panes keep of a measure, which keeps one."""
    assert measure.traits.state is not None, f"panes keep nothing of {measure.name}"
    return STATES[measure.traits.state.name]

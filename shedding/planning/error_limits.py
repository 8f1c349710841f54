"""How wrong a slot's numbers are planned to be, and the rows that its keys need for their error limits.

Planned from populations, priors and rates alone, never from the drawn sample: to choose keys by the width that came out
would spoil the coverage of what is left. Nor from calibrations, which are made of samples at rates that limits decide:
the quantiles are those before any audit (`estimates.shrinkage.calibration`) with a margin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shedding.allocation.curve import Curve, ReciprocalCurve
from shedding.allocation.posterior_curve import FEW_KEYS, PosteriorCurve
from shedding.allocation.width_curve import WidthCurve
from shedding.errors import NotReadyError
from shedding.estimates.shrinkage.calibration import DEFAULT_QUANTILE, IMPUTED_QUANTILE
from shedding.estimates.shrinkage.prior import Prior
from shedding.keys import Keys, align
from shedding.planning.priors import Priors
from shedding.planning.slot_concept import SlotConcept
from shedding.spec.measure import MeasureSpec
from shedding.spec.query import QuerySpec

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SLACK = 1e-9
"""Relative rounding of a planned error that is at its limit because its rows were planned so."""
NORMAL = 1.959964
MARGIN = 1.1
"""Planned quantiles over those before any audit: audits of heavy tails raise them by about that."""
UNKNOWN_SPREAD = 1.0
"""Relative spread of a row, and deviation of a key's mean, of which no audit says anything."""


@dataclass(frozen=True, slots=True)
class PlannedErrors:
    """Of each key (K,) and limited measure (M,): what a planned half-width is made of, and its limit.

    Half-widths are of the 95 % interval, relative to the value; `limits` are infinite where a key has none.
    """

    measures: tuple[str, ...]
    spread: Floats
    prior: Floats
    unit: Floats
    limits: Floats
    doubt: float
    plain: bool

    @property
    def limited(self) -> bool:
        """Whether some key has a limit."""
        return bool(np.isfinite(self.limits).any())

    def half_widths(self, population: Floats, rows: Floats) -> Floats:
        """(K, M) at so many planned rows of each key's population; 0 for keys without rows."""
        known = np.maximum(population, 1.0)
        return self._at(population, rows, self._curves(known))

    def deviations(self, population: Floats, rows: Floats) -> Floats:
        """(K, M) the same of the deviation of the error: half-widths without their quantiles, in few keys' doubt."""
        known = np.maximum(population, 1.0)
        return self._at(population, rows, [replace(curve, quantile=np.ones_like) for curve in self._curves(known)])

    def _at(self, population: Floats, rows: Floats, curves: Sequence[Curve]) -> Floats:
        kept, keys = np.minimum(rows, np.maximum(population, 1.0))[:, None], np.arange(population.size)
        found = [curve.errors(keys, kept)[:, 0] for curve in curves]
        return np.where(population[:, None] > 0, np.stack(found, axis=1), 0.0)

    def needed(self, population: Floats) -> Floats:
        """(K,) the least rows of each key's population that meet all its limits; all of them where a limit is 0."""
        found = [curve.rows_for(self.limits[:, m]) for m, curve in enumerate(self._curves(population))]
        return np.asarray(np.max(found, axis=0))

    def over(self, half_widths: Floats) -> Floats:
        """(K, M) planned half-widths over their limits, above 1 where a limit is not met."""
        with np.errstate(divide="ignore", invalid="ignore"):
            times = half_widths / (self.limits * (1 + SLACK))
        return np.where((half_widths > 0) & np.isfinite(self.limits), times, 0.0)

    def take(self, keys: Ints) -> PlannedErrors:
        """The same for keys by their number."""
        return replace(
            self, spread=self.spread[keys], prior=self.prior[keys], unit=self.unit[keys], limits=self.limits[keys]
        )

    @classmethod
    def stacked(cls, parts: Sequence[PlannedErrors]) -> PlannedErrors:
        """The keys of several slots, one after the other."""
        return replace(
            parts[0],
            spread=np.concatenate([part.spread for part in parts]),
            prior=np.concatenate([part.prior for part in parts]),
            unit=np.concatenate([part.unit for part in parts]),
            limits=np.concatenate([part.limits for part in parts]),
            doubt=max(part.doubt for part in parts),
        )

    def _curves(self, population: Floats) -> list[WidthCurve]:
        return [self._curve(population, m) for m in range(len(self.measures))]

    def _curve(self, population: Floats, measure: int) -> WidthCurve:
        spread = self.spread[:, measure]
        if self.plain:
            return WidthCurve(ReciprocalCurve(population, spread**2 / population), self.unit[:, measure], student)
        inner = PosteriorCurve(population, spread[:, None], self.prior[:, [measure]], self.doubt)
        return WidthCurve(inner, self.unit[:, measure], shrunk_quantile)


def shrunk_quantile(n: Floats) -> Floats:
    """Half-width over deviation of a shrunk estimate from n rows."""
    return MARGIN * np.where(n < 1.0, IMPUTED_QUANTILE, DEFAULT_QUANTILE)


def student(n: Floats) -> Floats:
    """Student's 97.5 % point at n - 1 degrees of freedom, by its expansion about the normal one; endless below 2 rows.

    To 1 % from 4 rows on, and below it from 2 rows (10.6 for 12.7): there a key is whole or out anyway.
    """
    df = np.maximum(n - 1.0, 1e-9)
    z = NORMAL
    terms = (z, (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384)
    return np.where(n < 2.0, np.inf, sum(term / df**power for power, term in enumerate(terms)))


def planned_errors(query: QuerySpec, priors: Priors, slot: int, concept: SlotConcept) -> PlannedErrors | None:
    """What the priors plan for the keys of a slot's concept; None where no measure is estimated from a sample.

    Raises NotReadyError where the keys are not counted: what nobody knows of cannot be left out.
    """
    measures = [m for m in query.measures if m.traits.estimated]
    if concept.counted or not measures:
        return None
    if not concept.concept.known:
        name = priors.side.dataset.name
        raise NotReadyError(
            f"{query.name} has error limits, and its keys of {name} are not counted yet; run `sluice ingest {name}`"
        )
    known = concept.keys
    keys, places = known, [np.arange(len(known))]
    if known.names:
        keys, places = align([known.table(), *(k.table() for k in priors.keys(slot))], known.names)
    size, own = len(concept.concept), places[0][: len(concept.concept)]
    population = np.zeros(len(keys))
    population[own] = concept.concept.population
    history = priors.history(slot, keys)
    share = min(1.0, query.timeline.slot / query.timeline.size)
    columns = []
    for measure in measures:
        found = history.get(measure.name)
        prior = None if found is None else found.prior(population * share)
        columns.append(_columns(measure, prior, own))
    spread, variance, unit = (np.stack(part, axis=1) for part in zip(*columns, strict=True))
    return PlannedErrors(
        measures=tuple(measure.name for measure in measures),
        spread=spread,
        prior=np.minimum(variance, 1.0),
        unit=unit,
        limits=error_limits(query, measures, known)[:size],
        doubt=FEW_KEYS / (FEW_KEYS + max(size, 1)),
        plain=query.estimates == "plain",
    )


def error_limits(query: QuerySpec, measures: list[MeasureSpec], keys: Keys) -> Floats:
    """(K, M) the limit of each key and measure: its own, else the measure's, else none."""
    tolerate = query.shed.tolerate
    general = [None if tolerate is None else tolerate.of(measure.name) for measure in measures]
    limits = np.tile([np.inf if limit is None else limit for limit in general], (len(keys), 1))
    for entry in (entry for entry in query.shed.weights.keys if entry.error is not None):
        limits[keys.having(entry.values)] = entry.error
    return limits


def _columns(measure: MeasureSpec, prior: Prior | None, keys: Ints) -> tuple[Floats, Floats, Floats]:
    """Spread of a row, prior variance, and the unit: what both are relative to, over what errors are."""
    if prior is None:
        unknown = np.full(len(keys), UNKNOWN_SPREAD)
        return unknown, unknown, unknown
    tiny = np.finfo(np.float64).tiny
    level = np.maximum(np.abs(prior.mean[keys]), tiny)
    floor = np.sqrt(prior.pooled) * level if measure.near_zero else np.zeros(len(keys))
    unit = level / np.maximum(np.maximum(np.abs(prior.value[keys]), floor), tiny)
    return np.maximum(prior.cv[keys], 1e-12), prior.planned[keys], np.minimum(unit, 1e12)

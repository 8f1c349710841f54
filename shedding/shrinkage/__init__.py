"""Shrinkage to the key's own history: audits -> `History` -> `Prior` -> `shrink`, widths by `calibrate`.

    history = History.of(exact moments of the last J audits)            # depends on J audited slots
    prior = history.prior(population)                                   # prior.cv, prior.variance: the allocator's
    calibration = merge_records([calibrate(history_at_a, exact_at_a, sampled_at_a) for the last J audits a])
    answer = shrink(strata.combine(), history.prior(population, calibration.drift), calibration)

Before the first audit: `shrink(sampled, sample_prior(sampled), Calibration())`. Quantiles and ratios are not shrunk.
"""

from shedding.shrinkage.calibrated import Calibration
from shedding.shrinkage.calibration import AuditRecord, calibrate, merge_records
from shedding.shrinkage.history import History
from shedding.shrinkage.posterior import Shrunk, shrink
from shedding.shrinkage.prior import Prior, sample_prior

__all__ = [
    "AuditRecord",
    "Calibration",
    "History",
    "Prior",
    "Shrunk",
    "calibrate",
    "merge_records",
    "sample_prior",
    "shrink",
]

"""Shrinkage to the key's own history: audits -> `History` -> `Prior` -> `shrink`, widths by `calibrate`.

    history = History.of(exact moments of the last J audits)            # depends on J audited slots
    prior = history.prior(population)                                   # prior.cv, prior.variance: the allocator's
    calibration = merge_records([calibrate(history_at_a, exact_at_a, sampled_at_a) for the last J audits a])
    answer = shrink(strata.combine(), history.prior(population, calibration.drift), calibration)

Before the first audit: `shrink(sampled, sample_prior(sampled), Calibration())`. Quantiles and ratios are not shrunk.
"""

from shedding.estimates.shrinkage.audit_record import AuditRecord, calibrate, merge_records
from shedding.estimates.shrinkage.calibration import Calibration
from shedding.estimates.shrinkage.history import History
from shedding.estimates.shrinkage.prior import Prior, sample_prior
from shedding.estimates.shrinkage.shrink import Shrunk, shrink

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

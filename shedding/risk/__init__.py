"""The risk of an answer without an exact leg: what it claims of its errors, and what bounds them.

    record = window_record(claimed errors, true errors)            # at every audited window
    laws = window_laws(records of the last audits, claims, spots)  # truth over claim, by audits and the spot check
    laws.bounds(expected errors, missing keys, risk)               # at most a share `risk` of windows is truly above

Pure NumPy and SciPy. What is guaranteed under which assumption: `shedding/risk/STATISTICS.md`.
"""

from shedding.risk.bounds import REPAIRED, WindowLaws, decided_by, window_laws
from shedding.risk.claims import claims
from shedding.risk.record import WindowRecord, window_record
from shedding.risk.spots import SpotCheck, inclusion, spot_check, spot_keys

__all__ = [
    "REPAIRED",
    "SpotCheck",
    "WindowLaws",
    "WindowRecord",
    "claims",
    "decided_by",
    "inclusion",
    "spot_check",
    "spot_keys",
    "window_laws",
    "window_record",
]

"""The columns that a query's tables have, so that no key or measure takes the name of another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

RESERVED = frozenset({
    "slot", "window_start", "window_end", "pane", "leg", "policy", "confidence", "is_exact", "is_imputed",
    "sampling_rate", "sampled_rows", "population", "run_id", "revision", "published_at", "event_time", "u",
    "event_date", "event_hour", "pane_start", "rows", "sampled", "known", "rate", "least_u", "mask", "error_kind",
    "raw_fingerprint", "spec_fingerprint", "verdict", "unseen", "stretches", "planned_error", "error_limit",
    "rows_needed", "reason",
})  # fmt: skip
"""Names of Sluice's own in tables that hold keys or measures."""

_SUMS = tuple(f"{kind}{part}" for kind in ("s", "q", "over_s", "over_q", "cross")
              for part in ("_high", "_low", "_tail"))  # fmt: skip
_PARTS = {
    "results": ("", "_low", "_high", "_error"),
    "panes": tuple(f"_{part}" for part in (
        "population", "n", "mean", "m2", "sum", "over_mean", "over_m2", "over_sum", "cross", "int64_extreme",
        "float64_extreme", "values", "below", "at", "above", "squares", "m3", "m4")),
    "scan": tuple(f"_{part}" for part in (
        "n", "min", "max", "largest", "over_largest", "least", "over_least", "values", *_SUMS)),
    "runs": tuple(f"_{part}" for part in (
        "mean_error", "p95_error", "worst_error", "row_error", "coverage", "half_width", "floor", "audit_mean_error",
        "audit_p95_error", "audit_worst_error", "audit_coverage", "audit_estimates", "mean_bound", "p95_bound",
        "worst_bound", "law", "record", "spot_error", "spot_ratio", "decided_by")),
}  # fmt: skip
"""What a table adds to a measure's name to name that measure's columns."""


def name_clashes(keys: Sequence[str], measures: Sequence[str], counted: Sequence[str]) -> Iterator[str]:
    """What two columns of one table would share a name, in words; case does not tell names apart.

    `counted` are the columns whose values are counted beside the keys.
    """
    for measure in measures:
        if measure.lower() in RESERVED:
            yield f"measure name {measure!r} is reserved by Sluice; rename it"
    for table, parts in _PARTS.items():
        owners = {} if table == "runs" else {key.lower(): f"key {key!r}" for key in keys}
        for measure in measures:
            for part in parts:
                other = owners.setdefault(f"{measure}{part}".lower(), f"measure {measure!r}")
                if other != f"measure {measure!r}":
                    yield f"measure {measure!r} makes a column {measure}{part} in {table}, taken by {other}; rename one"
    for column in counted:
        for key in keys:
            if key.lower() == f"rows_{column}".lower():
                yield f"key {key!r} is also the name of the count of {column}; rename the column in its dataset"

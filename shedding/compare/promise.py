"""Whether what was promised of published windows is kept: verified windows against the gate's risk.

Pure: rows of `verifications/<query>` go in, lines of figures come out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import special

from shedding.estimates.accuracy import STATISTICS
from shedding.measures import CONFIDENCE
from shedding.spec.times import UNITS

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

PASSED, REPAIRED, APPROVED = "passed at once", "after repair", "approved by a person"
"""The kinds of verdict by which a slot is published."""
LIMIT, COVERAGE, HOUR, SIZE, VERDICT = "limit", "coverage", "hour", "size", "verdict"
"""The parts of a report, in its order."""

COLUMNS = (
    "part", "group", "measure", "windows", "limit", "over", "share", "share_low", "share_high", "risk", "kept",
    "keys", "estimate", "bound", "interval_error", "truth", "estimates", "covered", "coverage",
)  # fmt: skip
"""What a line may say. `estimate` and `bound` are the gate's, `interval_error` what the published intervals expect,
`truth` what it was: of a limit its own statistic, elsewhere the mean relative error; averages over the windows, by
size over the keys. What a part has no word on is None."""


def clopper_pearson(hits: float, trials: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The exact binomial interval of a share (Clopper and Pearson 1934): it holds the true one at least so often.

    >>> tuple(round(end, 3) for end in clopper_pearson(9, 39))
    (0.111, 0.393)
    """
    tail = (1 - confidence) / 2
    low = float(special.betaincinv(hits, trials - hits + 1, tail)) if hits > 0 else 0.0
    high = float(special.betaincinv(hits + 1, trials - hits, 1 - tail)) if hits < trials else 1.0
    return low, high


def promise_lines(rows: pa.Table, risk: float, overlap: int = 1) -> list[dict[str, Any]]:
    """The report on verified windows: each limit's share against `risk`, coverage, and estimate against truth.

    Only windows in which something was estimated count. A share is over the windows that the gate let pass by itself:
    a person may approve what is over its limit. Windows that overlap share their rows, so `overlap` of them count as
    one in the interval of a share. `kept` is False only where the share is above `risk` beyond chance: its
    interval's lower end is.
    """
    shed = rows.filter(pa.array(~_flags(rows, "is_exact")))
    lines = [*_limits(shed, risk, overlap), *_coverage(shed)]
    hours = (_micros(shed) % UNITS["day"]) // UNITS["hour"]
    lines += _groups(shed, HOUR, hours, [(int(hour), f"{hour:02d}") for hour in np.unique(hours)])
    lines += _sizes(shed)
    verdicts = _texts(shed, "verdict")
    lines += _groups(shed, VERDICT, verdicts, [(kind, kind) for kind in (PASSED, REPAIRED, APPROVED)])
    return [{column: line.get(column) for column in COLUMNS} for line in lines]


def broken_promises(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence for each limit that is broken more often than the risk allows, beyond chance."""
    return [
        f"{line['over']} of {line['windows']} windows were over the {line['group']} limit {line['limit']:g} of "
        f"{line['measure']}: {line['share']:.1%}, at least {line['share_low']:.1%} by its 95 % interval, "
        f"and the gate's risk is {line['risk']:.1%}"
        for line in lines
        if line["part"] == LIMIT and not line["kept"]
    ]


def _limits(rows: pa.Table, risk: float, overlap: int) -> Iterator[dict[str, Any]]:
    by_gate = _texts(rows, "verdict") != APPROVED
    for measure, own in _measures(rows):
        for statistic in STATISTICS:
            limits = _numbers(rows, f"{statistic}_limit")
            for limit in np.unique(limits[own & by_gate & ~np.isnan(limits)]):
                here = own & by_gate & (limits == limit)
                windows, over = int(here.sum()), int(_flags(rows, f"{statistic}_over")[here].sum())
                low, high = clopper_pearson(over / overlap, windows / overlap)
                yield {
                    "part": LIMIT, "group": statistic, "measure": measure, "windows": windows, "limit": float(limit),
                    "over": over, "share": over / windows, "share_low": low, "share_high": high, "risk": risk,
                    "kept": low <= risk, **_told(rows, here, statistic),
                }  # fmt: skip


def _coverage(rows: pa.Table) -> Iterator[dict[str, Any]]:
    for measure, own in _measures(rows):
        yield {"part": COVERAGE, "measure": measure, "windows": int(own.sum()), **_covered(rows, own)}


def _groups(rows: pa.Table, part: str, values: Any, groups: Sequence[tuple[Any, str]]) -> Iterator[dict[str, Any]]:
    """Estimate against truth of the windows that have the same value."""
    over = np.any([_flags(rows, f"{statistic}_over") for statistic in STATISTICS], axis=0)
    for measure, own in _measures(rows):
        for value, name in groups:
            here = own & (values == value)
            if here.any():
                yield {
                    "part": part, "group": name, "measure": measure, "windows": int(here.sum()),
                    "over": int(over[here].sum()), "share": float(over[here].mean()), **_told(rows, here, "mean"),
                    "interval_error": _mean(_numbers(rows, "interval_error")[here]), **_covered(rows, here),
                }  # fmt: skip


def _sizes(rows: pa.Table) -> Iterator[dict[str, Any]]:
    """Estimate against truth of the keys of each size class, over all windows."""
    for measure, own in _measures(rows):
        part = rows.filter(pa.array(own))
        of = {name: part[f"size_{name}"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
              for name in ("class", "keys", "truth", "interval_error", "estimates", "covered")}  # fmt: skip
        for size in np.unique(of["class"]):
            here = of["class"] == size
            estimates, covered = int(of["estimates"][here].sum()), int(of["covered"][here].sum())
            yield {
                "part": SIZE, "group": f"{2**size}-{2 ** (size + 1) - 1}", "measure": measure,
                "windows": int(here.sum()), "keys": int(of["keys"][here].sum()),
                "interval_error": _mean(of["interval_error"][here], of["keys"][here]),
                "truth": _mean(of["truth"][here], of["keys"][here]),
                "estimates": estimates, "covered": covered, "coverage": covered / estimates if estimates else None,
            }  # fmt: skip


def _told(rows: pa.Table, here: Flags, statistic: str) -> dict[str, Any]:
    """The gate's estimate and bound of a statistic, and the truth, each in the mean over some windows."""
    return {part: _mean(_numbers(rows, f"{statistic}_{part}")[here]) for part in ("estimate", "bound", "truth")}


def _covered(rows: pa.Table, here: Flags) -> dict[str, Any]:
    estimates, covered = (int(_numbers(rows, name)[here].sum()) for name in ("estimates", "covered"))
    return {"estimates": estimates, "covered": covered, "coverage": covered / estimates if estimates else None}


def _mean(values: Floats, weights: npt.NDArray[Any] | None = None) -> float | None:
    """Of the values that are known; None where none is."""
    known = ~np.isnan(values)
    return float(np.average(values[known], weights=None if weights is None else weights[known])) if any(known) else None


def _measures(rows: pa.Table) -> list[tuple[str, Flags]]:
    """The measures in the order of the rows, and which rows are of each."""
    names = _texts(rows, "measure")
    return [(name, names == name) for name in dict.fromkeys(names)]


def _texts(rows: pa.Table, column: str) -> npt.NDArray[Any]:
    return np.array(rows[column].to_pylist(), dtype=object)


def _numbers(rows: pa.Table, column: str) -> Floats:
    values: Floats = rows[column].cast(pa.float64()).to_numpy(zero_copy_only=False)
    return values


def _flags(rows: pa.Table, column: str) -> Flags:
    """A column of truth values; null is no."""
    values: Flags = rows[column].fill_null(False).to_numpy(zero_copy_only=False).astype(np.bool_)
    return values


def _micros(rows: pa.Table) -> npt.NDArray[np.int64]:
    values: npt.NDArray[np.int64] = rows["window_start"].cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy()
    return values

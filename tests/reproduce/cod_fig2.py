"""CoD, Fig. 2 and Table III: how much the top ten move from window to window, and how large windows are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tests.reproduce.evidence import Evidence
from tests.reproduce.sliding import Rows, cluster, debs, packets, trips

MINUTE = 60.0
SIZES = {
    "DEC, 45/15 s": (100_000, 45.0, 15.0),
    "GCM, 60/30 min": (320_000, 3600.0, 1800.0),
    "DEBS, 30/10 min": (46_000, 1800.0, 600.0),
}
"""The paper's rows a window, size and slide of each query."""


def run(evidence: Evidence) -> None:
    """The share of the ten routes of largest mean that is new in each window, 15/5 minutes."""
    streams = {"DEBS slice, fares": debs(evidence.data), "taxi trips, durations": trips(evidence.data, "route")}
    moved = {name: replaced(rows, 15 * MINUTE, 5 * MINUTE) for name, rows in streams.items()}
    evidence.table(
        "CoD, Fig. 2",
        [
            {"stream": name, "windows": len(shares) + 1, "mean": float(np.mean(shares)), "largest": max(shares)}
            for name, shares in moved.items()
        ],
    )
    with evidence.plot("CoD, Fig. 2", "window", "share of the top ten replaced") as on:
        for name, shares in moved.items():
            on.plot(np.linspace(0, 1, len(shares)), shares, label=name, alpha=0.7)
    evidence.expect(
        "CoD, Fig. 2", "share of the top ten routes replaced in a window, mean and largest",
        paper="mean .3, up to .5", verdict="another scale",
        measured="; ".join(f"{name}: {np.mean(s):.2f}, {max(s):.1f}" for name, s in moved.items()),
        holds=all(np.mean(shares) > 0.3 for shares in moved.values()),
        why="slices of hours and three days, trips without fares; the top moves, more than in the paper's year",
    )  # fmt: skip
    _table_3(evidence)


def _table_3(evidence: Evidence) -> None:
    """Rows a window here, printed beside the paper's."""
    streams = {
        "DEC, 45/15 s": packets(evidence.data),
        "GCM, 60/30 min": cluster(evidence.data, "00235"),
        "DEBS, 30/10 min": trips(evidence.data, "route"),
    }
    rows = []
    for name, (paper, size, slide) in SIZES.items():
        here = [window.stop - window.start for window in streams[name].windows(size, slide)]
        rows.append({"dataset": name, "paper": paper, "here": float(np.mean(here))})
    evidence.table("CoD, Table III", rows)
    evidence.expect(
        "CoD, Table III", "rows a window: " + ", ".join(SIZES), paper=" / ".join(f"{row['paper']:,}" for row in rows),
        measured=" / ".join(f"{row['here']:,.0f}" for row in rows), verdict="another scale",
        holds=all(1e3 < row["here"] < row["paper"] for row in rows), why="parts of the datasets",
    )  # fmt: skip


def replaced(rows: Rows, size: float, slide: float, top: int = 10) -> list[float]:
    """Of each window but the first the share of its top keys, by mean value, that the window before lacked."""
    tops = []
    for window in rows.windows(size, slide):
        keys, place = np.unique(rows.key[window], return_inverse=True)
        means = np.bincount(place, rows.value[window]) / np.bincount(place)
        tops.append(set(keys[np.argsort(-means, kind="stable")[:top]].tolist()))
    return [len(after - before) / top for before, after in pairwise(tops)]

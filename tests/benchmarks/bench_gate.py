"""The gate's own seconds for one audited slot of six half-hour windows: reading, judging, verdict and Data Docs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from expectations.gate import judge
from shedding.config import Settings
from shedding.spec.query import QuerySpec
from tests.expectations.answers import SLOT, Answer, make_query

SIZES = {"10": 10, "3000": 3_000, "100000": 100_000}


def slot_of(keys: int, settings: Settings) -> QuerySpec:
    """Write an audited slot with `keys` keys in each of six windows; its query."""
    gate = {"p95_relative_error": 0.3, "worst_relative_error": 9.0, "coverage": 0.9, "missing_keys": 0}
    query = make_query(gate, name=f"keys_{keys}", window={"size": "30 minutes", "slide": "10 minutes"})
    errors = np.abs(np.random.default_rng(keys).normal(0, 0.05, keys))
    Answer(query, keys=[f"route {i}" for i in range(keys)], errors=errors.tolist()).write(settings)
    return query


def run(bench: Any) -> None:
    """Judge the slot again and again at each size; importing Great Expectations is not counted."""
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings(warehouse=f"{directory}/warehouse", docs=Path(directory) / "docs")
        queries = {label: slot_of(keys, settings) for label, keys in SIZES.items()}
        for query in queries.values():
            assert judge(settings, query, SLOT, "run").passed
        bench.measure(
            {label: lambda query=query: judge(settings, query, SLOT, "run") for label, query in queries.items()},
            repetitions=5,
        )
    bench.note("one audited slot, six windows, exact leg beside the published one; without the import (5 to 13 s)")

"""The benchmark harness: what it times, how it remembers, and that it measures memory at all."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from tests.benchmarks.harness import Bench, PeakMemory


def test_labels_take_turns_after_their_warm_up() -> None:
    calls: list[str] = []
    Bench("x").measure({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, repetitions=2, warmup=1)
    assert "".join(calls) == "ababab"


def test_the_median_ignores_one_slow_run() -> None:
    waits = iter([0.0, 0.01, 0.2, 0.01])
    bench = Bench("x")
    bench.measure({"wait": lambda: time.sleep(next(waits))}, repetitions=3, warmup=1)
    assert 0.01 <= bench.seconds["wait"] < 0.15
    assert bench.spread["wait"] > 0.1


def test_peak_memory_sees_an_array_that_is_gone_at_the_end() -> None:
    with PeakMemory() as memory:
        array = np.ones(40_000_000)
        time.sleep(0.1)
        del array
    assert memory.grown_mb > 250


def test_peak_memory_counts_children_such_as_the_jvm() -> None:
    child = "import time; block = bytearray(200_000_000); time.sleep(0.5)"
    with PeakMemory() as memory:
        subprocess.run([sys.executable, "-c", child], check=True)
    assert memory.grown_mb > 150


def test_the_result_file_has_what_the_contract_names(tmp_path: Path) -> None:
    bench = Bench("demo")
    bench.measure({"fast": lambda: None}, repetitions=1)
    bench.ratio("slow/fast", 2)
    bench.record("rows", {"read": 5})
    result = json.loads(bench.write(tmp_path).read_text())
    assert result["name"] == "demo"
    assert result["ratios"] == {"slow/fast": 2.0}
    assert result["seconds"].keys() == result["peak_mb"].keys() == {"fast"}
    assert result["records"] == {"rows": {"read": 5}}
    assert "cores" in result["environment"]
    assert "slow/fast" in bench.table()

"""One small dataset and one small query, for tests of what is made from specifications."""

from __future__ import annotations

from pathlib import Path

DATASET = """
name: trips
source: {kind: csv, path: "trips/*.csv"}
schedule: {every: 1 hour}
event_time: {column: pickup}
columns:
  - {name: pickup, type: timestamp}
  - {name: route}
  - {name: fare, type: double}
"""
QUERY = """
name: fares
dataset: trips
window: {size: 1 hour}
group_by: [route]
measures:
  - {name: mean_fare, agg: avg, column: fare}
schedule: {every: 1 hour}
shed: {policy: uniform, budget: {fraction: 0.1}}
"""


def write_specs(directory: Path) -> Path:
    """Write both below `directory`; the directory."""
    for kind, name, text in (("datasets", "trips", DATASET), ("queries", "fares", QUERY)):
        (directory / kind).mkdir(parents=True)
        (directory / kind / f"{name}.yaml").write_text(text)
    return directory

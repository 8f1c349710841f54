"""Slots answered, judged, repaired, approved, refused and published by the pipeline's own code, without a JVM."""

from __future__ import annotations

import functools
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

from expectations.gate import judge
from expectations.verdict import Verdict, decide
from jobs.publish import publish, quarantine
from jobs.repair import repair
from shedding.answers.slot import answer_sides
from shedding.config import Settings
from shedding.spec.query import QuerySpec
from tests.jobs.report.specs import DATASET, FIRST, HOSTILE, HOUR, make_query
from tests.shedding.rows_in_memory import RowsScans, make_rows, side_of


def write_specs(settings: Settings, *queries: QuerySpec) -> None:
    """Write the dataset and the queries as their owners do."""
    for kind, specs in (("datasets", [DATASET]), ("queries", [query.model_dump(mode="json", exclude_unset=True)
                                                             for query in queries])):  # fmt: skip
        (settings.specs / kind).mkdir(parents=True, exist_ok=True)
        for spec in specs:
            (settings.specs / kind / f"{spec['name']}.yaml").write_text(yaml.safe_dump(spec))


def fill(settings: Settings, query: QuerySpec, slots: int, left_out: tuple[int, ...] = ()) -> list[Verdict]:
    """Run the query's first `slots` slots but those `left_out`; refused ones are repaired, approved or quarantined."""
    rows = make_rows(hours=slots + 2, per_hour=500, keys=30)
    rows["time"] += FIRST - 2 * HOUR
    rows.loc[rows.key == "k003", "key"] = HOSTILE
    side, scans, verdicts = side_of(rows, query), RowsScans(query), []
    for number in range(slots):
        slot, run_id = FIRST + number * HOUR, f"scheduled__{number}"
        if number in left_out:
            continue
        made = answer_sides(settings, query, slot, [side], scans)
        made.write(settings, run_id, seconds=3.0 + number % 5)
        verdict = judge(settings, query, slot, run_id)
        if not verdict.passed and made.audited:
            catalog: Any = SimpleNamespace(query=lambda _: query)
            repair(lambda: None, settings, catalog, query.name, slot, run_id)  # type: ignore[arg-type, return-value]
            verdict = judge(settings, query, slot, run_id, attempt=1)
        elif not verdict.passed and number % 3 == 0:
            verdict = decide(settings, verdict, True, "Ann <ann@example.org>")
        (publish if verdict.passed else quarantine)(settings, query, slot, verdict, run_id)
        verdicts.append(verdict)
    return verdicts


@functools.cache
def _filled() -> Path:
    directory = Path(tempfile.mkdtemp(prefix="sluice-world-"))
    settings = settings_of(directory)
    write_specs(settings, make_query())
    fill(settings, make_query(), 14, left_out=(9,))
    return directory


def world(directory: Path) -> Settings:
    """A copy, in `directory`, of a warehouse with 14 slots of the query, the tenth of which was never run."""
    shutil.copytree(_filled(), directory, dirs_exist_ok=True)
    return settings_of(directory)


def settings_of(directory: Path) -> Settings:
    """Settings of a warehouse and specifications below `directory`."""
    return Settings(warehouse=str(directory / "warehouse"), specs=directory / "specs", docs=directory / "docs")

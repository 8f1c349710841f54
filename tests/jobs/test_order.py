"""Whatever the order in which slots are run, and by however many processes, the published rows are the same."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from infra.airflow_home import FIRST_SPARK_PORT, free_port
from infra.family import Family, stop
from infra.spark_server import SparkServer
from shedding.config import Settings
from shedding.planning.audit_plan import AuditPlan
from shedding.spec import load_catalog
from shedding.tables import Table
from tests.jobs.slots_in_order import END, QUERY, SLOT, SLOTS, START, build, build_beside, published, run_slots

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]
SHUFFLED = random.Random(5).sample(SLOTS, len(SLOTS))


@pytest.fixture(scope="module")
def city(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A warehouse whose raw rows have arrived."""
    from jobs.ingest import ingest

    settings = build(tmp_path_factory.mktemp("city"))
    ingest(spark, settings, load_catalog(settings.specs), "trips", interval=(START, END))
    return settings


@pytest.fixture(scope="module")
def forwards(spark: SparkSession, city: Settings) -> list[str]:
    """The rows that the slots publish when each is run after the one before it."""
    run_slots(lambda: spark, city, SLOTS, "forwards")
    return published(city)


def start(directory: Path, slots: Sequence[int], connect_url: str = "") -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.jobs.slots_in_order", str(directory), connect_url, *map(str, slots)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)


def test_every_slot_is_published_and_some_are_audited_and_some_are_not(city: Settings, forwards: list[str]) -> None:
    assert len(forwards) > 100
    runs = Table(city.table("runs", QUERY)).read().to_pandas()
    assert runs.slot.nunique() == len(SLOTS)
    audited = runs.groupby("slot").audited.any()
    assert 2 <= audited.sum() <= 6
    assert audited.sum() >= sum(AuditPlan(SLOT, 4, QUERY, first=START).is_audited(slot) for slot in SLOTS)


@pytest.mark.parametrize("order", [SLOTS[::-1], SHUFFLED], ids=["backwards", "shuffled"])
def test_another_order_publishes_the_same_rows(
    spark: SparkSession, city: Settings, forwards: list[str], tmp_path: Path, order: list[int]
) -> None:
    settings = build_beside(tmp_path, city)
    run_slots(lambda: spark, settings, order, "another order")
    assert published(settings) == forwards


@pytest.fixture
def shared_spark(city: Settings, tmp_path: Path) -> Iterator[str]:
    """The URL of a Spark Connect server."""
    server = SparkServer(city, free_port(FIRST_SPARK_PORT), "a token")
    family = Family(server.command(), server.environment(), tmp_path / "server.log")
    yield server.url
    stop([family])


def test_two_processes_at_once_one_with_a_spark_of_its_own_and_one_with_a_shared_one_publish_the_same_rows(
    city: Settings, forwards: list[str], tmp_path: Path, shared_spark: str
) -> None:
    settings = build_beside(tmp_path, city)
    both = [start(tmp_path, SLOTS[::2]), start(tmp_path, SLOTS[::-2], shared_spark)]
    try:
        said = [process.communicate(timeout=900)[0] for process in both]
    finally:
        for process in both:
            process.kill()
    assert [process.returncode for process in both] == [0, 0], said
    assert published(settings) == forwards


def test_a_kill_in_the_middle_and_a_re_run_publish_the_same_rows(
    spark: SparkSession, city: Settings, forwards: list[str], tmp_path: Path
) -> None:
    settings = build_beside(tmp_path, city)
    process = start(tmp_path, SHUFFLED)
    assert process.stdout is not None
    done = [line for line, _ in zip(process.stdout, range(4), strict=False)]
    os.killpg(process.pid, signal.SIGKILL)  # the next slot has begun
    process.wait()
    assert len(done) == 4
    run_slots(lambda: spark, settings, SHUFFLED[4:], "re-run")
    assert published(settings) == forwards

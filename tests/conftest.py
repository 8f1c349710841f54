"""Fixtures every part shares: one Spark session, a fresh warehouse, the real slices."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from infra.airflow_home import SHORT_JOBS
from shedding.config import Settings
from tests.stores import BUCKET, reached_by, s3_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A law holds or does not: no clock decides, and every run looks at the same examples.
hypothesis.settings.register_profile("suite", deadline=None, derandomize=True)
# While one writes: fewer examples of each law; `make test` looks at all.
hypothesis.settings.register_profile("fast", deadline=None, derandomize=True, max_examples=20)
hypothesis.settings.load_profile("suite")

ROOT = Path(__file__).resolve().parent.parent
DEAR = (("airflow", "chaos"), ("slow",), ("spark",))
"""Marks of tests that take long, the dearest first."""
DATA = Path(os.environ.get("SLUICE_TEST_DATA", ROOT.parent / "shared" / "data"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The dearest files first, so that the many cheap tests fill what is left when workers share the suite.

    Within a file, and among files that are equally dear, the order stays.
    """
    dearest: dict[Path, int] = {}
    for item in items:
        marks = [place for place, names in enumerate(DEAR) if any(item.get_closest_marker(name) for name in names)]
        dearest[item.path] = min(dearest.get(item.path, len(DEAR)), *marks, len(DEAR))
    items.sort(key=lambda item: dearest[item.path])


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A fresh warehouse and landing directory, with the repository's own specs."""
    landing = tmp_path / "landing"
    landing.mkdir()
    return Settings(warehouse=str(tmp_path / "warehouse"), landing=landing, docs=tmp_path / "docs", master="local[2]")


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The address of an S3 server that the suite shares."""
    with s3_server() as address:
        yield address


@pytest.fixture(params=["directory", "file", pytest.param("s3a", marks=pytest.mark.slow)])
def anywhere(request: pytest.FixtureRequest, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A fresh warehouse in each kind of place: a directory, a `file://` URL, a bucket."""
    if request.param == "directory":
        return settings
    if request.param == "file":
        return settings.model_copy(update={"warehouse": f"file://{settings.warehouse}"})
    for name, value in reached_by(request.getfixturevalue("s3")).items():
        monkeypatch.setenv(name, value)
    return settings.model_copy(update={"warehouse": f"s3a://{BUCKET}/{uuid.uuid4().hex}"})


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The suite's one session; jobs called in-process find and use it."""
    from shedding.spark.session import start_session

    session = start_session(Settings(master="local[2]", java_options=SHORT_JOBS), "sluice-tests")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The real slices; a machine without them fails the tests that need them."""
    if not DATA.is_dir():
        pytest.fail(f"the real slices are missing at {DATA}; set SLUICE_TEST_DATA, or deselect with -m 'not data'")
    return DATA

"""A Spark application as a task: what it is told, and which of its ends is tried again."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from shedding.config import Settings
from shedding.errors import FINAL_CODE

CLUSTER = {"conn_type": "spark", "host": "k8s://https://cluster", "extra": {"deploy-mode": "cluster"}}


@pytest.fixture
def bin_directory(airflow_home: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a `spark-submit` is looked for first."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    return tmp_path


def submit(directory: Path, script: str) -> None:
    file = directory / "spark-submit"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def ended(settings: Settings) -> tuple[BaseException, bool]:
    """How the task failed, and whether it is tried again."""
    from airflow.sdk import RetryAction

    from jobs.provider.retries import POLICY
    from jobs.provider.spark import SparkJob

    with pytest.raises(Exception, match=r".") as raised:
        SparkJob(job="aggregate", settings=settings, task_id="aggregate").execute({})
    return raised.value, POLICY.evaluate(raised.value, 1, 3).action is not RetryAction.FAIL


@pytest.mark.airflow
def test_a_job_has_none_of_airflows_secrets_in_its_environment(
    airflow_home: Settings, bin_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(bin_directory, f"env > {bin_directory}/environment")
    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY", "secret")
    from jobs.provider.spark import SparkJob

    SparkJob(job="aggregate", settings=airflow_home, task_id="aggregate").execute({})

    names = {line.partition("=")[0] for line in (bin_directory / "environment").read_text().splitlines()}
    assert os.environ["AIRFLOW__API_AUTH__JWT_SECRET"]
    assert not [name for name in names if "AIRFLOW" in name]
    assert names >= {"SLUICE_WAREHOUSE", "PYSPARK_PYTHON", "PATH", "SPARK_HOME"}


@pytest.mark.airflow
@pytest.mark.parametrize(("code", "again"), [(FINAL_CODE, False), (1, True), (137, True)])
def test_an_application_that_failed_for_good_is_not_submitted_again(
    airflow_home: Settings, bin_directory: Path, code: int, again: bool
) -> None:
    submit(bin_directory, f"echo 'Error code is: 3. Kubernetes spark exit code is: 3'\nexit {code}")
    assert ended(airflow_home)[1] is again


@pytest.mark.airflow
@pytest.mark.parametrize(("code", "again"), [(FINAL_CODE, False), (1, True), (37, True)])
def test_so_it_is_where_the_driver_runs_on_kubernetes(
    airflow_home: Settings, bin_directory: Path, monkeypatch: pytest.MonkeyPatch, code: int, again: bool
) -> None:
    from airflow.providers.apache.spark.hooks import spark_submit

    submit(bin_directory, f"echo '  Exit code: {code}'\nexit 1")  # 1 whatever the driver's pod ended with
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(CLUSTER))
    monkeypatch.setattr(spark_submit, "kube_client", object(), raising=False)  # asked for, not used
    assert ended(airflow_home)[1] is again


@pytest.mark.airflow
@pytest.mark.parametrize(("code", "again"), [(FINAL_CODE, False), (1, True)])
def test_so_it_is_in_the_spark_that_is_up(
    airflow_home: Settings, monkeypatch: pytest.MonkeyPatch, code: int, again: bool
) -> None:
    from airflow.sdk import RetryAction

    import jobs.aggregate
    from jobs.provider.retries import POLICY
    from jobs.provider.spark import SparkJob

    given: list[list[str]] = []
    monkeypatch.setattr(jobs.aggregate, "main", lambda arguments: given.append(arguments) or code)
    up = airflow_home.model_copy(update={"connect_url": "sc://localhost:1"})
    with pytest.raises(Exception, match="its last lines above say why") as raised:
        SparkJob(job="aggregate", arguments=["--x"], settings=up, shared=True, task_id="aggregate").execute({})
    assert given == [["--x"]]
    assert (POLICY.evaluate(raised.value, 1, 3).action is not RetryAction.FAIL) is again

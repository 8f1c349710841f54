"""A Spark that is up already: who may use it, and what is said where it is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.airflow_home import AirflowHome, free_port
from infra.spark_server import SparkServer
from shedding.config import Settings
from shedding.errors import ConfigError


def test_a_server_that_does_not_answer_is_told_with_the_remedy_and_without_its_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from shedding.spark import connect

    monkeypatch.setattr(connect, "PATIENCE_SECONDS", 0.0)
    with pytest.raises(ConfigError, match=r"sc://localhost.*does not answer.*SLUICE_SPARK=submit") as told:
        connect.connect(f"sc://localhost:{free_port(15900)}/;token=secret")
    assert "secret" not in str(told.value)


def test_the_token_is_in_no_command_line(settings: Settings) -> None:
    server = SparkServer(settings, 15002, "a-secret")
    assert not any("a-secret" in word for word in server.command())
    assert server.environment()["SPARK_CONNECT_AUTHENTICATE_TOKEN"] == "a-secret"


def test_slots_start_their_own_spark_where_the_owner_says_so(settings: Settings, tmp_path: Path) -> None:
    alone = settings.model_copy(update={"spark": "submit", "connect_url": "sc://localhost"})
    assert not alone.connected
    assert AirflowHome(tmp_path, 8080, alone).spark_server() is None
    assert AirflowHome(tmp_path, 8080, settings).spark_server() is not None

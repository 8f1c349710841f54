"""A session of a Spark Connect server that is up: no JVM to start, nothing shared with the other sessions."""

from __future__ import annotations

import socket
import time
from urllib.parse import urlsplit

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from shedding.errors import ConfigError
from shedding.interruption import raise_quietly

PATIENCE_SECONDS = 60.0
"""How long a server may take that has just been started, or started again."""
_DEFAULT_PORT = 15002


def connect(url: str) -> SparkSession:
    """A new session of the server, which has Delta and its configuration from `spark_conf` (`infra.spark_server`).

    Its temporary views and settings are its own. `stop` gives back what it holds and leaves the server running.
    """
    _wait_until_up(url)
    try:
        session: SparkSession = SparkSession.builder.remote(url).create()
        session.range(0).schema  # noqa: B018 (a round trip: whether the server takes the token)
    except PySparkException as error:
        raise _refused(url, str(error)[:200]) from error
    raise_quietly()
    return session


def _wait_until_up(url: str) -> None:
    """Return when somebody listens at the address; the client itself would try for many minutes."""
    place = urlsplit(url)
    give_up = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            socket.create_connection((place.hostname or "", place.port or _DEFAULT_PORT), timeout=5).close()
            return
        except (OSError, ValueError) as error:
            if time.monotonic() > give_up:
                raise _refused(url, str(error)) from error
            time.sleep(0.5)


def _refused(url: str, reason: str) -> ConfigError:
    return ConfigError(
        f"the Spark Connect server at {url.partition(';')[0]} does not answer: {reason}; start it, correct "
        f"SLUICE_CONNECT_URL, or write SLUICE_SPARK=submit"
    )

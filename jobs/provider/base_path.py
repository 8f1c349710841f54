"""The path that a proxy puts before Airflow's own, so that links work behind it."""

from __future__ import annotations

from urllib.parse import urlsplit

from airflow.configuration import conf


def base_path() -> str:
    """The path of `[api] base_url`, without a slash at its end; empty where Airflow is at the root."""
    return urlsplit(str(conf.get("api", "base_url", fallback=""))).path.rstrip("/")

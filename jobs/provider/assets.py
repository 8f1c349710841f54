"""The tables that other DAGs may wait for, with the Delta version on every event."""

from __future__ import annotations

from airflow.sdk import Asset

from shedding.config import Settings


def raw_asset(dataset: str) -> Asset:
    """The asset of `raw/<dataset>`."""
    return Asset(name=f"raw/{dataset}", uri=f"sluice://raw/{dataset}", group="raw")


def published_asset(query: str) -> Asset:
    """The asset of `published/<query>`."""
    return Asset(name=f"published/{query}", uri=f"sluice://published/{query}", group="published")


def version_of(settings: Settings, asset: Asset) -> int | None:
    """The Delta version of the asset's table."""
    from shedding import warehouse

    return warehouse.named(settings, asset.name).version()

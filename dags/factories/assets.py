"""The tables that other DAGs may wait for, with the Delta version on every event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from airflow.sdk import Asset

from shedding.config import Settings


def raw_asset(dataset: str) -> Asset:
    """The asset of `raw/<dataset>`."""
    return Asset(name=f"raw/{dataset}", uri=f"sluice://raw/{dataset}", group="raw")


def published_asset(query: str) -> Asset:
    """The asset of `published/<query>`."""
    return Asset(name=f"published/{query}", uri=f"sluice://published/{query}", group="published")


def announce_version(settings: Settings, asset: Asset) -> Callable[[Any, Any], None]:
    """A post-execute hook that puts the table's Delta version on the asset's event."""

    def announce(context: Any, _result: Any) -> None:
        from shedding import warehouse

        context["outlet_events"][asset].extra = {"version": warehouse.named(settings, asset.name).version()}

    return announce

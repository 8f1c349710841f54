"""A notifier that can be looked at."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseNotifier


class Teller(BaseNotifier):
    """Keeps what it was told."""

    def __init__(self, to: str, context: Any = None) -> None:
        super().__init__()
        self.to = to

    def notify(self, context: Any) -> None:
        """Nothing."""

    async def async_notify(self, context: Any) -> None:
        """Nothing."""

"""The settings and specifications of an Airflow deployment: its section `[sluice]`, else the environment."""

from __future__ import annotations

from dataclasses import dataclass

from airflow.configuration import conf

from jobs.provider.provider_info import SECTION
from shedding.config import Settings
from shedding.spec import Catalog, load_catalog


@dataclass(frozen=True, slots=True)
class Deployment:
    """Where things are, and what is specified there."""

    settings: Settings
    catalog: Catalog

    @classmethod
    def load(cls) -> Deployment:
        """As Airflow's configuration says now; broken specifications are among the catalog's problems."""
        settings = deployed_settings()
        return cls(settings, load_catalog(settings.specs))


def deployed_settings() -> Settings:
    """Settings whose fields are the options of `[sluice]`; an option that is empty or left out is the environment's."""
    options = {name: conf.get(SECTION, name, fallback="") for name in Settings.model_fields}
    return Settings.load(**{name: value for name, value in options.items() if value})

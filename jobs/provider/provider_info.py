"""What Airflow is told of this package: where its operators and triggers are, and its section of the configuration."""

from __future__ import annotations

from typing import Any

from shedding.config import Settings

SECTION = "sluice"
INTEGRATION = "Sluice"
SECRET = frozenset({"metrics_token"})


def get_provider_info() -> dict[str, Any]:
    """The entry point `apache_airflow_provider`; the options of `[sluice]` are the fields of the settings."""
    return {
        "package-name": "sluice",
        "name": INTEGRATION,
        "description": "Error-budgeted load shedding for Spark pipelines",
        "integrations": [{"integration-name": INTEGRATION, "external-doc-url": "", "tags": ["software"]}],
        "operators": [_modules("jobs.provider.operators", "jobs.provider.spark")],
        "triggers": [_modules("jobs.provider.raw_trigger")],
        "extra-links": ["jobs.provider.data_docs_link.DataDocsLink"],
        "config": {SECTION: {"description": "Where Sluice's tables, specifications and Spark are.",
                             "options": {name: _option(name) for name in Settings.model_fields}}},
    }  # fmt: skip


def _modules(*names: str) -> dict[str, Any]:
    return {"integration-name": INTEGRATION, "python-modules": list(names)}


def _option(name: str) -> dict[str, Any]:
    return {
        "description": f"{Settings.model_fields[name].description}. Empty: the variable SLUICE_{name.upper()}",
        "version_added": "0.1.0",
        "type": "string",
        "sensitive": name in SECRET,
        "example": None,
        "default": "",
    }

"""One DAG per dataset: `ingest_<dataset>` brings the rows of each interval into `raw/<dataset>`.

Made from `datasets/*.yaml`; adding a file adds a DAG. A file that is wrong shows up here under its own
name, tagged `invalid`, with the message.
"""

from factories.ingest import ingest_dag
from factories.registry import build_all
from shedding.config import Settings
from shedding.spec import load_catalog

settings = Settings.load()
catalog = load_catalog(settings.specs)
# Airflow finds a DAG as a global of this module.
globals().update(build_all("datasets", "ingest", catalog.datasets, catalog, settings, ingest_dag))

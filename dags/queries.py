"""One DAG per query: `query_<query>` computes, judges and publishes the windows of each slot.

Made from `queries/*.yaml`; adding a file adds a DAG. A file that is wrong shows up here under its own
name, tagged `invalid`, with the message.
"""

from factories.query import query_dag
from factories.registry import build_all
from shedding.config import Settings
from shedding.spec import load_catalog

settings = Settings.load()
catalog = load_catalog(settings.specs)
# Airflow finds a DAG as a global of this module.
globals().update(build_all("queries", "query", catalog.queries, catalog, settings, query_dag))

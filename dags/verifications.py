"""One DAG per query that says `audit: {verify: ...}`: `verify_<query>` computes exactly what it published unaudited.

Made from `queries/*.yaml`. A file that is wrong shows up among the queries' own DAGs, not here.
"""

from dataclasses import replace

from factories.registry import build_all
from factories.verify import verify_dag
from shedding.config import Settings
from shedding.spec import load_catalog

settings = Settings.load()
catalog = load_catalog(settings.specs)
verified = {name: query for name, query in catalog.queries.items() if query.audit.verify is not None}
# Airflow finds a DAG as a global of this module.
globals().update(build_all("queries", "verify", verified, replace(catalog, problems=()), settings, verify_dag))

"""One DAG per query, `query_<query>`, and one per pool, `pool_<pool>`: compute, judge and publish each slot's windows.

Made from `queries/*.yaml` and `pools/*.yaml`; adding a file adds a DAG. A file that is wrong shows up here under
its own name, tagged `invalid`, with the message.
"""

from factories.pool import pool_dag
from factories.query import query_dag
from factories.registry import build_all
from shedding.config import Settings
from shedding.spec import load_catalog

settings = Settings.load()
catalog = load_catalog(settings.specs)
# Airflow finds a DAG as a global of this module.
globals().update(build_all("queries", "query", catalog.queries, catalog, settings, query_dag))
joined = {name: pool for name, pool in catalog.pools.items() if pool.members}
globals().update(build_all("pools", "pool", joined, catalog, settings, pool_dag))

"""The specification: what an owner writes in `datasets/*.yaml` and `queries/*.yaml`."""

from shedding.spec.catalog import Catalog, Problem, load_catalog
from shedding.spec.dataset import DatasetSpec
from shedding.spec.query import QuerySpec

__all__ = ["Catalog", "DatasetSpec", "Problem", "QuerySpec", "load_catalog"]

"""The specification: what an owner writes in `datasets/*.yaml` and `queries/*.yaml`."""

from shedding.spec.catalog import Catalog, load_catalog
from shedding.spec.dataset import DatasetSpec
from shedding.spec.problems import Problem
from shedding.spec.query import QuerySpec

__all__ = ["Catalog", "DatasetSpec", "Problem", "QuerySpec", "load_catalog"]

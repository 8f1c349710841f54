"""The specification: what an owner writes in `datasets/*.yaml`, `queries/*.yaml` and `pools/*.yaml`."""

from shedding.spec.catalog import Catalog, load_catalog
from shedding.spec.dataset import DatasetSpec
from shedding.spec.pool import Pooled
from shedding.spec.problems import Problem
from shedding.spec.query import QuerySpec

__all__ = ["Catalog", "DatasetSpec", "Pooled", "Problem", "QuerySpec", "load_catalog"]

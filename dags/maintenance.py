"""# Maintenance

Once a day, one dataset after another: small files are merged (OPTIMIZE), files that no version within the dataset's
`retention` needs are deleted (VACUUM), and rows that nobody may see (of replaced files and of ingests that died) are
removed. Row counts are the same before and after, and that is checked. A table that a writer is busy with is left for
the next day; consumers can travel back in time as far as the `retention` says.
"""

from factories.maintenance import maintenance_dag
from shedding.config import Settings
from shedding.spec import load_catalog

settings = Settings.load()
# Airflow finds the DAG as a global of this module.
dag = maintenance_dag(load_catalog(settings.specs), settings, __doc__)

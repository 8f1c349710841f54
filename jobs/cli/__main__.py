"""`python -m jobs.cli` is `sluice`."""

import sys

from jobs.cli.application import main

sys.exit(main())

"""`python -m shedding.cli` is `sluice`."""

import sys

from shedding.cli.application import main

sys.exit(main())

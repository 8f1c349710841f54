"""The command `sluice`: the same functions as the DAGs, by hand."""

from jobs.cli.application import main

__all__ = ["main"]

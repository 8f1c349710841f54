"""The command `sluice`: the same functions as the DAGs, by hand."""

from shedding.cli.application import main

__all__ = ["main"]

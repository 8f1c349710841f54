"""Rows the project makes itself: those of [from, to) depend on the specification and the interval only."""

from shedding.ingest.generators.registry import generate

__all__ = ["generate"]

"""Sluice: error-budgeted load shedding for windowed aggregation on Spark."""

"""Allocation: which share of each key's rows is kept under a budget. Pure arrays, no Spark."""

from shedding.allocation.budget import Allocation, Budget
from shedding.allocation.goals import Goal
from shedding.allocation.limits import allocate_subset, least_budget
from shedding.allocation.ratios import optimal_rates

__all__ = ["Allocation", "Budget", "Goal", "allocate_subset", "least_budget", "optimal_rates"]

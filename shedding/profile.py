"""The profile of a dataset: how its rows spread over keys and windows, and what that means for shedding."""

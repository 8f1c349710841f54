"""`sluice profile`: how a dataset's rows spread over keys and windows, and what that means for shedding."""

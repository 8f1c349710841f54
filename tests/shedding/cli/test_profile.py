"""`sluice profile` on a generated dataset."""

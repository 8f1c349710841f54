"""What another policy would do, what the data is like, and whether the promise was kept."""

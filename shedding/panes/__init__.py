"""What is remembered of a slot, and how windows come of it."""

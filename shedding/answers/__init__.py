"""What a slot answers, how wrong it may be, and what it writes down."""

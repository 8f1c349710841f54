"""What does a user's function make of a row, and what did that take? Each row once."""

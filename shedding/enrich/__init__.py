"""What is the value of a user's function on a row, and what did the call take? Each row once."""

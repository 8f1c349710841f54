"""How a file becomes raw rows, and what has arrived."""

"""What does a row cost, and how long may its work wait? Load-aware shedding (Rivetti, Busnel, Querzoni), in NumPy."""

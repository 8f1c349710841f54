"""The profile's figures against direct counts."""

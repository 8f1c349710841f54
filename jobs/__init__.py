"""The applications: one job a file, and the declarative datasets and queries."""

"""How Spark is configured and started, and how it reads the expressions of a specification."""

"""The Spark side of the library: thin, and imported only where a job needs it."""

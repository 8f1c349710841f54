"""The gate: what an answer must meet before it is published, as Great Expectations suites made from `gate:` blocks."""

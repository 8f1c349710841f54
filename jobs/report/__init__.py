"""The error budget as people see it: figures from the tables, charts and pages of them. No Spark, no web server.

tables         rows of a query's tables, cached by version
slots          what became of each slot
figures        the objective, the cost and the decisions of a query
key_figures    answers by key: series, worst keys, calibration
what_if        other policies and budgets, from stored comparisons
svg, charts    pictures
pages          one self-contained HTML file
metrics        the same figures for Prometheus
alerts         burn-rate rules and a Grafana board
"""

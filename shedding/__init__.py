"""Sluice: error-budgeted load shedding for windowed aggregation on Spark.

The rooms, each the answer to one question; a room looks only at rooms above it in this list.

    (top)      the words that everybody uses: errors, config, costs, fields, keys, rates, stretches, tables, warehouse
    dropping   which windows are left out under overload? rules, and a calendar in NumPy
    allocation  which rates give the least error within a budget? NumPy only
    patterns   which item sets are frequent? NumPy only
    policies   which share of each key is kept? A policy a file, with its options
    spec       what may I write in YAML?
    load       what does a row cost, and how long may its work wait? NumPy only
    estimates  what is the +- of a sampled number? NumPy and SciPy only
    risk       how wrong may a window be that nobody audited? NumPy and SciPy only
    spark      how is Spark configured and started?
    ingest     how does a file become raw rows, and what has arrived?
    enrich     what is the value of a user's function on a row, and what did the call take?
    scan       how are rows read and summed, the same bits always?
    panes      what is remembered of a slot, and how do windows come of it?
    measures   what is an avg, a quantile, a ratio: exactly, estimated, learnt?
    planning   what does a slot know and decide before a row is read?
    answers    what does a slot answer, and what does it write down?
    compare    what would another policy do, and was the promise kept?

Above the library stand `expectations` (the gate), `jobs` (the applications, the command in `jobs/cli`, the Airflow
provider in `jobs/provider`), `infra` and `dags`.
"""

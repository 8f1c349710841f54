"""One factory per kind of DAG; the files beside this folder call them for every specification."""

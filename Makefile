# Sluice: everything a person runs. `make` alone lists it.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup lock run test test-fast lint bench reproduce chaos fuzz clean

BIN := .venv/bin
ONLY ?=
DATA ?=
PART ?=
N ?= 40
FIRST ?=

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install everything: venv, locked packages, Java, Delta's jars (only what is missing)
	@bash infra/setup.sh

lock: setup ## write infra/requirements.lock anew from pyproject.toml
	@$(BIN)/uv pip compile -q --no-emit-index-url --no-header --no-annotate --universal --python-version 3.11 \
		--all-extras pyproject.toml -o infra/requirements.lock

run: setup ## start Airflow on 127.0.0.1, fill and publish the example, stay up until Ctrl-C
	@exec $(BIN)/python -m infra.run $(if $(RUN_ONCE),--once)

lint: setup ## ruff (rules and format) and mypy
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

# Live tests wait for real processes, which a busy machine can starve: what failed runs once more, alone, and out loud.
test: lint ## lint, types and every test
	@$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder || \
		{ echo "Some tests failed. They run once more, one after another:"; $(BIN)/pytest --last-failed --last-failed-no-failures none; }

test-fast: setup ## the tests that need no Spark, Airflow or real data, under 2 minutes
	@$(BIN)/pytest -n 2 --hypothesis-profile fast -m "not spark and not airflow and not chaos and not data and not slow"

bench: setup ## benchmarks; ONLY=name for one, DATA=dir for the real slices, ROWS=100M to generate so many, PART=text
	@$(BIN)/python -m tests.benchmarks $(if $(ONLY),--only $(ONLY)) $(if $(DATA),--data $(DATA)) \
		$(if $(ROWS),--rows $(ROWS)) $(if $(PART),--part '$(PART)')

reproduce: setup ## the papers' figures on the real slices in DATA=dir; ONLY=figure for one; build/reproduce/index.html
	@$(BIN)/python -m tests.reproduce --data "$(DATA)" $(if $(ONLY),--only $(ONLY))

chaos: setup ## kill -9 jobs at N random moments and compare with an undisturbed run
	@$(BIN)/python -m tests.chaos --n $(N)

fuzz: setup ## N random datasets and queries against DuckDB; FIRST=seed to repeat one
	@$(BIN)/python -m tests.fuzz --n $(N) $(if $(FIRST),--first $(FIRST))

clean: ## remove everything that was made: venv, jars, warehouse, Airflow's home, builds
	@rm -rf .venv .jars .airflow .pytest_cache .ruff_cache .mypy_cache .hypothesis build warehouse landing \
		*.egg-info metastore_db derby.log spark-warehouse
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

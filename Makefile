# Every target works in a fresh clone: the environment is made on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO ?= demo-out

.PHONY: demo test test-scale check bench measured docs format clean
.DEFAULT_GOAL := demo

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $(STAMP)

## The main job: from nothing to a report about a cell.
demo: $(STAMP)
	$(BIN)/borgtrace demo $(DEMO)

## All tests; under 12 minutes on two cores.
test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist worksteal

## The larger runs behind the marker `scale`.
test-scale: $(STAMP)
	$(BIN)/python -m pytest -m scale

## Style, types, layers, and generated pages that must be fresh.
check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m borgtrace.schema.docs --check docs/tables.md

## Speed, beside peers and limits: one table a subject.
bench: $(STAMP)
	for script in benchmarks/[a-z]*.py; do $(BIN)/python $$script || exit 1; done

## What the claims measure on the demo's cell and on the real parts, for the page about papers.
measured: $(STAMP)
	rm -rf measured-out
	$(BIN)/borgtrace synth measured-out/raw --machines 100 --hours 24 --seed 1
	$(BIN)/borgtrace ingest measured-out/raw --store measured-out/synthetic
	test ! -d ../shared/trace || $(BIN)/borgtrace ingest ../shared/trace/clusterdata-2011-2 --store measured-out/real-parts
	for store in synthetic real-parts; do test ! -d measured-out/$$store || { \
	  $(BIN)/borgtrace analyze measured-out/$$store --out measured-out/$$store.claims && \
	  cp measured-out/$$store.claims/claims.csv docs/measured/$$store.csv; } || exit 1; done
	rm -rf measured-out

docs: $(STAMP)
	$(BIN)/mkdocs build --strict

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(DEMO) measured-out site dist .pytest_cache .mypy_cache .ruff_cache

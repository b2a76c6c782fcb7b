# Every target works in a fresh clone: the environment is made on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO ?= demo-out

.PHONY: demo test test-scale check bench docs format clean
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

docs: $(STAMP)
	$(BIN)/mkdocs build --strict

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(DEMO) site dist .pytest_cache .mypy_cache .ruff_cache

# Every target works in a fresh clone: the environment is created on first use, with only what the target needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGE := $(VENV)/.package
TESTS := $(VENV)/.tests
WARM := $(VENV)/.warm
DEMO ?= demo-out
# What runs without Spark, TensorFlow, PyTorch, a browser or a bucket.
CORE_TESTS := tests/schema tests/triples tests/lifecycle tests/question/test_catalog.py tests/question/test_charts.py \
  tests/question/test_claims.py tests/placement tests/kernels

# Compiled modules are kept even where the environment says otherwise: the tests start hundreds of processes, each of
# which would compile what it imports, a second and more.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-wide test-lowest test-scale check mutants bench measured notebooks wheel docs format hooks clean
.DEFAULT_GOAL := demo

# The package alone: about 0.8 GB.
$(PACKAGE): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $(PACKAGE)

# The test dependencies (TensorFlow, PyTorch, Spark …), in the same environment: about 4 GB.
$(TESTS): $(PACKAGE)
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $(TESTS)

## From nothing to a report about a synthetic cell.  Meanwhile, once, what the commands after it would compile first.
demo: $(PACKAGE)
	test -e $(WARM) || (nice -n 19 $(BIN)/borgtrace doctor --warm && touch $(WARM)) >/dev/null 2>&1 &
	$(BIN)/borgtrace demo $(DEMO)

# Three workers on two cores: many tests wait for a server, a browser or a process.
PYTEST := $(BIN)/python -m pytest -n 3 --dist worksteal

# Without looking for examples in docstrings, which are wide: that took a quarter of collecting, in each worker.
QUICKLY := -o addopts="-ra --strict-markers --import-mode=importlib"

## What needs no other program and no long wait; of a test with several cases the first (tests/wide.py).
test: $(TESTS)
	$(PYTEST) $(QUICKLY) -m "not scale and not wide" tests

## All other tests: more cases, Spark, browser, buckets, kills and damage.  CI runs both.
test-wide: $(TESTS)
	$(PYTEST) -m "wide and not scale"

## The larger runs behind the marker `scale`; with NODE_SERVERS=…/node_modules/.bin also those against npm's s3rver and azurite.
test-scale: $(TESTS)
	$(BIN)/python -m pytest -m scale

## Style, types, layers; generated pages and lists of edits that must match the code.
check: $(TESTS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python scripts/typed_examples.py
	$(BIN)/lint-imports
	$(BIN)/python scripts/tables_page.py --check docs/tables.md

## Do the tests notice changed logic?  150 changes per package, about half an hour each (`scripts/mutants.py --all`: a night).
mutants: $(TESTS)
	$(BIN)/python scripts/mutants.py

## The core tests with the lowest version of each direct dependency, in an environment of its own.
test-lowest:
	test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --upgrade pip uv
	.venv-lowest/bin/python -m uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct --editable .
	.venv-lowest/bin/python -m pip install --quiet 'pytest>=9' 'hypothesis>=6.150' 'psutil>=6' 'scipy>=1.15' 'scikit-learn>=1.6'
	.venv-lowest/bin/python -m pytest -p no:cacheprovider $(CORE_TESTS)

## Benchmarks, with other tools and hardware limits for comparison.
bench: $(TESTS)
	for script in benchmarks/[a-z]*.py; do $(BIN)/python $$script || exit 1; done

## Measure all claims on the demo cell and on the real parts, and draw all charts and pictures of pages, for the documentation.
measured: $(TESTS)
	rm -rf measured-out && mkdir measured-out
	$(BIN)/borgtrace synth measured-out/raw --machines 100 --hours 24 --seed 1
	$(BIN)/borgtrace ingest measured-out/raw --store measured-out/synthetic
	test ! -d ../shared/trace || $(BIN)/borgtrace ingest ../shared/trace/clusterdata-2011-2 --store measured-out/real-parts
	for store in synthetic real-parts; do test ! -d measured-out/$$store || { \
	  $(BIN)/borgtrace analyze measured-out/$$store --out measured-out/$$store.claims && \
	  cp measured-out/$$store.claims/claims.csv docs/measured/$$store.csv; } || exit 1; done
	$(BIN)/python scripts/gallery.py measured-out/synthetic.claims docs/assets/charts/synthetic
	test ! -d measured-out/real-parts || $(BIN)/python scripts/gallery.py measured-out/real-parts.claims \
	  docs/assets/charts/real-parts --without instance_usage
	$(BIN)/borgtrace report measured-out/synthetic measured-out/report.html
	$(BIN)/python scripts/pictures.py measured-out/synthetic measured-out/report.html docs/assets
	rm -rf measured-out

## The notebooks with their outputs, which the documentation shows.
notebooks: $(TESTS)
	$(BIN)/python docs/notebooks.py --write

## The source distribution, and a wheel with machine code for this version of Python, in dist/.
wheel: $(PACKAGE)
	$(BIN)/python -m pip install --quiet build gymnasium
	$(BIN)/python scripts/machine_code.py
	$(BIN)/python -m build --sdist
	$(BIN)/python -m build --wheel

docs: $(TESTS)
	$(BIN)/mkdocs build --strict

format: $(TESTS)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

## The checks before every commit.
hooks: $(TESTS)
	$(BIN)/python -m pip install --quiet --editable '.[hooks]'
	$(BIN)/pre-commit install

clean:
	rm -rf $(VENV) $(DEMO) src/borgtrace/kernels/machine_code measured-out site dist .pytest_cache .mypy_cache .ruff_cache

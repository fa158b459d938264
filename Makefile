# Every target installs what it needs in the virtual environment .venv, and runs the sources in src/.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OUT    ?= results
JOBS   ?= 2
SOURCES := PYTHONPATH=$(CURDIR)/src

.NOTPARALLEL: # two installers must not write to one environment
.PHONY: help reproduce front-page test test-quick test-thorough lint format docs bench clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

reproduce: $(VENV)/experiments ## run the paper's experiments and write figures and the report
	$(SOURCES) $(BIN)/python -m driftbandits reproduce all --out $(OUT)

front-page: reproduce ## reproduce, and write the regrets into README.md and the documentation
	$(SOURCES) $(BIN)/python -m studies.front_page $(OUT)

test: test-quick test-thorough ## run every test

test-quick: $(VENV)/test ## run the quick tests
	$(SOURCES) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not thorough" $(ARGS)

test-thorough: $(VENV)/test ## run the long statistical tests
	$(SOURCES) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "thorough" $(or $(ARGS),tests)

test-lowest: $(VENV)/bin/uv ## run the main tests with the lowest versions that pyproject.toml allows
	JOBS=$(JOBS) .ci/test-on lowest 3.11 --resolution lowest-direct

test-newest: $(VENV)/bin/uv ## run the main tests on Python 3.12 and 3.13, with the newest versions
	JOBS=$(JOBS) .ci/test-on 3.12 3.12 --upgrade
	JOBS=$(JOBS) .ci/test-on 3.13 3.13 --upgrade

lint: $(VENV)/lint ## formatter, linter, type checker, import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(SOURCES) $(BIN)/lint-imports

format: $(VENV)/lint ## format the code, and fix what the linter can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/docs ## build the documentation into site/; a warning is an error
	$(SOURCES) $(BIN)/python -m sphinx --fail-on-warning --keep-going --nitpicky --quiet --fresh-env docs site
	@echo "documentation: site/index.html"

bench: $(VENV)/bench ## measure everything side by side, into benchmarks/
	$(SOURCES) $(BIN)/python -m benchmarks

clean: ## remove everything that these targets make
	rm -rf $(VENV) $(VENV)-* site results .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

# One stamp file per extra, so that a target installs no more than it needs.
EXTRAS_experiments := experiments
EXTRAS_test        := experiments,logs,service,test
EXTRAS_lint        := experiments,logs,service,test,lint
EXTRAS_docs        := experiments,logs,service,docs
EXTRAS_bench       := experiments,logs,service,bench
# The Open Bandit sample is inside obp's wheel; obp itself is not run, so its torch is not needed.
SAMPLE_test        := obp==0.4.1

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

# Prints -e unless the package is already installed as a copy, which then stays a copy.
EDITABLE := import importlib.metadata as m, json; \
	d = next(iter(m.distributions(name="driftbandits")), None); \
	url = json.loads(d and d.read_text("direct_url.json") or "{}"); \
	print("-e" if d is None or url.get("dir_info", {}).get("editable") else "")

$(VENV)/bin/uv: | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

# uv installs in seconds; pip takes a minute and a half. Compiled bytecode halves the time of an import.
$(VENV)/%: pyproject.toml | $(VENV)/bin/uv
	@echo "installing what '$*' needs, once ..."
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python \
		$$($(BIN)/python -c '$(EDITABLE)') '.[$(EXTRAS_$*)]'
	$(if $(SAMPLE_$*),$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps $(SAMPLE_$*))
	@touch $@

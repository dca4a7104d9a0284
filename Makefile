# Every target sets up what it needs in $(VENV), anew only after pyproject.toml or constraints.txt changed.
# PYTHON names another interpreter, VENV another folder:  make test PYTHON=python3.13 VENV=.venv-3.13

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-brokers check bench chaos conformance clean

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP_VERSION := 26.3
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
NEWEST_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON := $(shell for p in python3.11 python3; do "$$p" -c '$(NEWEST_ENOUGH)' 2>/dev/null && echo "$$p" && break; done)

# What the environment was made for: a copied or moved checkout, or another interpreter, makes it anew.
MADE_FOR := $(CURDIR) $(PYTHON)
ifneq ($(shell cat $(READY) 2>/dev/null),$(MADE_FOR))
.PHONY: $(READY)
CLEAR := --clear
endif

help:
	@echo "make demo                    replay a long session through an embedded pool and show what happens"
	@echo "make demo TRANSCRIPTS=path   the same with your own transcripts (files, or a quoted pattern)"
	@echo "make test                    run the tests; ARGS='-k name' is passed on to pytest"
	@echo "make test-brokers            the tests on other servers; installs them first (Debian, as root)"
	@echo "make bench                   measure, and print tables; ARGS=prepare names one, ARGS=--help tells all"
	@echo "make chaos SEED=1 SECONDS=60 let faults befall a fleet, then check the laws; ARGS=--help tells all"
	@echo "make conformance             run AgentLane's own compaction tests over ours; needs Python 3.12, see PYTHON312="
	@echo "make check                   format, lint, types, import contracts, file and function length"
	@echo "make clean                   remove the environment, caches and built packages"
	@echo "Each sets up $(VENV) by itself; that takes a minute once. Needed: Python 3.11 or newer, make, a package index."

demo: $(READY)
	@$(BIN)/ebbtide $(if $(TRANSCRIPTS),replay $(TRANSCRIPTS),demo)

test: $(READY)
	$(BIN)/pytest $(ARGS)

test-brokers: $(READY)
	@tests/brokers/install
	$(BIN)/pytest -n 2 tests/brokers tests/laws/test_law_13_refused_by_the_server.py $(ARGS)

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tests/shape.py

bench: $(READY)
	@$(BIN)/python -m bench $(ARGS)

chaos: $(READY)
	@$(BIN)/python -m chaos $(if $(SEED),--seed $(SEED)) $(if $(SECONDS),--seconds $(SECONDS)) $(ARGS)

conformance:
	@PYTHON312="$(PYTHON312)" $(PYTHON) tests/conformance/run.py

clean:
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer found: install one, or say make PYTHON=path" >&2; exit 1; }
	@echo "Setting up $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(CLEAR) $(VENV)
	@$(PIP) install "pip==$(PIP_VERSION)"
	@$(PIP) install --constraint constraints.txt --build-constraint constraints.txt --editable ".[all]" --group dev
	@echo "$(MADE_FOR)" > $@

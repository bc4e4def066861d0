# The one door. Needs python3 (3.11 or newer), make and Java 17 or newer; the rest goes into .venv.
# Another Python: PYTHON=python3.12 make test

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test format clean java python same-python

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/installed  ## protect a stream of a flat's sensors, and say what that promises
	@echo "Checking the shipped policies, then protecting a stream on a local Spark ..."
	@$(BIN)/ppm check
	@$(BIN)/python examples/wrap_stream.py 2>/dev/null || $(BIN)/python examples/wrap_stream.py
	@$(BIN)/ppm explain policies/quiet-house.yaml --community care-team

test: $(VENV)/installed-test  ## what CI runs: lint, types, tests and README examples
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest

format: $(VENV)/installed-test  ## rewrite the code as the linter wants it
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove .venv, caches and build results
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis spark-warehouse
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps: pip runs again only when pyproject.toml is newer than the last install.

$(VENV)/installed: pyproject.toml | $(BIN)/pip same-python
	$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/installed-test: pyproject.toml | $(BIN)/pip same-python
	$(BIN)/pip install --quiet --editable '.[test]'
	@touch $(VENV)/installed $@

$(BIN)/pip: | java python
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot create a virtual environment: install the missing part with 'sudo apt install python3-venv' (Debian, Ubuntu)." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# A .venv keeps the Python that it was made with, whatever PYTHON says later.

same-python: | $(BIN)/pip
	@test "$$($(PYTHON) -c 'import sys; print(sys.version_info[:2])')" = "$$($(BIN)/python -c 'import sys; print(sys.version_info[:2])')" || { \
	  echo "$(VENV) was made with another Python than '$(PYTHON)': run 'make clean' first." >&2; exit 1; }

# Both checks come before the long install, and look where pyspark looks: JAVA_HOME, then PATH.

java:
	@java="$${JAVA_HOME:+$$JAVA_HOME/bin/}java"; \
	major=$$("$$java" -version 2>&1 | sed -n 's/.*version "\(1\.\)\{0,1\}\([0-9][0-9]*\).*/\2/p' | head -n 1); \
	test "$${major:-0}" -ge 17 || { \
	  echo "ppm needs Java 17 or newer and found $${major:+Java }$${major:-none}$${JAVA_HOME:+ in JAVA_HOME ($$JAVA_HOME)}: install it with 'sudo apt install default-jre-headless' (Debian, Ubuntu) or 'brew install --cask temurin@21' (macOS)." >&2; exit 1; }

python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "ppm needs Python 3.11 or newer and '$(PYTHON)' is $$($(PYTHON) --version 2>/dev/null || echo missing): name another one, as in 'PYTHON=python3.12 make test'." >&2; exit 1; }

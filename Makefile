# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo test lint clean

demo: $(VENV)/.installed
	$(BIN)/chary demo --force

test: $(VENV)/.installed-test lint
	$(BIN)/python -m pytest -n auto

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Installed anew only when the requirements change; the package itself is editable.
INSTALL = test -x $(BIN)/python || $(PYTHON) -m venv $(VENV); echo "Installing into $(VENV) ..."; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(INSTALL) . && touch $@

$(VENV)/.installed-test: pyproject.toml constraints.txt
	@$(INSTALL) ".[test]" && touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

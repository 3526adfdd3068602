# Python and make are enough: each target does its own set-up. Begin with `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
WHEEL  := build/wheel

# What `make lowest` and `make newest` run; not PyTorch, because of the size of its builds, and not the pages, which show
# what the pinned versions print.
EXTRAS ?= plots,dask,excel
TESTS  ?= tests --ignore=tests/common/test_docs.py

.PHONY: demo study test lint benchmarks wheel docs dist runners lowest newest mutants fuzz clean

demo: $(VENV)/.installed
	$(BIN)/chary demo --force

# A table or figure of the paper, or another study: make study NAME=table-ssb. Stop it any time; run it again to resume.
study: $(VENV)/.installed-studies
	$(BIN)/python -m studies run $(NAME)

# CI adds COV=--cov, which takes half as long again, and `make wheel`. Compiled files are kept: tests start many processes.
test: $(VENV)/.installed-test lint
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n 2 --dist worksteal $(COV)

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# What chary costs beside named baselines, at a reduced size, and how it compares with the stored ratios.
benchmarks: $(VENV)/.installed-test
	$(BIN)/python benchmarks/run.py

# The site, in build/site: no network is needed, a warning is an error, and so is a link that leads nowhere.
SITE   := build/site
docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -q -E -W --keep-going -n -b html -d build/doctrees docs $(SITE)
	$(BIN)/python docs/check_links.py $(SITE)
	@echo "Open $(SITE)/index.html"

# Whether the tests would notice: small faults in ten modules, and the share that some test finds.
mutants: $(VENV)/.installed-test
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/mutants.py

# Files from strangers, changed as coverage suggests: sources, sheets and models, each for TIME seconds. Atheris runs on
# Linux, with Python 3.11 to 3.13. What ends neither in a result nor in one sentence is left in build/fuzz/*/found.
TIME   ?= 60
FUZZ   := build/fuzz
fuzz:
	@test -x $(FUZZ)/venv/bin/python || $(PYTHON) -m venv $(FUZZ)/venv
	@$(FUZZ)/venv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt atheris==3.0.0 -e ".[excel]"
	@rm -rf $(FUZZ)/*/found
	for target in sources sheets models; do \
		OMP_NUM_THREADS=1 $(FUZZ)/venv/bin/python tests/fuzz/fuzz.py $$target $(FUZZ) -max_total_time=$(TIME) || exit 1; done
	@! ls $(FUZZ)/*/found/* 2> /dev/null

# What users install, in an environment that holds nothing else: templates and tables must be in the wheel, too.
wheel:
	@echo "Building the wheel and running the demo from it ..."
	@rm -rf $(WHEEL) && $(PYTHON) -m venv $(WHEEL)/venv
	@$(WHEEL)/venv/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps -c constraints.txt -w $(WHEEL) .
	@$(PYTHON) .ci/contents.py $(WHEEL)/*.whl
	@$(WHEEL)/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt $(WHEEL)/*.whl
	@cd $(WHEEL) && venv/bin/chary demo --force > demo.txt && tail -n 2 demo.txt

# What is published, built and looked at, in an environment of its own: build/dist/chary-*.whl and chary-*.tar.gz. Then the
# wheel alone does what README.md says, in an empty environment of each supported Python that this machine has.
DIST   := build/dist
dist:
	@rm -rf $(DIST) && $(PYTHON) -m venv $(DIST)/venv
	@$(DIST)/venv/bin/python -m pip install --quiet --disable-pip-version-check build twine
	@$(DIST)/venv/bin/python -m build --outdir $(DIST) . > $(DIST)/build.txt || { cat $(DIST)/build.txt; exit 1; }
	@$(DIST)/venv/bin/python -m twine check --strict $(DIST)/chary-*
	@$(PYTHON) .ci/contents.py $(DIST)/chary-*
	@for python in $$($(PYTHON) .ci/pythons.py); do \
		$$python --version && rm -rf $(DIST)/empty && mkdir $(DIST)/empty && $$python -m venv $(DIST)/empty/venv && \
		$(DIST)/empty/venv/bin/python -m pip install --quiet --disable-pip-version-check $(DIST)/chary-*.whl && \
		$(DIST)/empty/venv/bin/python -m pip check --disable-pip-version-check && \
		$(PYTHON) .ci/first_steps.py README.md $(DIST)/empty || exit 1; done
	@$(PYTHON) .ci/release.py || true

# chary without installing it: one command of uv and one of pipx, each in an environment that it makes and throws away.
RUN    := build/runners
runners:
	@rm -rf $(RUN) && mkdir -p $(RUN)
	@if command -v uvx > /dev/null; then cd $(RUN) && uvx --quiet --refresh --from $(CURDIR) chary demo --out uvx | tail -n 1; \
		else echo "uvx is not on this machine: skipped"; fi
	@if command -v pipx > /dev/null; then cd $(RUN) && pipx run --quiet --no-cache --spec $(CURDIR) chary demo --out pipx | tail -n 1; \
		else echo "pipx is not on this machine: skipped"; fi

# The demo and the tests from the wheel, with the lowest versions that pyproject.toml states, and with the newest there are.
# An old package may be warned of by a newer one, so that what is deprecated is no error here.
lowest newest:
	@echo "Installing the wheel with the $@ versions ..."
	@rm -rf build/$@ && $(PYTHON) -m venv build/$@/venv && : > build/$@/constraints.txt
	@if [ $@ = lowest ]; then $(PYTHON) .ci/lowest.py $(EXTRAS),test-core > build/$@/constraints.txt; fi
	@build/$@/venv/bin/python -m pip install --quiet --disable-pip-version-check "$(PIP)"
	@build/$@/venv/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps -w build/$@ .
	@build/$@/venv/bin/python -m pip install --quiet --disable-pip-version-check -c build/$@/constraints.txt \
		"$$(ls build/$@/chary-*.whl)[$(EXTRAS)]" --group test-core
	@cd build/$@ && venv/bin/chary demo --force > demo.txt && tail -n 1 demo.txt
	build/$@/venv/bin/python -m pytest -q -n 2 -p no:cacheprovider -W default::DeprecationWarning \
		-W default::PendingDeprecationWarning -W default::FutureWarning $(TESTS)

# Installed anew only when the requirements change; the package itself is editable. Groups of requirements need a newer
# pip than that of most Pythons: it is replaced in the environment, and only there.
PIP     := pip>=25.1
INSTALL = test -x $(BIN)/python || $(PYTHON) -m venv $(VENV); echo "Installing into $(VENV) ..."; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "$(PIP)" && \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(INSTALL) -e . && touch $@

$(VENV)/.installed-studies: pyproject.toml constraints.txt
	@$(INSTALL) -e ".[plots]" && touch $@

# Python compiles what is imported; compiling all of PyTorch here would take longer.
$(VENV)/.installed-test: pyproject.toml constraints.txt
	@$(INSTALL) --no-compile -e ".[dask,excel,plots,torch]" --group test && touch $@

$(VENV)/.installed-docs: pyproject.toml constraints.txt
	@$(INSTALL) -e ".[plots,torch]" --group docs && touch $@

clean:
	rm -rf $(VENV) build docs/results docs/look docs/look-inside.md docs/schemas docs/reference/cli.md docs/reference/json.md docs/gallery docs/api/generated .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis

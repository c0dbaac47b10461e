# One entry for everything. Needs Python >= 3.11 with venv, make and a package index; leaves nothing outside this directory.
#
#   make conform                 check the reference backend (BACKEND=... for any other, ARGS=... for pytest)
#   make test                    the kit's own linters, types, import contracts and tests
#   make lint | make tests       the two halves of `make test`, which run side by side
#   make format                  let ruff rewrite the sources
#   make soak                    about an hour: 20 seeds of 390 programs for each conforming backend, each mutant in full
#   make discovery               which mutants random histories alone find, by which machine, and how soon
#   make readme                  write the generated blocks of README.md again
#   .ci/pythons                  the crash recorder and a short run under each newer Python found here
#   make clean                   remove what the other targets made

PYTHON ?= python3
BACKEND ?= jsonl
ARGS ?=
WORKERS ?= 2

VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
SOURCES := conformance reference_backend strategies tests benchmarks

# pip's cache would stay behind in the home directory.
export PIP_NO_CACHE_DIR ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# A user's own settings must not decide what the checks see.
unexport PYTHONPATH PYTEST_ADDOPTS PYTEST_PLUGINS
# Many images of Python set this, and then every process of the tests compiles the whole kit anew.
unexport PYTHONDONTWRITEBYTECODE

# Runs a command with a temporary directory of its own, gone afterwards whatever happened.
SCRATCH = scratch=$$(mktemp -d) || exit 2; trap 'rm -rf "$$scratch"' EXIT; trap 'exit 130' INT; trap 'exit 143' TERM; \
	export TMPDIR="$$scratch";

.PHONY: conform test tests soak discovery lint format readme clean
.DEFAULT_GOAL := conform

conform: $(READY)
	@$(SCRATCH) $(BIN)/pytest --backend="$(BACKEND)" $(ARGS)

# Side by side: what the one core that linters use takes would otherwise keep all others waiting.
test: $(READY)
	@$(MAKE) --no-print-directory --jobs=2 lint tests

tests: $(READY)
	@$(SCRATCH) $(BIN)/pytest --hypothesis-profile=ci -n $(WORKERS) --dist worksteal $(ARGS)

soak: $(READY)
	@$(SCRATCH) TORNTAIL_SOAK=1 $(BIN)/pytest tests/quality -n $(WORKERS) --dist worksteal $(ARGS)

discovery: $(READY)
	@$(SCRATCH) TORNTAIL_DISCOVERY=1 $(BIN)/pytest tests/quality/test_discovery.py -n $(WORKERS) --dist worksteal $(ARGS)

lint: $(READY)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

readme: $(READY)
	@$(SCRATCH) $(BIN)/python -m tests.repo.readme

# The environment is made anew where the project file changed, or where an installation did not reach its end.
$(READY): pyproject.toml
	@command -v "$(PYTHON)" >/dev/null 2>&1 || \
		{ echo "make: no '$(PYTHON)' found. Install Python 3.11 or newer, or name one: make PYTHON=python3.12" >&2; exit 2; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "make: '$(PYTHON)' is $$("$(PYTHON)" -V 2>&1); Torntail needs Python 3.11 or newer: make PYTHON=python3.12" >&2; exit 2; }
	@"$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null || \
		{ echo "make: '$(PYTHON)' cannot make virtual environments. On Debian: apt-get install python3-venv" >&2; exit 2; }
	"$(PYTHON)" -m venv --clear $(VENV)
	@$(SCRATCH) $(BIN)/pip install --quiet --no-compile --editable '.[dev,services]'
	@touch $@

clean:
	rm -rf $(VENV) .venv-* .hypothesis .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .torntail .coverage* dist build out
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

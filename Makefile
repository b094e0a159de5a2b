# The commands for people and CI. Everything is installed in .venv; only Python 3.11 or newer is required.
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Python compiles a module when it is first imported: compiling all of them takes longer than the demo.
QUICK := $(if $(shell command -v uv),uv pip install --quiet --python $(BIN)/python,$(PIP) --no-compile)
LORE := $(BIN)/lore
DEMO := -c data/demo.toml
# On another platform Lore uses other parts of Python: the types of other packages are checked once, without these options.
ELSEWHERE := -p lore_server -p lore_etl --no-site-packages --ignore-missing-imports --allow-subclassing-any \
	--allow-untyped-decorators --no-warn-return-any --no-warn-unused-ignores
SETS ?= ../shared/benchmarks
PYTEST := $(BIN)/python -m pytest -q
# An idle worker takes half of the remaining tests of the other in one block, so they share few modules.
WORKERS := -n 3 --dist worksteal
# CI runs the slow tests that changes rarely break, which are marked `later`, after `make test`. The modules in LATER have
# no others, so `make test` need not import them.
LATER = tests/browser tests/e2e/test_platforms.py \
	$(shell grep -rlE '^(pytestmark = \[?|    )pytest\.mark\.later' tests/unit tests/integration tests/e2e)
MARKED = $(shell grep -rl 'mark\.later' tests/unit tests/integration tests/e2e)

# The processes of a run share the compiled modules: without them each would compile thousands again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install demo inspector conformance test suite test-slow test-all coverage lint golden bench clean

install: .venv/installed

# PYTHON=... chooses another one than the first that is new enough.
.venv/bin/python:
	@for one in $(or $(PYTHON),python3.11 python3.12 python3.13 python3.14 python3); do \
		if $$one -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			exec $$one -m venv .venv; fi; \
	done; echo "Python 3.11 or newer with its module venv is needed: install it, or set PYTHON=..." >&2; exit 1

# The packages that Lore itself needs; hatch_build.py fetches the weights of the default model.
.venv/core: pyproject.toml constraints.txt model.txt hatch_build.py | .venv/bin/python
	@echo "== installing Lore in .venv"
	-@command -v uv >/dev/null || $(PIP) --upgrade pip # that of Python 3.11 takes twice as long for the rest
	@$(QUICK) --constraint constraints.txt --editable .
	@touch $@

# The extras too, and the tools of development.
.venv/installed: .venv/core
	$(PIP) --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: .venv/core
	@echo "== lore sync: the documents of this repository and the sample project in data/sample"
	@$(LORE) $(DEMO) sync
	@echo "== lore search 'graceful shutdown'"
	@$(LORE) $(DEMO) search "graceful shutdown" --limit 3
	@echo "== lore ask 'Why is SQLite the default store of Ferry?'"
	@$(LORE) $(DEMO) ask "Why is SQLite the default store of Ferry?"
	@echo "== lore hierarchy Store"
	@$(LORE) $(DEMO) hierarchy ferry.stores.base.Store
	@echo "== paste this into your MCP client"
	@printf '{"mcpServers": {"lore": {"command": "%s", "args": ["mcp", "-C", "%s", "-c", "%s"]}}}\n' \
		"$(CURDIR)/$(LORE)" "$(CURDIR)" "$(CURDIR)/data/demo.toml"

# The official MCP Inspector, an independent client; 0.15 is the newest version that runs on Node.js 20.
inspector: install
	@if command -v npm >/dev/null; then test -d .venv/inspector || \
		npm install --silent --no-audit --no-fund --ignore-scripts --prefix .venv/inspector \
		@modelcontextprotocol/inspector@0.15.0; else echo "no npm: the Inspector's tests are skipped" >&2; fi

# The official conformance suite of MCP needs Node.js 22, which the install script of the npm package `node` downloads.
conformance: install
	@if command -v npm >/dev/null; then test -d .venv/conformance/node_modules/@modelcontextprotocol || { \
		npm install --silent --no-audit --no-fund --prefix .venv/conformance node@22 && \
		npm install --silent --no-audit --no-fund --ignore-scripts --prefix .venv/conformance \
		@modelcontextprotocol/conformance@0.2.0-alpha.12; }; else echo "no npm: the conformance suite is skipped" >&2; fi

# Both run to the end, and a failure of either fails this target.
test: install
	@$(MAKE) --no-print-directory --keep-going --jobs=2 lint suite

suite: install
	$(PYTEST) $(WORKERS) -m "not long and not later" $(LATER:%=--ignore=%) $(OPTIONS)

test-slow: install inspector
	$(PYTEST) $(WORKERS) -m "later and not long" $(LATER) $(MARKED) $(OPTIONS)

test-all: install lint inspector conformance
	$(BIN)/python -m tests.golden.full_run $(PYTEST) $(WORKERS) -m "long or not long" --hypothesis-profile=long

# Slower, so not part of `make test`. The floor is in pyproject.toml.
coverage: install inspector
	$(PYTEST) $(WORKERS) --cov --cov-report=term

lint: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy $(ELSEWHERE) --platform darwin --cache-dir .mypy_cache/darwin
	$(BIN)/mypy $(ELSEWHERE) --platform win32 --cache-dir .mypy_cache/win32

golden: install
	$(BIN)/python -m tests.golden.write

# The first line writes the first part of benchmarks/results.md; it takes over an hour.
bench: install
	$(BIN)/python -m benchmarks.report $(wildcard $(SETS))
	$(BIN)/python -m benchmarks.main_job
	$(BIN)/python -m benchmarks.exact_names
	$(BIN)/python -m benchmarks.hnsw
	$(BIN)/python -m benchmarks.owner
	test ! -d "$(SETS)" || $(BIN)/python -m benchmarks.retrieval "$(SETS)"

clean:
	rm -rf .venv .lore data/index etl/lore_etl/models/weights

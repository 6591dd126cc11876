# setup     .venv in this checkout, with everything in it
# native    compile the codec, which `setup` does where cargo is
# demo      set up, then run the main job
# test      the quick tests, in ten minutes      test-all  every test, in an hour (TIER=chaos: one tier)
# check     lint, types, layers, docs            bench     headrace beside its peers
# coverage  the lines of code that tests run, as a result for the page of evidence
# browser   install Chromium for the tests of the console, where that is allowed
# console   build the page of the console, with Node      console-check  compare it with its sources
# console-pictures  take the pictures of the documents anew      bench-console  measure its pages
# lock      pin the requirements anew            clean     remove what was built, but not the state
# audit     look the requirements up among known vulnerabilities, on the network
#
# PYTHON=/path/to/python3.13 chooses the interpreter; a .venv of another one is made anew.

RUNS := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
BASE := import sys; print(sys._base_executable)
WHICH := import sys; print(sys.version, sys.base_prefix)
BIN := .venv/bin
PYTHON ?= $(shell for python in "$$($(BIN)/python -c '$(BASE)' 2>/dev/null)" \
	python3.13 python3.12 python3.11 python3; do \
	"$$python" -c '$(RUNS)' >/dev/null 2>&1 && echo "$$python" && break; done)
NATIVE := native/build.sh native/Cargo.toml native/crates.lock $(wildcard native/src/*.rs)
PEERS := .venv/peers
READY := .venv/.ready
CHECKED := headrace schemas topology streams tests $(wildcard bench)
PYTEST = $(BIN)/python -m pytest --numprocesses $(TESTERS) --dist loadfile --no-loadscope-reorder
PIP_TOOLS := 7.6.2
PIP_COMPILE := .venv/lock/bin/pip-compile --quiet --no-header --generate-hashes --strip-extras \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host

.PHONY: setup native demo test test-all check audit bench bench-console coverage browser console console-check console-pictures lock clean
ifneq ($(shell $(BIN)/python -c '$(WHICH)' 2>/dev/null),$(shell $(PYTHON) -c '$(WHICH)' 2>/dev/null))
.PHONY: $(READY)
endif

setup: $(READY)

$(READY): pyproject.toml requirements-dev.txt $(NATIVE)
	@test -n "$(PYTHON)" || { \
		echo "Python 3.11 or later, with venv, is needed: install it, or name one with PYTHON="; exit 1; }
	@test "$$($(BIN)/python -c '$(WHICH)' 2>/dev/null)" = "$$($(PYTHON) -c '$(WHICH)')" || \
		$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--require-hashes -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--no-build-isolation --no-deps --editable .
	@$(BIN)/python -m compileall -q -j 0 $(CHECKED) # as pip does with what is not editable
	@sh native/build.sh .venv
	@touch $@

native: setup
	@sh native/build.sh .venv

demo: setup
	@$(BIN)/headrace demo

test: TESTERS ?= 3
test: setup browser
	@exec $(PYTEST) --quick

test-all: TESTERS ?= 3
test-all: setup browser
	@exec $(PYTEST) $(if $(TIER),-m "$(TIER)")

check: setup
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/mypy $(CHECKED)
	$(BIN)/lint-imports
	$(BIN)/python -m pip --disable-pip-version-check check
	$(BIN)/python -m streams.docs --check
	$(BIN)/python -m pytest --quiet tests/data/test_compose.py

# In an environment of its own: it needs another pip beside its requirements than .venv has.
audit: .venv/audit/.ready
	.venv/audit/bin/pip-audit --disable-pip --require-hashes --progress-spinner off \
		$(addprefix --requirement ,$(wildcard requirements*.txt))

.venv/audit/.ready: requirements-audit.txt
	@test -n "$(PYTHON)" && $(PYTHON) -m venv --clear .venv/audit && .venv/audit/bin/python -m pip \
		install --quiet --disable-pip-version-check --require-hashes -r $< && touch $@

browser:
	@command -v "$${CHROMIUM:-chromium}" >/dev/null || { test "$$(id -u)" = 0 \
		&& apt-get install --yes --quiet=2 --no-install-recommends chromium; } \
		|| echo "Chromium cannot be installed: the tests of the console are skipped"

# The document lies where npm would not look, and Git neither.
CONSOLE := streams/doors/console/assets
DOCUMENT := node_modules/.openapi.json
CHECKOUT := web/node_modules/.console

console: setup
	cd web && npm ci --no-audit --no-fund
	$(BIN)/python -m streams.gateway.openapi > web/$(DOCUMENT)
	cd web && npm run types -- $(DOCUMENT) && npm run lint && npm run check && npm test
	cd web && npm run build && node scripts/finish.mjs ../$(CONSOLE) $(DOCUMENT)

console-check: setup
	cd web && npm ci --no-audit --no-fund
	$(BIN)/python -m streams.gateway.openapi > web/$(DOCUMENT)
	cd web && npm run types -- $(DOCUMENT) && npm run lint && npm run check && npm test
	cd web && OUT=$(CURDIR)/$(CHECKOUT) npm run build
	cd web && node scripts/finish.mjs $(CURDIR)/$(CHECKOUT) $(DOCUMENT)
	git diff --exit-code -- web/src/api/schema.d.ts
	diff --recursive $(CHECKOUT) $(CONSOLE)
	$(BIN)/python -m pytest --quiet -p no:xdist tests/console/test_checkers.py

console-pictures: setup
	PICTURES=docs/console $(BIN)/python -m pytest --quiet -p no:xdist tests/console/test_pictures.py -k taken
	PICTURES=docs/console $(BIN)/python -m pytest --quiet -p no:xdist tests/unit/cli/watch/test_picture.py

bench: setup $(PEERS)/.ready
	@$(BIN)/python -m bench
	@$(BIN)/python -m bench.peers

bench-console: setup browser
	@exec $(BIN)/python -m bench.console $(ARGUMENTS)

coverage: setup
	@exec $(BIN)/python -m bench.coverage $(if $(TESTS),--tests $(TESTS))

$(PEERS)/.ready: bench/peers.txt
	@$(BIN)/python -m venv --clear $(PEERS) && $(PEERS)/bin/python -m pip install --quiet \
		--disable-pip-version-check --require-hashes -r bench/peers.txt && touch $@ \
		|| echo "the peers cannot be installed: Quix Streams is left out"

lock:
	test -x .venv/lock/bin/pip-compile || { $(PYTHON) -m venv .venv/lock \
		&& .venv/lock/bin/python -m pip install --quiet pip-tools==$(PIP_TOOLS); }
	$(PIP_COMPILE) --output-file requirements.txt pyproject.toml
	$(PIP_COMPILE) --all-extras --constraint requirements.txt \
		--output-file requirements-dev.txt pyproject.toml
	$(PIP_COMPILE) --only-build-deps --build-deps-for wheel --constraint requirements-dev.txt \
		--output-file requirements-build.txt pyproject.toml
	echo pip-audit | $(PIP_COMPILE) --allow-unsafe --output-file requirements-audit.txt -
	$(PIP_COMPILE) --output-file bench/peers.txt pyproject.toml bench/peers.in
	sh native/lock.sh

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find headrace schemas topology streams tests $(wildcard bench) -name __pycache__ -prune -exec rm -rf {} +

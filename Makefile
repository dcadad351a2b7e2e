PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := domain application adapters entrypoints tests/contract

LOCK := build/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-annotate --no-header
# Some tools require newer versions than the package does: the versions of the package override them.
# The installation builds in the tree, and `python -m pytest` would read the metadata that it leaves.
UV := build/lowest/bin/uv
LOWEST := --quiet --resolution lowest-direct
PIP_INSTALL := $(BIN)/pip install --quiet --no-deps
# Build with the installed setuptools, whose hash was checked, as PEP 517 says: pip warns of other ways.
BUILD_HERE := --no-build-isolation --use-pep517
# Many tests wait for other processes, so one more worker than cores keeps them busy. With more, some calls of PostgreSQL
# get no response within their deadline of 0.7 s.
WORKERS := $(shell $(PYTHON) -c "import os; print(os.cpu_count() + 1)")
PYTEST := python -m pytest --numprocesses $(WORKERS) --dist loadfile
# `make test-all` generates four times as many examples.
BRIEFLY := --hypothesis-profile brief -m "not slow"
# The slow tests of services and databases have deadlines, and others measure CPU seconds, so they run alone.
ALONE := tests/service tests/server tests/adapters/postgres tests/cli/service/test_services.py tests/bounds/test_limits.py
# The tests start hundreds of processes: without the cache of compiled modules, they take twice the CPU time.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help install runtime serve check docs test test-all test-engines test-lowest test-fresh test-browser screenshots image test-citus test-deploy test-ha test-waitress test-framing test-linearizability test-load test-disk mutation test-long bench \
	bench-frameworks bench-quick bench-scaling format lock sbom release release-check dist clean FORCE

help:           ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/:/'

serve: $(VENV)/runtime ## start the service with demonstration data on 127.0.0.1:8080
	$(BIN)/recipient-fields serve --demo

test: install   ## run the test suite without its slowest parts
	@echo "About 5 minutes on two cores, the first 30 seconds without output: pytest collects the tests."
	@echo "\`make test-all\` also runs the slow tests."
	$(BIN)/$(PYTEST) $(BRIEFLY)

test-all: install ## run the whole test suite, as continuous integration does
	@echo "About 30 minutes on two cores."
	@echo "Pytest collects the tests first, each time for about 30 seconds without output."
	$(BIN)/$(PYTEST) -m "not slow"
	$(BIN)/$(PYTEST) -m slow $(ALONE:%=--ignore=%)
	$(BIN)/python -m pytest -m slow $(ALONE)

test-engines: install ## compare the code for ESPs with their template engines, 30,000 pairs each, installing Debian's engines if absent
	{ command -v go && ruby -e 'require "liquid"' && dpkg --status golang-github-flosch-pongo2.v4-dev; } >/dev/null 2>&1 || \
		{ apt-get update && apt-get install --yes --no-install-recommends \
			ruby ruby-liquid golang-go golang-github-flosch-pongo2.v4-dev; }
	RECIPIENT_FIELDS_CONDITION_PAIRS=30000 RECIPIENT_FIELDS_EVENT_PAIRS=300 RECIPIENT_FIELDS_CONVERTED_TEMPLATES=300 \
		$(BIN)/python -m pytest tests/engines --log-cli-level=INFO

test-lowest:    ## run the tests of `make test` with the lowest versions that pyproject.toml permits
	$(PYTHON) -m venv --clear build/lowest && build/lowest/bin/pip install --quiet uv
	$(UV) pip compile $(LOWEST) --no-strip-extras --extra all --output-file build/lowest/package.txt pyproject.toml
	$(UV) pip install $(LOWEST) --python build/lowest --override build/lowest/package.txt '.[dev]'
	rm -rf *.egg-info build/lib build/bdist.*
	build/lowest/bin/$(PYTEST) $(BRIEFLY)

test-fresh:     ## follow the README in minimal roots of Debian: make test-fresh RELEASES="12 13 testing"; requires root
	command -v mmdebstrap >/dev/null || { apt-get update && apt-get install --yes --no-install-recommends mmdebstrap; }
	$(PYTHON) tests/fresh/run.py $(RELEASES)

test-browser: install ## test the console, /docs and the documentation in Debian's chromium, installing it if absent
	{ command -v chromium && command -v chromedriver; } >/dev/null || \
		{ apt-get update && apt-get install --yes --no-install-recommends chromium chromium-driver; }
	$(BIN)/python -m pytest tests/browser

screenshots: install ## take the pictures in docs/_static again, with Debian's chromium and pngquant
	{ command -v chromium && command -v chromedriver && command -v pngquant; } >/dev/null || \
		{ apt-get update && apt-get install --yes --no-install-recommends chromium chromium-driver pngquant; }
	$(BIN)/python -m pytest tests/browser/screenshots.py
	pngquant --force --strip --speed 1 --ext .png docs/_static/console-*.png docs/_static/overview-*.png

image:          ## build the image of docs/deploy/Containerfile from the current commit: make image BASE=IMAGE@DIGEST, or without a registry; requires root
	{ command -v buildah && command -v mmdebstrap; } >/dev/null || { apt-get update && \
		apt-get install --yes --no-install-recommends buildah crun mmdebstrap; }
	$(PYTHON) -m tests.deploy.image $(BASE)

test-deploy: install ## check the files in docs/deploy with Debian's programs, installing them if absent
	{ command -v nginx && command -v haproxy && command -v promtool && command -v buildah && command -v mmdebstrap && \
		command -v systemd-nspawn; } >/dev/null || { apt-get update && apt-get install --yes --no-install-recommends \
			nginx-light haproxy prometheus buildah crun mmdebstrap systemd-container; }
	$(BIN)/python -m pytest tests/deploy

test-ha: install ## test failovers on three nodes of Patroni, installing etcd, HAProxy and PgBouncer of Debian if absent
	{ command -v etcd && command -v haproxy && command -v pgbouncer; } >/dev/null || { apt-get update && \
		apt-get install --yes --no-install-recommends etcd-server haproxy pgbouncer; }
	$(BIN)/pip install --quiet --upgrade --target build/patroni --require-hashes --requirement tests/ha/requirements.txt
	$(BIN)/python -m pytest tests/ha --log-cli-level=INFO

CITUS_SOURCE ?= build/citus-source
CITUS_PACKAGES := bison flex gcc libcurl4-openssl-dev libicu-dev libkrb5-dev liblz4-dev libpam0g-dev libreadline-dev \
	libselinux1-dev libssl-dev libxml2-dev libzstd-dev make
test-citus: install ## test the storage and the API on Citus, installing Debian's headers if absent; builds Citus from CITUS_SOURCE
	dpkg --status $(CITUS_PACKAGES) >/dev/null 2>&1 || { apt-get update && \
		apt-get install --yes --no-install-recommends $(CITUS_PACKAGES); }
	RECIPIENT_FIELDS_TEST_CITUS=$(CITUS_SOURCE) RECIPIENT_FIELDS_HISTORIES=5 $(BIN)/python -m pytest \
		tests/citus tests/linearizability tests/http -k "citus or postgresql" --log-cli-level=INFO

test-waitress: install ## test the server with the newest release of waitress
	$(BIN)/pip install --quiet --upgrade --target build/waitress --no-deps waitress
	PYTHONPATH=build/waitress $(BIN)/python -m pytest tests/server tests/service/test_framing.py tests/service/test_stopping.py

# These targets have tests that take longer than pyproject.toml permits.
test-framing test-linearizability test-load test-long test-citus test-ha: export PYTEST_ADDOPTS = -o faulthandler_timeout=0

test-framing: install ## compare the request parsing with h11, for 1,000,000 streams
	RECIPIENT_FIELDS_FRAMING_STREAMS=1000000 $(BIN)/python -m pytest tests/server/test_framing_fuzz.py

test-linearizability: install ## check that 1,400,000 concurrent calls per storage are linearizable
	RECIPIENT_FIELDS_HISTORIES=300 $(BIN)/python -m pytest tests/linearizability --log-cli-level=INFO

test-load: install ## test the service with slow clients, ten times its load, restarts and shutdowns
	RECIPIENT_FIELDS_TEST_LOAD=1 $(BIN)/python -m pytest tests/service/test_load.py \
		tests/service/test_large_catalogs.py tests/service/test_history_growth.py
	RECIPIENT_FIELDS_TEST_LOAD=1 $(BIN)/python -m pytest tests/service/test_console.py -k Flood
	RECIPIENT_FIELDS_TEST_RESTARTS=6 RECIPIENT_FIELDS_TEST_RESTARTS_RATE=400 \
		$(BIN)/python -m pytest tests/service/test_restarting.py

test-disk: install ## test a PostgreSQL whose disk is full; requires root, to mount a small disk
	RECIPIENT_FIELDS_TEST_FULL_DISK=1 $(BIN)/python -m pytest tests/service/postgres/test_full_disk.py

test-long: install ## test new examples of each property, 100,000 generated requests per storage, recipients per ESP and checks of recipients, and long outages of PostgreSQL
	$(BIN)/$(PYTEST) --hypothesis-profile new -m "not slow"
	RECIPIENT_FIELDS_GENERATED_REQUESTS=100000 RECIPIENT_FIELDS_GENERATED_EXAMPLES=150 \
		$(BIN)/python -m pytest tests/openapi/test_generated_requests.py --log-cli-level=INFO
	RECIPIENT_FIELDS_CONDITION_PAIRS=100000 $(BIN)/python -m pytest tests/engines/test_conditions.py \
		tests/engines/test_filters.py tests/engines/test_content.py --log-cli-level=INFO
	RECIPIENT_FIELDS_EVENT_PAIRS=20000 $(BIN)/python -m pytest tests/engines/test_events.py --log-cli-level=INFO
	RECIPIENT_FIELDS_CONVERTED_TEMPLATES=20000 $(BIN)/python -m pytest tests/engines/test_conversions.py --log-cli-level=INFO
	RECIPIENT_FIELDS_CHECKED_RECIPIENTS=100000 $(BIN)/python -m pytest tests/application/recipients/test_schemas.py
	RECIPIENT_FIELDS_TEST_OUTAGE_SECONDS=12 \
		$(BIN)/python -m pytest tests/adapters/postgres/test_outages.py tests/service/postgres

mutation: install ## change the code in thousands of ways, and report the changes that no test detects
	$(BIN)/python tests/mutation/run.py

bench: install  ## measure the service against the ceiling, and write docs/internals/performance.md
	$(BIN)/python tests/benchmarks/run.py --write

bench-scaling: install ## measure up to a million organizations, and write docs/internals/scaling.md; about 7 minutes, 12 GB of disk
	$(BIN)/python tests/benchmarks/run.py --only scaling --rounds 3 --seconds 1 --write

bench-frameworks: install ## measure the service beside FastAPI, Litestar and Kinto, and write docs/internals/performance.md
	command -v wrk >/dev/null || { apt-get update && apt-get install --yes --no-install-recommends wrk; }
	$(PYTHON) -m venv build/frameworks
	build/frameworks/bin/pip install --quiet --no-deps --require-hashes \
		--requirement tests/benchmarks/applications/requirements.txt
	$(BIN)/python tests/benchmarks/run.py --only frameworks --rounds 5 --write

bench-quick: install ## run each benchmark once, briefly, as the tests do
	$(BIN)/python tests/benchmarks/run.py --quick

check: install docs ## lint, check types, security and imports, and build the documentation
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy tests
	$(BIN)/mypy --strict docs/examples/*.py
	$(BIN)/lint-imports
	$(BIN)/python tests/packaging/patterns.py
	$(BIN)/python tests/packaging/domain_words.py
	$(BIN)/python tests/packaging/code_lines.py
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive $(SOURCES)

docs: install   ## build the documentation into build/docs, warnings as errors
	$(BIN)/sphinx-build -W --keep-going --fresh-env --quiet docs build/docs

format: install ## reformat the code
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

lock:           ## update the requirements files with versions and hashes, after a change of pyproject.toml
	$(PYTHON) -m venv build/lock && build/lock/bin/pip install --quiet uv
	$(LOCK) --extra dev --output-file requirements-dev.txt pyproject.toml
	$(LOCK) --extra cli --extra postgres --constraint requirements-dev.txt \
		--output-file requirements.txt pyproject.toml
	printf 'patroni[etcd3]>=4.1\npsycopg[binary]>=3.3.9,<3.4\n' | \
		$(LOCK) --constraint requirements-dev.txt --output-file tests/ha/requirements.txt -
	printf '%s\n' fastapi 'kinto[postgresql]>=26' litestar 'psycopg[binary,pool]>=3.3.9,<3.4' 'uvicorn[standard]' | \
		$(LOCK) --output-file tests/benchmarks/applications/requirements.txt -
	$(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])' | \
		$(LOCK) --constraint requirements-dev.txt --output-file requirements-build.txt -

sbom: install   ## write the software bill of materials (CycloneDX) to build/sbom.json
	$(BIN)/python tests/packaging/release.py sbom build/sbom.json

release: install ## build, commit and tag a release: make release VERSION=1.0.0
	$(BIN)/python tests/packaging/release.py release "$(VERSION)"

release-check: install ## try a release in a temporary repository, as continuous integration does
	$(BIN)/python -m pytest tests/packaging/test_release.py

dist: install   ## build the release of the current commit again, to compare it with the published one
	$(BIN)/python tests/packaging/release.py dist

clean:          ## remove all files that the other targets create, and recipient-fields.db
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis recipient-fields.db*

runtime: $(VENV)/runtime ## install the package and what the service needs into .venv

install: $(VENV)/installed ## install the package and its tools into .venv

$(VENV)/installed: $(VENV)/runtime requirements-dev.txt
	@echo "Installing the tools for development into $(VENV): about a minute."
	$(PIP_INSTALL) $(BUILD_HERE) --require-hashes --requirement requirements-dev.txt
	$(BIN)/pip check
	@touch $@

# What the service needs to run. The strict editable mode links every source file, which mypy and
# import-linter can follow; so the package is installed again when a file is added or removed.
$(VENV)/runtime: pyproject.toml requirements.txt requirements-build.txt $(VENV)/files
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed.")'
	@echo "Installing the service and its dependencies into $(VENV): less than a minute."
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) --require-hashes --requirement requirements.txt --requirement requirements-build.txt
	$(PIP_INSTALL) --no-index $(BUILD_HERE) --config-settings editable_mode=strict --editable .
	@touch $@

$(VENV)/files: FORCE
	@mkdir -p $(VENV)
	@find $(SOURCES) -type f ! -name '*.pyc' | LC_ALL=C sort > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

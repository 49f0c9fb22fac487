# Every command a newcomer needs; `make` alone lists them.

PORT ?= 8000
SITE_URL ?= http://127.0.0.1:$(PORT)
BENCH_ROUNDS ?= 5
BENCH_SCALE ?= 1
CHAOS_SECONDS ?= 300
CHAOS_ARTICLES ?= 0
RECOVERY_TIMES ?= 10
OVERLOAD_ARTICLES ?= 100000
CHAOS_SEED ?=
CHAOS_FAULTS ?=
CLUSTER_SECONDS ?= 120
CLUSTER_SEED ?=
API_REQUESTS ?= 100
ATTACK_SECONDS ?= 60
GROWTH_INPUTS ?= 20000
API_SEED ?= 1
DRAWN_INPUTS ?= 2000
MODEL_EXAMPLES ?= 500
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# A test that hangs shows where, and ends its worker; proofs of other targets may take longer.
NO_HANGS := -o faulthandler_timeout=900 -o faulthandler_exit_on_timeout=true
LOCK := $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-config --no-header --no-annotate --quiet
PIP := $(BIN)/pip --disable-pip-version-check --quiet

export PYTHONUNBUFFERED := 1

.NOTPARALLEL:
.PHONY: help run test thorough test-fast lint bench bench-short chaos recovery overload attacks mutants fuzz previews growth model clusters alerts databases upgrades screens replay bare api-check lock sbom clean packages

help:  ## this list
	@sed -n -e 's/^\([a-z-]*\):[^#]*## \(.*\)/make \1\t\2/p' -e 's/^#: \(.*\)/\n\1/p' $(MAKEFILE_LIST) | expand -t 18

#: Each day

run: export DJANGO_DEBUG = on
run: export SITE_URL := $(SITE_URL)
run: .venv/run  ## a newsroom on http://127.0.0.1:8000 (PORT= changes the port); Ctrl-C stops it, var/ keeps its data
	@$(BIN)/python manage.py migrate --verbosity 0
	@$(BIN)/python manage.py demo
	@echo "Headline is starting on $(SITE_URL)/ , the newsroom on $(SITE_URL)/admin/ ; Ctrl-C stops it."
	@exec $(BIN)/honcho start --port $(PORT)

test: packages .venv/test  ## tests on MariaDB and Redis, with Chromium; installs what they need (as root)
	@$(BIN)/pytest $(NO_HANGS) --numprocesses 5 --in-short

thorough: packages .venv/test  ## what `make test` tries in short, in all cases, roles, faults and windows
	@$(BIN)/pytest $(NO_HANGS) --numprocesses 5 -m thorough
	@DRAWN_INPUTS=50 $(BIN)/pytest $(NO_HANGS) --numprocesses 3 $(addsuffix /test_model.py,tests/articles/publishing tests/articles/releases tests/scheduling)

test-fast: .venv/test  ## tests without servers, processes and browsers, on SQLite; TESTS=path runs some of them; says its time
	@TEST_DATABASE=sqlite $(BIN)/pytest $(NO_HANGS) --numprocesses 2 -m "not slow" $(TESTS)

lint: export DJANGO_DEBUG = on
lint: packages .venv/test  ## style, types, import order, migrations and translations
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run
	for po in $$(find . -name '*.po' -not -path './.venv*'); do msgfmt --check -o - $$po | cmp - $${po%.po}.mo || exit 1; done

#: Speed

bench: packages .venv/test .venv-bench/bench  ## how late, how many, beside peers; MEASURES=burst,idle BENCH_ROUNDS=2 BENCH_SCALE=0.05 BENCH_LARGE=on
	@.ci/packages wrk
	$(BIN)/python -m bench --measures=$(MEASURES) --rounds=$(BENCH_ROUNDS) --scale=$(BENCH_SCALE) $(if $(BENCH_LARGE),--large)

bench-short: packages .venv/test  ## the ratios that the tests check, too
	$(BIN)/pytest tests/bench/test_ratios.py

#: Faults

chaos: packages .venv/test  ## the long fault proof, which accounts for every article; CHAOS_SECONDS=1800 CHAOS_ARTICLES=100000 CHAOS_SEED=7 CHAOS_FAULTS=Redis; writes var/proof.md
	CHAOS_SECONDS=$(CHAOS_SECONDS) CHAOS_ARTICLES=$(CHAOS_ARTICLES) CHAOS_SEED=$(CHAOS_SEED) CHAOS_FAULTS=$(CHAOS_FAULTS) $(BIN)/pytest -s -m chaos tests/chaos

recovery: packages .venv/test  ## how soon work goes on after each of twelve faults, with no other; RECOVERY_TIMES=10
	RECOVERY_TIMES=$(RECOVERY_TIMES) $(BIN)/pytest -s -m recovery tests/chaos

overload: packages .venv/test  ## OVERLOAD_ARTICLES=100000 go live in one instant while readers read and editors edit
	OVERLOAD_ARTICLES=$(OVERLOAD_ARTICLES) $(BIN)/pytest -s -m overload tests/chaos

attacks: packages .venv/test  ## ATTACK_SECONDS=60 of expensive requests by 10 clients, and the cost of each alone; writes var/attacks.md
	@mkdir -p var && rm -f var/attacks.md
	ATTACK_SECONDS=$(ATTACK_SECONDS) $(BIN)/pytest -s -m attacks tests/attacks

mutants: packages .venv/test  ## the fault proof without each guard of docs/proof.md: it must fail
	$(BIN)/pytest -s -m mutants tests/chaos

#: Generated input, and the formal model

fuzz: .venv/test  ## 100,000 generated files of all formats: none is imported early, public or incomplete
	FUZZED_FILES=100000 TEST_DATABASE=sqlite $(BIN)/pytest tests/articles/exchange/test_fuzz.py

previews: packages .venv/test  ## SCHEDULES=1000 drawn schedules: pages at another instant are what readers get then; and 2,000 edits of a front
	SCHEDULES=$(or $(SCHEDULES),1000) $(BIN)/pytest --numprocesses 2 tests/articles/site/test_reading_drawn.py
	OPERATIONS=1000 $(BIN)/pytest tests/articles/fronts/test_together.py

growth: .venv/test  ## no regular expression and no function that reads texts takes more than linear time: GROWTH_INPUTS=20000 texts for each
	GROWTH_INPUTS=$(GROWTH_INPUTS) TEST_DATABASE=sqlite $(BIN)/pytest --numprocesses 2 tests/headline/test_regular_expressions.py tests/articles/test_growth.py

api-check: .venv/test  ## API_REQUESTS=100 right and as many wrong requests to each operation, from the OpenAPI document; API_SEED=7 for others; DRAWN_INPUTS=2000 of any kind
	API_REQUESTS=$(API_REQUESTS) API_SEED=$(API_SEED) TEST_DATABASE=sqlite $(BIN)/pytest tests/headline/test_api_generated.py
	DRAWN_INPUTS=$(DRAWN_INPUTS) TEST_DATABASE=sqlite $(BIN)/pytest tests/headline/test_api_garbage.py

model: packages .venv/test  ## all histories of the formal model of the engine, and MODEL_EXAMPLES=500 of the engine with two connections
	@.ci/packages spin
	TEST_DATABASE=sqlite $(BIN)/pytest --numprocesses 2 -rP -m model tests/scheduling/model
	MODEL_EXAMPLES=$(MODEL_EXAMPLES) $(BIN)/pytest tests/scheduling/test_interleavings.py

#: Other servers, versions, machines

clusters: packages .venv/test  ## several hosts on Galera, Sentinel, Redis Cluster while hosts and links fail; CLUSTER_SECONDS=300 CLUSTER_SEED=7 (as root)
	@.ci/packages galera-4 iproute2 rsync
	CLUSTER_SECONDS=$(CLUSTER_SECONDS) CLUSTER_SEED=$(CLUSTER_SEED) tests/clusters/isolated $(BIN)/pytest -s -m clusters tests/clusters

alerts: packages .venv/test  ## fires each alert rule by its fault, in a real Prometheus
	@.ci/packages prometheus
	$(BIN)/pytest -m alerts tests/monitoring

databases: packages .venv/test  ## queue, publishing, caches and backups on other versions of MariaDB, MySQL, Redis and Valkey; DATABASES=mysql takes some
	TEST_DATABASE=sqlite $(BIN)/pytest -m databases -k "$(DATABASES)" -s tests/databases

upgrades: packages .venv/test  ## upgrades from each version that installations have, also stopped at each statement; UPGRADES=818c6ff5 takes one
	$(BIN)/pytest -m upgrades -k "$(UPGRADES)" tests/upgrades
	TEST_DATABASE=sqlite $(BIN)/pytest -m upgrades -k "$(UPGRADES)" tests/upgrades

replay: packages .venv/test  ## docs/operations.md on a new Debian 12, line by line: installed, upgraded, backed up, restored (as root)
	@.ci/packages debootstrap iproute2
	TEST_DATABASE=sqlite $(BIN)/pytest -rs -m replay tests/replay

bare: packages .venv/test  ## `make run` on a new Debian 12 with python3-venv, make and git alone, until an article goes live (as root)
	@[ "$$(id -u)" != 0 ] || .ci/packages debootstrap
	TEST_DATABASE=sqlite $(BIN)/pytest -rs -m bare tests/replay

#: Upkeep

screens: packages .venv/test  ## screenshots of all screens in var/screens, and their checks in full; SCREENS=dashboard,articles takes some of them
	TEST_DATABASE=sqlite $(BIN)/pytest -m screens tests/screens

lock: .venv/test  ## requirements*.lock: what is in requirements*.txt and what that needs, each with its hashes
	$(LOCK) requirements.txt --output-file requirements.lock
	$(LOCK) requirements-dev.txt --constraint requirements.lock --output-file requirements-dev.lock
	$(LOCK) requirements-ldap.txt --constraint requirements.lock --output-file requirements-ldap.lock
	$(LOCK) requirements-saml.txt --constraint requirements.lock --output-file requirements-saml.lock
	$(LOCK) requirements-telemetry.txt --constraint requirements.lock --output-file requirements-telemetry.lock

sbom: .venv/test  ## the SBOM of CycloneDX, var/sbom.json, and the licences in docs/licences.md
	$(BIN)/uv venv --quiet --clear var/sbom-venv
	$(BIN)/uv pip sync --quiet --no-config --python var/sbom-venv --require-hashes requirements.lock
	$(BIN)/uv tool run --quiet --from cyclonedx-bom==7.5.0 cyclonedx-py environment --output-reproducible -o var/sbom.json var/sbom-venv
	rm -rf var/sbom-venv
	$(BIN)/python deploy/licences.py var/sbom.json > docs/licences.md

clean:  ## remove what can be made again; var/ with the newsroom's data stays
	rm -rf .venv .venv-bench .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

packages:
	@.ci/packages

.venv/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Headline needs Python 3.11 or newer; this is " + sys.version)'
	@$(PYTHON) -m venv .venv

# SQLite does without mysqlclient, which needs a compiler and MySQL's headers.
.venv/run: requirements.lock | .venv/bin/pip
	@echo "Installing packages into .venv (once) ..."
	@sed '/^mysqlclient/,/[^\]$$/d' requirements.lock | $(PIP) install --use-pep517 --require-hashes -r /dev/stdin
	@sed -n '/^mysqlclient/,/[^\]$$/p' requirements.lock | $(PIP) install --require-hashes -r /dev/stdin > /dev/null 2>&1 \
	|| echo "Going on without mysqlclient, which could not be built here: SQLite works, MySQL does not."
	@touch $@

.venv/test: requirements-dev.lock | .venv/bin/pip
	$(PIP) install --use-pep517 --require-hashes -r requirements-dev.lock
	@touch $@ .venv/run

# The peers of the benchmarks, which need other versions.
.venv-bench/bench: requirements-bench.txt | .venv/bin/pip
	@$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/pip --disable-pip-version-check --quiet install --use-pep517 -r requirements-bench.txt
	@touch $@

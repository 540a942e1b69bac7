# Every target makes the environment by itself where it is missing or older than the lock.
# PYTHON=... chooses the interpreter; without it, the first of these that is 3.11 or newer.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.14 python3; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$python"; break; }; done)

# -P keeps the current folder off sys.path, as in production.
RUN := .venv/bin/python -P -m
# Four workers more than there are processors: tests of screens and of real engines wait for much of their time.
WORKERS = $(shell $(PYTHON) -c 'import os; print(min(8, (os.cpu_count() or 1) + 4))')
PROCESSORS = $(shell $(PYTHON) -c 'import os; print(min(8, os.cpu_count() or 1))')
PARALLEL = -n $(WORKERS) --dist loadfile
# Tests of unit and contract hardly wait: one worker more would only collect them once more. None takes a picture.
PURE = -n $(PROCESSORS) --dist loadfile -p no:textual-snapshot -p no:logging
STAMP := .venv/.made-from-lock

# Files of tests are in memory where there is room and a program may be run from there: a disk takes as long for each
# commit of a test as the test itself. PYTEST_DEBUG_TEMPROOT=/tmp puts them on a disk.
PYTEST_DEBUG_TEMPROOT ?= $(shell $(PYTHON) -c 'import os; shm = os.statvfs("/dev/shm"); \
	print("/dev/shm" if shm.f_bavail * shm.f_frsize > 4 << 30 and not shm.f_flag & os.ST_NOEXEC else "")' 2>/dev/null)
check test: export PYTEST_DEBUG_TEMPROOT := $(PYTEST_DEBUG_TEMPROOT)
# Workers keep what pytest made of the test files: without that each of them reads and rewrites all of them at each run.
check test tests/__pycache__: export PYTHONDONTWRITEBYTECODE :=
check test: | tests/__pycache__

.DEFAULT_GOAL := help
.PHONY: help venv demo check test bench chaos simulate screenshots lock

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

venv: $(STAMP) ## Make the environment in .venv from the hashed lock

demo: $(STAMP) ## Open the control room on a team that works through the standard library
	@.venv/bin/quarterdeck demo --stdlib

check: $(STAMP) ## Lint, format, types, import contracts, unit and contract tests
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	.venv/bin/lint-imports --no-logo
	$(RUN) pytest -q $(PURE) tests/unit tests/contract

test: $(STAMP) ## Every test but the long chaos runs
	$(RUN) pytest -q $(PARALLEL) -m "not chaos_long" tests

# In a new clone all workers would make the same of every file at once.
tests/__pycache__: | $(STAMP)
	@for kinds in tests/unit "$(filter-out tests/unit/,$(wildcard tests/*/))"; do \
		$(RUN) pytest -qq --collect-only $$kinds >/dev/null 2>&1 & done; wait

bench: $(STAMP) ## Measure against the floors of this machine
	.venv/bin/python -P tests/bench/run.py

chaos: $(STAMP) ## Kill, stop, wake and starve engines, and soak one (QUARTERDECK_CHAOS_SEEDS, default 100; _CHAOS_SECONDS, 120; _SOAK_SECONDS, 1800)
	QUARTERDECK_CHAOS_SEEDS="$${QUARTERDECK_CHAOS_SEEDS:-100}" $(RUN) pytest -q tests/chaos
	QUARTERDECK_CHAOS_LAWS=deep $(RUN) pytest -q $(PARALLEL) -m hypothesis tests/unit tests/contract tests/simulation tests/meaning tests/runtime

simulate: $(STAMP) ## Let drawn teams live through trouble: SEEDS=500 histories, or the one of SEED=1234
	@.venv/bin/quarterdeck simulate $(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),500))

screenshots: $(STAMP) ## Take the pictures and the tour of the documents from the running demo
	.venv/bin/python -P screenshots/make.py

lock: .venv/bin/pip-compile ## Resolve pyproject.toml anew into requirements.lock
	.venv/bin/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe --all-extras --strip-extras --no-annotate \
		--no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options \
		-o requirements.lock pyproject.toml

# Not the stamp: after an edit of pyproject.toml the old lock no longer fits it.
.venv/bin/pip-compile:
	@$(MAKE) venv

# The stamp holds the folder it was made in: scripts and the editable install name it, so a moved clone is made anew.
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
.PHONY: $(STAMP)
endif
$(STAMP): requirements.lock pyproject.toml
	@.ci/venv "$(PYTHON)"

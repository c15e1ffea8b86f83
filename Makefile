# Every target uses the project's own virtual environment, or the one that PYTHON names.
PYTHON ?= $(if $(wildcard .venv/bin/python),.venv/bin/python,python3)
BIN := $(dir $(shell command -v $(PYTHON)))
PYTEST := $(PYTHON) -m pytest
SHARED ?= ../shared

.PHONY: help demo test-all check format test test-slow test-docker acceptance acceptance-full agreement bench images lock faults soak fuzz manifests stability trainers screenshots

help:  ## Show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */  \1\t/' | expand -t 20

demo:  ## Set everything up and grade the examples (scripts/quickstart)
	./scripts/quickstart

test-all:  ## Set everything up and run every check and test, Docker included (scripts/test)
	./scripts/test

check:  ## Lint, format, types, import rules
	$(BIN)ruff check .
	$(BIN)ruff format --check .
	$(PYTHON) -m mypy
	$(BIN)lint-imports

format:  ## Format the sources
	$(BIN)ruff check --fix .
	$(BIN)ruff format .

test:  ## The tests that need no service
	$(PYTEST) -m "not docker and not redis and not slow" --ignore=tests/acceptance

test-slow:  ## The tests that CI leaves out, as they take long or differ little from others
	$(PYTEST) -m slow --ignore=tests/acceptance --ignore=tests/faults

test-docker:  ## The tests that need a Docker engine and the sandbox image
	$(PYTEST) -m docker --ignore=tests/acceptance

acceptance:  ## The recorded data sets of ../shared, if that folder exists; large ones sampled
	$(PYTEST) tests/acceptance

acceptance-full:  ## The same with every row on every backend
	ACCEPTANCE_FULL=1 $(PYTEST) tests/acceptance

agreement:  ## Compare verdicts with those of plain Python (docs/agreement.md)
	$(PYTHON) -m agreement

bench:  ## Compare throughput with other ways to run the same programs
	$(PYTHON) -m benchmarks

images:  ## Build the sandbox image
	$(BIN)grader images build

lock:  ## Write requirements.lock from the environment in use
	./scripts/lock

faults:  ## Let workers, engines, Redis, networks and clients fail, with 300 submissions each
	FAULT_SUBMISSIONS=300 $(PYTEST) tests/faults

soak:  ## The same with 3,000 submissions each, and half an hour of all faults together
	FAULT_SUBMISSIONS=3000 SOAK_S=1800 $(PYTEST) -s tests/faults

fuzz:  ## Malformed requests and tasks, many more than the tests of every commit send
	FUZZ_S=60 FUZZ_EXAMPLES=50 $(PYTEST) tests/integration/test_server_fuzz.py tests/integration/test_queue_fuzz.py

stability:  ## Check that 1,000 submissions get the same verdicts on an idle and on a busy machine
	$(PYTEST) tests/acceptance/test_stability.py

manifests:  ## Check the Kubernetes manifest against the schemas of its versions
	$(PYTHON) -m pip install -qq -c requirements.lock kubernetes-validate==1.37.0
	for version in 1.33 1.35 1.37; do \
	    $(BIN)kubernetes-validate --strict -k $$version.0 deploy/kubernetes/workers.yaml || exit 1; \
	done

trainers:  ## Run every release of the trainers over its adapter, and write the tables (scripts/test-trainers)
	./scripts/test-trainers

screenshots:  ## The pictures of the documentation, from real runs in Chromium
	$(PYTHON) scripts/screenshots.py

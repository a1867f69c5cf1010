# Every target first makes or renews .venv (tools/setup_venv.py), and runs in it. docs/setup.md.

# The script needs any Python 3; it picks the one for .venv itself.
SET_UP = @python=$$(command -v python3 || command -v "$$PYTHON") || { \
	echo 'set-up: no Python was found: install Python 3.10, 3.11, 3.12 or 3.13.' >&2; exit 1; }; \
	"$$python" tools/setup_venv.py
PYTHON_OF_VENV = .venv/bin/python

# A script in a folder of its own does not see the package next to that folder.
WITH_PACKAGE = PYTHONPATH="$(CURDIR)$${PYTHONPATH:+:$$PYTHONPATH}"

# OpenMP threads that wait by spinning cost up to a hundredfold on a shared core.
export OMP_WAIT_POLICY ?= passive

.DEFAULT_GOAL := help
.PHONY: help demo examples test fuzz lint docs lock evaluate benchmark

help: ## show this list
	@echo 'make <target>, where <target> is'
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 14

demo: ## estimate a simulated robot over ROS 2, live in this terminal; ARGS='--seed 7' for another
	$(SET_UP)
	@$(PYTHON_OF_VENV) -m sim2real_estimator.cli demo $(ARGS)

examples: ## identify published robots: recordings in REAL_SHARED=; ARGS='--repeat' compares them
	$(SET_UP) peers
	@$(WITH_PACKAGE) $(PYTHON_OF_VENV) benchmark/examples.py $(ARGS)

# Many tests wait for processes that talk over DDS: two at a time keep two cores busy.
PROCESSES ?= 2
test: export ROS_AUTOMATIC_DISCOVERY_RANGE ?= LOCALHOST
test: export OMP_NUM_THREADS ?= 1
test: ## run the tests, in PROCESSES=; ARGS='-k name' and the like go to pytest
	$(SET_UP)
	@$(PYTHON_OF_VENV) -m pytest -q -n $(PROCESSES) --dist loadfile $(ARGS)

fuzz: export OMP_NUM_THREADS ?= 1
fuzz: ## feed damaged input to all readers for a minute; ARGS='--seconds 600 --seed 7' for more
	$(SET_UP)
	@$(PYTHON_OF_VENV) tools/fuzz.py $(ARGS)

lint: ## check style and formatting
	$(SET_UP)
	@$(PYTHON_OF_VENV) -m ruff check .
	@$(PYTHON_OF_VENV) -m ruff format --check .

docs: export NO_MKDOCS_2_WARNING = 1
docs: ## build the site of the documents into build/docs; a link that leads nowhere is an error
	$(SET_UP) docs
	@$(PYTHON_OF_VENV) -m mkdocs build --quiet $(ARGS)
	@echo 'build/docs/index.html'

lock: ## renew locked/: all libraries with hashes, and a bill of materials; asks the package index
	$(SET_UP) lock
	@$(PYTHON_OF_VENV) tools/lock.py

SEED ?= 0
evaluate: ## measure the accuracy, from SEED=; ARGS=--draw renews docs/images; see benchmark/evaluate.py
	$(SET_UP) peers
	@$(WITH_PACKAGE) $(PYTHON_OF_VENV) benchmark/evaluate.py --seed $(SEED) $(ARGS)

benchmark: ## measure the speed next to other simulators; ARGS go to benchmark/run.py
	$(SET_UP) peers
	@$(WITH_PACKAGE) $(PYTHON_OF_VENV) benchmark/run.py $(ARGS)

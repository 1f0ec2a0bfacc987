# Two commands: `make demo` runs the main job, `make test` passes the tests. `make help` lists the rest.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PARAMS ?= params/demo.yaml
export M4_ROOT := $(CURDIR)

.PHONY: help env docker demo paper test check notebooks lab bench doctor clean

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

env: $(VENV)/.installed ## the Python environment in .venv

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; say PYTHON=/path/to/python3." >&2; exit 2; }
	@test -x $(BIN)/pip || { rm -rf $(VENV); $(PYTHON) -m venv $(VENV) || { echo "Cannot make a virtual environment; on Debian install python3-venv." >&2; exit 2; }; }
	@echo "Installing the Python packages into $(VENV) (once, a minute or two) ..."
	@$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

docker: ## install (Debian, root) and start a Docker Engine if none answers
	@bash tools/docker/ensure-docker.sh

demo: env ## databases, agent runs in containers, evaluation, tables and the report, from the demo data
	@docker info >/dev/null 2>&1 || { command -v dockerd >/dev/null && [ "$$(id -u)" = 0 ] && bash tools/docker/ensure-docker.sh; } || true
	@$(BIN)/python -m m4lib demo --params $(PARAMS)

paper: env ## every table, figure and audit notebook from the published run indexes
	@$(BIN)/python -m m4lib demo --params params/paper.yaml

test: env ## everything: lint, types, unit tests, notebooks, nbval and the Docker tests
	@$(BIN)/python -m tests.run

check: env ## lint and types alone
	@$(BIN)/ruff check . && $(BIN)/mypy

notebooks: env ## execute every committed notebook and store its outputs in place
	@$(BIN)/python -m m4lib.pipeline.refresh

lab: env ## JupyterLab in this folder
	@$(BIN)/jupyter lab

bench: env ## measure every stage beside a baseline; writes outputs/bench
	@$(BIN)/python -m tests.bench.run

doctor: env ## what is installed, which data is there, whether Docker answers
	@$(BIN)/python -m m4lib doctor

clean: ## remove everything that was generated
	@find outputs -mindepth 1 -maxdepth 1 ! -name README.md -exec rm -rf {} +

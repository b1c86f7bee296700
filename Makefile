# Everything that is run by hand. The logic is in the programs that are called.
export PATH := $(CURDIR)/.venv/bin:$(PATH)

.DEFAULT_GOAL := help
.PHONY: help setup demo test check retrain up down lock

help: ## print this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup: ## make .venv and .venv-tau2, or nothing when they are current
	@sh infra/setup.sh

demo: setup ## from recordings to a promoted agent: dvc repro of the active profile, with a summary
	@envace demo

test: setup ## every test that a laptop can run
	@python -m pytest -m "not gpu and not network"

check: setup ## ruff, pyright and the layers
	@ruff check .
	@ruff format --check .
	@pyright
	@lint-imports --no-cache

retrain: setup ## run the scheduled flow once, on a local Prefect server and worker
	@python infra/local.py retrain

up: setup ## start the local services: Prefect with a worker, and MLflow
	@python infra/local.py up

down: ## stop the local services
	@python infra/local.py down

lock: setup ## write requirements/*.lock and lock.txt anew, from pyproject.toml and tau2.in
	@sh infra/lock.sh

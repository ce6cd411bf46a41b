# Two commands do everything: `make run` (the demo) and `make test`. Both set themselves up.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: setup run test lint bench docs example lock fuzz corpus crash clean
setup: $(STAMP)

$(STAMP): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Sweepgate needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)

run: setup
	@$(BIN)/sweepgate demo

test: setup
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m tests.bench

docs: setup
	SWEEPGATE_EXAMPLES=docs/checks/examples.json $(BIN)/python -m pytest tests/checks -k test_c
	$(BIN)/python -m docs.generate

example: setup
	$(BIN)/python -m app.demo.record

fuzz: setup
	$(BIN)/python -m tests.fuzz_readers --seconds 60

corpus: setup
	$(BIN)/python -m tests.corpus

crash: setup
	$(BIN)/python -m tests.crash

lock:
	$(BIN)/pip-compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --strip-extras --allow-unsafe -o requirements.lock pyproject.toml
	$(BIN)/pip-compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --strip-extras --allow-unsafe --extra dev -o requirements-dev.lock pyproject.toml

clean:
	rm -rf .venv

# A whole sweep with real parts: Slurm, act, llama.cpp, a 270M model, AIPerf (needs root for Debian's Slurm; see docs/sweeps.md).
.PHONY: sweep-proof
sweep-proof: setup
	$(BIN)/python -m proof

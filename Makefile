# Development commands. `make` alone lists them.
#
# Each command makes the virtual environment it needs and installs into it once; the stamp files
# in the environment make it do so again when pyproject.toml changes.

PYTHON ?= python3
VENV ?= .venv
PEERS_VENV ?= .venv-peers
ECOSYSTEM_VENV ?= .venv-ecosystem
WORKERS ?= $(shell nproc 2>/dev/null || echo 2)
FUZZ_S ?= 600
PART ?=
MEASURE ?=
DAY ?=
SINCE ?= HEAD
NAMES ?=
ROWS ?=

# The GPU commands use $(VENV), into which CuPy is installed by hand (pip install -e '.[cuda12]'), or a
# Python that has everything already: make gpu-test GPU_PYTHON=python3
GPU_PYTHON ?= $(VENV)/bin/python
GPU_READY = $(if $(filter $(VENV)/bin/python,$(GPU_PYTHON)),$(VENV)/.test)

RUN = -n $(WORKERS) --dist worksteal --durations=20 $(if $(DAY),--day=$(DAY))
ALL = $(ALONE) tests fungrad notebooks
QUICK = tests/core tests/transforms tests/control tests/test_primitives.py tests/test_compositions.py tests/test_layers.py \
	tests/introductions tests/compile/test_kernels.py tests/lax/test_slicing.py tests/numpy/test_products.py \
	tests/scipy/test_optimize.py tests/random/test_keys.py tests/nn/test_nn.py tests/optim/test_projections.py \
	tests/training/test_batches.py tests/show/test_stages.py tests/compat/test_standing_in.py tests/distributed/test_sharding.py

# Profiles of processors. Each library has its own way of being told what not to use: kernels, NumPy, OpenBLAS.
WITHOUT_AVX512 = FUNGRAD_DISABLE_CPU_FEATURES=avx512f NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL AVX512_SPR" OPENBLAS_CORETYPE=Haswell
WITHOUT_AVX2 = FUNGRAD_DISABLE_CPU_FEATURES=avx NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX512_ICL AVX512_SPR" OPENBLAS_CORETYPE=Nehalem
ARITHMETIC = $(foreach folder, compile numpy random scipy, $(patsubst %,tests/$(folder)/test_%.py, $(ARITHMETIC_$(folder)))) tests/test_programs.py
ARITHMETIC_compile = columns complex convolution fuse kernel_functions kernel_integers kernels narrow processor routine_factors \
	routine_products routine_systems spelled
ARITHMETIC_numpy = equal_eigenvalues fft linalg math products reductions rounding special_points
ARITHMETIC_random = kernels keys
ARITHMETIC_scipy = linalg special stats

# What starts processes that wait for one another is run by itself, by test-distributed; tests/tiers.py lists the same files.
SEVERAL = $(patsubst %,tests/distributed/test_%.py, checkpoints devices faults learning ranks tasks)
ALONE = $(addprefix --ignore=, $(SEVERAL))

# JAX compiles thousands of small programs. Without the fusion emitters it takes half as long; a jaxlib that has no such flag refuses it.
XLA_QUICK = --xla_cpu_use_fusion_emitters=false

export PIP_DISABLE_PIP_VERSION_CHECK = 1
unexport PYTHONDONTWRITEBYTECODE # what pytest makes of asserts takes half a minute to compile anew

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo examples pictures notebooks quick test affected test-rest test-whole durations durations-of-files mutants test-native test-processors test-all test-peers test-distributed distributed-tables test-ecosystem ecosystem-table fuzz lint format environments docs-grid docs readme-table first-steps package bench gpu-test gpu-bench gpu-all clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-20s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.demo ## train a network on handwritten digits (examples/digits.py)
	$(VENV)/bin/python examples/digits.py

examples: $(VENV)/.demo ## run all of examples/ and print what they reach beside what they must
	$(VENV)/bin/python examples

pictures: $(VENV)/.demo ## likewise, and draw the pictures of examples/README.md
	$(VENV)/bin/python examples --pictures docs/pictures

notebooks: $(VENV)/.test ## run the notebooks and store what they show
	$(VENV)/bin/python tools/notebooks.py

quick: $(VENV)/.test ## run the tests of the ground floors, with few cases of tables, and one path through each package
	$(VENV)/bin/python -m pytest $(RUN) --tier=quick $(QUICK)

test: $(VENV)/.test ## run the tests of the day: all but slow ones, with a sample of large grids (DAY=3 for that of another day)
	$(VENV)/bin/python -m pytest $(RUN) --tier=daily --nbmake $(ALL)

affected: $(VENV)/.test ## run the tests of the day that concern what changed since SINCE (HEAD)
	$(VENV)/bin/python -m pytest $(RUN) --tier=daily $(ALONE) $$($(VENV)/bin/python -m tests.affected $(SINCE))

test-rest: $(VENV)/.test ## run what `make test` leaves out, or a part of it: PART=1/4
	$(VENV)/bin/python -m pytest $(RUN) --rest=$(or $(PART),1/1) --nbmake $(ALL)

test-whole: $(VENV)/.test ## run all tests, docstring examples and notebooks
	$(VENV)/bin/python -m pytest $(RUN) --nbmake $(ALL)

durations: $(VENV)/.test ## run all tests and write tests/slow.txt: which of them are slow
	$(VENV)/bin/python -m pytest $(RUN) --measure=tests/slow.txt --nbmake $(ALL)

durations-of-files: ## run what compares with JAX, and what runs on several processes, and write tests/files.txt: how long each file takes
	$(MAKE) test-peers test-distributed MEASURE=--measure-files=tests/files.txt

mutants: $(VENV)/.test ## plant small mistakes, one at a time, and see which test catches each
	$(VENV)/bin/python -m tests.mutants $(NAMES)

test-native: $(VENV)/.test ## run compositions of transforms with kernels in each program
	FUNGRAD_COMPILE=eager $(VENV)/bin/python -m pytest $(RUN) tests/test_compositions.py tests/transforms/test_float_warnings.py

test-processors: $(VENV)/.test ## run a core of the tests of arithmetic as on processors without AVX-512, and without AVX2
	$(WITHOUT_AVX512) $(VENV)/bin/python -m pytest $(RUN) --tier=daily $(ARITHMETIC)
	$(WITHOUT_AVX2) $(VENV)/bin/python -m pytest $(RUN) --tier=daily $(ARITHMETIC)

test-peers: $(PEERS_VENV)/.peers ## run the tests that compare with JAX and autograd, or a part of them: PART=1/4
	$(PEERS_VENV)/bin/python -c 'import autograd, jax'
	export JAX_DISABLE_MOST_OPTIMIZATIONS=1 JAX_PLATFORMS=cpu XLA_FLAGS=$(XLA_QUICK); \
	$(PEERS_VENV)/bin/python -c 'import jax; jax.devices()' 2>/dev/null || unset XLA_FLAGS; \
	$(PEERS_VENV)/bin/python -m pytest $(RUN) $(if $(PART),--rest=$(PART)) $(MEASURE) tests/peers

test-distributed: $(VENV)/.distributed ## run programs on several processes of this machine, by MPI, Dask and Ray, or a part of them: PART=1/4
	$(VENV)/bin/python -c 'import distributed, mpi4py.MPI'
	$(VENV)/bin/python -m pytest --durations=20 $(if $(PART),--rest=$(PART)) $(MEASURE) $(SEVERAL)

distributed-tables: $(VENV)/.distributed ## write the tables of docs/distributed_results.md: what is equal on several processes, and what faults lead to
	FUNGRAD_COMPILE=off $(VENV)/bin/python -m tests.distributed.table

test-ecosystem: $(ECOSYSTEM_VENV)/.ecosystem ## run programs of the libraries built on JAX, by JAX and by fungrad
	$(ECOSYSTEM_VENV)/bin/python -m pytest -rs tests/ecosystem

ecosystem-table: $(ECOSYSTEM_VENV)/.ecosystem ## write the table of libraries of docs/coming_from_jax.md
	$(ECOSYSTEM_VENV)/bin/python -m tests.ecosystem.table

test-all: ## run the tests with every Python from 3.11 to 3.14t that is found, or those in ROWS='3.14 3.14t'
	WORKERS=$(WORKERS) $(PYTHON) tests/everywhere.py $(ROWS)

fuzz: $(VENV)/.test ## run random programs for FUZZ_S seconds; see tests/fuzz/driver.py
	FUZZ_S=$(FUZZ_S) WORKERS=$(WORKERS) PEERS_VENV=$(PEERS_VENV) $(VENV)/bin/python -m tests.fuzz

lint: $(VENV)/.dev ## check style, English and types, and print how many lines the branch adds
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/python tools/english.py
	$(VENV)/bin/mypy
	$(VENV)/bin/python tools/size.py

format: $(VENV)/.dev ## format the code and apply the safe fixes
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format

docs-grid: $(VENV)/.test ## write the tables of docs/numpy.md and docs/lax.md
	$(VENV)/bin/python -m tests.numpy.grid
	$(VENV)/bin/python -m tests.lax.page

docs: $(VENV)/.docs ## build the site into docs/_build/html, and look for broken links in it
	$(VENV)/bin/python -m sphinx -q -E -b html -n -W --keep-going -c docs . docs/_build/html
	$(VENV)/bin/python tools/links.py docs/_build/html

readme-table: $(VENV)/.test ## write the figures of README.md and docs/ from benchmarks/results
	$(VENV)/bin/python -m benchmarks.tables

first-steps: ## time a new user's path, from an empty environment to a picture
	$(PYTHON) tools/first_steps.py --write

package: $(VENV)/.test $(VENV)/.package ## build wheel and sdist into dist/, look into both, and try the wheel in an empty environment
	$(VENV)/bin/python tools/package.py

bench: $(PEERS_VENV)/.peers ## run the benchmarks beside JAX, autograd and plain NumPy
	$(PEERS_VENV)/bin/python -m benchmarks

gpu-test: $(GPU_READY) ## run the tests on CuPy arrays (skips where there is no GPU)
	$(GPU_PYTHON) -m pytest tests --backend=cupy

gpu-bench: $(GPU_READY) ## run the benchmarks on CuPy arrays
	$(GPU_PYTHON) -m benchmarks --backend=cupy

gpu-all: $(GPU_READY) ## everything that a card is needed for, in stages, in ten minutes
	$(GPU_PYTHON) -m benchmarks.gpu_all

environments: $(VENV)/.dev $(VENV)/.test $(VENV)/.distributed $(VENV)/.package $(VENV)/.docs $(PEERS_VENV)/.peers ## make the environments of test, lint, package, docs and test-peers

clean: ## remove the environments and everything generated
	rm -rf $(VENV) $(PEERS_VENV) $(ECOSYSTEM_VENV) .venv-3.* build dist docs/_build docs/generated digits.png .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python $(PEERS_VENV)/bin/python $(ECOSYSTEM_VENV)/bin/python:
	$(PYTHON) -m venv $(@:/bin/python=)

$(VENV)/.%: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet -e '.[$*]'
	touch $@

$(PEERS_VENV)/.peers: pyproject.toml | $(PEERS_VENV)/bin/python
	$(PEERS_VENV)/bin/python -m pip install --quiet -e '.[peers,test]'
	touch $@

$(ECOSYSTEM_VENV)/.ecosystem: pyproject.toml | $(ECOSYSTEM_VENV)/bin/python
	$(ECOSYSTEM_VENV)/bin/python -m pip install --quiet -e '.[test]'
	$(ECOSYSTEM_VENV)/bin/python tools/ecosystem.py --install && touch $@ || [ $$? = 3 ] # 3: some are left out, and tried again next time

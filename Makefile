# Everything happens in .venv, a world of its own: Python, ROS 2 and colcon from wheels.
#
#   make setup           make .venv, and compile ahead all that fits need: 2 minutes on 2 cores
#   make demo            fit a recording, from the raw data to a URDF
#   make test            the test suite
#   make test-processes  its part that takes minutes of real time: real node processes
#   make lint            ruff and mypy, and the site of the documentation without a warning
#   make bench           the figures we claim, measured on this machine
#   make test-processors its numerical part, for every kind of processor
#   make test-random     its part that draws random problems, with new ones: SEED=7 TIMES=1000
#   make test-mutants    changes for the worse in what guards robot and model, which tests must notice; a
#                        night: MUTANTS=600, taken up where it ended, SEED=7 for others
#   make test-installed  the test suite against `pip install .` in a fresh environment
#   make test-oldest     the test suite with the oldest versions of what it depends on
#   make test-jazzy      the test suite with the versions of Ubuntu 24.04, by the recipe of docs/how-to/install.md
#   make colcon-test     the test suite in a colcon workspace
#   make clean           remove everything that make has made

PYTHON ?= python3
# That of test-jazzy.
PYTHON312 ?= python3.12
PYTEST_ARGS ?=
# What test-installed and test-jazzy run.
TESTS ?= test
# What test-processors runs, and for which kinds of processors.
NUMERICAL ?= $(addprefix test/,contract demo estimation evaluation excitation faults mechanics \
  numerics recording reproduction robot)
PROCESSORS ?= Prescott Sandybridge Haswell Zen SkylakeX generic
# How many tests of test-processes run at a time: one for each of the two cores that real-time loops
# need. With three, a node that was started again was once in many runs never reached by its client.
WORKERS ?= 2
# Where tests are that start node processes.
PROCESSES := test/ros test/runs/test_compile_ahead.py
# How many times as many problems test-random draws, and seeds of tests that draw one.
SEED ?= $(shell od -An -N3 -tu4 /dev/urandom | tr -d ' ')
TIMES ?= 1000
SEEDS ?= 20
# How many mutants test-mutants tries, and of which modules.
MUTANTS ?= 600
MUTATED ?=

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
COMPILED := $(VENV)/compiled
INSTALLED := build/venv-installed
OLDEST := build/venv-oldest
JAZZY := build/jazzy
WORKSPACE := build/workspace

# What compiled functions are kept for: those of an older file are compiled again.
SOURCES := $(shell find sysid_ros -name '*.py' -not -path '*/msg/*' -not -path '*/srv/*' \
  -not -path '*/action/*')
INTERFACES := $(wildcard msg/*.msg srv/*.srv action/*.action)
RECIPES := constraints.txt setup.py setup.cfg pyproject.toml package.xml entry_points.txt \
  CMakeLists.txt $(wildcard cmake/* config/* launch/*) Makefile

# A sourced ROS distribution, or a Python of another environment, must not mix with .venv.
unexport AMENT_PREFIX_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH LD_LIBRARY_PATH PYTHONPATH
unexport PYTHONHOME VIRTUAL_ENV ROS_DISTRO ROS_VERSION ROS_PYTHON_VERSION
# Set by the ROS wheels in their own processes; inherited, it stops them from finding libraries.
unexport _ROS_WHEELS_BOOTSTRAP_COMPLETE
# Without bytecode every process of a node compiles the modules of this package anew: 0.4 to 0.8 s.
unexport PYTHONDONTWRITEBYTECODE

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DELETE_ON_ERROR:
.PHONY: setup demo test test-processes test-processors test-random test-mutants lint bench test-installed \
  test-oldest test-jazzy colcon-test clean check-machine

setup: $(READY) $(COMPILED)

demo: $(READY)
	$(BIN)/sysid demo

test: $(READY)
	$(BIN)/python -m pytest -m 'not processes' $(PYTEST_ARGS)

# Several tests at a time, each in a ROS domain of its own; whoever has none left takes over some of the
# others'. After them, one by one, the robots that are simulated in real time. pytest ends with 5 where
# PYTEST_ARGS chooses none of the first.
test-processes: $(READY)
	$(BIN)/python -m pytest -m 'processes and not loops' -n $(WORKERS) --dist worksteal \
	  $(PROCESSES) $(PYTEST_ARGS) || test $$? = 5
	$(BIN)/python -m pytest -m loops $(PROCESSES) $(PYTEST_ARGS)

# The same with code compiled for any processor takes minutes to compile at first.
test-processors: $(READY)
	sh .ci/test_processors.sh $(PROCESSORS) -- \
	  $(BIN)/python -m pytest -m 'not processes' $(NUMERICAL) $(PYTEST_ARGS)

# A problem on which a test fails is kept in build/random-failures; its seed draws it again.
test-random: $(READY)
	$(BIN)/python -m pytest -m 'not processes' --random-seed $(SEED) --random-times $(TIMES) \
	  --random-seeds $(SEEDS) $(PYTEST_ARGS)

# What was tried is kept in build/, by the seed, and not tried again.
test-mutants: SEED = 0
test-mutants: $(READY)
	mkdir -p build
	$(BIN)/python benchmarks/mutants.py --gate --sample $(MUTANTS) --seed $(SEED) \
	  --journal build/mutants-$(SEED).jsonl $(if $(MUTATED),--modules $(MUTATED))

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mkdocs build --strict --quiet --site-dir build/site

bench: $(READY)
	$(BIN)/python benchmarks/run_all.py

# Out of the source tree, so that nothing but the installed package can be imported.
test-installed: $(READY)
	rm -rf $(INSTALLED)
	$(PYTHON) -m venv $(INSTALLED)
	$(INSTALLED)/bin/python -m pip install --quiet --constraint constraints.txt '.[test]'
	cd $(INSTALLED) && bin/python -m pytest -m 'not processes' --config-file ../../pyproject.toml \
	  --rootdir ../.. $(addprefix ../../,$(TESTS)) $(PYTEST_ARGS)

# Deprecations are about the future, of which the oldest versions are no judge. The ROS 2 wheels
# have one version each.
test-oldest: check-machine
	rm -rf $(OLDEST)
	$(PYTHON) -m venv $(OLDEST)
	grep -E '^(ros-|empy|lark)' constraints.txt > $(OLDEST)/ros.txt
	$(OLDEST)/bin/python -m pip install --quiet --no-deps --requirement constraints-oldest.txt \
	  --requirement $(OLDEST)/ros.txt
	$(OLDEST)/bin/python -m pip install --quiet --no-deps .
	cd $(OLDEST) && bin/python -m pytest -m 'not processes' --config-file ../../pyproject.toml \
	  --rootdir ../.. -W default::DeprecationWarning ../../test $(PYTEST_ARGS)

test-jazzy:
	sh .ci/test_jazzy.sh $(PYTHON312) $(JAZZY) $(addprefix $(CURDIR)/,$(TESTS)) $(PYTEST_ARGS)

# colcon says OK when it has found no test at all, so its results are counted.
colcon-test: $(READY)
	rm -rf $(WORKSPACE)
	mkdir -p $(WORKSPACE)/src
	ln -s $(CURDIR) $(WORKSPACE)/src/sysid_ros
	cd $(WORKSPACE) && . $(CURDIR)/$(BIN)/activate && \
	  export AMENT_PREFIX_PATH=$(CURDIR)/$(VENV) && \
	  PYTEST_ARGS='$(PYTEST_ARGS)' colcon build && \
	  colcon test --event-handlers console_direct+ --return-code-on-test-failure && \
	  colcon test-result > results.txt && cat results.txt && \
	  grep -Eq '^Summary: [1-9][0-9]* tests, 0 errors, 0 failures' results.txt

clean:
	rm -rf $(VENV) build install log dist *.egg-info .pytest_cache .mypy_cache .ruff_cache \
	  .hypothesis .benchmarks sysid_ros/msg sysid_ros/srv sysid_ros/action sysid_ros/*.so
	find sysid_ros test benchmarks -name __pycache__ -prune -exec rm -rf {} +

# pip compiles modules one by one: all cores do it in a third of the time. Files that are of no Python
# that is here, as templates, stay uncompiled. The stamp is written last: a step that failed is
# repeated by the next run.
$(READY): $(RECIPES) $(INTERFACES) | check-machine
	rm -f $@
	test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --requirement constraints.txt
	-$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-build-isolation \
	  --editable '.[demo,studio,test,lint]'
	touch $@

# Apart from the above: tests compile what they need, and wait for nothing else.
$(COMPILED): $(READY) $(SOURCES)
	$(BIN)/sysid compile
	touch $@

check-machine:
	@test -e $(READY) || sh .ci/check_machine.sh $(PYTHON)

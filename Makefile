VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

CORE_SOURCES := $(shell find core/include core/src core/bindings -type f)
INSTALLED := $(VENV)/.installed
CORE_TESTS := build/core-tests
CORE_TESTS_SANITIZED := build/core-tests-sanitized
CORE_TESTS_OPTIONS := -G Ninja -DDEKKER_TESTS=ON -DDEKKER_BINDINGS=OFF -DDEKKER_WARNINGS_AS_ERRORS=ON

.PHONY: demo test install lint core-tests core-tests-sanitized pytest bench bench-results clean

demo: install
	$(BIN)/dekker litmus examples/litmus/dekker-x86.litmus
	$(BIN)/dekker litmus examples/litmus/dekker-x86-fenced.litmus

test: lint core-tests pytest

install: $(INSTALLED)

$(VENV)/bin/python:
	python3 -m venv $(VENV)

# Not isolated, so that the paths inside the build folder stay valid and the next build is incremental.
$(INSTALLED): pyproject.toml CMakeLists.txt $(CORE_SOURCES) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet scikit-build-core nanobind cmake ninja
	$(BIN)/python -m pip install --quiet --no-build-isolation \
	    --config-settings=cmake.define.DEKKER_WARNINGS_AS_ERRORS=ON --editable '.[dev]'
	touch $@

lint: install
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

core-tests: install
	$(BIN)/cmake -S . -B $(CORE_TESTS) $(CORE_TESTS_OPTIONS)
	$(BIN)/cmake --build $(CORE_TESTS)
	$(BIN)/ctest --test-dir $(CORE_TESTS) --output-on-failure

core-tests-sanitized: install
	$(BIN)/cmake -S . -B $(CORE_TESTS_SANITIZED) $(CORE_TESTS_OPTIONS) -DDEKKER_SANITIZE=ON -DCMAKE_BUILD_TYPE=Debug
	$(BIN)/cmake --build $(CORE_TESTS_SANITIZED)
	$(BIN)/ctest --test-dir $(CORE_TESTS_SANITIZED) --output-on-failure

pytest: install
	$(BIN)/pytest -n auto

bench: install
	$(BIN)/python -m benchmarks short --timeout 10

# Measures what benchmarks/README.md shows and puts it there.
bench-results: install
	$(BIN)/python -m benchmarks results --into benchmarks/README.md

clean:
	rm -rf build $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

CORE_SOURCES := $(shell find core/include core/src core/bindings -type f)
INSTALLED := $(VENV)/.installed
CORE_TESTS := build/core-tests
CORE_TESTS_SANITIZED := build/core-tests-sanitized
CORE_TESTS_THREADS := build/core-tests-threads
SANITIZED := build/sanitized
CORE_TESTS_OPTIONS := -G Ninja -DDEKKER_TESTS=ON -DDEKKER_BINDINGS=OFF -DDEKKER_WARNINGS_AS_ERRORS=ON

.PHONY: demo test install lint core-tests core-tests-sanitized core-tests-threads corpus-sanitized pytest docs bench bench-results clean

demo: install
	! $(BIN)/dekker check examples/pgsql/workers.c --model power
	$(BIN)/dekker fences examples/pgsql/workers.c --model power --minimal
	$(BIN)/dekker check examples/pgsql/workers.c --model power -- -DFENCE_BEHIND_WAIT -DFENCE_BEFORE_WAKING

test: lint core-tests pytest

# With byte code, which pip does not make for what is editable, commands begin in half the time.
install: $(INSTALLED)
	@$(BIN)/python -m compileall -q src

$(VENV)/bin/python:
	python3 -m venv $(VENV)

# Not isolated, so that the paths inside the build folder stay valid and the next build is incremental.
$(INSTALLED): pyproject.toml CMakeLists.txt $(CORE_SOURCES) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet scikit-build-core nanobind cmake ninja
	$(BIN)/python -m pip install --quiet --no-build-isolation \
	    --config-settings=cmake.define.DEKKER_WARNINGS_AS_ERRORS=ON --editable '.[dev,docs]'
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

# What several threads do to the same data: the tests of exploring in units and of searching states, which start many.
core-tests-threads: install
	$(BIN)/cmake -S . -B $(CORE_TESTS_THREADS) $(CORE_TESTS_OPTIONS) -DDEKKER_SANITIZE_THREADS=ON -DCMAKE_BUILD_TYPE=Debug
	$(BIN)/cmake --build $(CORE_TESTS_THREADS)
	$(CORE_TESTS_THREADS)/dekker_core_tests workers_that what_a_limit damaged_units crews_ futures_that

# Litmus tests and random programs through an extension with sanitizers, which stands beside the installed one. -S keeps
# the editable installation from being found first; the process must begin with the libraries that the sanitizers replace.
# With DEKKER_CORPUS, the name of a folder, every 20th test of the tables of expected results in it is compared as well.
SANITIZED_PYTHON = env PYTHONPATH=$(SANITIZED)/package:$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
    PYTHONDONTWRITEBYTECODE=1 ASAN_OPTIONS=detect_leaks=0 \
    LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" $(BIN)/python -S

corpus-sanitized: install
	$(BIN)/cmake -S . -B $(SANITIZED) -G Ninja -DDEKKER_SANITIZE=ON -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python
	$(BIN)/cmake --build $(SANITIZED)
	rm -rf $(SANITIZED)/package
	mkdir -p $(SANITIZED)/package
	cp -R src/dekker $(SANITIZED)/package/
	cp $(SANITIZED)/_core*.so $(SANITIZED)/package/dekker/
	$(SANITIZED_PYTHON) -c 'import dekker._core as core; assert "$(SANITIZED)" in core.__file__, core.__file__'
	$(SANITIZED_PYTHON) -m pytest -p no:cacheprovider tests/corpus/test_expected_results.py -k 'own_corpus and rsmc'
	$(SANITIZED_PYTHON) -m pytest -p no:cacheprovider tests/agreement/test_rsmc.py
	test -z "$(DEKKER_CORPUS)" || $(SANITIZED_PYTHON) -m tests.corpus.expectations --engine rsmc --every 20 --jobs 1 \
	    $$(find "$(DEKKER_CORPUS)" -name expected.csv -exec dirname {} \;)

pytest: install
	$(BIN)/pytest -n auto

# The pages of docs/ and what is generated from the code, as a site: build/site/index.html.
docs: install
	$(BIN)/sphinx-build -W --keep-going -q -j auto -c docs/site -d build/site-cache . build/site

bench: install
	$(BIN)/python -m benchmarks short --timeout 10

# Measures what benchmarks/README.md shows and puts it there.
bench-results: install
	$(BIN)/python -m benchmarks results --into benchmarks/README.md

clean:
	rm -rf build $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

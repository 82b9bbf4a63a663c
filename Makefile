# SPDX-License-Identifier: Apache-2.0
# A thin front of CMake: every target says what it does and can be run again, offline, at any time.
#
#   make              build into build/                make test         install what tests need, build, run all tests
#   make train        train on Fashion-MNIST           make test-quick   unit tests, under a minute
#   make install      PREFIX=/usr/local DESTDIR=       make test-long    the tests too long for `make test`
#   make bench        measure beside peers             make format tidy  clang-format in place; clang-tidy
#   make package      Debian packages in build/        make deps         install what building needs
#   make test-device DEVICE=cuda   every operation, the oracle's rows and digests on a device that is here
#   make docs         docs/ as a web site in build/docs/site/index.html
#   make clean        remove what was built            make distclean    and the tests' virtual environment
BUILD = build
PREFIX = /usr/local
JOBS := $(shell nproc 2>/dev/null || echo 2)
GENERATOR := $(shell command -v ninja >/dev/null 2>&1 && echo '-G Ninja')

.PHONY: all build deps package train test test-quick test-long test-device bench format tidy docs install clean distclean
all:
	@$(MAKE) --no-print-directory build TARGET="programs example-programs"
	@echo "Built $(BUILD)/artel. Try: $(BUILD)/artel --help, make train, make test"

# CMake finds new and removed files by itself, and is asked again in case a package was installed in between; the
# generator is chosen once.
build:
	@if [ -f $(BUILD)/CMakeCache.txt ]; then cmake $(BUILD) $(CMAKE_FLAGS) >/dev/null; \
	else cmake --preset release -B $(BUILD) $(GENERATOR) $(CMAKE_FLAGS); fi || { echo "== what is missing is installed by: make deps" >&2; exit 1; }
	@echo "== building into $(BUILD)/"
	@cmake --build $(BUILD) -j $(JOBS) $(if $(TARGET),--target $(TARGET))

deps:
	@scripts/install-deps train

train: deps
	@$(MAKE) --no-print-directory build TARGET=programs
	@scripts/train-fashion-mnist $(BUILD)

test:
	@scripts/install-deps test
	@scripts/make-venv $(BUILD)/venv
	@$(MAKE) --no-print-directory build CMAKE_FLAGS=-DARTEL_WERROR=ON
	@scripts/run-tests $(BUILD) all

test-quick: build
	@scripts/run-tests $(BUILD) quick

test-long: build
	@scripts/run-tests $(BUILD) long

# On a device that is here, cuda for example, what other tests do without one.
test-device: build
	@scripts/test-device $(DEVICE) $(BUILD)

bench:
	@$(MAKE) --no-print-directory build TARGET=programs
	@python3 bench/run.py --artel $(BUILD)/artel
	@python3 bench/start.py --artel $(BUILD)/artel

format:
	@scripts/format

tidy: build
	@scripts/tidy $(BUILD)

docs:
	@scripts/install-deps docs
	@scripts/build-docs $(BUILD)/docs --strict
	@echo "Built $(BUILD)/docs/site/index.html"

install:
	@$(MAKE) --no-print-directory build TARGET=programs
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX)

package:
	@$(MAKE) --no-print-directory build TARGET=programs
	@cd $(BUILD) && cpack -G DEB

# Keeps the virtual environment, which is slow to make again.
clean:
	@if [ -d $(BUILD) ]; then find $(BUILD) -mindepth 1 -maxdepth 1 ! -name venv -exec rm -rf {} +; fi

distclean:
	rm -rf $(BUILD)

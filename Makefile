# SPDX-License-Identifier: MIT
#
# Short names for the usual jobs; the build itself is CMake (see CMakePresets.json).

PREFIX       ?= /usr/local
DESTDIR      ?=
JOBS         ?= $(shell nproc 2>/dev/null || echo 2)
TEST_JOBS    ?= $(shell expr $(JOBS) + 1)  # some tests mostly wait: for a browser, for time, for signals
FUZZ_SECONDS ?= 600
TORTURE_SECONDS ?= 1800

# the presets ask for Ninja; without it make does the work
CONFIGURE = cmake $(shell command -v ninja >/dev/null 2>&1 || echo -G "'Unix Makefiles'")
QUIET     = --log-level=WARNING >/dev/null
SOURCES   = $(shell find include src cli tests bench examples python fmi web -name '*.[ch]' 2>/dev/null)

.PHONY: help demo python workbench page web test laws bench install uninstall package package-test install-test portability manual torture sanitize sensitivities format lint fuzz coverage clean setup-build setup-test
.DEFAULT_GOAL := help

help:
	@echo "make demo        build, run a gallery model and show the result"
	@echo "make workbench   build the workbench and open it in a browser"
	@echo "make python      build and test a wheel of the Python package"
	@echo "make web         the workbench as one file that needs nothing: build/workbench/workbench.html"
	@echo "make test        build with sanitizers and optimised, run all tests with both"
	@echo "make laws        the laws of the engine over the gallery and thousands of generated models"
	@echo "make bench       build and run the benchmarks"
	@echo "make install     install to PREFIX ($(PREFIX)), under DESTDIR if given"
	@echo "make uninstall   remove what the last make install has put there"
	@echo "make manual      the manual as HTML, with the pictures of the gallery: build/manual/index.html"
	@echo "make package     a .deb and a tarball that runs from anywhere, in build/package"
	@echo "make package-test   install the packages in fresh roots, use and remove them (as root)"
	@echo "make install-test   what README says about installing, in a fresh root (as root)"
	@echo "make portability build and test with clang, with musl, and for aarch64"
	@echo "make format      format the sources"
	@echo "make lint        formatting, static analysis, layers, forbidden calls"
	@echo "make fuzz        search for crashes, FUZZ_SECONDS ($(FUZZ_SECONDS)) per target"
	@echo "make torture     failing memory, kills, full disks, closed pipes, for TORTURE_SECONDS ($(TORTURE_SECONDS))"
	@echo "make sanitize    the gallery with every method and way of detection, with sanitizers"
	@echo "make coverage    lines reached by the tests, per module"
	@echo "make clean       remove build/"

setup-build:
	@scripts/setup.sh build

setup-test:
	@scripts/setup.sh build test

demo: setup-build
	@scripts/setup.sh pictures
	@$(CONFIGURE) --preset release -DSALTUS_TESTS=OFF $(QUIET)
	@cmake --build --preset release -j $(JOBS) --target saltus_cli
	@scripts/demo.sh build/release/saltus

# the page of `saltus serve`, as a file of C
page:
	@scripts/setup.sh workbench
	@scripts/page.sh build/workbench

workbench: setup-build page
	@scripts/setup.sh pictures
	@$(CONFIGURE) --preset release -DSALTUS_TESTS=OFF $(QUIET)
	@cmake --build --preset release -j $(JOBS) --target saltus_cli
	@build/release/saltus serve models --open

python: setup-build
	@scripts/setup.sh python
	@$(CONFIGURE) --preset release -DSALTUS_TESTS=OFF $(QUIET)
	@cmake --build --preset release -j $(JOBS) --target saltus_cli saltus_shared saltus_python_package
	@scripts/wheel.sh build/release

web:
	@scripts/setup.sh build workbench web
	@scripts/web.sh build/workbench

test: setup-test
	@$(MAKE) --no-print-directory page && scripts/setup.sh browser || echo "test: no page, so its tests are skipped"
	@! command -v emcc >/dev/null || scripts/web.sh build/workbench || echo "test: no page with the engine inside"
	@$(CONFIGURE) --preset asan $(QUIET)
	@$(CONFIGURE) --preset release -DSALTUS_TESTS=ON $(QUIET)
	cmake --build --preset asan -j $(JOBS)
	cmake --build --preset release -j $(JOBS)
	ctest --preset asan -j $(TEST_JOBS)
	ctest --preset release -j $(TEST_JOBS)

laws: setup-test
	@$(CONFIGURE) --preset release $(QUIET)
	@cmake --build --preset release -j $(JOBS)
	@tests/laws/all.sh build/release $(JOBS)

bench: setup-build
	@$(CONFIGURE) --preset release -DSALTUS_TESTS=OFF -DSALTUS_BENCH=ON $(QUIET)
	@cmake --build --preset release -j $(JOBS) --target saltus_bench
	@scripts/bench.py build/release

install: setup-build
	@scripts/setup.sh pictures
	@$(CONFIGURE) --preset release -DSALTUS_TESTS=OFF -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(QUIET)
	@cmake --build --preset release -j $(JOBS) --target saltus_installed
	DESTDIR=$(DESTDIR) cmake --install build/release

uninstall:
	DESTDIR=$(DESTDIR) cmake -DBUILD=build/release -P cmake/uninstall.cmake

manual: setup-build
	@scripts/setup.sh manual
	@$(CONFIGURE) --preset release $(QUIET)
	@cmake --build --preset release -j $(JOBS) --target saltus_cli
	@scripts/manual.py build/manual --program build/release/saltus

package: manual
	@$(MAKE) --no-print-directory page || echo "package: no page in saltus serve"
	@scripts/setup.sh pictures package
	@scripts/package.sh build/package $(JOBS)

package-test: package
	@scripts/setup.sh package-test
	@scripts/package_test.sh build/package

install-test:
	@scripts/setup.sh package-test
	@scripts/install_test.sh

portability: setup-test
	@scripts/setup.sh portability
	@scripts/portability.sh build/portability $(JOBS)

format:
	@clang-format -i $(SOURCES)

lint: setup-build
	@scripts/setup.sh lint
	@$(CONFIGURE) --preset debug $(QUIET)
	@scripts/lint.sh build/debug

fuzz:
	@$(CONFIGURE) --preset fuzz $(QUIET)
	@cmake --build --preset fuzz -j $(JOBS) --target saltus_fuzz
	@scripts/fuzz.sh build/fuzz $(FUZZ_SECONDS)

torture: setup-test
	@$(CONFIGURE) --preset release -DSALTUS_TESTS=ON $(QUIET)
	@cmake --build --preset release -j $(JOBS) --target saltus_cli
	@scripts/torture.py build/release --seconds $(TORTURE_SECONDS)

sanitize: setup-test
	@$(CONFIGURE) --preset asan $(QUIET)
	@cmake --build --preset asan -j $(JOBS) --target saltus_cli
	@scripts/sanitize.py build/asan --jobs $(JOBS)

# derivatives through events on many more generated models and points, and intervals of many fits
sensitivities: setup-test
	@$(CONFIGURE) --preset release $(QUIET)
	@cmake --build --preset release -j $(JOBS) --target saltus_cli
	@SALTUS=build/release/saltus SALTUS_SOURCE=. SALTUS_BUILD=build/release SALTUS_SENS_MODELS=1000 \
	  SALTUS_SENS_POINTS=10000 python3 tests/scripts/sensitivities.py
	@SALTUS=build/release/saltus SALTUS_SOURCE=. SALTUS_BUILD=build/release SALTUS_SENS_MODELS=1000 \
	  python3 tests/scripts/sensitivities_gallery.py
	@SALTUS=build/release/saltus SALTUS_SOURCE=. SALTUS_BUILD=build/release SALTUS_FITS=400 \
	  python3 tests/scripts/intervals.py

coverage: setup-test
	@$(CONFIGURE) --preset coverage $(QUIET)
	@cmake --build --preset coverage -j $(JOBS)
	@find build/coverage -name '*.gcda' -delete
	@ctest --preset coverage -j $(JOBS) || true
	@scripts/coverage.py build/coverage

clean:
	@cmake -E rm -rf build

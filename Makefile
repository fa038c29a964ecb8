# Shortcuts; the build itself is CMake's (CMakePresets.json).
PRESET ?= release
CMAKE_ARGS ?=
CTEST_ARGS ?=
JOBS ?= $(shell nproc)
FUZZ_SEED ?= 1
FUZZ_COUNT ?= 20000
FUZZ_SECONDS ?= 600
MAKEFLAGS += --no-print-directory

.PHONY: help demo test build configure deps fuzz fuzz-inputs format lint check clean

help:  ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14

demo: configure  ## install what is missing, build, derive and run attention beside the naive program
	@cmake --build --preset $(PRESET) -j $(JOBS) --target tang
	@scripts/demo build/$(PRESET)/tang

test: build  ## install what is missing, build, run every test
	@ctest --preset $(PRESET) -j $(JOBS) $(CTEST_ARGS)

build: configure  ## install what is missing, build everything
	@cmake --build --preset $(PRESET) -j $(JOBS)

configure: deps
	@cmake --preset $(PRESET) $(CMAKE_ARGS)

deps:
	@scripts/install-deps

fuzz: configure  ## random programs: oracle, derivation and compiled C must agree (FUZZ_SEED, FUZZ_COUNT)
	@cmake --build --preset $(PRESET) -j $(JOBS) --target fuzz_random_graphs
	@build/$(PRESET)/fuzz_random_graphs --seed $(FUZZ_SEED) --count $(FUZZ_COUNT) --jobs $(JOBS)

fuzz-inputs:  ## libFuzzer on the parser and each file reader (FUZZ_SECONDS each)
	@scripts/install-deps --fuzz
	@scripts/fuzz-inputs $(FUZZ_SECONDS)

format:  ## format the C++ sources in place
	@scripts/install-deps --ci
	@scripts/format

lint: configure  ## run clang-tidy over the sources
	@scripts/install-deps --lint
	@scripts/lint build/$(PRESET)

check:  ## formatting, include direction and sizes
	@scripts/install-deps --ci
	@scripts/format --check
	@scripts/check-includes
	@scripts/check-words
	@scripts/size

clean:  ## remove build/
	@rm -rf build

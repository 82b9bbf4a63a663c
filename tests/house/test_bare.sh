#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `make` on a machine that lacks what building needs fails and names the target that installs it: without CMake, and with one that
# does not find a library.
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
fail() { echo "FAILED: $*" >&2; exit 1; }
mkdir bare
for tool in make sh bash env nproc; do
    path=$(command -v "$tool") || continue
    ln -s "$path" bare/
done

# says WHAT: make fails with a word about it, and writes nothing that a later build would take for a finished one
says() {
    if PATH=$PWD/bare make --no-print-directory -C "$ARTEL_SOURCE" BUILD="$PWD/made" "${@:2}" >said.txt 2>&1 </dev/null; then fail "$1: make succeeded"; fi
    grep -q 'what is missing is installed by: make deps' said.txt || fail "$1: $(cat said.txt)"
    [ ! -e made/artel ] || fail "$1: something was built"
}
says 'without CMake'
says 'make build without CMake' build
says 'make test-quick without CMake' test-quick
printf '#!/bin/sh\necho "The following required packages were not found: jansson" >&2\nexit 1\n' >bare/cmake
chmod +x bare/cmake
says 'without a library'
grep -q jansson said.txt || fail "what is missing is not named: $(cat said.txt)"
grep -q '^deps:' "$ARTEL_SOURCE/Makefile" || fail "there is no make deps"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# The semantics of strategies (test_conformance.c) among two and three tasks, each with one and two replicas: every row holds in every task, with
# the bits of one process.
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
suite=$ARTEL_BUILD/tests/api/test_conformance
[ -x "$suite" ] || { echo "the unit tests are not built here"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }
rows=$("$suite" 2>&1 | grep -c '  OK \]') || fail "the suite finds nothing in one process"
for tasks in 2 3; do
    "$ARTEL" launch -n $tasks --program "$suite" -- $tasks >tasks.txt 2>&1 || fail "$tasks tasks: $(cat tasks.txt)"
    [ "$(grep -c '  OK \]' tasks.txt)" = $((tasks * rows)) ] || fail "of $rows rows in $tasks tasks only these hold: $(cat tasks.txt)"
done

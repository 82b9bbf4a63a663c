#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# The semantics of strategies (test_conformance*.c) among two and three tasks, each with one and two replicas, and over parameter servers: every row
# holds in every task, with the bits of one process.
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
fail() { echo "FAILED: $*" >&2; exit 1; }
[ -x "$ARTEL_BUILD/tests/api/test_conformance" ] || { echo "the unit tests are not built here"; exit 77; }

# TASKS HOW: all rows of the suite hold in so many tasks.
holds() {
    tasks=$1 said=$(mktemp tasks.XXXXXX)
    shift
    "$ARTEL" launch "$@" >"$said" 2>&1 || fail "$*: $(cat "$said")"
    grep 'FAILED  \]' "$said" && fail "$*: $(cat "$said")"
    [ "$(grep -c '  OK \]' "$said")" = $((tasks * rows)) ] || fail "of $rows rows in $tasks tasks only these hold: $(cat "$said")"
}

# The three at once: they wait more than they compute.
for name in test_conformance test_conformance_contexts test_conformance_models test_conformance_on_read test_conformance_scope test_conformance_steps test_conformance_values test_conformance_variables test_conformance_whole; do
    suite=$ARTEL_BUILD/tests/api/$name
    rows=$(grep -o 'cmocka_unit_test(' "$ARTEL_SOURCE/tests/api/$name.c" | wc -l)
    for tasks in 2 3; do holds $tasks -n $tasks --program "$suite" -- $tasks & done
    holds 4 --chief -n 3 --ps 1 --insecure-network --program "$suite" -- servers "$PWD/$name.served" &
    for job in $(jobs -p); do wait "$job" || failed=1; done
    [ -z "${failed-}" ] || exit 1
done

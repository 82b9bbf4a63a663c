#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# labels: quick
# The order of a graph's values, and so the bits, is the program's and not the compiler's: scripts/check-argument-order passes here and
# finds two such arguments where they are.
set -eu
cd "$ARTEL_SOURCE"
scripts/check-argument-order

cat >"$ARTEL_SCRATCH/wrong.c" <<'END'
artel__value_id both = artel__op_add(graph, unary(graph, x), draw(graph, x)); /* f(graph, a(graph, x), b(graph, x)) */
artel__value_id fine = artel__op_add(graph, unary(graph, x), number(graph, 1));
artel__value_id deep = outer(graph, inner(graph, one(graph, x), two(graph, x)));
END
if scripts/check-argument-order "$ARTEL_SCRATCH/wrong.c" >"$ARTEL_SCRATCH/out"; then
    echo "two arguments that make values were let pass"
    exit 1
fi
cut -d: -f2 "$ARTEL_SCRATCH/out" | tr '\n' ' ' | grep -qx "1 3 " || { cat "$ARTEL_SCRATCH/out"; exit 1; }

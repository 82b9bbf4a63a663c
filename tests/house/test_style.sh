#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Licence lines, head comments, sizes of files and functions (scripts/check-style), and that the check can fail.
# labels: quick
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
mkdir -p tree/src/base tree/include tree/examples tree/tests
{
    printf '/* SPDX-License-Identifier: Apache-2.0 */\n/* Long. */\nvoid f(void)\n{\n'
    yes '    g();' | head -n 121
    printf '}\n'
} >tree/src/base/a.c
if "$ARTEL_SOURCE/scripts/check-style" tree >out; then echo "a long function passed"; exit 1; fi
grep -q 'a function of 121 lines' out
rm tree/src/base/a.c
{
    printf '/* SPDX-License-Identifier: Apache-2.0 */\n'
    yes '/* a line */' | head -n 150
} >tree/examples/long.c
if "$ARTEL_SOURCE/scripts/check-style" tree >out; then echo "a long example passed"; exit 1; fi
grep -q 'an example of more than 150 lines' out
"$ARTEL_SOURCE/scripts/check-style"

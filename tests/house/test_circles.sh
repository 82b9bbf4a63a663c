#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# No more than three files call one another in circles, and the check notices when four do.
# labels: quick
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
"$ARTEL_SOURCE/scripts/check-circles" "$ARTEL_BUILD"

# Four files in a circle, in a tree of their own.
mkdir -p tree/scripts tree/src/base build/CMakeFiles/artel_base.dir/src/base
cp "$ARTEL_SOURCE/scripts/check-circles" tree/scripts/
for i in 1 2 3 4; do
    echo "void f$i(void); void f$((i % 4 + 1))(void); void f$i(void) { f$((i % 4 + 1))(); }" >tree/src/base/f$i.c
    cc -c tree/src/base/f$i.c -o build/CMakeFiles/artel_base.dir/src/base/f$i.c.o
done
if tree/scripts/check-circles build >out; then
    echo "check-circles let four files in a circle pass"
    exit 1
fi
grep -q '^4 files call one another in circles:' out
rm build/CMakeFiles/artel_base.dir/src/base/f3.c.o
tree/scripts/check-circles build

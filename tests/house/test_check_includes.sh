#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tree obeys the order of the rooms, and the check notices when it does not.
# labels: quick
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
"$ARTEL_SOURCE/scripts/check-includes"

must_fail() { # FILE LINE: a tree with this include in this file is refused
    rm -rf tree
    mkdir -p "tree/$(dirname "$1")" tree/cmake tree/include tree/src tree/examples
    cp "$ARTEL_SOURCE/cmake/rooms.cmake" tree/cmake/
    echo "$2" >"tree/$1"
    if "$ARTEL_SOURCE/scripts/check-includes" tree >out; then
        echo "check-includes let '$2' pass in $1"
        exit 1
    fi
    grep -q "^$1:1: " out
}
must_fail src/base/a.c '#include "tensor/shape.h"'
must_fail src/nn/a.c '  #  include "keras/h5.h"'
must_fail src/coll/a.c '#include "graph/graph.h"'
must_fail src/coll/a.c '#include "kernel/product.h"'
must_fail src/data/a.c '#include <jpeglib.h>'
must_fail src/keras/a.c '#include <hdf5.h>'
must_fail src/train/a.c '#include "exec/state_impl.h"'
must_fail src/train/a.c '#include "exec/cpu/plan.h"'
must_fail src/base/a.c '#include "cellar/a.h"'
must_fail include/artel/a.h '#include "base/context.h"'
must_fail examples/a.c '#include "base/context.h"'

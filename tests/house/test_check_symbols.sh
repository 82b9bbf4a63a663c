#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# No object names a symbol of a later room, and the check notices one that does.
# labels: quick
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
"$ARTEL_SOURCE/scripts/check-symbols" "$ARTEL_BUILD"

# Objects of two rooms, in a tree of their own.
mkdir -p tree/scripts tree/cmake
cp "$ARTEL_SOURCE/scripts/check-symbols" tree/scripts/
cp "$ARTEL_SOURCE/cmake/rooms.cmake" tree/cmake/
made() { # ROOM FILE CODE
    mkdir -p "tree/src/$1" "build/CMakeFiles/artel_$1.dir/src/$1"
    echo "$3" >"tree/src/$1/$2"
    cc -c "tree/src/$1/$2" -o "build/CMakeFiles/artel_$1.dir/src/$1/$2.o"
}
made service a.c 'const int artel__data_service = 1;'
made data formats.c 'extern const int artel__data_service; const int *const formats[] = {&artel__data_service};'
made cli b.c 'extern const int artel__data_service; int b(void); int b(void) { return artel__data_service; }'
tree/scripts/check-symbols build
made data other.c 'extern const int artel__data_service; const int *const other[] = {&artel__data_service};'
if tree/scripts/check-symbols build >out; then
    echo "check-symbols let data name a symbol of service"
    exit 1
fi
grep -qx 'src/data/other.c: artel__data_service is made by room service, which comes after data' out

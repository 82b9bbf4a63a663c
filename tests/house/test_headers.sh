#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each header compiles alone, with gcc and clang; the public ones as C11 and C++ too. Excepted are the folders whose
# headers are compiled otherwise: kernel/simd (bodies, once for each instruction set), the HDF5 helper, the parts.
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
scratch=$PWD
cd "$ARTEL_SOURCE"
flags="-fsyntax-only -pedantic -Wall -Wextra -Wstrict-prototypes -Werror -D_GNU_SOURCE -Isrc -Iinclude"
compile() { # COMPILER HEADER
    printf '#include "%s"\n' "${2#*/}" | "$1" -std=c17 $flags -x c - >"$scratch/$(basename "$2").$1" 2>&1 ||
        { head -n 12 "$scratch/$(basename "$2").$1"; echo "$2 does not compile alone with $1"; return 1; }
}
compile_public() {
    printf '#include "%s"\n' "${1#*/}" | gcc -std=c11 -fsyntax-only -pedantic -Wall -Wextra -Werror -Iinclude -x c - || return 1
    printf 'extern "C" {\n}\n#include "%s"\n' "${1#*/}" | clang -std=c++11 -fsyntax-only -Wall -Wextra -Werror -Iinclude -x c++ -
}
export -f compile compile_public
export flags scratch
status=0
headers=$(find src include -name '*.h' ! -path '*/kernel/simd/*' ! -path '*/hdf5_helper/*' ! -path '*/part_*' | sort)
for compiler in gcc clang; do
    printf '%s\n' $headers | xargs -P 2 -I{} bash -c 'compile "$1" "$2"' _ "$compiler" {} || status=1
done
printf '%s\n' include/artel/*.h | xargs -P 2 -I{} bash -c 'compile_public "$1"' _ {} || status=1
exit $status

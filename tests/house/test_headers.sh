#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each header compiles alone, with gcc and clang; the public ones as C99, C11, C++98 and C++11 too. Excepted are those
# that are compiled otherwise: kernel/simd and vector, bodies (once for each instruction set or type of number), the HDF5
# helper, the parts.
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
scratch=$PWD
cd "$ARTEL_SOURCE"
flags="-fsyntax-only -pedantic -Wall -Wextra -Wstrict-prototypes -Werror -D_GNU_SOURCE -Isrc -Iinclude -isystem third_party"
compile() { # COMPILER HEADER
    printf '#include "%s"\n' "${2#*/}" | "$1" -std=c17 $flags -x c - >"$scratch/$(basename "$2").$1" 2>&1 ||
        { head -n 12 "$scratch/$(basename "$2").$1"; echo "$2 does not compile alone with $1"; return 1; }
}
compile_public() {
    local strict="-fsyntax-only -pedantic -Wall -Wextra -Werror -Iinclude"
    for way in gcc:c:c99 gcc:c:c11 clang:c:c99 gcc:c++:c++98 clang:c++:c++98 clang:c++:c++11; do
        IFS=: read -r compiler language standard <<<"$way"
        printf '#include "%s"\n' "${1#*/}" | "$compiler" "-std=$standard" $strict -x "$language" - ||
            { echo "$1 does not compile as $standard with $compiler"; return 1; }
    done
}
export -f compile compile_public
export flags scratch
status=0
headers=$(find src include -name '*.h' ! -path '*/kernel/simd/*' ! -path '*/kernel/vector/*' ! -path '*/kernel/optimizer/*' ! -path '*/kernel/loss/*' ! -name '*_body.h' ! -path '*/hdf5_helper/*' ! -path '*/part_*' | sort)
for compiler in gcc clang; do
    printf '%s\n' $headers | xargs -P 2 -I{} bash -c 'compile "$1" "$2"' _ "$compiler" {} || status=1
done
printf '%s\n' include/artel/*.h | xargs -P 2 -I{} bash -c 'compile_public "$1"' _ {} || status=1
# A public struct begins with its size, or docs/c-api.md says why it does not. Options of layers are named there as one.
for header in include/artel/*.h; do
    awk '/^typedef struct [a-z0-9_]+ \{/ { name = $3; getline; if (!/ struct_size;/) print name }' "$header" | while read -r name; do
        [ "$header" != include/artel/build.h ] || [ "${name%_options}" = "$name" ] || continue
        grep -q "\`$name\`" docs/c-api.md || echo "$name"
    done
done >"$scratch/unsized"
[ ! -s "$scratch/unsized" ] || { echo "neither a struct_size nor a reason in docs/c-api.md: $(tr '\n' ' ' <"$scratch/unsized")"; status=1; }
# The options of a C++ program are those of a C one, and no compiler has a word to say about either.
options() { # LANGUAGE: the initial options, in static memory
    printf '#include "artel/fit.h"\n#ifdef __cplusplus\nextern "C" {\n#endif\n'
    for kind in cluster fit evaluate; do
        printf 'extern const artel_%s_options %s_%s;\nconst artel_%s_options %s_%s = ARTEL_%s_OPTIONS_INIT;\n' \
            $kind "$1" $kind $kind "$1" $kind "${kind^^}"
    done
    printf '#ifdef __cplusplus\n}\n#endif\n'
}
options c >"$scratch/c.c"
options cpp >"$scratch/cpp.cpp"
same() { # KIND STRING...: all bytes but those between fields are the same once equal strings have one address
    printf '    {\n        artel_%s_options c = c_%s, cpp = cpp_%s;\n' "$1" "$1" "$1"
    for field in "${@:2}"; do printf '        if (!strcmp(c.%s, cpp.%s)) c.%s = cpp.%s;\n' $field $field $field $field; done
    printf '        __builtin_clear_padding(&c);\n        __builtin_clear_padding(&cpp);\n'
    printf '        if (memcmp(&c, &cpp, sizeof c)) return puts("%s");\n    }\n' "$1"
}
{
    printf '#include "artel/fit.h"\n#include <stdio.h>\n#include <string.h>\n'
    for kind in cluster fit evaluate; do printf 'extern const artel_%s_options c_%s, cpp_%s;\n' $kind $kind $kind; done
    printf 'int main(void)\n{\n'
    same cluster
    same fit strategy save_every
    same evaluate strategy
    printf '    return 0;\n}\n'
} >"$scratch/same.c"
gcc -std=c11 -Wall -Wextra -Werror -Iinclude -c "$scratch/same.c" -o "$scratch/same.o" # not clang 14: it cannot clear padding in C
for set in gcc:g++:c++98 gcc:g++:c++17 gcc:g++:c++20 clang:clang++:c++11; do
    IFS=: read -r c cpp standard <<<"$set"
    "$c" -std=c11 -Wall -Wextra -Wpedantic -Werror -Iinclude -c "$scratch/c.c" -o "$scratch/c.o" &&
        "$cpp" "-std=$standard" -Wall -Wextra -Wpedantic -Werror -Iinclude -c "$scratch/cpp.cpp" -o "$scratch/cpp.o" &&
        "$c" "$scratch/same.o" "$scratch/c.o" "$scratch/cpp.o" -o "$scratch/same" && "$scratch/same" ||
        { echo "initial options of $cpp -std=$standard"; status=1; }
done
exit $status

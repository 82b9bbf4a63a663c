#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# Every whole program in README.md and docs/ compiles as it stands there, without a warning, and runs beside a model and its data.
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
[ -e "$ARTEL_BUILD/libartel.so" ] || { echo "the library is not built here"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }

# Blocks are indented by four blanks; a program begins with an include and has a main.
for page in "$ARTEL_SOURCE/README.md" "$ARTEL_SOURCE"/docs/*.md; do
    awk -v name="$(basename "$page" .md)" '
        function end() { if (text ~ /int main/) { file = name "-" ++count ".c"; printf "%s", text >file; close(file) } text = ""; inside = 0 }
        /^    #include/ && !inside { inside = 1 }
        inside && !/^(    |$)/ { end() }
        inside { sub(/^    /, ""); text = text $0 "\n" }
        END { if (inside) end() }' "$page"
done
ls ./*.c >/dev/null 2>&1 || fail "no program was found"
[ -e README-1.c ] && [ -e c-api-1.c ] || fail "the first programs are missing: $(ls)"

"$ARTEL" convert "$ARTEL_SOURCE/examples/fashion-mnist/cnn.json" model.keras 2>/dev/null || fail "no model"
for source in ./*.c; do
    gcc -std=c11 -pedantic -Wall -Wextra -Werror -I"$ARTEL_SOURCE/include" "$source" -o program -L"$ARTEL_BUILD" -lartel -Wl,-rpath,"$ARTEL_BUILD" ||
        fail "$source does not compile"
    ./program >out.txt 2>&1 && code=0 || code=$?
    [ "$code" -lt 100 ] || fail "$source died: $(cat out.txt)"
    cp out.txt "$source.out"
done
[ "$(cat README-1.c.out)" = "$("$ARTEL" inspect model.keras --digest | grep -oE '[0-9a-f]{64}')" ] || fail "README: $(cat README-1.c.out)"
grep -qE '^0\.[0-9]+$' c-api-2.c.out || fail "c-api.md: the predictor says $(cat c-api-2.c.out)"
[ "$(tail -n 1 custom-loop-1.c.out | cut -d' ' -f1)" = 8 ] || fail "custom-loop.md: not eight steps: $(cat custom-loop-1.c.out)"
[ "$(cat functions-1.c.out)" = 'y = 3.000 x -2.000' ] || fail "functions.md: $(cat functions-1.c.out)"
[ "$(cat functions-2.c.out)" = 'long short long' ] || fail "functions.md, strings: $(cat functions-2.c.out)"
[ "$(cat eager-1.c.out)" = '0.800 0.714 0.667' ] || fail "eager.md: $(cat eager-1.c.out)"
# What the guide says it prints, line by line.
grep -A 9 '^It prints' "$ARTEL_SOURCE/docs/adding-an-op.md" | sed -n 's/^    //p' >expected.txt
[ -s expected.txt ] && cmp -s expected.txt adding-an-op-1.c.out || fail "adding-an-op.md: $(cat adding-an-op-1.c.out)"
[ "$(cat adding-a-layer-1.c.out)" = 'the file holds it' ] || fail "adding-a-layer.md: $(cat adding-a-layer-1.c.out)"
grep -q 'train.npz' c-api-1.c.out || fail "c-api.md does not say which file is missing: $(cat c-api-1.c.out)"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Memory that is asked for ahead (base/fetch_soon.h), read from the instructions of the library: a compiler may leave out a
# call of a function that does nothing else, and nobody notices but by the time it takes. Each function below asks by itself
# or calls one that is there to ask.
# labels: quick
set -euo pipefail
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
case $(uname -m) in
x86_64 | aarch64) ;;
*) echo "skipped: instructions of $(uname -m) are not known here"; exit 0 ;;
esac
ar x "$ARTEL_BUILD/libartel_static.a"
status=0
asks() { # OBJECT FUNCTION, or what calls it where that is a part of it
    objdump -d --no-show-raw-insn "$1" | awk -v f="^($2)\$" '
        /^[0-9a-f]+ <.*>:$/ { name = $2; gsub(/[<>:]/, "", name); sub(/\..*/, "", name) }
        name ~ f && (/prefetch|prfm/ || /<(ask_for|copy_rows|copy_table_rows)[a-z_.0-9]*[>+]/) { found = 1 }
        END { exit !found }' && return
    echo "$1: $2 asks for no memory"
    status=1
}
for set in baseline avx2 avx512; do # three members of one name in the archive
    vector=$ARTEL_BUILD/CMakeFiles/artel_kernel_$set.dir/src/kernel/vector
    asks "$vector/embed.c.o" embed_forward_run
    asks "$vector/embed.c.o" embed_rows_run
    asks "$vector/optimize.c.o" apply_rows_run
done
for object in recurrent_avx*.c.o; do
    asks "$object" 'step_lstm|forward_run'
    asks "$object" 'step_back|gradient_run'
done
asks "$ARTEL_BUILD/CMakeFiles/artel_ps.dir/src/ps/rows.c.o" artel__row_piece_copy
exit $status

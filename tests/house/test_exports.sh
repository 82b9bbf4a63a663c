#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the binaries show and what they stand on: libartel.so exports artel_* and nothing else, a part its artel_part_*,
# and the program links little, so that it starts in milliseconds.
# labels: quick
set -euo pipefail
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
exported() { nm -D --defined-only "$1" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}'; }

exported "$ARTEL_BUILD/libartel.so" >names
grep -q '^artel_context_create$' names || { echo "libartel.so does not export artel_context_create"; exit 1; }
if grep -vE '^artel_[a-z]' names; then echo "libartel.so exports the names above"; exit 1; fi

for part in "$ARTEL_BUILD"/libartel-*.so; do
    [ -f "$part" ] || continue
    exported "$part" >names
    grep -q '^artel_part_' names || { echo "$part exports no artel_part_*"; exit 1; }
    if grep -v '^artel_part_' names; then echo "$part exports the names above"; exit 1; fi
done

# Each declaration in a public header marked ARTEL_API is there.
exported "$ARTEL_BUILD/libartel.so" | sort >names
cat "$ARTEL_SOURCE"/include/artel/*.h | tr '\n' ' ' | grep -oE 'ARTEL_API [^;(]*\(' | grep -oE 'artel_[a-z0-9_]+ ?\($' | tr -d ' (' | sort -u >declared
if comm -13 names declared | grep .; then echo "declared in include/artel, and not in libartel.so: the names above"; exit 1; fi

for binary in "$ARTEL" "$ARTEL_BUILD/libartel.so"; do
    readelf -d "$binary" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >needed
    if grep -vE '^(libc|libm|libjansson|libz|ld-linux.*|libpthread|libdl)\.so' needed; then
        echo "$binary links the libraries above; they belong into a part (cmake/parts.cmake)"
        exit 1
    fi
done

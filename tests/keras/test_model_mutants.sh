#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Model files with 1-3 bytes changed: loaded or refused with a message, never a crash or a hang.
# timeout: 300
# long form: 1800
set -euo pipefail
prog=${ARTEL_BUILD:-build}/tests/keras/prog_keras
count=300
[ -z "${ARTEL_LONG-}" ] || count=10000
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$prog" build sequential "$folder/m.keras"
"$prog" convert "$folder/m.keras" "$folder/m.h5"
"$prog" convert "$folder/m.keras" "$folder/m.json"
for file in m.keras m.h5 m.json; do
    echo "$file, $count mutants:"
    "$prog" mutants "$folder/$file" "$count" 1 | tee "$folder/ends"
    if grep -q -e '^internal' -e 'no message' "$folder/ends"; then
        echo "a mutant ended without a reason that its owner can use" >&2
        exit 1
    fi
done

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each room has a README.md of at most ten lines of text; the front page names the two commands a newcomer needs; each fuzzer has a row.
# labels: quick
set -eu
cd "$ARTEL_SOURCE"
status=0
for room in src/*/; do
    [ -n "$(find "$room" -type f -print -quit)" ] || continue
    if [ ! -f "${room}README.md" ]; then echo "${room}README.md is missing"; status=1; continue; fi
    lines=$(grep -c '[^[:space:]]' "${room}README.md") || lines=0
    if [ "$lines" -gt 11 ]; then echo "${room}README.md has $lines lines; a heading and ten are allowed"; status=1; fi
    if [ "$lines" -lt 3 ]; then echo "${room}README.md says nothing"; status=1; fi
done
for target in tests/fuzz/fuzz_*.c; do
    grep -q "^| \`$(basename "$target" .c)\`" tests/fuzz/README.md || { echo "tests/fuzz/README.md has no row of $target"; status=1; }
done
for word in 'make train' 'make test'; do
    grep -q "$word" README.md || { echo "README.md does not name '$word'"; status=1; }
done
# Every path that a README or document names in a link exists.
for page in README.md ARCHITECTURE.md docs/*.md src/*/README.md; do
    [ -f "$page" ] || continue
    grep -oE '\]\([^)#:]+' "$page" | cut -c3- | while read -r link; do
        [ -e "$(dirname "$page")/$link" ] || { echo "$page links to $link, which does not exist"; exit 1; }
    done || status=1
done
exit $status

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tests themselves: each Python test runs something when started and finds its modules by scripts/run-test alone, scripts parse,
# none waits by sleeping, each C test belongs to a room that exists.
# labels: quick
set -eu
cd "$ARTEL_SOURCE"
status=0
for file in $(find tests -name 'test_*.py'); do
    grep -q '__main__\|^sys.exit(\|^main()' "$file" || { echo "$file: nothing runs it; add: if __name__ == \"__main__\": ..."; status=1; }
done
if grep -rnE --include='*.py' 'sys\.path.*(tests|__file__|HERE)' tests; then echo "scripts/run-test says where modules of tests are found"; status=1; fi
twice=$(find tests -name '*.py' ! -name 'test_*' -printf '%f\n' | sort | uniq -d)
[ -z "$twice" ] || { echo "modules of tests with one name, of which only one is found: $twice"; status=1; }
for file in $(find tests -name 'test_*.sh') scripts/* .ci/run; do
    [ -f "$file" ] || continue
    head -n 1 "$file" | grep -qE 'sh$' || continue
    bash -n "$file" || status=1
done
for file in $(find tests -mindepth 2 -name '*_*.c'); do
    if grep -nE '\b(sleep|usleep) ?\(' "$file"; then echo "$file: tests drive time, they do not wait for it"; status=1; fi
done
for file in $(grep -lE '^ \* one thread$' tests/*/test_*.c); do
    if grep -nE 'pthread|help_run_ranks|help_players|artel__pool_|_open\(' "$file"; then echo "$file: it says that it has one thread"; status=1; fi
done
for file in tests/*/test_*.c; do
    [ -f "$file" ] || continue
    folder=$(basename "$(dirname "$file")")
    [ -d "src/$folder" ] || [ "$folder" = house ] || [ "$folder" = api ] || { echo "$file: there is no room src/$folder"; status=1; }
done
exit $status

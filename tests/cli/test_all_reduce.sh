#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --all-reduce: every way for sums to travel gives the recorded digest (tests/golden), between replicas and between tasks, whose hosts
# count; --explain says which way and why; names of TensorFlow are understood, others refused.
set -eu
model=$ARTEL_SOURCE/tests/golden/mlp.json
read -r _ options < <(grep '^mlp ' "$ARTEL_SOURCE/tests/golden/digests")
wanted=${options##* } options=${options% *}
run=(fit "$model" --data synthetic:300 --batch-size 64 --epochs 2 --seed 7 --json=epochs --verbose 0 --threads 1 $options)
status=0
fail() { echo "$*"; status=1; }
digest() { sed -n 's/.*"event": "end".*"digest": "\([0-9a-f]*\)".*/\1/p' | sort -u; }

for way in direct redundant ring hierarchical NcclAllReduce AUTO; do
    got=$("$ARTEL" "${run[@]}" --strategy mirrored --replicas 3 --all-reduce $way 2>errors | digest)
    [ "$got" = "$wanted" ] || fail "$way, 3 replicas: ${got:-$(tail -n 1 errors)}, wanted $wanted"
done
for way in ring hierarchical; do
    got=$("$ARTEL" launch -n 3 -- "$ARTEL" "${run[@]}" --strategy multi-worker --replicas 2 --all-reduce $way 2>errors | digest)
    [ "$got" = "$wanted" ] || fail "$way, 3 tasks of 2 replicas: ${got:-$(tail -n 1 errors)}, wanted $wanted"
done

explain() { "$ARTEL" "${run[@]}" --dry-run --explain --strategy mirrored --replicas 3 "$@" 2>&1 | grep -A 99 '^# collectives' || true; }
explain --all-reduce RING | grep -q '^how sums travel: ring, as asked for' || fail "--explain does not say ring"
explain --all-reduce RING | grep -q 'sends up to 4 messages and .* times the bytes, on 2 connections' || fail "--explain does not count"
explain --all-reduce RING | grep -q '^  0 all-reduce of [0-9]* folds, [0-9]* bytes: ring$' || fail "--explain does not list the sums"
ARTEL_ALL_REDUCE=ring explain | grep -q '^how sums travel: ring, as asked for' || fail "the environment's choice (CD13)"
ARTEL_ALL_REDUCE=ring explain --all-reduce direct | grep -q '^how sums travel: direct, as asked for' || fail "an option is not before the environment (CD13)"
ARTEL_ALL_REDUCE=ring explain --all-reduce auto | grep -q '^how sums travel: chosen by size' || fail "auto is not before the environment (CD13)"
explain | grep -q '^how sums travel: chosen by size, between 3 ranks: redundant up to 16384 bytes (.*), else direct' ||
    fail "--explain does not say why"
explain | grep -q '^  0 all-reduce of 1 folds, .* bytes: redundant: one round, up to 16384 bytes' || fail "--explain gives no reason for a sum"

refused() { # WORDS OPTION...
    ! "$ARTEL" "${run[@]}" "${@:2}" >/dev/null 2>errors || fail "${*:2} is taken"
    grep -q -- "$1" errors || fail "${*:2}: $(tail -n 1 errors)"
}
refused 'did you mean ring?' --all-reduce rings
refused 'do not travel; use mirrored' --strategy central-storage --replicas 2 --all-reduce ring
exit $status

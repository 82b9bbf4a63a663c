#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# The examples that take a strategy: the same text, to the last bit of its numbers, under two of them; and they do what their heads say.
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
bin=$ARTEL_BUILD/examples
[ -x "$bin/per_example" ] || { echo "the examples are not built here"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }

# One program: what a line of its text must look like.
both() {
    "$bin/$1" one-device 1 >one.txt || fail "$1"
    "$bin/$1" mirrored 3 >three.txt || fail "$1 of three"
    cmp one.txt three.txt || fail "$1: one and three replicas differ: $(cat one.txt three.txt)"
    shift
    for line; do grep -qE "$line" one.txt || fail "no line \"$line\": $(cat one.txt)"; done
}
both per_example '^plain: .* off by [1-9]' '^cut: .* off by 0\.0'
both custom_op 'triangle.* loss 0\.0000' '^off by 0\.00'
both control '^round 0: .*\((1|0\.[5-9])' '^round 60: .*\(0\.0[0-4]' '^0 of 64 have fallen$'
both autoencoder '^told apart$'
both recommendation '; (3[6-9]|40) of 40 users get a film of their kind$'
both transfer_learning '^first task (0\.9|1).* taken over 0\.[89].* from nothing 0\.[4-7]' '^frozen weights kept their bits$' '^[0-9a-f]{64}$'
both char_transformer '^epoch 60: .*\(0\.[0-3]' '^the miller had a[|] little mill that (turned|somebody) '
both memory '^equal bits$' '^loss 0'
"$bin/memory" 2>&1 >one.txt | grep -q '^log ' || fail "the log sink got nothing"
both cancel '^stopped: .*cancelled$' '^and again: loss 0x'
both newton '.'

# One graph whose layers change places: alone, on two tasks, and the other way round.
"$bin/placement" >alone.txt || fail "placement"
"$ARTEL" launch -n 2 --program "$bin/placement" 2>launch.txt | sed 's/^\[[^]]*\] *//' >two.txt || fail "placement: $(cat launch.txt)"
"$ARTEL" launch -n 2 --program "$bin/placement" -- 1 0 2>launch.txt | sed 's/^\[[^]]*\] *//' >turned.txt || fail "placement: $(cat launch.txt)"
grep -qE '^step 200: .* = 0\.[0-3]' alone.txt || fail "placement does not learn: $(cat alone.txt)"
cmp alone.txt two.txt || fail "placement on two tasks: $(cat alone.txt two.txt launch.txt)"
cmp alone.txt turned.txt || fail "placement the other way round: $(cat alone.txt turned.txt launch.txt)"

"$bin/control" no-such 2>err.txt && fail "a strategy that is none was taken"
grep -q 'no-such' err.txt || fail "the message does not name it: $(cat err.txt)"

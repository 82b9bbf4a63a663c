#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Two models with an optimizer each (ST1, ST10, FT12): the same last line on one and three replicas, on two tasks, on three of which two are
# killed and come back, and on two of which one comes back when the other has finished.
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
gan=$ARTEL_BUILD/examples/gan
[ -x "$gan" ] || { echo "the examples are not built here"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }
rounds=300 # of two runs each

truth=$("$gan" $rounds 1 | tail -n 1)
[ "${#truth}" = 64 ] || fail "no digest: $truth"
[ "$("$gan" $((rounds + 1)) 1 | tail -n 1)" != "$truth" ] || fail "a round changes nothing"
[ "$("$gan" $rounds 3 | tail -n 1)" = "$truth" ] || fail "three replicas differ"
"$ARTEL" launch -n 2 --program "$gan" -- $rounds >two.txt 2>&1 || fail "two tasks: $(cat two.txt)"
grep -qF "$truth" two.txt || fail "two tasks differ: $(cat two.txt)"

# Two of three are killed at a step: in the midst of a round, and between two. The others wait until they are back.
cc -O1 -shared -fPIC -I "$ARTEL_SOURCE/include" -o dying.so "$ARTEL_SOURCE/tests/support/preload/dying.c" -ldl
LD_PRELOAD=$PWD/dying.so DYING=worker:2@102,worker:1@305 DYING_ONCE=died ARTEL_MIN_WORKERS=3 \
    "$ARTEL" launch -n 3 --restarts 2 --program "$gan" -- $rounds >three.txt 2>&1 || fail "three tasks: $(cat three.txt)"
grep -qF "$truth" three.txt || fail "three tasks, of which two were killed, differ: $(cat three.txt)"
[ "$(grep -c 'started again' three.txt)" = 2 ] || fail "not two were killed: $(cat three.txt)"

# And the others go on without one that was, whenever it is back.
LD_PRELOAD=$PWD/dying.so DYING=worker:2@102 DYING_ONCE=again "$ARTEL" launch -n 3 --restarts 2 --program "$gan" -- $rounds >fewer.txt 2>&1 ||
    fail "fewer tasks: $(cat fewer.txt)"
[ -e again.worker:2 ] || fail "nobody was killed: $(cat fewer.txt)"
grep -qF "$truth" fewer.txt || fail "three tasks, of which one was killed, differ: $(cat fewer.txt)"

# A task that comes back too late waits for those that have finished, until it is told.
cat >late.sh <<'LATE'
index=$(printf '%s' "$TF_CONFIG" | grep -o '"index": *[0-9]*' | grep -o '[0-9]*$')
if [ "$index" = 1 ] && [ ! -e came ]; then
    touch came
    "$1" "$2"
    until [ -e finished ]; do sleep 0.05; done
    kill -9 $$
fi
"$1" "$2"
[ "$index" = 1 ] || touch finished
LATE
"$ARTEL" launch -n 2 --restarts 2 --program sh -- late.sh "$gan" 20 >late.txt 2>&1 || fail "one came late: $(cat late.txt)"
grep -q "worker 1 is told to end: the others have finished the job" late.txt || fail "who was late was not told: $(cat late.txt)"

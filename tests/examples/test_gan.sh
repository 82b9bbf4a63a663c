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
rounds=10000 # of three tasks: not over when one is killed

truth=$("$gan" $rounds 1 | tail -n 1)
[ "${#truth}" = 64 ] || fail "no digest: $truth"
[ "$("$gan" $((rounds + 1)) 1 | tail -n 1)" != "$truth" ] || fail "a round changes nothing"
[ "$("$gan" $rounds 3 | tail -n 1)" = "$truth" ] || fail "three replicas differ"
"$ARTEL" launch -n 2 --program "$gan" -- $rounds >two.txt 2>&1 || fail "two tasks: $(cat two.txt)"
grep -qF "$truth" two.txt || fail "two tasks differ: $(cat two.txt)"

# The second kill waits until a task has been started again, or all is over.
"$ARTEL" launch -n 3 --restarts 2 --program "$gan" -- $rounds >three.txt 2>&1 &
launch=$!
for kills in 1 2; do
    until [ "$(pgrep -x -P $launch gan | wc -l)" = 3 ] || [ -s three.txt ]; do sleep 0.05; done
    sleep 0.2
    pkill -9 -n -x -P $launch gan || true
done
wait $launch || fail "three tasks: $(cat three.txt)"
grep -qF "$truth" three.txt || fail "three tasks, of which some were killed, differ: $(cat three.txt)"
[ "$(grep -c 'started again' three.txt)" -ge 1 ] || fail "nobody was killed: $(cat three.txt)"

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

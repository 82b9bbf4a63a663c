#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 240
# rows: KE3
# The loop that trains on the harder half (KE3, FT7, FT8, FT12): the same bits alone, on three replicas and on two tasks, of which one is killed in the
# midst of a pass and comes back; and where SIGTERM ends it behind a pass, once it goes on, also on another number of tasks.
# --device NAME: the same on a device, which has bits of its own (test_custom_loop_device.sh), by a smaller model and with a kill less.
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
loop=$ARTEL_BUILD/examples/custom_loop
[ -x "$loop" ] || { echo "the examples are not built here"; exit 77; }
rows=40 count='\50' device=() kills='1 4 5 35' model=$ARTEL_SOURCE/examples/fashion-mnist/cnn.json
if [ "${1-}" = --device ]; then
    rows=64 count='\100' device=("$2") kills=5 model=mlp.json
    "$ARTEL" new mlp --input 28x28x1 --width 16 --depth 1 -o mlp.json >/dev/null
fi
fail() { echo "FAILED: $*" >&2; exit 1; }
digest() { "$ARTEL" inspect "$1" --digest | grep -oE '[0-9a-f]{64}'; }

# Images of 28 x 28 with their labels, as idx files: 40, a whole batch and a part of one; 64 for a device, to which every number of rows is a program
# of its own. Twelve passes: the first makes two steps, each other one two looks and a step.
{ printf '\0\0\10\3\0\0\0'"$count"'\0\0\0\34\0\0\0\34'; yes 'artel reads idx' | head -c 50176; } >images || true
{ printf '\0\0\10\1\0\0\0'"$count"; for _ in 1 2 3 4 5 6 7; do printf '\0\1\2\3\4\5\6\7\10\11'; done; } >labels
truncate -s $((16 + 784 * rows)) images
truncate -s $((8 + rows)) labels
data=idx:images,labels

# OUT STRATEGY REPLICAS KEEP FOLDER: the words behind the program, before the device
words() { printf '%s\n' "$model" "$data" "$1" 12 "$2" "$3" "$4" "$5" "${device[@]}"; }
alone() { mapfile -t w < <(words "$@"); "$loop" "${w[@]}"; }
two() { mapfile -t w < <(words "$@"); "$ARTEL" launch -n 2 ${restarts-} --program "$loop" -- "${w[@]}"; }
same() { [ "$(digest "$1")" = "$truth" ] || fail "$1: another result"; }

for keep in 1 0.5; do
    alone one$keep.keras one-device 1 $keep - >one$keep.txt || fail "custom_loop"
    truth=$(digest one$keep.keras)
    alone three$keep.keras mirrored 3 $keep - >three$keep.txt || fail "custom_loop of three"
    two two$keep.keras multi-worker 1 $keep - >two$keep.txt 2>&1 || fail "two tasks: $(cat two$keep.txt)"
    same three$keep.keras
    same two$keep.keras
done
grep -q '^pass 12: 1 steps of 3 replicas' three0.5.txt || fail "not the harder half: $(cat three0.5.txt)"
grep -q 'pass 12: 1 steps of 2 replicas' two0.5.txt || fail "not two tasks: $(cat two0.5.txt)"
"$ARTEL" fit "$model" --data $data --loss sparse_categorical_crossentropy --optimizer adam --epochs 12 --verbose 0 --output fit.keras \
    ${device:+--device "${device[0]}" --shards 8} 2>err.txt || fail "artel fit: $(cat err.txt)"
[ "$(digest one1.keras)" = "$(digest fit.keras)" ] || fail "a loop of one's own and fit differ"
[ "$(digest one0.5.keras)" != "$(digest fit.keras)" ] || fail "the harder half is the whole"

# Worker 1 is killed in its first step, in a look, in the step behind it, in its last step. The other waits until it is back.
cc -O1 -shared -fPIC -I "$ARTEL_SOURCE/include" -o dying.so "$ARTEL_SOURCE/tests/support/preload/dying.c" -ldl
export LD_PRELOAD=$PWD/dying.so
for step in $kills; do
    DYING=worker:1@$step DYING_ONCE=died$step ARTEL_MIN_WORKERS=2 restarts='--restarts 2' two lost.keras auto 1 0.5 - >lost.txt 2>&1 ||
        fail "killed in step $step: $(cat lost.txt)"
    grep -q 'worker 1.*started again' lost.txt || fail "nobody was killed in step $step: $(cat lost.txt)"
    same lost.keras
    rm lost.keras
done

# SIGTERM, in the second pass: that one is made, saved, and the same command goes on, or others with that folder.
export DYING_SIGNAL=15
told() { code=$1; shift; got=0; "$@" >told.txt 2>&1 || got=$?; [ $got = "$code" ] || fail "$*: exit code $got: $(cat told.txt)"; }
DYING=alone@4 DYING_ONCE=told told 143 alone end.keras one-device 1 0.5 run
[ -d run/ckpt-2 ] && [ ! -e end.keras ] || fail "not saved behind pass 2: $(ls run; cat told.txt)"
grep -q '^pass 2:' told.txt && ! grep -q '^pass 3:' told.txt || fail "not ended behind pass 2: $(cat told.txt)"
cp -r run run2
cp -r run run3
alone end.keras one-device 1 0.5 run >again.txt || fail "again"
same end.keras
[ "$(cat again.txt)" = "$(tail -n 10 one0.5.txt)" ] || fail "other passes: $(cat again.txt)"
alone end3.keras mirrored 3 0.5 run3 >again.txt || fail "again, of three"
same end3.keras
two end2.keras multi-worker 1 0.5 run2 >again.txt 2>&1 || fail "again, of two: $(cat again.txt)"
same end2.keras

# One of two tasks is told so: both end behind that pass or, where it is interrupted, the one before, and one saves; they or one process go on.
DYING=worker:1@4 DYING_ONCE=two told 143 two both.keras multi-worker 1 0.5 tasks
{ [ "$(ls tasks)" = ckpt-1 ] || [ "$(ls tasks)" = ckpt-2 ]; } && [ ! -e both.keras ] || fail "not saved behind a pass: $(ls tasks; cat told.txt)"
[ "$(grep -c 'saved behind pass' told.txt)" = 1 ] || fail "not one has saved: $(cat told.txt)"
[ "$(grep -c 'warning: .*ended with exit code 143' told.txt)" = 2 ] || fail "not both have ended: $(cat told.txt)"
cp -r tasks tasks1
two both.keras multi-worker 1 0.5 tasks >again.txt 2>&1 || fail "two again: $(cat again.txt)"
same both.keras
alone both1.keras one-device 1 0.5 tasks1 >again.txt || fail "one again"
same both1.keras

# Without a folder a task that is told so leaves, and the other goes on; who is started again comes back.
DYING=worker:0@4 DYING_ONCE=left told 0 two left.keras multi-worker 1 0.5 -
grep -q 'worker 0.*exit code 143' told.txt || fail "worker 0 has not left: $(cat told.txt)"
same left.keras
DYING=worker:1@4 DYING_ONCE=back ARTEL_MIN_WORKERS=2 restarts='--restarts 2' told 0 two back.keras multi-worker 1 0.5 -
grep -q 'worker 1.*started again' told.txt || fail "worker 1 has not come back: $(cat told.txt)"
same back.keras

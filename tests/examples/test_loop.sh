#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 180
# The loop out of functions (KE3, FT12): the bits of fit alone, on three replicas, on two tasks, and on two of which one is killed in the midst of
# a step and comes back; the coordinator over parameter servers, of which a worker and a server are.
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
loop=$ARTEL_BUILD/examples/loop coordinator=$ARTEL_BUILD/examples/coordinator
[ -x "$loop" ] || { echo "the examples are not built here"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }
digest() { "$ARTEL" inspect "$1" --digest | grep -oE '[0-9a-f]{64}'; }

# 40 images of 28 x 28 with their labels, as idx files: a whole batch, and a part of one
{ printf '\0\0\10\3\0\0\0\50\0\0\0\34\0\0\0\34'; yes 'artel reads idx' | head -c 31360; } >images || true
{ printf '\0\0\10\1\0\0\0\50'; for _ in 1 2 3 4; do printf '\0\1\2\3\4\5\6\7\10\11'; done; } >labels
cnn=$ARTEL_SOURCE/examples/fashion-mnist/cnn.json data=idx:images,labels

"$ARTEL" fit "$cnn" --data "$data" --loss sparse_categorical_crossentropy --optimizer adam --epochs 3 --verbose 0 --output fit.keras 2>err.txt ||
    fail "artel fit: $(cat err.txt)"
"$loop" "$cnn" "$data" one.keras 3 one-device >one.txt || fail "alone"
"$loop" "$cnn" "$data" three.keras 3 mirrored 3 >three.txt || fail "three replicas"
"$ARTEL" launch -n 2 --program "$loop" -- "$cnn" "$data" two.keras 3 >two.txt 2>&1 || fail "two tasks: $(cat two.txt)"
cmp one.txt three.txt || fail "one and three replicas differ"
for made in one three two; do [ "$(digest $made.keras)" = "$(digest fit.keras)" ] || fail "$made.keras differs from that of fit"; done
"$loop" 2>err.txt && fail "loop without arguments"
grep -q '^usage: ' err.txt || fail "loop: no usage"

# Worker 1 is killed in the midst of a step: of the first, of one in the middle of a pass, of the last. The other waits until it is back.
cc -O1 -shared -fPIC -I "$ARTEL_SOURCE/include" -o dying.so "$ARTEL_SOURCE/tests/support/preload/dying.c" -ldl
for step in 1 4 6; do
    LD_PRELOAD=$PWD/dying.so DYING=worker:1@$step DYING_ONCE=died$step ARTEL_MIN_WORKERS=2 \
        "$ARTEL" launch -n 2 --restarts 2 --program "$loop" -- "$cnn" "$data" lost.keras 3 >lost.txt 2>&1 || fail "killed in step $step: $(cat lost.txt)"
    grep -q 'worker 1.*started again' lost.txt || fail "nobody was killed in step $step: $(cat lost.txt)"
    [ "$(digest lost.keras)" = "$(digest fit.keras)" ] || fail "killed in step $step: another result: $(cat lost.txt)"
    grep -qF "$(tail -n 1 one.txt)" lost.txt || fail "killed in step $step: another loss: $(cat one.txt lost.txt)"
done

# A task, TYPE:INDEX in $1, dies once, when the job has said what $2 matches. Where that came too late, more work is given.
cat >killed.sh <<'KILLED'
victim=$1 sign=$2 said=$3
shift 3
task=$(printf '%s' "$TF_CONFIG" | tr -d ' ' | sed 's/.*"task":{//; s/}.*//; s/"type":"\([a-z]*\)"/\1/; s/"index"://; s/,/:/')
if [ "$task" = "$victim" ] && [ ! -e "$said.died" ]; then
    touch "$said.died"
    "$@" &
    until grep -q "$sign" "$said" || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
    kill -9 $! $$
fi
exec "$@"
KILLED
# Closures come as workers are free, so bits do not repeat. A worker costs nothing, a server an epoch.
for victim in worker:1 ps:0; do
    for epochs in 12 120 1200; do
        said=$victim$epochs.txt
        "$ARTEL" launch --chief -n 3 --ps 1 --restarts 2 --program sh -- killed.sh $victim 'epoch 2:' $said "$coordinator" $epochs 40 >$said 2>&1 ||
            fail "the coordinator, $victim killed: $(cat $said)"
        ! grep -q 'started again' $said || break
    done
    grep -q 'started again' $said || fail "nobody was killed: $(tail -n 5 $said)"
    grep -qE "epoch $((epochs - 1)): accuracy (0\.[89]|1\.)" $said || fail "it has not learnt: $(tail -n 5 $said)"
    grep -qE "[0-9]+ closures, [0-9]+ again" $said || fail "no figures: $(tail -n 5 $said)"
done
grep -q 'epoch [0-9]* again: ' $said || fail "the chief did not go back: $(cat $said)"

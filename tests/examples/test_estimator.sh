#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# The example with estimators: the same model alone, on three replicas, and as two workers with an evaluator, of which one was killed in the
# midst and went on; over parameter servers, of which one was. The evaluator ends when training has.
# rows: SG5
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
program=$ARTEL_BUILD/examples/estimator
[ -x "$program" ] || { echo "the examples are not built here"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }
digest() { "$ARTEL" inspect "$1/export/final/$2/ring.keras" --digest | grep -oE '[0-9a-f]{64}'; }

"$program" one 300 one-device >one.txt || fail "alone"
"$program" three 300 mirrored 3 >three.txt || fail "three replicas"
cmp one.txt three.txt || fail "one and three replicas differ"
[ "$(digest one 300)" = "$(digest three 300)" ] || fail "the models of one and three replicas differ"
[ "$(wc -l <one.txt)" = 6 ] || fail "not six evaluations: $(cat one.txt)"
tail -n 1 one.txt | grep -qE 'step 300: .* accuracy 0\.9' || fail "it has not learnt: $(cat one.txt)"

"$program" parts 130 >parts.txt && "$program" parts 300 >>parts.txt || fail "in two parts"
[ "$(digest parts 300)" = "$(digest one 300)" ] || fail "a run in two parts differs"
[ "$(tail -n 1 parts.txt)" = "$(tail -n 1 one.txt)" ] || fail "the evaluations differ: $(cat parts.txt)"

# A task, TYPE:INDEX in $4, dies at the first sight of a checkpoint, once.
cat >killed.sh <<'KILLED'
task=$(printf '%s' "$TF_CONFIG" | tr -d ' ' | sed 's/.*"task":{//; s/}.*//; s/"type":"\([a-z]*\)"/\1/; s/"index"://; s/,/:/')
if [ "$task" = "$4" ] && [ ! -e "died-$4" ]; then
    touch "died-$4"
    "$1" "$2" "$3" "$5" &
    until [ -e "$2/ckpt-50" ] || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
    kill -9 $! $$
fi
exec "$1" "$2" "$3" "$5"
KILLED
"$ARTEL" launch -n 2 --evaluator --restarts 2 --program sh -- killed.sh "$program" job 300 worker:1 multi-worker >job.txt 2>&1 ||
    fail "two workers: $(cat job.txt)"
[ -e died-worker:1 ] || fail "nobody died: $(cat job.txt)"
[ "$(digest job 300)" = "$(digest one 300)" ] || fail "two workers differ: $(cat job.txt)"
grep -qF "$(tail -n 1 one.txt)" job.txt || fail "the evaluator saw something else: $(cat job.txt)"

# Over parameter servers steps come as they come, so bits do not repeat; a server that dies takes the training back to a checkpoint.
"$ARTEL" launch -n 3 --chief --ps 1 --evaluator --restarts 2 --program sh -- killed.sh "$program" served 400 ps:0 parameter-server >served.txt 2>&1 ||
    fail "over servers: $(cat served.txt)"
[ -e died-ps:0 ] || fail "no server died: $(cat served.txt)"
grep -qE 'step 400: .* accuracy (0\.[6-9]|1\.)' served.txt || fail "it has not learnt: $(cat served.txt)"
[ -e served/export/final/400/ring.keras ] || fail "nothing was exported: $(cat served.txt)"

# The weights are there for who follows a run of fit.
printf 'x,y,label\n1,0,1\n' >row.csv
"$ARTEL" evaluate one/export/final/300/ring.keras --loss sparse_categorical_crossentropy --data 'csv:row.csv#label=label' \
    --checkpoint-dir one >value.txt 2>err.txt || fail "artel evaluate: $(cat err.txt)"
grep -q '^step 300 loss' value.txt || fail "no value: $(cat value.txt)"

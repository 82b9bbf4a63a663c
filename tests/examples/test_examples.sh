#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# The example programs, built against libartel.so and the public headers, do what their heads say, on small data.
set -eu
bin=$ARTEL_BUILD/examples
[ -x "$bin/memory" ] || { echo "the examples are not built here"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }
digest() { "$ARTEL" inspect "$1" --digest | grep -oE '[0-9a-f]{64}'; }

# 200 images of 28 x 28 with their labels, as idx files
{ printf '\0\0\10\3\0\0\0\310\0\0\0\34\0\0\0\34'; yes 'artel reads idx' | head -c 156800; } >images || true
{ printf '\0\0\10\1\0\0\0\310'; for _ in {1..20}; do printf '\0\1\2\3\4\5\6\7\10\11'; done; } >labels

"$bin/fashion_mnist" images labels one.keras 1 1 >one.txt || fail "fashion_mnist"
"$bin/fashion_mnist" images labels three.keras 1 3 >three.txt || fail "fashion_mnist with three replicas"
grep -q 'epoch 1 of 1:.*val_loss' one.txt || fail "no line for the epoch: $(cat one.txt)"
grep -q 'replicas 3' three.txt || fail "not three replicas: $(cat three.txt)"
[ "$(digest one.keras)" = "$(digest three.keras)" ] || fail "one and three replicas differ"
"$bin/fashion_mnist" images nowhere x.keras 2>err.txt && fail "a missing file went unnoticed"
grep -q nowhere err.txt || fail "the message does not name the file: $(cat err.txt)"

"$bin/train_keras" one.keras synthetic:64 more.keras 2 >history.txt || fail "train_keras"
grep -qE '^loss: [0-9.e+-]+ [0-9.e+-]+$' history.txt || fail "no loss of two epochs: $(cat history.txt)"
cnn=$ARTEL_SOURCE/examples/fashion-mnist/cnn.json
"$bin/train_keras" "$cnn" synthetic:64 x.keras 2>err.txt && fail "a model without a loss was trained"
grep -q 'loss' err.txt || fail "the message does not speak of a loss: $(cat err.txt)"
"$bin/train_keras" "$cnn" synthetic:64 whole.keras 2 - sparse_categorical_crossentropy >/dev/null || fail "train_keras with a loss"
"$bin/train_keras" "$cnn" synthetic:64 part.keras 1 run sparse_categorical_crossentropy >/dev/null || fail "train_keras with checkpoints"
"$bin/train_keras" "$cnn" synthetic:64 part.keras 2 run sparse_categorical_crossentropy >/dev/null || fail "train_keras continued"
[ "$(digest whole.keras)" = "$(digest part.keras)" ] || fail "the continued run differs from the whole one"

"$bin/predict" one.keras idx:images 3 >predictions.txt || fail "predict"
grep -q '200 rows' predictions.txt || fail "not 200 rows: $(cat predictions.txt)"
[ "$(grep -c largest predictions.txt)" = 3 ] || fail "not three rows printed: $(cat predictions.txt)"

"$bin/eager" 500 >eager.txt || fail "eager: $(cat eager.txt)"
grep -qE '^by its gradient: [0-9.]+, after [0-9]+ functions' eager.txt || fail "eager: $(cat eager.txt)"
"$bin/newton" >one.txt || fail "newton: $(cat one.txt)"
"$bin/newton" mirrored 3 >three.txt || fail "newton of three: $(cat three.txt)"
cmp one.txt three.txt || fail "newton: one and three replicas differ"
grep -q ' rounds at most, 0 rows are not there$' one.txt || fail "newton: $(cat one.txt)"
# Alone, and as three tasks: counts and extremes are the same.
"$bin/collectives" 5000 >alone.txt || fail "collectives alone"
"$ARTEL" launch -n 3 --program "$bin/collectives" 5000 2>launch.txt | sed 's/^\[[^]]*\] *//' >three.txt || fail "collectives: $(cat launch.txt)"
grep -q '^5000 rows on 1 member$' alone.txt || fail "collectives alone: $(cat alone.txt)"
grep -q '^5000 rows on 3 members$' three.txt || fail "collectives of three: $(cat three.txt launch.txt)"
[ "$(tail -n 2 alone.txt)" = "$(tail -n 2 three.txt)" ] || fail "collectives: $(cat alone.txt three.txt)"

for program in fashion_mnist train_keras predict custom_loop; do
    "$bin/$program" 2>err.txt && fail "$program without arguments"
    grep -q '^usage: ' err.txt || fail "$program: no usage"
done

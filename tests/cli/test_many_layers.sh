#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# Memory for a model grows with its layers, not with their square: a tower of 16,000 (1 MB of JSON) in 400 MB, Sequential, and
# Functional with the layers from the last to the first. Planning, too: eight times the layers take less than fourteen times the time.
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
compile='"compile_config": {"optimizer": "sgd", "loss": "mse"}'
input='{"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": [null, 4], "name": "i"}, "name": "i", "inbound_nodes": []}'
awk -v compile="$compile" 'BEGIN {
    printf "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"s\", \"layers\": [{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 4], \"name\": \"i\"}}"
    for (i = 0; i < 16000; i++) printf ", {\"class_name\": \"Dense\", \"config\": {\"name\": \"d%d\", \"units\": 1}}", i
    printf "]}, %s}\n", compile }' >sequential.json
awk -v compile="$compile" -v input="$input" 'BEGIN {
    printf "{\"class_name\": \"Functional\", \"config\": {\"name\": \"f\", \"layers\": ["
    for (i = 999; i >= 0; i--)
        printf "{\"class_name\": \"Dense\", \"name\": \"d%d\", \"config\": {\"name\": \"d%d\", \"units\": 1}, \"inbound_nodes\": [{\"args\": [{\"class_name\": \"__keras_tensor__\", \"config\": {\"shape\": [null, 1], \"dtype\": \"float32\", \"keras_history\": [\"%s\", 0, 0]}}], \"kwargs\": {}}]}, ", i, i, i ? "d" (i - 1) : "i"
    printf "%s], \"input_layers\": [[\"i\", 0, 0]], \"output_layers\": [[\"d999\", 0, 0]]}, %s}\n", input, compile }' >functional.json
ulimit -v 409600
"$ARTEL" check sequential.json >out.txt
grep -q 'everything is there' out.txt
"$ARTEL" fit sequential.json --data synthetic:4 --batch-size 4 --threads 1 --dry-run >out.txt
grep -q 'optimize' out.txt
ulimit -v 102400
"$ARTEL" check functional.json >out.txt
grep -q 'everything is there' out.txt

tower() {
    awk -v layers="$1" -v compile="$compile" 'BEGIN {
        printf "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"s\", \"layers\": [{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 4], \"name\": \"i\"}}"
        for (i = 0; i < layers; i++) printf ", {\"class_name\": \"Dense\", \"config\": {\"name\": \"d%d\", \"units\": 4, \"activation\": \"relu\", \"kernel_regularizer\": \"l2\"}}", i
        printf "]}, %s}\n", compile }' >"tower.json"
    TIMEFORMAT=%U
    { time "$ARTEL" fit tower.json --data synthetic:4 --batch-size 4 --threads 1 --dry-run >out.txt; } 2>&1 | tail -n 1
}
few=$(tower 1500) many=$(tower 12000)
awk -v few="$few" -v many="$many" 'BEGIN { if (many > 14 * few + 0.2) { printf "1500 layers %s s, 12000 layers %s s\n", few, many; exit 1 } }'

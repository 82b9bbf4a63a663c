#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The table "Places to touch" of ARCHITECTURE.md keeps its promise for what is one file and one line of a list: of each thing of such
# a list, no other file under src/ knows the name.
# labels: quick
set -eu
cd "$ARTEL_SOURCE"
status=0
alone() { # PATTERN FILE LIST: the file has the pattern; one line of the list may; nobody else has it
    local others
    grep -qE -e "$1" "$2" || { echo "$2: does not have $1, which this test looks for"; status=1; }
    others=$(grep -rnE --include='*.[ch]' --include='*.list' -e "$1" src | grep -v -e "^$2:" || true)
    [ "$(grep -c "^$3:" <<<"$others")" -gt 1 ] || others=$(grep -v "^$3:" <<<"$others" || true)
    [ -z "$others" ] || { echo "$others"; echo "the lines above: $1 is the business of $2 alone"; status=1; }
}
listed() { # LIST PATTERN LEAST: what the pattern's group matches in the lines of the list
    sed -nE "s|$2|\1|p" "$1" >"$ARTEL_SCRATCH/names"
    [ "$(wc -l <"$ARTEL_SCRATCH/names")" -ge "$3" ] || { echo "$1: is no list that this test can read"; status=1; }
}

listed src/kernel/optimizers.list '^#include "kernel/optimizer/([a-z_]+)\.h"$' 11
# Muon leaves variables to Adam; the constant of Adafactor stands for no rule.
for name in $(grep -vx adam "$ARTEL_SCRATCH/names"); do
    alone "(RULE_|\b(apply|prepare)_)($name|${name^^})\b" "src/kernel/optimizer/$name.h" src/kernel/optimizers.list
done
alone '\bLION\b|\b[Ll]ion\b' src/kernel/optimizer/lion.h src/kernel/optimizers.list
listed src/nn/matrix_optimizers.list '^MATRIX_OPTIMIZER\(([a-z_]+)\)$' 2
for name in $(cat "$ARTEL_SCRATCH/names"); do alone "artel__optimizer_$name\b|\"$name\"" "src/nn/optimizer_$name.c" src/nn/matrix_optimizers.list; done
exit $status

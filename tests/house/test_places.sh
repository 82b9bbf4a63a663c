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
# Of Adam others know the rule: Muon leaves variables to it.
for name in $(grep -vx adam "$ARTEL_SCRATCH/names"); do
    alone "(RULE_|\b(apply|prepare)_)($name|${name^^})\b" "src/kernel/optimizer/$name.h" src/kernel/optimizers.list
done
alone '\bLION\b|\b[Ll]ion\b' src/kernel/optimizer/lion.h src/kernel/optimizers.list
listed src/nn/matrix_optimizers.list '^MATRIX_OPTIMIZER\(([a-z_]+)\)$' 2
for name in $(cat "$ARTEL_SCRATCH/names"); do alone "artel__optimizer_$name\b|\"$name\"" "src/nn/optimizer_$name.c" src/nn/matrix_optimizers.list; done

# Names of losses are words that others begin with, so what is looked for is what they are called by.
listed src/kernel/losses.list '^#include "kernel/loss/([a-z_]+)\.h"$' 17
for name in $(cat "$ARTEL_SCRATCH/names"); do
    alone "ARTEL__LOSS_${name^^}(_LOGITS)?\b|\b(term|slope|value|slopes|curve)_of_$name\b|LOSS\(${name^^}\b|_(CLASS|PROGRAM)\(${name^^}\b" \
        "src/kernel/loss/$name.h" src/kernel/losses.list
done
alone '\bHUBER\b|\b[Hh]uber' src/kernel/loss/huber.h src/kernel/losses.list
listed src/nn/composed_losses.list '^COMPOSED_LOSS\(([a-z_]+)\)$' 5
for name in $(cat "$ARTEL_SCRATCH/names"); do
    alone "artel__loss_of_$name\b" "src/nn/loss_$name.c" src/nn/composed_losses.list
done

# A rule and a loss of a file and a line each, with a setting that nobody else has: all that reads the lists compiles, no switch lacks them.
tree="$ARTEL_SCRATCH/src/kernel"
mkdir -p "$tree/optimizer" "$tree/loss"
sed 's/LION/SIGNUM/g; s/[Ll]ion/signum/g; s/OPTIONS(/OPTIONS(FLOAT(boost, "1", 0, 9, "a number"), /; s/^#ifdef RULE_SCALARS/#ifdef RULE_FIELDS\ndouble boost;\n#endif\n\n&/' \
    src/kernel/optimizer/lion.h >"$tree/optimizer/signum.h"
sed 's/HUBER/QUARTIC/g; s/[Hh]uber/quartic/g; s/delta/knee/g' src/kernel/loss/huber.h >"$tree/loss/quartic.h"
{ cat src/kernel/optimizers.list; echo '#include "kernel/optimizer/signum.h"'; } >"$tree/optimizers.list"
{ cat src/kernel/losses.list; echo '#include "kernel/loss/quartic.h"'; } >"$tree/losses.list"
readers="$(grep -rlE --include='*.c' '"kernel/(optimizers|losses)\.list"|"kernel/ref/optimize_body\.h"' src) src/kernel/vector/optimize.c src/kernel/vector/loss.c"
[ "$(wc -w <<<"$readers")" -ge 11 ] || { echo "fewer files read the lists than this test knows of: $readers"; status=1; }
for file in $readers; do
    cc -std=c17 -fsyntax-only -pedantic -Wall -Wextra -Werror -D_GNU_SOURCE -DARTEL__SIMD_SET=baseline -DARTEL__SIMD_ISA=ARTEL__ISA_BASELINE -I"$ARTEL_SCRATCH/src" -Isrc -Iinclude -isystem third_party "$file" || status=1
done
grep -q boost "$tree/optimizer/signum.h" && grep -q knee "$tree/loss/quartic.h"
exit $status

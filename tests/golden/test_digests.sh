#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# labels: quick
# processors: 2
# Golden digests: six small models train two epochs to the digests written in tests/golden/digests, on every machine, with every
# compiler, under every instruction set, on any number of replicas and threads. Weights and data are drawn by artel, from the seed.
#   test_digests.sh          all ways
#   test_digests.sh corners  the first way and the last of each instruction set (slow builds; cli.digest runs it with those it makes)
set -eu
here=$ARTEL_SOURCE/tests/golden
ways="1x1 1x2 3x3 3x6" # replicas x threads, of all replicas together
[ "${1-}" != corners ] || ways="1x1 3x6"

# The instruction sets this machine has, from the least.
sets=""
own=$("$ARTEL" version | awk '/^instruction set/ { print $3 }')
for isa in $("$ARTEL" help fit --all | sed -n 's/^ *--isa TEXT .*: auto, \([a-z0-9_, ]*\);.*/\1/p' | tr -d ,); do
    sets="$sets $isa"
    [ "$isa" != "$own" ] || break
done
[ "${sets##* }" = "$own" ] || { echo "--isa does not list this machine's instruction set, '$own'"; exit 1; }

status=0 compared=0
train() { # MODEL ISA REPLICAS THREADS OPTION...: prints the digest
    "$ARTEL" fit "$here/$1.json" --data synthetic:300 --batch-size 64 --epochs 2 --seed 7 --json=epochs --verbose 0 \
        --strategy mirrored --isa "$2" --replicas "$3" --threads "$4" "${@:5}" 2>errors |
        sed -n 's/.*"event": "end".*"digest": "\([0-9a-f]*\)".*/\1/p'
}
check() { # WANTED MODEL OPTION...
    local isa way got
    for isa in $sets; do
        for way in $ways; do
            got=$(train "$2" "$isa" "${way%x*}" "${way#*x}" "${@:3}")
            compared=$((compared + 1))
            [ "$got" != "$1" ] || continue
            echo "${*:2}, $isa, ${way%x*} replicas, ${way#*x} threads: ${got:-$(tail -n 1 errors)}, wanted $1"
            status=1
        done
    done
}
while read -r model rest; do
    case $model in "#"* | "") continue ;; esac
    check "${rest##* }" "$model" ${rest% *}
done <"$here/digests"
sets=$own ways="2x2 3x1 8x2" # variables held once
while read -r model rest; do
    case $model in "#"* | "") continue ;; esac
    check "${rest##* }" "$model" ${rest% *} --strategy central-storage
done <"$here/digests"
[ "$compared" -ge 30 ] || { echo "only $compared digests were compared"; status=1; }
exit $status

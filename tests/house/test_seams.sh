#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What only some rooms may know. Where values of graphs and variables lie: exec and device (check-includes keeps their inner headers
# there); whoever computes with a value reads it by artel__execution_read, or borrows it by artel__state_lend. Which strategies there
# are, and that tasks speak TCP by the protocol of generations: neither a fit nor a session nor a checkpoint; they know cluster/mesh.h.
# labels: quick
set -eu
cd "$ARTEL_SOURCE"
status=0
forbid() { # WHAT PATTERN FILE...
    if grep -nE -e "$2" "${@:3}"; then echo "the lines above: $1"; status=1; fi
}
others=$(find src -name '*.[ch]' ! -path 'src/exec/*' ! -path 'src/device/*')
forbid 'the memory of values is known to exec and device' '(state|weights|run|execution)(\[[a-z0-9]*\])?->(block|buffer|scratch)\b' $others
[ -n "$(find src/exec -name state_impl.h)" ] && grep -q 'block' src/exec/state_impl.h || { echo "src/exec/state_impl.h: this test looks for what it has no more"; status=1; }

files="$(echo src/train/fit*.[ch] src/train/session*.[ch] src/train/checkpoint*.[ch])"
names=$(sed -n 's/^STRATEGY(\([a-z_]*\))$/\1/p' src/strategy/strategies.list | grep -vxE 'auto|default|tpu' | sed 's/_/[-_]/g' | paste -sd '|')
[ "$(echo "$names" | tr '|' '\n' | wc -l)" -ge 5 ] || { echo "strategies.list: is no list that this test can read"; status=1; }
forbid 'a strategy says of itself what it needs (strategy/strategy.h)' "($names)" $files
forbid 'the control plane is cluster/mesh.h, and nothing behind it' '\<(tcp|TCP)\>|membership_|artel__ms_|#include "(net|ps)/|#include "cluster/([a-ln-z]|mesh_)' $files

# What carries messages between hosts is opened by its name in a list (net/far.h); nobody else knows which there are.
transports=$(sed -n 's/^TRANSPORT(\([a-z_]*\))$/\1/p' src/net/transports.list | paste -sd '|')
[ -n "$transports" ] || { echo "transports.list: is no list that this test can read"; status=1; }
forbid 'a transport between hosts is reached through net/far.h' "artel__($transports)_|artel__far_($transports)\\>|#include \"net/($transports)\\>" $(find src -name '*.[ch]' ! -path 'src/net/*')
exit $status

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What pages say of the program is so: every variable of the environment that the source reads is on a page, the sample of
# events.md has the members that a run prints, in their order, and its class of arithmetic.
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
fail() { echo "FAILED: $*" >&2; exit 1; }

for name in $(grep -rhoE 'getenv\("[A-Z][A-Z0-9_]+"\)' "$ARTEL_SOURCE/src" | sed 's/.*("//; s/")//' | sort -u); do
    case $name in HOME | PATH) continue ;; esac
    option=$(echo "${name#ARTEL_}" | tr 'A-Z_' 'a-z-') # of each option's variable, cli.md speaks in general
    grep -rqw -- "$name" "$ARTEL_SOURCE"/docs || grep -q -- "--$option" "$ARTEL_SOURCE/docs/cli.md" || fail "no page names the variable $name"
done

# members EVENT < LINES: the names of the first such event; metrics as Keras sorts them, each time
members() { grep -m 1 "\"event\": \"$1\"" | grep -oE '"[a-z_]+": ' | tr -d '": ' | tr '\n' ' '; }
"$ARTEL" new mlp --input 6 --classes 3 --width 4 --output m.keras 2>/dev/null
"$ARTEL" fit m.keras --data synthetic:64 --validation synthetic:16 --metrics accuracy --strategy mirrored --replicas 2 --json >said.txt 2>/dev/null
grep -E '^    \{"event"' "$ARTEL_SOURCE/docs/events.md" >page.txt || fail "events.md has no sample"
for event in start step epoch end; do
    page=$(members $event <page.txt) said=$(members $event <said.txt)
    [ -n "$page" ] && [ "$page" = "$said" ] || fail "$event: events.md shows '$page', a run prints '$said'"
    for member in $said; do
        [ $event = epoch ] || grep -E "^\| \`$event\` " "$ARTEL_SOURCE/docs/events.md" | grep -qF "\`$member\`" || [ "$member" = event ] || fail "$event: events.md does not say what $member is"
    done
done
arithmetic() { grep -oE '"arithmetic": "[^"]*"' | sed -E 's/with [a-z0-9_]+\)/with SET)/'; }
[ "$(arithmetic <page.txt)" = "$(arithmetic <said.txt)" ] || fail "events.md: $(arithmetic <page.txt); a run prints $(arithmetic <said.txt)"

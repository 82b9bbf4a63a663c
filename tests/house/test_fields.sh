#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The library speaks of fields (".batch_size"), the program of options ("--batch-size"), and src/cli/fields.c is the only place that
# knows both: no text of another room begins with an option (words of a command that is started, "--host=%s", do), every field that
# a text names has a row, and every row leads to an option that a subcommand has.
# labels: quick
set -eu
cd "$ARTEL_SOURCE"
status=0
table=src/cli/fields.c
if grep -rnE --include='*.[ch]' '"--[a-z][a-z-]*[^a-z=-]' src --exclude-dir=cli; then echo "the lines above: name the field, and give it a row in $table"; status=1; fi
for field in $(grep -rhoE --include='*.[ch]' '"(\\.|[^"\\])*"' src --exclude-dir=cli | grep -oE '(^"|[ (])\.[a-z][a-z_]*' | grep -oE '[a-z][a-z_]*$' | sort -u); do
    grep -qhE "^    [a-z].*[ *,]$field[,;]" include/artel/fit.h include/artel/cluster.h || continue
    grep -q "{\"$field\", " $table || { echo "$table: no row for the field $field, which a message names"; status=1; }
done
options=$(sed -n 's/^    {"[a-z_]*", "\([a-z-]*\)"},$/\1/p' $table | paste -sd '|')
# Nor is one named further on; what starts jobs (launch), and says how, knows none but options.
if grep -rnE --include='*.[ch]' "\"[^\"]*[ (]--($options)\>" src --exclude-dir=cli --exclude-dir=launch; then echo "the lines above: name the field"; status=1; fi
# No other option either, but in a whole command that a user can type.
if grep -rnE --include='*.[ch]' '"[^"]*[ (]--[a-z]' src --exclude-dir=cli --exclude-dir=launch | grep -vE '^[^:]*:[0-9]+:(/| )\*|(artel [a-z]+|srun|pip install) [^"]*--[a-z]'; then
    echo "the lines above: say it without the program's options"; status=1
fi
for option in $(sed -n 's/^    {"[a-z_]*", "\([a-z-]*\)"},$/\1/p' $table); do
    grep -qE "\{?\"$option\"," src/cli/*.c src/cli/*.h --exclude=fields.c || { echo "$table: no subcommand has --$option"; status=1; }
done
[ "$(grep -c '^    {"' $table)" -gt 40 ] || { echo "$table: is no table that this test can read"; status=1; }

# A variable that something reads is no slip of the pen for another one (src/cli/environment.c).
for name in $(grep -rhoE 'getenv\("ARTEL_[A-Z0-9_]*"|environ.*"ARTEL_[A-Z0-9_]+"' src python | grep -oE 'ARTEL_[A-Z0-9_]+' | sort -u); do
    option=$(echo "${name#ARTEL_}" | tr 'A-Z_' 'a-z-')
    grep -qE "\"$option\"" src/cli/environment.c || grep -qE "\{?\"$option\"," src/cli/*.c src/cli/*.h --exclude=environment.c ||
        { echo "src/cli/environment.c: $name is read, and is neither an option nor in the list"; status=1; }
done
exit $status

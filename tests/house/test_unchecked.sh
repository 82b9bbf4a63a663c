#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What jansson does not say when memory is out: a value that could not be added is not there, which reads like a setting that nobody
# gave, and copies lack members without a word. So the answer of every addition is looked at, and copies and texts go through base/json.h.
# labels: quick
set -eu
cd "$ARTEL_SOURCE"
status=0
forbid() { # PATTERN REASON
    if grep -rnE "$1" src --include='*.c' | grep -v '^src/base/json\(_write\)\?\.c:' | grep -vE '(&&|[=<] 0\)?[;)]?)$'; then echo "the lines above: $2"; status=1; fi
}
adding='(json_(object_set|object_update|array_append|array_insert|array_extend|string_set)[a-z_]*\()'
forbid "^ *$adding" 'the answer is not looked at'
forbid "foreach\([^)]*\) *$adding" 'the answer is not looked at'
forbid '[^a-z_]json_(deep_)?copy\(' 'use artel__json_copy or artel__json_copy_deep'
forbid '[^a-z_]json_load(s|b|f|_file)?\(' 'use artel__json_load'
exit $status

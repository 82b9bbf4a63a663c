#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the library must not do, read from its symbols: end the process, write to stdout, set signal handlers, keep
# process globals, or take a transcendental function from libm (its bits differ between machines).
# labels: quick
set -euo pipefail
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
status=0
nm -D --undefined-only "$ARTEL_BUILD/libartel.so" | awk '{sub(/@.*/, "", $2); print $2}' | sort -u >used
forbid() { # PATTERN REASON
    if grep -xE "$1" used; then echo "libartel.so calls the above: $2"; status=1; fi
}
forbid 'exit|abort|quick_exit|__assert_fail' 'a library returns a status'
forbid 'printf|puts|putchar|vprintf|__printf_chk|stdout' 'stdout belongs to the program'
forbid 'signal|sigaction|atexit' 'signals and exits belong to the program'
forbid 's?rand(om)?(_r)?|strtok|gets|getpwnam|setlocale' 'not safe with several contexts'
forbid '(exp|exp2|expm1|log|log2|log10|log1p|pow|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|asinh|acosh|atanh|erf|erfc|[lt]gamma|cbrt|hypot)[fl]?' \
    'own functions are used on every path to a weight (kernel/math.h)'

# One exception: the failure of a thread's call that has no context to record it (base/context.c).
# Writable data: .data, .bss and thread-local storage; tables in .data.rel.ro are constant once loaded.
objdump -t "$ARTEL_BUILD/libartel_static.a" |
    awk '/file format/ {file = $1} $3 == "O" || $2 == "O" || $2 ~ /^\.t(data|bss)/ || / O \.(data|bss|tdata|tbss)/ {
        for (i = 1; i <= NF; i++) if ($i ~ /^\.(data|bss|tdata|tbss)/ && $i !~ /^\.data\.rel\.ro/) print file, $NF }' |
    sort -u | sed '/^context\.c\.o: no_context$/d' >globals
if grep . globals; then echo "process globals: the objects above"; status=1; fi
exit $status

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
# Plug-ins are found where packages put them, and whatever one does in its own process becomes one line with a remedy.
set -eu
cd "${ARTEL_SCRATCH:?run me with scripts/run-test}"
fail() { echo "FAILED: $*" >&2; exit 1; }
unset ARTEL_PJRT_PLUGIN TPU_LIBRARY_PATH VIRTUAL_ENV XDG_DATA_HOME
export HOME=$PWD/home
build() { # WAY FILE
    gcc -shared -fPIC -std=c11 -Wall -Wno-unused ${1:+-DWAY_$1} -I"$ARTEL_SOURCE/third_party" "$ARTEL_SOURCE/tests/device/plugin.c" -o "$2"
}
# says CODE 'PART' FILE
says() {
    local found=0
    "$ARTEL" devices --plugin "$3" >out.txt 2>err.txt || found=$?
    [ "$found" = "$1" ] || fail "$3: exit code $found instead of $1: $(cat err.txt)"
    grep -qF -- "$2" err.txt || fail "$3: no '$2' in: $(cat err.txt)"
    [ "$(grep -c '^artel:' err.txt)" = 1 ] || fail "$3: more than a line: $(cat err.txt)"
}

# Without any: the processors, and where it has looked.
mkdir home
"$ARTEL" devices >out.txt 2>err.txt || fail "no plug-in is no error: $(cat err.txt)"
grep -q '^cpu .* cores*, ' out.txt || fail "no processors: $(cat out.txt)"

# A good one, by name: memory where it says so, line breaks in names cleaned.
mkdir -p plug && build "" plug/xla_cuda_plugin.so
"$ARTEL" devices --plugin plug/xla_cuda_plugin.so >out.txt
grep -q '^cuda:0 *80.0 GB  A card of the tests, by .*(PJRT 0.90)$' out.txt || fail "the first card: $(cat out.txt)"
grep -q '^cuda:1 * -  A card' out.txt || fail "the second card: $(cat out.txt)"
"$ARTEL" devices --plugin plug/xla_cuda_plugin.so --json | python3 -c '
import json, sys
p, = json.load(sys.stdin)["plugins"]
assert p["kind"] == "cuda" and p["api"] == "0.90" and [d["memory_bytes"] for d in p["devices"]] == [80000000000, None], p'

# By environment, and where packages lie; of two versions the later one first; one that fails does not hide the others.
ARTEL_PJRT_PLUGIN=plug/xla_cuda_plugin.so "$ARTEL" devices | grep -q '^cuda:0' || fail "ARTEL_PJRT_PLUGIN"
packages=home/.local/share/artel/pjrt
mkdir -p $packages/jax_plugins/xla_cuda12 $packages/jax_plugins/xla_cuda13 $packages/libtpu venv/lib/python3.11/site-packages/jax_plugins/xla_rocm7
cp plug/xla_cuda_plugin.so $packages/jax_plugins/xla_cuda12
cp plug/xla_cuda_plugin.so $packages/jax_plugins/xla_cuda13
cp plug/xla_cuda_plugin.so venv/lib/python3.11/site-packages/jax_plugins/xla_rocm7/xla_rocm_plugin.so
build ABORT $packages/libtpu/libtpu.so
VIRTUAL_ENV=$PWD/venv "$ARTEL" devices >out.txt 2>err.txt || fail "several: $(cat err.txt)"
[ "$(grep -c '^cuda:0' out.txt)" = 2 ] && grep -q '^rocm:0' out.txt || fail "what was found: $(cat out.txt)"
grep -m 1 '^cuda:0' out.txt | grep -q cuda13 || fail "the later version first: $(cat out.txt)"
grep -q 'libtpu.so: the plug-in ended its process by signal 6' err.txt || fail "the one that aborts: $(cat err.txt)"

# Everything that can be wrong with one.
build ABORT abort.so && says 2 'signal 6: terminate called' abort.so
build EXIT exit.so && says 2 'code 3: no licence was found' exit.so
build OLD old.so && says 1 'its interface is 0.42' old.so
build NO_DRIVER xla_cuda_none.so && says 1 'nvidia-smi' xla_cuda_none.so
build OLD_DRIVER xla_cuda_late.so && says 1 'update the driver' xla_cuda_late.so
build NAMELESS xla_cuda_nameless.so && "$ARTEL" devices --plugin xla_cuda_nameless.so >out.txt || fail "a device without a description"
grep -q '^cuda:0 *80.0 GB  a device without a description' out.txt && grep -q '^cuda:1 * -  A card' out.txt || fail "devices shift: $(cat out.txt)"
build "CHATTER -DWAY_ABORT" chatter.so && says 2 'signal 6: terminate called' chatter.so
build SHORT short.so && "$ARTEL" devices --plugin short.so | grep -q '^?:0 * -  A card' || fail "a plug-in without a function that is optional"
echo 'int nothing;' >nothing.c && gcc -shared -fPIC nothing.c -o nothing.so && says 1 'GetPjrtApi' nothing.so
echo 'not a library' >text.so && says 1 'cannot be opened' text.so
head -c 2000 plug/xla_cuda_plugin.so >cut.so && says 1 'its file is cut off; install it again' cut.so
cp plug/xla_cuda_plugin.so other.so && printf '\377\377' | dd of=other.so bs=1 seek=18 conv=notrunc 2>dd.txt
says 1 'its file is for another kind of processor' other.so
ARTEL_PJRT_SECONDS=soon says 1 '"soon" is no number from 1 to 3600' plug/xla_cuda_plugin.so
echo 'void lacking(void); void f(void) { lacking(); }' >a.c && echo 'void lacking(void) {}' >b.c
gcc -shared -fPIC b.c -o liblacking.so && gcc -shared -fPIC a.c -o lacks.so -L. -llacking && rm liblacking.so
says 1 'pip install' lacks.so
says 1 'there is no such plug-in' missing.so
ARTEL_PJRT_PLUGIN=missing.so "$ARTEL" devices 2>err.txt && fail "a variable that names nothing"
grep -q ARTEL_PJRT_PLUGIN err.txt || fail "the variable is not named: $(cat err.txt)"

# gone PID: within five seconds there is no such process, or nobody has asked for its end yet.
gone() {
    for _ in $(seq 100); do
        [ ! -d "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null && return 0
        sleep 0.05
    done
    return 1
}

# One that hangs costs no more than the time it is given, and ends with whoever has asked.
build HANG hang.so && ARTEL_PJRT_SECONDS=1 says 2 'says nothing within 1 s' hang.so
gone "$(cat plugin.pid)" || fail "a plug-in that hangs is left"
rm plugin.pid
"$ARTEL" devices --plugin hang.so >out.txt 2>err.txt &
asks=$!
for _ in $(seq 100); do [ -s plugin.pid ] && break; sleep 0.05; done
kill -9 $asks && wait $asks || true
gone "$(cat plugin.pid)" || fail "a plug-in outlives whoever has asked it"

# A process that it has started may hold its standard error: what was said counts, and so does how it died.
rm plugin.pid && build HELPER xla_cuda_helper.so
ARTEL_PJRT_SECONDS=60 timeout 20 "$ARTEL" devices --plugin xla_cuda_helper.so >out.txt || fail "a plug-in with a helper"
grep -q '^cuda:1 * -  A card' out.txt || fail "the devices of a plug-in with a helper: $(cat out.txt)"
[ ! -s plugin.pid ] || gone "$(cat plugin.pid)" || fail "a helper is left"
build "HELPER -DWAY_ABORT" helper.so && ARTEL_PJRT_SECONDS=60 says 2 'signal 6: terminate called' helper.so

# Closed standard descriptors are no pipes of the child.
"$ARTEL" devices --plugin plug/xla_cuda_plugin.so >out.txt <&- 2>&- || fail "standard error is closed"
grep -q '^cuda:1 * -  A card' out.txt || fail "the devices without standard error: $(cat out.txt)"
"$ARTEL" devices --plugin plug/xla_cuda_plugin.so <&- >&- 2>err.txt && fail "output into nothing is no success"
grep -q 'plug-in' err.txt && fail "standard output is closed: $(cat err.txt)"

# What others can replace is not taken by search, but by name it is; without a home there is no folder of the user.
chmod o+w $packages/libtpu
VIRTUAL_ENV='' "$ARTEL" devices >out.txt 2>err.txt || fail "a folder of all: $(cat err.txt)"
grep -q 'libtpu.so is left out' err.txt && ! grep -q 'ended its process' err.txt || fail "a plug-in of all is opened: $(cat err.txt)"
says 2 'signal 6' $packages/libtpu/libtpu.so
env -u HOME "$ARTEL" devices >out.txt 2>err.txt || fail "no home: $(cat err.txt)"
grep -q '/.local' err.txt && ! grep -q '~/.local' err.txt && fail "a folder of nobody: $(cat err.txt)"

# Tests of a device that is not here are skipped, and say which.
found=0
env -u HOME ARTEL_BUILD="$(dirname "$ARTEL")" VIRTUAL_ENV='' "$ARTEL_SOURCE/scripts/test-device" rocm >out.txt 2>err.txt || found=$?
[ "$found" = 77 ] && grep -q '^skipped: no device of the kind rocm is here' out.txt || fail "tests of a device that is not here: $found $(cat out.txt err.txt)"

# Nobody who asks for no device opens one.
ARTEL_PJRT_PLUGIN=$PWD/abort.so "$ARTEL" version >/dev/null || fail "version opens a plug-in"

# The header is as its authors wrote it, where their copy of the same version is at hand.
for copy in "${PYTHON:+$(dirname "$(dirname "$PYTHON")")}"/lib/python3*/site-packages/tensorflow/include/xla/pjrt/c/pjrt_c_api.h; do
    [ -f "$copy" ] && grep -q '^#define PJRT_API_MINOR 90$' "$copy" || continue
    cmp "$copy" "$ARTEL_SOURCE/third_party/pjrt/pjrt_c_api.h" || fail "third_party/pjrt/pjrt_c_api.h was modified"
done

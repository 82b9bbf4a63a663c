#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# artel bench machine: figures that make sense, and nothing left behind.
# labels: quick
set -eu
artel=$ARTEL
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$artel" bench machine --json --dir "$folder" >"$folder/out.json"
python3 - "$folder/out.json" <<'PY'
import json, sys
figures = json.load(open(sys.argv[1]))
assert figures["threads"] >= 1
assert all(v > 0 for v in figures.values()), figures
assert {"read_16KiB_gb_s", "copy_256MiB_gb_s", "fsync_ms", "round_trip_us"} <= set(figures), figures
assert figures["fsync_ms"] < 60000 and figures["round_trip_us"] < 1e6, figures
PY
# Sixteen threads of one core do what one does, not sixteen times that. What the core's sibling does, and how fast its clock goes, may change
# in between: together that is not a factor of four.
core=$(python3 -c 'import os; print(min(os.sched_getaffinity(0)))')
taskset -c "$core" "$artel" bench machine --json --dir "$folder" --threads 16 >"$folder/out.json"
python3 - "$folder/out.json" <<'PY'
import json, sys
figures = json.load(open(sys.argv[1]))
assert figures["threads"] == 16
for isa in ("avx2", "avx512", "avx512_bf16", "amx"):
    one, together = (figures.get("fma_%s%s_gflops" % (isa, kind), 0) for kind in ("", "_all"))
    assert together <= 4 * one, figures
PY
[ "$(ls "$folder")" = out.json ] || { echo "left behind: $(ls "$folder")"; exit 1; }
"$artel" bench machine --dir "$folder" | grep -q 'TCP on loopback'
for wrong in 'bench' 'bench nothing' "bench machine --dir $folder/none"; do
    if "$artel" $wrong >"$folder/o" 2>"$folder/e"; then echo "accepted: $wrong"; exit 1; fi
    grep -q '^artel: ' "$folder/e" || { echo "no message: $wrong"; exit 1; }
done

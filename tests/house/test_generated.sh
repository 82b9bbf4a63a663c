#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Files made by a script are as the script makes them today: each scripts/generate-* knows --check.
set -eu
status=0
for script in "$ARTEL_SOURCE"/scripts/generate-*; do
    [ -x "$script" ] || continue
    "$script" --check || { echo "stale: run scripts/${script##*/}"; status=1; }
done
exit $status

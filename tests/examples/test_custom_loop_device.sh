#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# The loop that trains on the harder half on XLA's device for the CPU: replicas, tasks, kills, SIGTERM, with equal bits (KE3, FT7, FT12).
set -eu
"$ARTEL" devices | grep -q '^cpu:xla' || { echo "skipped: no lammps-jax-pjrt-cpu"; exit 77; }
exec bash "$ARTEL_SOURCE/tests/examples/test_custom_loop.sh" --device cpu:xla
